// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers for people, and the quantities of the configuration language (docs/configuration.md, "Rules of the language").
// Shown figures have three significant digits: more would flicker at one update a second and tell nothing.

export interface Figure {
	n: string;
	unit: string;
}

export const NONE: Figure = { n: "–", unit: "" };

type Scale = readonly (readonly [number, string])[];
const RATES: Scale = [[1, "bit/s"], [1e3, "kbit/s"], [1e6, "Mbit/s"], [1e9, "Gbit/s"], [1e12, "Tbit/s"]];
const COUNTS_PER_S: Scale = [[1, "/s"], [1e3, "k/s"], [1e6, "M/s"], [1e9, "G/s"]];
const PACKETS: Scale = [[1, "p"], [1e3, "kp"], [1e6, "Mp"], [1e9, "Gp"], [1e12, "Tp"]];
const BYTES: Scale = [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"], [1e15, "PB"]];
const TIMES: Scale = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

function scaled(value: number, scale: Scale, whole: boolean): Figure {
	if (!Number.isFinite(value)) return NONE;
	const size = Math.abs(value);
	let i = 0;
	while (i + 1 < scale.length && size >= 999.5 * scale[i]![0]) i++;
	const [unit, name] = scale[i]!;
	const x = value / unit;
	const digits = Math.abs(x) >= 99.95 || (i === 0 && whole) ? 0 : Math.abs(x) >= 9.995 ? 1 : 2;
	return { n: x.toFixed(x === 0 ? 0 : digits), unit: name };
}

export const rate = (bps: number): Figure => scaled(bps, RATES, true);
export const perSecond = (n: number): Figure => scaled(n, COUNTS_PER_S, true);
export const packets = (n: number): Figure => scaled(n, PACKETS, true);
export const bytes = (n: number): Figure => scaled(n, BYTES, true);
export const time = (ns: number): Figure => (ns > 0 ? scaled(ns, TIMES, true) : NONE);
export const text = (f: Figure): string => (f.unit ? `${f.n} ${f.unit}` : f.n);

// A rate somebody wrote down: exact, without zeros nobody wrote.
export function exactRate(bps: number): Figure {
	if (!(bps > 0)) return NONE;
	let i = 0;
	while (i + 1 < RATES.length && bps >= RATES[i + 1]![0]) i++;
	return { n: String(Number((bps / RATES[i]![0]).toPrecision(12))), unit: RATES[i]![1] };
}

const grouped = new Intl.NumberFormat("en-US");
// A whole counter: 12,345,678.
export const count = (n: number): string => (Number.isFinite(n) ? grouped.format(n) : "–");

export function clock(seconds: number): string {
	const s = Math.max(0, Math.floor(seconds));
	const parts: [number, string][] = [[Math.floor(s / 86400), "d"], [Math.floor(s / 3600) % 24, "h"],
		[Math.floor(s / 60) % 60, "min"], [s % 60, "s"]];
	const first = parts.findIndex(([n]) => n > 0);
	return first < 0 ? "0 s" : parts.slice(first, first + 2).map(([n, unit]) => `${n} ${unit}`).join(" ");
}

const pad = (n: number): string => String(n).padStart(2, "0");
// Local time, in an order that sorts.
export function date(rfc3339: string): string {
	const d = new Date(rfc3339);
	if (Number.isNaN(d.getTime())) return rfc3339;
	return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

export type Unit = "bps" | "time" | "bytes" | "count";

const UNITS: Record<Unit, Record<string, number>> = {
	bps: { "": 1, bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9, tbit: 1e12 },
	time: { ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12 },
	bytes: { "": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 1024, mib: 1048576, gib: 1073741824 },
	count: { "": 1 },
};
const EXAMPLES: Record<Unit, string> = {
	bps: "such as 500mbit", time: "such as 5ms", bytes: "such as 1514b", count: "a whole number",
};

// Reads "500mbit"; a text that starts with "not" or "is" says what is wrong. Hints only: the last word is the server's.
export function parseQuantity(input: string, unit: Unit): number | string {
	const match = /^(-?[0-9]+(?:\.[0-9]+)?) ?([a-z]*)$/i.exec(input.trim());
	if (!match) return `not understood: ${EXAMPLES[unit]}`;
	const number = Number(match[1]);
	const factor = UNITS[unit][match[2]!.toLowerCase()];
	if (factor === undefined) {
		if (number === 0 && !match[2]) return 0;
		const units = Object.keys(UNITS[unit]).filter((u) => u).join(", ");
		return units ? `is missing a unit: one of ${units}` : "is a number without a unit";
	}
	const value = number * factor;
	// 1.5 * 1000 may come out a hair beside the whole number it means.
	if (Math.abs(value - Math.round(value)) > 1e-6 * factor && Math.abs(value - Math.round(value)) > 1e-6)
		return "is no whole number of the base unit";
	return Math.round(value);
}

// The shortest exact text of a rate: 1500000 -> "1.5mbit".
export function rateText(bps: number): string {
	const units: [string, number][] = [["tbit", 1e12], ["gbit", 1e9], ["mbit", 1e6], ["kbit", 1e3]];
	for (const [name, factor] of units)
		if (bps >= factor && Number.isInteger((bps * 1000) / factor)) return `${bps / factor}${name}`;
	return String(bps);
}
