// SPDX-License-Identifier: GPL-2.0-or-later
// The API (docs/rest-api.md) without the box, for working on the dashboard and for its tests:
//   node test/mock.mjs [PORT] [CLASSES]      http://127.0.0.1:PORT, user admin, password "mock"; also "viewer"
// It keeps the rules that a client can see (ETags, dry runs, probation, errors with pointers); its traffic is made up by a
// small fluid model: guarantees first, then what is left by weight, up to the limits. It serves the bundle of build/web with the
// headers of the real server, so that a violation of its content security policy shows.
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const root = new URL("../../", import.meta.url);
const CSP = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const UNITS = { "": 1, bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9, tbit: 1e12 };

export function bps(value) {
	if (typeof value === "number") return value;
	const m = /^([0-9.]+) ?([a-z]*)$/.exec(value ?? "");
	return m && UNITS[m[2]] ? Math.round(Number(m[1]) * UNITS[m[2]]) : NaN;
}
const m2 = (curve) => (curve === undefined ? 0 : bps(typeof curve === "object" ? curve.m2 : curve));

function setting(path, type, unit, help, more = {}) {
	return { path, type, unit, help, allowed: more.words ? more.words.map((w) => `"${w}"`).join(", ") : "see the documentation", required: false, default: null, change: "live", ...more };
}
const RATE = { min: 1000, max: 400e9, allowed: "1kbit to 400gbit, or an object with m1, d, m2" };
const C = "/shapers/*/classes/*";
const SCHEMA = [
	setting("/shapers/*/port", "port", "", "the port it shapes; a port has one shaper at most", { required: true, allowed: "name of a port" }),
	setting("/shapers/*/rate", "number", "bit/s", "rate of the link, on the wire", { ...RATE, allowed: '1kbit to 400gbit, "unlimited"', words: ["unlimited"], required: true }),
	setting("/shapers/*/burst", "number", "ns", "how much time it may catch up after it was late", { min: 0, max: 1e9, default: 1000000, allowed: "0 to 1s" }),
	setting("/shapers/*/overhead", "number", "bytes", "bytes that the link adds to each frame (frames count without FCS)", { min: -64, max: 256, default: 0, allowed: "-64b to 256b" }),
	setting("/shapers/*/link_layer", "word", "", "framing: ptm (VDSL) takes 65/64, atm (ADSL) whole cells of 53 bytes", { words: ["ethernet", "ptm", "atm"], default: "ethernet" }),
	setting("/shapers/*/default", "class", "", "leaf class for packets that no rule matches", { required: true, allowed: "name of a class" }),
	setting(`${C}/rt`, "curve", "bit/s", "guarantee (real-time curve); leaves only, whatever the limits above", RATE),
	setting(`${C}/ls`, "curve", "bit/s", "share of what the parent has left (link-share curve)", RATE),
	setting(`${C}/ul`, "curve", "bit/s", "upper limit of what ls gives", RATE),
	setting(`${C}/sc`, "curve", "bit/s", "rt and ls at once", RATE),
	setting(`${C}/leaf/kind`, "word", "", "fair queueing with CoDel, or one plain queue", { words: ["fq_codel", "pfifo"], default: "fq_codel" }),
	setting(`${C}/leaf/limit`, "number", "", "packets that may wait", { min: 1, max: 1048576, default: 10240, allowed: "1 to 1048576" }),
	setting(`${C}/leaf/target`, "number", "ns", "CoDel: delay to keep below", { min: 1000, max: 60e9, default: 5000000, allowed: "1us to 60s" }),
	setting(`${C}/leaf/interval`, "number", "ns", "CoDel: how long the delay may be above target; about the longest round trip", { min: 1000, max: 60e9, default: 100000000, allowed: "1us to 60s" }),
	setting(`${C}/leaf/ecn`, "boolean", "", "mark packets that can be marked instead of dropping them", { default: true, allowed: "true, false" }),
];
const DROPS = [["too_short", "shorter than an Ethernet header"], ["ip4_bad_checksum", "IPv4 header checksum is wrong"], ["same_port", "destination is behind the port it came from"],
	["reserved_mac", "link-local group address (802.1D), never forwarded"], ["queue_full", "class or pool limit reached, dropped from the fattest queue"],
	["codel", "CoDel: delay stayed above target"], ["reconfigured", "lost because the configuration changed"]];

