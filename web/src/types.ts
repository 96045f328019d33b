// SPDX-License-Identifier: GPL-2.0-or-later
// What the API speaks (docs/rest-api.md), as far as the dashboard uses it.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
	[key: string]: Json;
}

export type Role = "viewer" | "operator" | "admin";

export interface Session {
	user: string;
	role: Role;
	csrf?: string;
}

export interface Info {
	name: string;
	version: string;
	api: string;
	started: string;
	uptime_s: number;
}

export interface ProblemItem {
	pointer: string;
	text: string;
}

export interface Problem {
	title?: string;
	status?: number;
	detail?: string;
	errors?: ProblemItem[];
}

export interface Change {
	op: "add" | "remove" | "replace";
	path: string;
	from?: Json;
	to?: Json;
}

export interface Warning {
	path?: string;
	pointer?: string;
	text: string;
}

export interface Receipt {
	revision?: number;
	state?: "confirmed" | "pending";
	seconds_left?: number;
	applied: boolean;
	duration_ns?: number;
	longest_pause_ns?: number;
	packets_lost?: number;
	changes: Change[];
	warnings?: Warning[];
}

export type RevisionState = "stored" | "pending" | "confirmed" | "reverted" | "failed";

export interface Revision {
	id: number;
	parent: number;
	state: RevisionState;
	created: string;
	author: string;
	comment: string;
	source: string;
	summary: string;
	seconds_left?: number;
}

export interface Diff {
	from: number;
	to: number;
	changes: Change[];
}

export interface PortState {
	name: string;
	device: string;
	up: boolean;
	mode: string;
	rx_packets: number;
	rx_bytes: number;
	tx_packets: number;
	tx_bytes: number;
	rx_lost: number;
	drops: Record<string, number>;
	queues: unknown[];
}

export interface ShaperState {
	name: string;
	port: string;
	rate_bps: number;
	worker: number;
	classes: number;
}

export interface ClassState {
	name: string;
	parent: string;
	leaf: string;
	default: boolean;
	rt_bps: number;
	ls_bps: number;
	ul_bps: number;
	sent_packets: number;
	sent_bytes: number;
	backlog_packets: number;
	backlog_bytes: number;
	drops: Record<string, number>;
	marked: number;
	delay_p50_ns: number;
	delay_p99_ns: number;
}

export interface WorkerState {
	worker: number;
	sleeps?: number;
	handed_over?: number;
	frames_held?: number;
	fdb_entries?: number;
	longest_pause_ns?: number;
}

export interface WorkersState {
	workers: WorkerState[];
	frames: Record<string, number>;
}

export interface DropState {
	reason: string;
	text: string;
	packets: number;
}

// A row of the table of all settings; the path has "*" for names. Numbers are in the unit's base.
export interface Setting {
	path: string;
	type: string;
	unit: string;
	help: string;
	allowed: string; // as the messages say it
	min?: number;
	max?: number;
	words?: string[];
	or_zero?: boolean;
	required: boolean;
	default: Json;
	change: "live" | "restart";
}

export interface PortSample {
	name: string;
	rx_bps: number;
	rx_pps: number;
	tx_bps: number;
	tx_pps: number;
	lost_pps: number;
	up: boolean;
	mode: string;
}

export interface ClassSample {
	name: string;
	bps: number;
	pps: number;
	drops_ps: number;
	backlog_packets: number;
	backlog_bytes: number;
	delay_p50_ns: number;
	delay_p99_ns: number;
}

export interface ShaperSample {
	name: string;
	rate_bps: number;
	classes: ClassSample[];
	truncated?: boolean; // only the busiest are listed
}

// One event of a second.
export interface Stats {
	time: string | number;
	ports: PortSample[];
	shapers: ShaperSample[];
	workers: { worker: number; busy_percent: number }[];
}
