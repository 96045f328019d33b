// SPDX-License-Identifier: GPL-2.0-or-later
// One class: what it does now, and its settings. Beside the tree on wide screens, over it on narrow ones.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Write } from "./api";
import { access, curl, mayWrite, pointerEscape, segment } from "./api";
import { Chart, toggled } from "./chart";
import { pick, windowOf } from "./charts";
import { startReview } from "./commit";
import { bytes, count, packets, perSecond, rate, text, time } from "./format";
import type { CurveKey, Fields } from "./form";
import {
	Buttons, CurveField, curveFields, curveJson, Field, problemsOf, row as settingRow, SettingField, StaleNote, useBlame, useDraft, useSchema, valueFields, valueJson,
} from "./form";
import { past, stats } from "./live";
import { CopyButton, ErrorNote, Num } from "./parts";
import { running } from "./revision";
import type { Drops } from "./shapers";
import { useStore } from "./store";
import type { Row } from "./tree";
import { isRoot } from "./tree";
import type { ClassSample, Json, JsonObject, ShaperState } from "./types";

interface Props {
	shaper: ShaperState;
	row: Row | undefined; // undefined: a class to be added
	all: Row[];
	drops: Drops;
	sample: ClassSample | undefined;
	here: string;
}

export function ClassPanel(p: Props): JSX.Element {
	const heading = useRef<HTMLHeadingElement>(null);
	useEffect(() => heading.current?.focus({ preventScroll: true }), []);
	useEffect(() => {
		const key = (e: KeyboardEvent): void => {
			if (e.key === "Escape" && !e.defaultPrevented && !document.querySelector("dialog[open]")) location.hash = p.here;
		};
		addEventListener("keydown", key);
		return () => removeEventListener("keydown", key);
	}, [p.here]);
	const c = p.row?.state;
	return (
		<aside class="side" aria-labelledby="side-title">
			<header class="side-head">
				<h2 id="side-title" tabIndex={-1} ref={heading}>
					{c ? c.name : "New class"}
					<small>{c ? trail(p.row!, p.shaper.name) : `in ${p.shaper.name}`}</small>
				</h2>
				<a class="button plain close" href={p.here} aria-label="Close">✕</a>
			</header>
			{c && <Now {...p} row={p.row!} />}
			<ClassForm {...p} />
		</aside>
	);
}

function trail(row: Row, shaper: string): string {
	const names: string[] = [];
	for (let r = row.parent; r; r = r.parent) names.unshift(r.state.name);
	return `in ${[shaper, ...names].join(" › ")}`;
}

const NO_HIDDEN: ReadonlySet<string> = new Set();

function Now({ shaper, row, sample: s, drops }: Props & { row: Row }): JSX.Element {
	useStore(stats);
	const [hidden, setHidden] = useState(NO_HIDDEN);
	const c = row.state;
	const p = past.get(shaper.name), series = p?.series.get(c.name);
	const w = p && windowOf(p, 120);
	const byReason = drops.perSecond.get(c.name);
	const marks = [
		...(c.rt_bps > 0 ? [{ at: c.rt_bps, name: "guarantee" }] : []),
		...(c.ul_bps > 0 && c.ul_bps < shaper.rate_bps ? [{ at: c.ul_bps, name: "limit" }] : []),
	];
	return (
		<section class="now" aria-label="Now">
			<dl class="figures-grid">
				<div><dt>Rate</dt><dd><Num of={rate(s?.bps ?? NaN)} strong /></dd></div>
				<div><dt>Packets</dt><dd><Num of={perSecond(s?.pps ?? NaN)} /></dd></div>
				<div><dt>Waiting</dt><dd><Num of={packets(s?.backlog_packets ?? NaN)} /> <small>{text(bytes(s?.backlog_bytes ?? NaN))}</small></dd></div>
				<div><dt>Delay p50</dt><dd><Num of={time(s?.delay_p50_ns ?? 0)} /></dd></div>
				<div><dt>Delay p99</dt><dd><Num of={time(s?.delay_p99_ns ?? 0)} /></dd></div>
				<div><dt>Sent</dt><dd><Num of={bytes(c.sent_bytes)} /></dd></div>
			</dl>
			{w && series && (
				<Chart label={`Rate of ${c.name} over the last two minutes`} times={w.times} format={rate} height={130} lines={marks} hidden={hidden}
					onToggle={(n) => setHidden(toggled(hidden, n))} curves={[{ name: c.name, color: 1, data: pick(series.bps, w.slots) }]} stacked />
			)}
			<table class="small">
				<thead><tr><th>Drops</th><th class="right">now</th><th class="right">in all</th></tr></thead>
				<tbody>
					{Object.entries(c.drops).map(([reason, n]) => (
						<tr key={reason}><td>{reason.replace(/_/g, " ")}</td>
							<td class="right"><Num of={perSecond(byReason?.[reason] ?? NaN)} /></td><td class="right"><span class="num">{count(n)}</span></td></tr>
					))}
					<tr><td>marked instead (ECN)</td><td /><td class="right"><span class="num">{count(c.marked)}</span></td></tr>
				</tbody>
			</table>
		</section>
	);
}

