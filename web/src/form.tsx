// SPDX-License-Identifier: GPL-2.0-or-later
// Forms over a piece of the configuration. A form's content is a flat record of texts, kept outside of the component: it
// survives a change of page and a session that ends, and it can be carried over to a newer revision field by field.
import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";
import type { Unit } from "./format";
import { exactRate, parseQuantity, rateText, text, time } from "./format";
import { running, schema } from "./revision";
import { Store, useStore } from "./store";
import type { Json, JsonObject, ProblemItem, Setting } from "./types";

export type Fields = Record<string, string>;

interface Draft {
	base: Fields; // what it was made from
	etag: string;
	fields: Fields;
}

export const drafts = new Store<ReadonlyMap<string, Draft>>(new Map());

export function dropDraft(key: string): void {
	const next = new Map(drafts.get());
	if (next.delete(key)) drafts.set(next);
}

export interface Editing {
	fields: Fields;
	base: Fields;
	etag: string;
	dirty: boolean;
	stale: boolean; // the configuration is no longer the one this began with
	set: (field: string, value: string) => void;
	rebase: () => void;
	discard: () => void;
}

export function useDraft(key: string, base: Fields): Editing {
	const draft = useStore(drafts).get(key);
	const etag = useStore(running)?.etag ?? "";
	const put = (d: Draft): void => drafts.set(new Map(drafts.get()).set(key, d));
	return {
		fields: draft?.fields ?? base,
		base: draft?.base ?? base,
		etag: draft?.etag ?? etag,
		dirty: draft !== undefined,
		stale: draft !== undefined && draft.etag !== etag,
		set: (field, value) => {
			const now = drafts.get().get(key) ?? { base, etag, fields: base };
			const fields = { ...now.fields, [field]: value };
			const same = Object.keys({ ...fields, ...now.base }).every((k) => (fields[k] ?? "") === (now.base[k] ?? ""));
			if (same) dropDraft(key);
			else put({ ...now, fields });
		},
		rebase: () => {
			if (!draft) return;
			const fields = { ...base };
			for (const [k, v] of Object.entries(draft.fields)) if (v !== (draft.base[k] ?? "")) fields[k] = v;
			put({ base, etag, fields });
		},
		discard: () => dropDraft(key),
	};
}

export function StaleNote({ editing }: { editing: Editing }): JSX.Element | null {
	if (!editing.stale) return null;
	return (
		<div class="note warn" role="status">
			<p>
				The configuration was changed since you began to edit. Nothing is overwritten by accident: writes based
				on the old revision are refused.
			</p>
			<p class="buttons">
				<button type="button" onClick={editing.rebase}>Load it, keep my edits</button>
				<button type="button" class="plain" onClick={editing.discard}>Load it, drop my edits</button>
			</p>
		</div>
	);
}

export function useSchema(): Setting[] {
	const [rows, setRows] = useState<Setting[]>([]);
	useEffect(() => void schema().then(setRows), []);
	return rows;
}

export const row = (rows: Setting[], path: string): Setting | undefined => rows.find((r) => r.path === path);

// A form that was refused moves the focus to the first field that is to blame, and the field into view.
export function useBlame(error: unknown): RefObject<HTMLFormElement> {
	const form = useRef<HTMLFormElement>(null);
	useEffect(() => {
		if (!error) return;
		const first = (selector: string): HTMLElement | null => form.current?.querySelector<HTMLElement>(selector) ?? null;
		(first("[aria-invalid='true']") ?? first(".note.bad"))?.focus();
	}, [error]);
	return form;
}

export const problemsOf = (error: unknown): ProblemItem[] => (error instanceof ApiError ? error.errors : []);
const at = (problems: ProblemItem[], pointer: string): string[] =>
	problems.filter((p) => p.pointer === pointer).map((p) => p.text);

interface FieldProps {
	label: string;
	value: string;
	onChange: (value: string) => void;
	errors?: string[];
	hint?: string; // of what was typed; shown when there is no error
	help?: string | undefined;
	placeholder?: string | undefined;
	disabled?: boolean | undefined;
	options?: readonly (readonly [string, string])[] | undefined; // a choice instead of a text
	changed?: boolean | undefined;
}

