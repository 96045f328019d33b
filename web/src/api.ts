// SPDX-License-Identifier: GPL-2.0-or-later
// The one place that talks to the server. Three things are handled here so that no caller has to think of them: the CSRF
// header, a session that ended (everything stays on the screen, a login appears over it), and errors, which always
// arrive as one kind of exception.
import { Store } from "./store";
import type { Info, Json, Problem, ProblemItem, Receipt, Session } from "./types";

export class ApiError extends Error {
	readonly errors: ProblemItem[];
	constructor(readonly status: number, problem: Problem, readonly retryAfter = 0) {
		super(problem.detail || problem.title || `The server answered ${status}.`);
		this.errors = problem.errors ?? [];
	}
}

// "unknown" until the server was asked; "ended" keeps who it was.
export type Access =
	| { state: "unknown" }
	| { state: "nobody" }
	| { state: "ended"; session: Session }
	| { state: "in"; session: Session };
export const access = new Store<Access>({ state: "unknown" });

export const mayWrite = (a: Access): boolean =>
	(a.state === "in" || a.state === "ended") && a.session.role !== "viewer";

interface Options {
	body?: Json;
	etag?: string;
	signal?: AbortSignal;
}

export interface Answer<T> {
	body: T;
	etag: string;
}

async function send<T>(method: string, path: string, o: Options): Promise<Answer<T>> {
	const headers: Record<string, string> = { Accept: "application/json" };
	const a = access.get();
	if (method !== "GET" && a.state === "in" && a.session.csrf) headers["X-Weir-CSRF"] = a.session.csrf;
	if (o.etag !== undefined) headers["If-Match"] = o.etag;
	if (o.body !== undefined) headers["Content-Type"] = "application/json";
	const init: RequestInit = { method, headers, credentials: "same-origin", cache: "no-store" };
	if (o.body !== undefined) init.body = JSON.stringify(o.body);
	if (o.signal) init.signal = o.signal;

	let response: Response, raw: string;
	try {
		response = await fetch(path, init);
		raw = await response.text();
	} catch (e) {
		if ((e as Error).name === "AbortError") throw e;
		throw new ApiError(0, { detail: "weir does not answer. Is it running, and is the network up?" });
	}
	let body: unknown;
	try {
		body = raw ? JSON.parse(raw) : null;
	} catch {
		body = null;
	}
	if (!response.ok)
		throw new ApiError(response.status, (body ?? {}) as Problem, Number(response.headers.get("Retry-After")) || 0);
	return { body: body as T, etag: response.headers.get("ETag") ?? "" };
}

function ended(): void {
	const a = access.get();
	if (a.state === "in") access.set({ state: "ended", session: a.session });
	else if (a.state === "unknown") access.set({ state: "nobody" });
}

// Throws ApiError, and nothing else but the AbortError of a caller's signal.
export async function call<T>(method: string, path: string, o: Options = {}): Promise<Answer<T>> {
	try {
		return await send<T>(method, path, o);
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		if (e.status === 401) ended();
		// Logged in anew in another tab: the cookie is that one's, the CSRF value still ours.
		if (e.status === 403 && method !== "GET" && access.get().state === "in" && (await renewed()))
			return send<T>(method, path, o);
		throw e;
	}
}

async function renewed(): Promise<boolean> {
	const a = access.get();
	const { body } = await send<Session>("GET", "/v1/session", {});
	if (a.state !== "in" || body.csrf === a.session.csrf) return false;
	access.set({ state: "in", session: body });
	return true;
}

export const get = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
	(await call<T>("GET", path, signal ? { signal } : {})).body;

export async function whoAmI(): Promise<void> {
	try {
		access.set({ state: "in", session: await get<Session>("/v1/session") });
	} catch (e) {
		if ((e as ApiError).status !== 401) throw e;
	}
}

export async function login(user: string, password: string): Promise<void> {
	const { body } = await send<Session>("POST", "/v1/session", { body: { user, password } });
	access.set({ state: "in", session: body });
}

export async function logout(): Promise<void> {
	try {
		await send<null>("DELETE", "/v1/session", {});
	} finally {
		access.set({ state: "nobody" });
	}
}

export const changePassword = async (user: string, old_password: string, password: string): Promise<void> =>
	void (await call("PUT", `/v1/users/${encodeURIComponent(user)}`, { body: { password, old_password } }));

export const info = (): Promise<Info> => get<Info>("/v1/info");

// A write as the user means it; what it was based on travels with it.
export interface Write {
	title: string;
	method: "PUT" | "PATCH" | "DELETE" | "POST";
	path: string;
	body?: Json;
	etag: string;
}

export interface WriteOptions {
	dryRun?: boolean;
	confirm?: number;
	restart?: boolean;
	comment?: string;
}

function target(w: Write, o: WriteOptions): string {
	const query = new URLSearchParams();
	if (o.dryRun) query.set("dry_run", "1");
	if (o.confirm) query.set("confirm", String(o.confirm));
	if (o.restart) query.set("restart", "1");
	if (o.comment) query.set("comment", o.comment);
	const text = query.toString();
	return text ? `${w.path}?${text}` : w.path;
}

export async function write(w: Write, o: WriteOptions): Promise<Receipt> {
	const options: Options = { etag: w.etag };
	if (w.body !== undefined) options.body = w.body;
	return (await call<Receipt>(w.method, target(w, o), options)).body;
}

const quoted = (s: string): string => `'${s.replace(/'/g, "'\\''")}'`;

// The same write for a shell; curl asks for the password. -k, because the certificate is weir's own until one is installed.
export function curl(w: Write, o: WriteOptions): string {
	const a = access.get();
	const user = a.state === "in" || a.state === "ended" ? a.session.user : "admin";
	const parts = [`curl -k -u ${quoted(user)} -X ${w.method}`, `-H ${quoted(`If-Match: ${w.etag}`)}`];
	if (w.body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(w.body))}`);
	parts.push(quoted(location.origin + target(w, o)));
	return parts.join(" \\\n  ");
}

// A segment of a path below /v1/config: escaped twice, as a JSON pointer's and as a URL's.
export const segment = (name: string): string => encodeURIComponent(pointerEscape(name));
export const pointerEscape = (name: string): string => name.replace(/~/g, "~0").replace(/\//g, "~1");
