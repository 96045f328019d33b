// SPDX-License-Identifier: GPL-2.0-or-later
// The event stream, and the last ten minutes of it. EventSource reconnects by itself after some failures and gives up
// after others (an HTTP error), so reconnecting is done here for all of them: 1 s doubling to 30 s, at once when the browser
// comes back online. A stream that is open but silent for 5 s counts as lost too.
import { access, whoAmI } from "./api";
import { refresh } from "./revision";
import { Store } from "./store";
import type { ShaperSample, Stats } from "./types";

export type Link =
	| { state: "off" | "connecting" | "live" }
	| { state: "waiting"; retryAt: number };

export const link = new Store<Link>({ state: "off" });
export const stats = new Store<Stats | null>(null);

export interface Alarm {
	at: number;
	text: string;
}
const ALARMS_MAX = 50;
export const alarms = new Store<Alarm[]>([]);

export const SAMPLES = 600;
// A shaper of thousands of classes keeps the past of those that have traffic, up to this many (7 KB each).
const SERIES_MAX = 512;

export interface Series {
	bps: Float32Array;
	p50: Float32Array;
	p99: Float32Array;
}

// Rings with one common write position. Unwritten and missing samples are NaN.
export class Past {
	readonly time = new Float64Array(SAMPLES).fill(NaN);
	readonly series = new Map<string, Series>();
	head = 0; // next to write
	private lastAt = 0;

	private advance(at: number): number {
		const slot = this.head;
		this.head = (this.head + 1) % SAMPLES;
		this.time[slot] = at;
		for (const s of this.series.values()) s.bps[slot] = s.p50[slot] = s.p99[slot] = NaN;
		return slot;
	}

	private add(name: string): Series | undefined {
		if (this.series.size >= SERIES_MAX) return undefined;
		const empty = (): Float32Array => new Float32Array(SAMPLES).fill(NaN);
		const s = { bps: empty(), p50: empty(), p99: empty() };
		this.series.set(name, s);
		return s;
	}

	push(at: number, shaper: ShaperSample): void {
		if (this.lastAt && at - this.lastAt > 3) this.advance(this.lastAt + 1); // a gap is drawn as a gap
		this.lastAt = at;
		const slot = this.advance(at);
		for (const c of shaper.classes) {
			const s = this.series.get(c.name) ?? (c.bps > 0 || shaper.classes.length <= 64 ? this.add(c.name) : undefined);
			if (!s) continue;
			s.bps[slot] = c.bps;
			s.p50[slot] = c.delay_p50_ns > 0 ? c.delay_p50_ns : NaN;
			s.p99[slot] = c.delay_p99_ns > 0 ? c.delay_p99_ns : NaN;
		}
	}

	// Calls with the slots of the last `seconds`, oldest first.
	slots(seconds: number): number[] {
		const out: number[] = [];
		const from = this.lastAt - seconds;
		for (let i = 0; i < SAMPLES; i++) {
			const slot = (this.head + i) % SAMPLES;
			if (this.time[slot]! >= from) out.push(slot);
		}
		return out;
	}
}

export const past = new Map<string, Past>();
export const PORT_SAMPLES = 90;
export const portPast = new Map<string, { rx: number[]; tx: number[] }>();

function keep(s: Stats): void {
	const at = (typeof s.time === "number" ? s.time * 1000 : Date.parse(s.time)) / 1000 || Date.now() / 1000;
	for (const shaper of s.shapers) {
		let p = past.get(shaper.name);
		if (!p) past.set(shaper.name, (p = new Past()));
		p.push(at, shaper);
	}
	for (const port of s.ports) {
		let p = portPast.get(port.name);
		if (!p) portPast.set(port.name, (p = { rx: [], tx: [] }));
		p.rx.push(port.rx_bps);
		p.tx.push(port.tx_bps);
		if (p.rx.length > PORT_SAMPLES) p.rx.shift(), p.tx.shift();
	}
}

let source: EventSource | null = null;
let retry = 0, silence = 0, delay = 1000;

function close(): void {
	source?.close();
	source = null;
	clearTimeout(retry);
	clearTimeout(silence);
}

function heard(): void {
	delay = 1000;
	if (link.get().state !== "live") link.set({ state: "live" });
	clearTimeout(silence);
	silence = window.setTimeout(lost, 5000);
}

function lost(): void {
	close();
	if (access.get().state !== "in") return link.set({ state: "off" });
	const wait = delay * (0.75 + Math.random() / 2);
	delay = Math.min(2 * delay, 30000);
	link.set({ state: "waiting", retryAt: performance.now() + wait });
	retry = window.setTimeout(reconnect, wait);
}

// The stream cannot tell a session that ended from a network that did; an ordinary request can.
export async function reconnect(): Promise<void> {
	close();
	link.set({ state: "connecting" });
	try {
		await whoAmI();
		await refresh();
	} catch {
		return lost();
	}
	if (access.get().state === "in") connect();
	else link.set({ state: "off" });
}

const parsed = (e: Event): unknown => {
	try {
		return JSON.parse((e as MessageEvent<string>).data);
	} catch {
		return null;
	}
};

function connect(): void {
	close();
	link.set({ state: "connecting" });
	const mine = (source = new EventSource("/v1/events"));
	silence = window.setTimeout(lost, 10000);
	mine.addEventListener("open", heard);
	mine.addEventListener("error", () => {
		if (mine === source) lost();
	});
	mine.addEventListener("stats", (e) => {
		const s = parsed(e) as Stats | null;
		if (!s) return;
		heard();
		keep(s);
		stats.set(s);
	});
	mine.addEventListener("revision", () => void refresh().catch(() => undefined));
	mine.addEventListener("alarm", (e) => {
		const a = parsed(e) as { text?: string } | null;
		if (a?.text) alarms.set([{ at: Date.now(), text: a.text }, ...alarms.get()].slice(0, ALARMS_MAX));
	});
}

// Follows the login: a stream while somebody is in, none otherwise.
export function startLive(): void {
	const follow = (): void => {
		if (access.get().state === "in") {
			if (!source && link.get().state === "off") {
				connect();
				void refresh().catch(() => undefined);
			}
		} else {
			close();
			link.set({ state: "off" });
		}
	};
	access.watch(follow);
	addEventListener("online", () => {
		if (link.get().state === "waiting") void reconnect();
	});
	addEventListener("pagehide", close);
	addEventListener("pageshow", (e) => {
		if (e.persisted) void reconnect();
	});
	follow();
}