export function Field(p: FieldProps): JSX.Element {
	const id = useId();
	const bad = (p.errors?.length ?? 0) > 0;
	const common = { id, disabled: p.disabled ?? false, "aria-invalid": bad, "aria-describedby": `${id}-note` };
	return (
		<div class={`field${p.changed ? " changed" : ""}`}>
			<label for={id} title={p.help}>{p.label}</label>
			{p.options ? (
				<select {...common} value={p.value} onChange={(e) => p.onChange(e.currentTarget.value)}>
					{p.options.map(([value, name]) => <option key={value} value={value}>{name}</option>)}
				</select>
			) : (
				<input {...common} type="text" value={p.value} placeholder={p.placeholder ?? ""} autocomplete="off"
					spellcheck={false} autocapitalize="none" onInput={(e) => p.onChange(e.currentTarget.value)} />
			)}
			<span id={`${id}-note`} class={bad ? "field-note bad" : "field-note"}>
				{bad ? p.errors!.join("; ") : p.hint}
			</span>
		</div>
	);
}

const UNITS: Record<string, Unit> = {
	"bit/s": "bps", ns: "time", us: "time", bytes: "bytes",
};
const unitOf = (s: Setting): Unit => UNITS[s.unit] ?? "count";

// A default of the schema (a number in the unit's base) as one would write it.
function usualText(s: Setting): string {
	const v = s.default;
	if (v === null) return "";
	if (typeof v !== "number") return String(v);
	if (s.unit === "bit/s") return rateText(v);
	if (s.unit === "ns" || s.unit === "us") return text(time(s.unit === "us" ? v * 1000 : v)).replace(/\.0+ /, " ");
	return s.unit === "bytes" ? `${v} bytes` : String(v);
}

// What the browser can tell before the server is asked: "" if nothing is wrong.
function hintedError(s: Setting | undefined, unit: Unit, input: string): string {
	if (!input.trim() || s?.words?.includes(input.trim())) return "";
	const value = parseQuantity(input, unit);
	if (typeof value === "string") return value;
	if (!s || s.min === undefined || s.max === undefined || (value === 0 && s.or_zero)) return "";
	const base = s.unit === "us" ? 1000 : 1; // times are read as nanoseconds here
	return value < s.min * base || value > s.max * base ? `allowed: ${s.allowed}` : "";
}

const rateHint = (input: string): string => {
	const value = input.trim() ? parseQuantity(input, "bps") : "";
	return typeof value === "number" && value > 0 ? `= ${text(exactRate(value))}` : "";
};

// ---- one setting of the schema

export function SettingField(p: {
	setting: Setting;
	editing: Editing;
	field: string;
	pointer: string;
	problems: ProblemItem[];
	disabled?: boolean | undefined;
	options?: string[] | undefined;
}): JSX.Element {
	const { setting: s, editing } = p;
	const key = s.path.slice(s.path.lastIndexOf("/") + 1);
	const value = editing.fields[p.field] ?? "";
	const words = s.type === "boolean" ? ["true", "false"] : s.type === "word" ? s.words ?? [] : p.options;
	const usual = usualText(s);
	const unit = unitOf(s);
	const known = at(p.problems, p.pointer);
	const guess = words ? "" : hintedError(s, unit, value);
	return (
		<Field label={key} value={value} onChange={(v) => editing.set(p.field, v)} help={s.help} disabled={p.disabled}
			errors={known.length ? known : guess ? [guess] : []} changed={value !== (editing.base[p.field] ?? "")}
			hint={unit === "bps" && rateHint(value) ? rateHint(value) : s.help} placeholder={usual ? `default: ${usual}` : ""}
			options={words && [...(s.required ? [] : [["", usual ? `default (${usual})` : "not set"] as const]),
				...words.map((w) => [w, w] as const)]} />
	);
}

// ---- curves

export type CurveKey = "rt" | "ls" | "ul" | "sc";

const KINDS = [["none", "none"], ["rate", "one rate"], ["curve", "two pieces"]] as const;

const asText = (value: Json | undefined): string =>
	value === undefined ? "" : typeof value === "number" ? rateText(value) : String(value);
const plain = (value: Json | undefined): string => (value === undefined || value === null ? "" : String(value));

export function curveFields(key: CurveKey, value: Json | undefined): Fields {
	const c = typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
	return {
		[`${key}.kind`]: value === undefined ? "none" : c ? "curve" : "rate",
		[`${key}.rate`]: c ? asText(c["m2"]) : asText(value),
		[`${key}.m1`]: c ? asText(c["m1"]) : "",
		[`${key}.d`]: c ? plain(c["d"]) : "",
	};
}

