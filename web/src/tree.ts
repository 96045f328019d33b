// SPDX-License-Identifier: GPL-2.0-or-later
// A shaper's classes as rows: in the order of the configuration, children below their parent.
import type { ClassSample, ClassState } from "./types";

export interface Row {
	state: ClassState;
	depth: number;
	parent: Row | null;
	leaves: boolean; // has children
}

export const isRoot = (name: string): boolean => !name || name === "root";

export function rows(classes: ClassState[]): Row[] {
	const children = new Map<string, ClassState[]>();
	const known = new Set(classes.map((c) => c.name));
	for (const c of classes) {
		if (isRoot(c.name)) continue;
		// Between two requests a parent may be new: its children then stand at the top until the next.
		const above = isRoot(c.parent) || !known.has(c.parent) ? "" : c.parent;
		const list = children.get(above);
		if (list) list.push(c);
		else children.set(above, [c]);
	}
	const out: Row[] = [];
	const visit = (above: string, parent: Row | null): void => {
		for (const state of children.get(above) ?? []) {
			const row: Row = { state, depth: parent ? parent.depth + 1 : 0, parent, leaves: children.has(state.name) };
			out.push(row);
			if (row.leaves) visit(state.name, row);
		}
	};
	visit("", null);
	return out;
}

// Rows that match, with all that is above them.
export function matching(all: Row[], match: (row: Row) => boolean): Row[] {
	const keep = new Set<Row>();
	for (const row of all)
		if (match(row)) for (let r: Row | null = row; r && !keep.has(r); r = r.parent) keep.add(r);
	return all.filter((row) => keep.has(row));
}

export function visible(all: Row[], closed: ReadonlySet<string>): Row[] {
	if (!closed.size) return all;
	const hidden = new Set<Row>();
	return all.filter((row) => {
		if (!row.parent || !(hidden.has(row.parent) || closed.has(row.parent.state.name))) return true;
		hidden.add(row);
		return false;
	});
}

// What the class may reach: its own limit, or the lowest above it.
export function ceiling(row: Row, link: number): number {
	let least = link > 0 ? link : Infinity;
	for (let r: Row | null = row; r; r = r.parent) if (r.state.ul_bps > 0) least = Math.min(least, r.state.ul_bps);
	return least;
}

export type Verdict = "idle" | "flowing" | "limit" | "short";

// "short": packets wait, and the class gets less than it was promised. One second's figure moves by a few percent on its own.
export function verdict(row: Row, sample: ClassSample | undefined, link: number): Verdict {
	if (!sample || (sample.bps === 0 && sample.backlog_packets === 0)) return "idle";
	if (!row.leaves && sample.backlog_packets > 0 && row.state.rt_bps > 0 && sample.bps < 0.95 * row.state.rt_bps)
		return "short";
	return row.state.ul_bps > 0 && row.state.ul_bps < link && sample.bps >= 0.97 * row.state.ul_bps ? "limit" : "flowing";
}
