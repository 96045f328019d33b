// SPDX-License-Identifier: GPL-2.0-or-later
// The configuration in force and the revision that is pending, if one is. Asked for after every event that may have
// changed them, so that the screen follows whoever else works on the box.
import { call, get } from "./api";
import { Store } from "./store";
import type { JsonObject, Receipt, Revision, Setting } from "./types";

export interface Running {
	document: JsonObject;
	etag: string;
	id: number;
	revision: Revision | null; // author and time; null while the history could not be read
}

export interface Pending {
	id: number;
	author: string;
	endsAt: number; // performance.now() when it reverts by itself
	total: number; // seconds, as far as we know, for the bar
}

export const running = new Store<Running | null>(null);
export const pending = new Store<Pending | null>(null);
export const lastReceipt = new Store<Receipt | null>(null);

const idOf = (etag: string): number => Number(/[0-9]+/.exec(etag)?.[0] ?? 0);

let asked = 0;

export async function refresh(): Promise<void> {
	const mine = ++asked;
	const [config, list] = await Promise.all([
		call<JsonObject>("GET", "/v1/config"),
		get<{ revisions: Revision[] }>("/v1/revisions?limit=20"),
	]);
	const waiting = list.revisions.find((r) => r.state === "pending");
	let left = 0;
	if (waiting) {
		try {
			left = (await get<Revision>("/v1/revisions/pending")).seconds_left ?? 0;
		} catch {
			left = 0; // ended just now; the event of that will ask again
		}
	}
	if (mine !== asked) return; // a later question will know better
	const id = idOf(config.etag);
	running.set({ document: config.body, etag: config.etag, id,
		revision: list.revisions.find((r) => r.id === id) ?? null });
	const before = pending.get();
	pending.set(waiting && left > 0
		? { id: waiting.id, author: waiting.author, endsAt: performance.now() + left * 1000,
			total: before?.id === waiting.id ? Math.max(before.total, left) : left }
		: null);
}

// After a write: what it answered is known at once, the rest is asked for.
export async function applied(receipt: Receipt): Promise<void> {
	lastReceipt.set(receipt);
	await refresh();
}

export async function decide(id: number, verb: "confirm" | "revert"): Promise<void> {
	try {
		await call("POST", `/v1/revisions/${id}/${verb}`);
	} finally {
		await refresh();
	}
}

let settings: Promise<Setting[]> | null = null;
// The table of all settings; it cannot change while the program runs.
export function schema(): Promise<Setting[]> {
	settings ??= get<{ settings: Setting[] }>("/v1/schema").then(
		(s) => s.settings,
		() => ((settings = null), []),
	);
	return settings;
}