const written = (input: string): Json => (/^[0-9]{1,15}$/.test(input.trim()) ? Number(input.trim()) : input.trim());
// What was not touched stays as it was written, so that a diff shows what somebody meant and nothing else.
const kept = (input: string, base: Json | undefined): Json =>
	base !== undefined && (asText(base) === input || plain(base) === input) ? base : written(input);

export function curveJson(key: CurveKey, fields: Fields, base: Json | undefined): Json | undefined {
	const kind = fields[`${key}.kind`] ?? "none";
	const c = typeof base === "object" && base !== null && !Array.isArray(base) ? base : undefined;
	if (kind === "none") return undefined;
	const m2 = fields[`${key}.rate`] ?? "";
	if (kind === "rate") return kept(m2, c ? c["m2"] : base);
	const out: JsonObject = {};
	if (fields[`${key}.m1`]) out["m1"] = kept(fields[`${key}.m1`]!, c?.["m1"]);
	if (fields[`${key}.d`]) out["d"] = kept(fields[`${key}.d`]!, c?.["d"]);
	out["m2"] = kept(m2, c ? c["m2"] : base);
	return out;
}

export function CurveField(p: {
	name: CurveKey;
	title: string;
	setting: Setting | undefined;
	editing: Editing;
	pointer: string;
	problems: ProblemItem[];
	disabled?: boolean | undefined;
}): JSX.Element {
	const { editing, name, disabled } = p;
	const id = useId();
	const get = (part: string): string => editing.fields[`${name}.${part}`] ?? "";
	const set = (part: string) => (v: string): void => editing.set(`${name}.${part}`, v);
	const changed = (part: string): boolean => get(part) !== (editing.base[`${name}.${part}`] ?? "");
	const kind = get("kind") || "none";
	const errors = (part: string, input: string, unit: Unit): string[] => {
		const known = at(p.problems, part ? `${p.pointer}/${part}` : p.pointer);
		const guess = input ? hintedError(part === "d" ? undefined : p.setting, unit, input) : "";
		return known.length ? known : guess ? [guess] : [];
	};
	const rateErrors = kind === "curve" ? [...errors("", "", "bps"), ...errors("m2", get("rate"), "bps")] : errors("", get("rate"), "bps");
	return (
		<div class="curve" role="group" aria-labelledby={id}>
			<div class="curve-head">
				<span id={id} class="curve-name"><code>{name}</code> {p.title}</span>
				<select aria-label={`${name}: kind of curve`} value={kind} disabled={disabled ?? false}
					onChange={(e) => set("kind")(e.currentTarget.value)}>
					{KINDS.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
				</select>
			</div>
			{kind === "none" && at(p.problems, p.pointer).map((t) => <span key={t} class="field-note bad">{t}</span>)}
			{kind === "rate" && (
				<Field label={`${name} rate`} value={get("rate")} onChange={set("rate")} errors={rateErrors} disabled={disabled}
					hint={rateHint(get("rate"))} placeholder="500mbit" changed={changed("rate") || changed("kind")} help={p.setting?.help} />
			)}
			{kind === "curve" && (
				<div class="pieces">
					<Field label="m1, at first" value={get("m1")} onChange={set("m1")} errors={errors("m1", get("m1"), "bps")}
						hint={rateHint(get("m1"))} placeholder="0" disabled={disabled} changed={changed("m1")} />
					<Field label="d, for" value={get("d")} onChange={set("d")} errors={errors("d", get("d"), "time")}
						placeholder="10ms" disabled={disabled} changed={changed("d")} />
					<Field label="m2, then" value={get("rate")} onChange={set("rate")} errors={rateErrors}
						hint={rateHint(get("rate"))} placeholder="2mbit" disabled={disabled} changed={changed("rate")} />
				</div>
			)}
		</div>
	);
}

// ---- plain values of an object, as the schema lists them

export function valueFields(prefix: string, value: Json | undefined): Fields {
	const out: Fields = {};
	if (typeof value === "object" && value !== null && !Array.isArray(value))
		for (const [k, v] of Object.entries(value)) if (typeof v !== "object") out[prefix + k] = prefix + k === "rate" ? asText(v) : plain(v);
	return out;
}

export function valueJson(input: string, setting: Setting | undefined, base: Json | undefined): Json {
	if (setting?.type === "boolean") return input === "true";
	return kept(input, base);
}

export function Buttons({ children }: { children: ComponentChildren }): JSX.Element {
	return <div class="buttons">{children}</div>;
}