function example(classes) {
	const doc = {
		system: { workers: [2] },
		ports: { left: { device: "w-left", queues: 2 }, right: { device: "w-right", queues: 2 } },
		bridges: { br0: { ports: ["left", "right"] } },
		shapers: {
			right: {
				port: "right", rate: "1gbit", default: "rest",
				classes: {
					a: { rt: "500mbit", ls: "500mbit", ul: "1gbit" },
					b: { rt: "100mbit", ls: "100mbit", ul: "1gbit" },
					c: { rt: "100mbit", ls: "100mbit", ul: "1gbit" },
					ping: { rt: { m1: "20mbit", d: "1ms", m2: "1mbit" }, ls: "1mbit" },
					rest: { ls: "50mbit" },
				},
			},
		},
		classifiers: { right: [{ proto: "udp", dst_port: 10194, class: "a" }, { proto: "udp", dst_port: 10196, class: "b" }, { proto: "udp", dst_port: 10197, class: "c" }, { proto: "icmp", class: "ping" }] },
	};
	if (classes > 0) {
		const tree = {};
		for (let i = 0, town = 0; i < classes; i++) {
			if (i % 25 === 0) tree[`town-${++town}`] = { ls: "400mbit", ul: "800mbit" };
			tree[`customer-${10000 + i}`] = { parent: `town-${town}`, rt: "10mbit", ls: "20mbit", ul: `${[50, 100, 300][i % 3]}mbit` };
		}
		tree.rest = { ls: "50mbit" };
		doc.shapers.uplink = { port: "left", rate: "10gbit", default: "rest", classes: tree };
	}
	return doc;
}

// ---- the configuration

const unescape = (s) => decodeURIComponent(s).replace(/~1/g, "/").replace(/~0/g, "~");
const escape = (s) => s.replace(/~/g, "~0").replace(/\//g, "~1");
const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);

function merge(target, patch) {
	if (!isObject(patch)) return patch;
	const out = isObject(target) ? { ...target } : {};
	for (const [k, v] of Object.entries(patch)) {
		if (v === null) delete out[k];
		else out[k] = merge(out[k], v);
	}
	return out;
}

function diff(from, to, at = "") {
	if (isObject(from) && isObject(to)) {
		const gone = Object.keys(from).flatMap((k) => (k in to ? diff(from[k], to[k], `${at}/${escape(k)}`) : [{ op: "remove", path: `${at}/${escape(k)}`, from: from[k] }]));
		return [...gone, ...Object.keys(to).filter((k) => !(k in from)).map((k) => ({ op: "add", path: `${at}/${escape(k)}`, to: to[k] }))];
	}
	return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ op: "replace", path: at, from, to }];
}