// ---- settings

const CLASS = "/shapers/*/classes/*/";
const LEAF = `${CLASS}leaf/`;

function fieldsOf(conf: JsonObject): Fields {
	return {
		name: "",
		parent: conf["parent"] === undefined ? "" : String(conf["parent"]),
		...curveFields("rt", conf["rt"]), ...curveFields("ls", conf["ls"]), ...curveFields("ul", conf["ul"]), ...curveFields("sc", conf["sc"]),
		...valueFields("leaf.", conf["leaf"]),
	};
}

const TITLES: Record<CurveKey, string> = {
	rt: "guarantee", ls: "share of the parent", ul: "upper limit", sc: "guarantee and share at once",
};

function ClassForm(p: Props): JSX.Element {
	const r = useStore(running);
	const may = mayWrite(useStore(access));
	const schema = useSchema();
	const [error, setError] = useState<unknown>(null);
	const form = useBlame(error);
	const adding = !p.row;
	const classes = ((r?.document["shapers"] as JsonObject | undefined)?.[p.shaper.name] as JsonObject | undefined)?.["classes"] as JsonObject | undefined;
	const conf = ((p.row && classes?.[p.row.state.name]) ?? {}) as JsonObject;
	const base = fieldsOf(conf);
	if (adding) base["ls.kind"] = "rate";
	const draft = `${p.shaper.name}/${adding ? "+" : p.row!.state.name}`;
	const editing = useDraft(draft, base);
	const f = editing.fields;
	const name = adding ? (f["name"] ?? "").trim() : p.row!.state.name;
	const pointer = `/shapers/${pointerEscape(p.shaper.name)}/classes/${pointerEscape(name)}`;
	const problems = problemsOf(error);
	const leaf = adding || !p.row!.leaves;
	const leafRows = schema.filter((s) => s.path.startsWith(LEAF));
	const joint = f["sc.kind"] !== "none" || (editing.base["sc.kind"] ?? "none") !== "none";
	const keys: CurveKey[] = joint ? ["sc", "rt", "ls", "ul"] : leaf ? ["rt", "ls", "ul"] : ["ls", "ul"];

	const body = (): JsonObject => {
		const out: JsonObject = {};
		for (const [k, v] of Object.entries(conf)) if (!["parent", "rt", "ls", "ul", "sc", "leaf"].includes(k)) out[k] = v;
		if (f["parent"]) out["parent"] = f["parent"];
		for (const k of ["sc", "rt", "ls", "ul"] as const) {
			const curve = curveJson(k, f, conf[k]);
			if (curve !== undefined) out[k] = curve;
		}
		const queue: JsonObject = {}, old = (conf["leaf"] ?? {}) as JsonObject;
		const known = new Set(leafRows.map((s) => s.path.slice(LEAF.length)));
		for (const [k, v] of Object.entries(old)) if (!known.has(k)) queue[k] = v;
		for (const k of known) {
			const now = (f[`leaf.${k}`] ?? "").trim();
			if (now) queue[k] = valueJson(now, settingRow(schema, LEAF + k), old[k] as Json | undefined);
		}
		if (Object.keys(queue).length || (conf["leaf"] !== undefined && !editing.dirty)) out["leaf"] = queue;
		return out;
	};
	const change = (): Write => ({
		title: adding ? `Add class ${name}` : `Change class ${name}`, method: "PUT",
		path: `/v1/config/shapers/${segment(p.shaper.name)}/classes/${segment(name)}`, body: body(), etag: editing.etag,
	});
	const send = async (w: Write, after: () => void): Promise<void> => {
		setError(null);
		try {
			await startReview(w, after, setError);
		} catch (e) {
			setError(e);
		}
	};
	const submit = (e: Event): void => {
		e.preventDefault();
		if (adding && (!name || classes?.[name] !== undefined))
			return setError(new Error(name ? `There is a class ${name} already.` : "A new class needs a name."));
		void send(change(), () => {
			editing.discard();
			if (adding) location.hash = `${p.here}/${encodeURIComponent(name)}`;
		});
	};
	const remove = (): Promise<void> =>
		send({ title: `Delete class ${name}`, method: "DELETE", path: change().path, etag: editing.etag }, () => {
			editing.discard();
			location.hash = p.here;
		});
	// A class cannot be its own ancestor, and a class with packets of its own has no children.
	const below = new Set<Row>();
	for (const row of p.all) if (row === p.row || (row.parent && below.has(row.parent))) below.add(row);
	const parents = p.all.filter((row) => !below.has(row) && (row.leaves || !row.state.rt_bps)).map((row) => row.state.name);

	return (
		<form class="form" ref={form} onSubmit={submit} aria-label={adding ? "New class" : `Settings of class ${name}`}>
			<h3>Settings {!may && <small>read only: your role is viewer</small>}</h3>
			<StaleNote editing={editing} />
			<ErrorNote error={error} />
			{adding && <Field label="Name" value={f["name"] ?? ""} onChange={(v) => editing.set("name", v)} placeholder="voice" />}
			<Field label="Parent" value={f["parent"] ?? ""} onChange={(v) => editing.set("parent", v)} disabled={!may} changed={f["parent"] !== editing.base["parent"]}
				errors={problems.filter((x) => x.pointer === `${pointer}/parent`).map((x) => x.text)}
				options={[["", `${p.shaper.name} (the shaper itself)`], ...(isRoot(f["parent"] ?? "") && f["parent"] ? [["root", "root"] as const] : []),
					...parents.map((n) => [n, n] as const)]} />
			{keys.map((k) => (
				<CurveField key={k} name={k} title={TITLES[k]} setting={settingRow(schema, CLASS + k)} editing={editing} pointer={`${pointer}/${k}`}
					problems={problems} disabled={!may} />
			))}
			{leaf && leafRows.length > 0 && (
				<details open={problems.some((x) => x.pointer.startsWith(`${pointer}/leaf`))}>
					<summary>Queue <small>{summary(f)}</small></summary>
					<div class="grid">
						{leafRows.map((s) => {
							const k = s.path.slice(LEAF.length);
							return <SettingField key={k} setting={s} editing={editing} field={`leaf.${k}`} pointer={`${pointer}/leaf/${k}`} problems={problems} disabled={!may} />;
						})}
					</div>
				</details>
			)}
			{may && (
				<div class="form-foot">
					<Buttons>
						<button type="submit" class="primary" disabled={!editing.dirty}>Review</button>
						{editing.dirty && <button type="button" class="plain" onClick={() => (editing.discard(), setError(null))}>Discard</button>}
						<span class="spread" />
						{name && <CopyButton text={() => curl(change(), {})}>Copy as curl</CopyButton>}
						{!adding && <button type="button" class="plain danger" onClick={remove}>Delete</button>}
					</Buttons>
				</div>
			)}
		</form>
	);
}

const summary = (f: Fields): string => {
	const set = Object.entries(f).filter(([k, v]) => k.startsWith("leaf.") && v).map(([k, v]) => `${k.slice(5)} ${v}`);
	return set.length ? set.join(", ") : "fq_codel with its defaults";
};