function check(doc) {
	const errors = [];
	const bad = (pointer, text) => errors.push({ pointer, text });
	for (const k of Object.keys(doc)) if (!["system", "ports", "bridges", "shapers", "classifiers"].includes(k)) bad(`/${escape(k)}`, "is no setting");
	for (const [name, s] of Object.entries(doc.shapers ?? {})) {
		const at = `/shapers/${escape(name)}`;
		if (s.rate !== "unlimited" && !(bps(s.rate) >= 1000)) bad(`${at}/rate`, `${JSON.stringify(s.rate)} is not allowed: 1kbit to 400gbit, "unlimited"`);
		if (!s.classes?.[s.default]) bad(`${at}/default`, `there is no class ${JSON.stringify(s.default)}`);
		let sure = 0;
		for (const [c, conf] of Object.entries(s.classes ?? {})) {
			const here = `${at}/classes/${escape(c)}`;
			for (const k of ["rt", "ls", "ul", "sc"])
				if (conf[k] !== undefined && !(m2(conf[k]) >= 1000 && m2(conf[k]) <= 400e9))
					bad(`${here}/${k}${isObject(conf[k]) ? "/m2" : ""}`, `${JSON.stringify(isObject(conf[k]) ? conf[k].m2 : conf[k])} is not allowed: 1kbit to 400gbit`);
			if (conf.ul !== undefined && conf.ls === undefined && conf.sc === undefined) bad(`${here}/ul`, "a limit needs a share (ls)");
			if (conf.parent && conf.parent !== "root" && !s.classes[conf.parent]) bad(`${here}/parent`, `there is no class ${JSON.stringify(conf.parent)}`);
			if (!["rt", "ls", "sc"].some((k) => conf[k] !== undefined)) bad(here, "has no curve: needs rt, ls or sc");
			if (conf.leaf?.limit !== undefined && !(Number(conf.leaf.limit) >= 1)) bad(`${here}/leaf/limit`, `${JSON.stringify(conf.leaf.limit)} is not allowed: 1 to 1048576`);
			sure += m2(conf.rt ?? conf.sc);
		}
		if (name === "right" && sure > bps(s.rate)) bad(at, `guarantees add up to ${sure} bit/s, more than the rate`);
	}
	const warnings = [];
	for (const [name, s] of Object.entries(doc.shapers ?? {}))
		for (const [c, conf] of Object.entries(s.classes ?? {}))
			if (conf.rt && conf.ul && m2(conf.rt) > m2(conf.ul)) warnings.push({ path: `/shapers/${name}/classes/${c}/rt`, text: "the guarantee is above the limit: ul binds only what ls gives" });
	return { errors, warnings };
}

// ---- the server

export function startMock({ port = 0, classes = 0, idleMs = 900000, tick = 1000 } = {}) {
	const revisions = [{ id: 1, parent: 0, state: "confirmed", created: new Date(Date.now() - 86400000).toISOString(), author: "", comment: "", source: "file", summary: "first configuration", document: example(classes) }];
	let inForce = 1, pending = null;
	const sessions = new Map(), streams = new Set();
	const started = Date.now();
	const users = { admin: "admin", operator: "operator", viewer: "viewer" };
	const requests = [];

	const doc = () => revisions[inForce - 1].document;
	const etag = () => `"r${inForce}"`;
	const emit = (event, data) => {
		for (const s of streams) s.write(`id: ${Date.now()}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
	};
	const end = (state) => {
		clearTimeout(pending.timer);
		const r = revisions[pending.id - 1];
		r.state = state;
		if (state === "reverted") inForce = r.parent;
		pending = null;
		emit("revision", { id: r.id, state, author: r.author, seconds_left: 0 });
	};

	function commit(document, q, author, comment, match) {
		if (match === undefined) return [428, { title: "Precondition Required", detail: "If-Match is missing: send the ETag of the configuration you have read, or *." }];
		if (match !== "*" && match !== etag()) return [412, { title: "Precondition Failed", detail: `The configuration has changed since: revision ${inForce} is in force.` }];
		const { errors, warnings } = check(document);
		if (errors.length) return [422, { title: "Unprocessable", detail: "The configuration is not valid, or the engine refused it.", errors }];
		const changes = diff(doc(), document);
		const dry = q.get("dry_run") === "1", confirm = Number(q.get("confirm") ?? 0);
		if (!dry && pending) return [409, { title: "Conflict", detail: "Another revision is pending: confirm or revert it first." }];
		if (changes.some((c) => c.path.startsWith("/ports") || c.path.startsWith("/system")) && q.get("restart") !== "1")
			return [409, { title: "Conflict", detail: "The change needs new sockets (traffic stops for about a second): allow it with restart=1." }];
		const answer = { state: confirm ? "pending" : "confirmed", ...(confirm ? { seconds_left: confirm } : {}), applied: !dry, duration_ns: 412000, longest_pause_ns: 3100, packets_lost: 0, changes, warnings };
		if (dry) return [200, answer];
		if (changes.length) {
			const id = revisions.length + 1;
			revisions.push({ id, parent: inForce, state: answer.state, created: new Date().toISOString(), author, comment: comment ?? "", source: "api",
				summary: `${changes.length} change${changes.length > 1 ? "s" : ""}: ${changes.slice(0, 3).map((c) => c.path).join(", ")}`, document });
			inForce = id;
			if (confirm) pending = { id, until: Date.now() + confirm * 1000, timer: setTimeout(() => end("reverted"), confirm * 1000) };
			emit("revision", { id, state: answer.state, author, seconds_left: confirm });
		}
		return [200, { revision: inForce, ...answer }];
	}

	function write(method, pointer, body) {
		const path = pointer.split("/").filter(Boolean).map(unescape);
		if (!path.length) return method === "PUT" ? body : merge(doc(), body);
		const out = structuredClone(doc());
		let at = out;
		for (const step of path.slice(0, -1)) at = at[step] ??= {};
		const last = path[path.length - 1];
		if (method === "DELETE") {
			if (!(last in at)) return undefined;
			delete at[last];
		} else at[last] = method === "PUT" ? body : merge(at[last], body);
		return out;
	}

	// ---- traffic

	const model = new Map(); // shaper/class -> state
	const totals = Object.fromEntries(DROPS.map(([reason]) => [reason, 0]));
	const ports = {};
	const noise = (part) => 1 + part * (2 * Math.random() - 1);
	let event = null, turns = 0;
	const demand = (shaper, name, i) => {
		if (shaper === "right") return { a: 1e9, b: 1e9, c: 1e9, ping: 120e3, rest: 2.4e6 }[name] ?? 0;
		if (!name.startsWith("customer")) return name === "rest" ? 3e6 : 0;
		return i % 7 === 0 ? 4e6 * (1 + Math.sin(turns / 20 + i)) + (i % 49 === 0 ? 400e6 : 0) : 0;
	};
	function step() {
		turns++;
		const shapers = [];
		for (const [name, s] of Object.entries(doc().shapers ?? {})) {
			const link = s.rate === "unlimited" ? 1e11 : bps(s.rate) * 0.985;
			const all = Object.entries(s.classes).map(([c, conf], i) => {
				const want = demand(name, c, i) * noise(0.03), most = conf.ul ? m2(conf.ul) : link;
				return { c, conf, want: Math.min(want, most), asked: want, got: Math.min(want, m2(conf.rt ?? conf.sc)), ls: m2(conf.ls ?? conf.sc) };
			});
			let left = link - all.reduce((a, x) => a + x.got, 0);
			for (let round = 0; round < 8 && left > 1; round++) {
				const hungry = all.filter((x) => x.want - x.got > 1 && x.ls > 0);
				const weight = hungry.reduce((a, x) => a + x.ls, 0);
				if (!weight) break;
				const share = left;
				for (const x of hungry) {
					const more = Math.min(x.want - x.got, (share * x.ls) / weight);
					x.got += more;
					left -= more;
				}
			}
			const sums = new Map();
			for (const x of all) {
				const st = model.get(`${name}/${x.c}`) ?? { bytes: 0, packets: 0, full: 0, codel: 0 };
				const busy = x.asked - x.got > 1e5, size = x.c === "ping" ? 98 : 1400;
				Object.assign(st, { bps: Math.round(x.got * noise(0.004)), backlog: busy ? Math.round(900 * noise(0.3)) : 0 });
				st.pps = st.bps / 8 / size;
				st.bytes += st.bps / 8;
				st.packets += st.pps;
				const lost = busy ? (x.asked - x.got) / 8 / size : 0;
				st.full += lost * 0.9;
				st.codel += lost * 0.1;
				totals.queue_full += lost * 0.9;
				totals.codel += lost * 0.1;
				st.drops = lost;
				st.p50 = st.bps ? (busy ? 5.2e6 : 4e4) * noise(0.2) : 0;
				st.p99 = st.bps ? (busy ? 11e6 : 3.1e5) * noise(0.35) : 0;
				model.set(`${name}/${x.c}`, st);
				for (let up = x.conf.parent; up && up !== "root"; up = s.classes[up]?.parent) {
					const sum = sums.get(up) ?? { bps: 0, pps: 0, drops: 0, backlog: 0 };
					for (const k of Object.keys(sum)) sum[k] += st[k];
					sums.set(up, sum);
				}
			}
			for (const [up, sum] of sums) Object.assign(model.get(`${name}/${up}`), sum, { p50: 0, p99: 0 });
			const listed = all.map(({ c }) => ({ c, st: model.get(`${name}/${c}`) })).sort((x, y) => y.st.bps - x.st.bps).slice(0, 1000);
			shapers.push({ name, rate_bps: s.rate === "unlimited" ? 0 : bps(s.rate), ...(all.length > 1000 ? { truncated: true } : {}),
				classes: listed.map(({ c, st }) => ({ name: c, bps: Math.round(st.bps), pps: Math.round(st.pps), drops_ps: Math.round(st.drops), backlog_packets: st.backlog, backlog_bytes: st.backlog * 1400,
					delay_p50_ns: Math.round(st.p50), delay_p99_ns: Math.round(st.p99) })) });
		}
		const through = Object.keys(doc().shapers?.right?.classes ?? {}).reduce((a, c) => a + (model.get(`right/${c}`)?.bps ?? 0), 0);
		const live = { left: { rx: 3.01e9 * noise(0.01), tx: 41e3 * noise(0.3) }, right: { rx: 41e3 * noise(0.3), tx: through } };
		event = {
			time: new Date().toISOString(),
			ports: Object.keys(doc().ports ?? {}).map((name) => {
				const l = live[name] ?? { rx: 0, tx: 0 };
				const p = (ports[name] ??= { rx: 0, tx: 0 });
				p.rx += l.rx / 8, p.tx += l.tx / 8;
				return { name, rx_bps: Math.round(l.rx), rx_pps: Math.round(l.rx / 11200), tx_bps: Math.round(l.tx), tx_pps: Math.round(l.tx / 11200), lost_pps: 0, up: true, mode: "copy" };
			}),
			shapers, workers: [{ worker: 0, busy_percent: Math.round(430 * noise(0.1)) / 10 }],
		};
		emit("stats", event);
	}
	step();
	const timer = setInterval(step, tick);

	const state = {
		"/v1/state/ports": () => ({ ports: Object.entries(doc().ports).map(([name, p]) => ({ name, device: p.device, up: true, mode: "copy", rx_packets: Math.round((ports[name]?.rx ?? 0) / 1400), rx_bytes: Math.round(ports[name]?.rx ?? 0),
			tx_packets: Math.round((ports[name]?.tx ?? 0) / 1400), tx_bytes: Math.round(ports[name]?.tx ?? 0), rx_lost: 0, drops: { receive_ring: 0, queue_full: name === "right" ? Math.round(totals.queue_full) : 0, codel: name === "right" ? Math.round(totals.codel) : 0 }, queues: [] })) }),
		"/v1/state/shapers": () => ({ shapers: Object.entries(doc().shapers ?? {}).map(([name, s]) => ({ name, port: s.port, rate_bps: s.rate === "unlimited" ? 0 : bps(s.rate), worker: 0, classes: Object.keys(s.classes).length })) }),
		"/v1/state/workers": () => ({ workers: [{ worker: 0, loops: 1, busy_ns: 1, sleeps: 99, frames_held: 2710, fdb_entries: 4, longest_pause_ns: 3100 }], frames: { total: 32768, pool: 25012, cache: 512, held: 2710, handoff: 0, fill: 4096, rx: 6, tx: 432, unaccounted: 0 } }),
		"/v1/state/drops": () => ({ drops: DROPS.map(([reason, text]) => ({ reason, text, packets: Math.round(totals[reason]) })) }),
		"/v1/schema": () => ({ settings: SCHEMA }),
	};
	const classState = (name) => {
		const s = doc().shapers?.[name];
		const inner = new Set(Object.values(s?.classes ?? {}).map((c) => c.parent));
		return s && { shaper: name, rate_bps: bps(s.rate) || 0, classes: Object.entries(s.classes).map(([c, conf]) => {
			const st = model.get(`${name}/${c}`) ?? { bytes: 0, packets: 0, full: 0, codel: 0, backlog: 0, p50: 0, p99: 0 };
			return { name: c, parent: conf.parent ?? "root", leaf: inner.has(c) ? "none" : conf.leaf?.kind ?? "fq_codel", default: s.default === c, rt_bps: m2(conf.rt ?? conf.sc), ls_bps: m2(conf.ls ?? conf.sc), ul_bps: m2(conf.ul),
				sent_packets: Math.round(st.packets), sent_bytes: Math.round(st.bytes), enqueued_packets: 0, enqueued_bytes: 0, backlog_packets: st.backlog, backlog_bytes: st.backlog * 1400,
				drops: { queue_full: Math.round(st.full), codel: Math.round(st.codel), reconfigured: 0 }, marked: 0, delay_p50_ns: Math.round(st.p50), delay_p99_ns: Math.round(st.p99) };
		}) };
	};

	const files = { "/": ["index.html", "text/html; charset=utf-8"], "/app.js": ["app.js", "text/javascript; charset=utf-8"], "/app.css": ["app.css", "text/css; charset=utf-8"], "/favicon.svg": ["favicon.svg", "image/svg+xml"] };

	async function handle(req, res) {
		const url = new URL(req.url, "http://mock");
		const path = url.pathname, q = url.searchParams;
		requests.push(`${req.method} ${req.url}`);
		const send = (status, body, headers = {}) => {
			res.writeHead(status, { "Content-Type": status >= 400 ? "application/problem+json" : "application/json", "Content-Security-Policy": CSP, "Cache-Control": "no-store", ...headers });
			res.end(body === null ? undefined : JSON.stringify(status >= 400 ? { type: "about:blank", status, errors: [], ...body } : body));
		};
		if (files[path] && req.method === "GET") {
			const data = readFileSync(new URL(`build/web/dist/${files[path][0]}`, root));
			res.writeHead(200, { "Content-Type": files[path][1], "Content-Security-Policy": CSP, ETag: `"${createHash("sha256").update(data).digest("hex").slice(0, 16)}"` });
			return res.end(data);
		}
		let raw = "";
		for await (const chunk of req) raw += chunk;
		let body;
		try {
			body = raw ? JSON.parse(raw) : undefined;
		} catch {
			return send(400, { title: "Bad Request", detail: "The body is not JSON." });
		}
		if (path === "/v1/info") return send(200, { name: "weir", version: "0.1.0", api: "v1", started: new Date(started).toISOString(), uptime_s: Math.floor((Date.now() - started) / 1000) });
		if (path === "/v1/session" && req.method === "POST") {
			if (!users[body?.user] || body.password !== "mock") return send(401, { title: "Unauthorized", detail: "User or password is wrong." });
			const id = randomBytes(16).toString("hex");
			const session = { user: body.user, role: users[body.user], csrf: randomBytes(8).toString("hex"), used: Date.now() };
			sessions.set(id, session);
			return send(200, { user: session.user, role: session.role, csrf: session.csrf }, { "Set-Cookie": `weir=${id}; Path=/; HttpOnly; SameSite=Strict` });
		}
		const id = /weir=([0-9a-f]+)/.exec(req.headers.cookie ?? "")?.[1];
		const session = sessions.get(id);
		if (!session || Date.now() - session.used > idleMs) return send(401, { title: "Unauthorized", detail: "Log in first." });
		session.used = Date.now();
		if (req.method !== "GET" && req.headers["x-weir-csrf"] !== session.csrf) return send(403, { title: "Forbidden", detail: "The header X-Weir-CSRF is missing or wrong." });
		if (path === "/v1/session") {
			if (req.method === "DELETE") sessions.delete(id);
			return send(200, req.method === "DELETE" ? {} : { user: session.user, role: session.role, csrf: session.csrf });
		}
		if (path === `/v1/users/${session.user}` && req.method === "PUT")
			return body?.old_password === "mock" ? send(200, { name: session.user, role: session.role }) : send(403, { title: "Forbidden", detail: "the old password is wrong" });
		if (path === "/v1/events") {
			res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
			streams.add(res);
			res.on("close", () => streams.delete(res));
			return res.write(`event: stats\ndata: ${JSON.stringify(event)}\n\n`);
		}
		if (req.method !== "GET" && session.role === "viewer") return send(403, { title: "Forbidden", detail: "This needs the role operator." });
		if (state[path]) return send(200, state[path]());
		let m = /^\/v1\/state\/shapers\/([^/]+)\/classes$/.exec(path);
		if (m) {
			const body = classState(unescape(m[1]));
			return body ? send(200, body) : send(404, { title: "Not Found", detail: "There is no such shaper." });
		}
		m = /^\/v1\/config(\/.*)?$/.exec(path);
		if (m) {
			if (req.method === "GET") {
				let at = doc();
				for (const step of (m[1] ?? "").split("/").filter(Boolean).map(unescape)) at = at?.[step];
				return at === undefined ? send(404, { title: "Not Found", detail: "There is nothing at this path of the configuration." }) : send(200, at, { ETag: etag() });
			}
			const next = write(req.method, m[1] ?? "", body);
			if (!next) return send(404, { title: "Not Found", detail: "There is nothing at this path of the configuration." });
			const [status, answer] = commit(next, q, session.user, q.get("comment"), req.headers["if-match"]);
			return send(status, answer, { ETag: etag() });
		}
		if (path === "/v1/revisions") {
			const before = Number(q.get("before") ?? 0) || Infinity;
			return send(200, { revisions: revisions.filter((r) => r.id < before).reverse().slice(0, Number(q.get("limit") ?? 50)).map(({ document, ...r }) => r) });
		}
		if (path === "/v1/revisions/pending")
			return pending ? send(200, { ...revisions[pending.id - 1], document: undefined, seconds_left: Math.ceil((pending.until - Date.now()) / 1000) }) : send(404, { title: "Not Found", detail: "No revision is pending." });
		m = /^\/v1\/revisions\/([0-9]+)(?:\/([a-z]+))?$/.exec(path);
		const r = m && revisions[Number(m[1]) - 1];
		if (r) {
			if (!m[2]) return send(200, r);
			if (m[2] === "diff") {
				const to = Number(q.get("to") ?? 0), from = to ? r.id : r.parent;
				return send(200, { from, to: to || r.id, changes: diff(revisions[from - 1]?.document ?? {}, revisions[(to || r.id) - 1].document) });
			}
			if (m[2] === "rollback") {
				const [status, answer] = commit(r.document, q, session.user, q.get("comment") ?? `rollback to revision ${r.id}`, req.headers["if-match"] ?? "*");
				return send(status, answer, { ETag: etag() });
			}
			if (pending?.id === r.id) end(m[2] === "confirm" ? "confirmed" : "reverted");
			else if (m[2] !== "confirm" || r.state !== "confirmed") return send(409, { title: "Conflict", detail: "The revision is not pending." });
			return send(200, { revision: inForce, state: "confirmed", applied: true, changes: [], warnings: [] });
		}
		return send(404, { title: "Not Found", detail: "There is no such resource." });
	}

	const server = createServer((req, res) => void handle(req, res).catch((e) => (console.error(e), res.destroy())));
	return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve({
		url: `http://127.0.0.1:${server.address().port}`,
		requests,
		expireSessions: () => sessions.clear(),
		cutStreams: () => { for (const s of streams) s.destroy(); },
		alarm: (text) => emit("alarm", { text }),
		// Somebody else changes the configuration.
		patch: (patch) => commit(merge(doc(), patch), new URLSearchParams(), "weirctl", "", "*"),
		config: doc,
		close: () => {
			clearInterval(timer);
			if (pending) clearTimeout(pending.timer);
			server.closeAllConnections();
			server.close();
		},
	})));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
	const mock = await startMock({ port: Number(process.argv[2] ?? 8080), classes: Number(process.argv[3] ?? 0) });
	console.log(`${mock.url}  user admin, password mock`);
}
