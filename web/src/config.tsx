// SPDX-License-Identifier: GPL-2.0-or-later
// The whole configuration as text. What is wrong with it is shown at its line: syntax while one types, the rest when the
// server is asked.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Write } from "./api";
import { access, curl, mayWrite, write } from "./api";
import { startReview } from "./commit";
import { Buttons, problemsOf, StaleNote, useDraft } from "./form";
import { Changes, CopyButton, ErrorNote, Panel } from "./parts";
import type { Place } from "./place";
import { find, scan } from "./place";
import { running } from "./revision";
import { useStore } from "./store";
import type { Json, Receipt } from "./types";

const WIDTH = 100;

// Objects that fit on a line stay on one: rules and classes read as a table. `lead` is what stands before on the line.
export function layOut(value: Json, indent = "", lead = 0): string {
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const list = Array.isArray(value);
	const entries = list ? value.map((v) => ["", v] as const) : Object.entries(value).map(([k, v]) => [`${JSON.stringify(k)}: `, v] as const);
	const [open, end] = list ? "[]" : "{}";
	const flat = open + entries.map(([key, v]) => key + layOut(v, "", -Infinity)).join(", ") + end;
	if (!entries.length || indent.length + lead + flat.length < WIDTH) return flat;
	const deeper = `${indent}  `;
	return `${open}\n${entries.map(([key, v]) => deeper + key + layOut(v, deeper, key.length)).join(",\n")}\n${indent}${end}`;
}

interface Finding {
	text: string;
	pointer: string;
	place: Place;
}

export function ConfigPage(): JSX.Element {
	const r = useStore(running);
	return <main class="page config"><h1 class="hidden">Configuration</h1>{r ? <Editor document={r.document} /> : <p class="quiet">…</p>}</main>;
}

function Editor({ document: doc }: { document: Json }): JSX.Element {
	const may = mayWrite(useStore(access));
	const base = useMemo(() => ({ text: layOut(doc) }), [doc]);
	const editing = useDraft("//config", base);
	const text = editing.fields["text"] ?? "";
	const [answer, setAnswer] = useState<{ for: string; error: unknown; receipt: Receipt | null } | null>(null);
	const area = useRef<HTMLTextAreaElement>(null);
	const gutter = useRef<HTMLPreElement>(null);
	const parsed = useMemo(() => scan(text), [text]);
	const fresh = answer?.for === text ? answer : null; // an answer is about the text it was asked about

	const findings: Finding[] = parsed.error
		? [{ text: parsed.error.text, pointer: "", place: parsed.error.place }]
		: problemsOf(fresh?.error).map((p) => ({ ...p, place: find(parsed.places, p.pointer) ?? { line: 1, offset: 0 } }));
	const marked = new Set(findings.map((f) => f.place.line));
	const lines = text.split("\n").length;

	const go = (place: Place): void => {
		const a = area.current!;
		a.focus();
		const end = text.indexOf("\n", place.offset);
		a.setSelectionRange(place.offset, end < 0 ? text.length : end);
		a.scrollTop = Math.max(0, (place.line - 6) * 20);
	};
	const change = (): Write => ({ title: "Replace the configuration", method: "PUT", path: "/v1/config", body: JSON.parse(text) as Json, etag: editing.etag });
	const ask = async (review: boolean): Promise<void> => {
		if (parsed.error) return go(parsed.error.place);
		setAnswer(null);
		try {
			if (review) await startReview(change(), editing.discard, (error) => setAnswer({ for: text, error, receipt: null }));
			else setAnswer({ for: text, error: null, receipt: await write(change(), { dryRun: true }) });
		} catch (error) {
			setAnswer({ for: text, error, receipt: null });
		}
	};
	return (
		<Panel title="Configuration" aside={
			<>
				{editing.dirty && <button type="button" class="plain" onClick={editing.discard}>Discard</button>}
				{!parsed.error && <CopyButton text={() => curl(change(), {})}>Copy as curl</CopyButton>}
			</>
		}>
			<div class="editor-notes">
				<StaleNote editing={editing} />
				{fresh?.error && !findings.length ? <ErrorNote error={fresh.error} /> : null}
				{findings.length > 0 && (
					<div class="note bad" role="alert">
						<p>{parsed.error ? "This is not JSON yet." : `${findings.length === 1 ? "One problem" : `${findings.length} problems`}; nothing was changed.`}</p>
						<ul class="problems">
							{findings.map((f) => (
								<li key={f.pointer + f.text}>
									<button type="button" class="plain line" onClick={() => go(f.place)}>line {f.place.line}</button>{" "}
									{f.pointer && <code>{f.pointer}</code>} {f.text}
								</li>
							))}
						</ul>
					</div>
				)}
				{fresh?.receipt && (
					<div class="note good" role="status">
						<p>Valid.</p>
						<Changes changes={fresh.receipt.changes} />
						{(fresh.receipt.warnings ?? []).map((w) => <p key={w.text}><code>{w.path}</code> {w.text}</p>)}
					</div>
				)}
			</div>
			<div class="editor">
				<pre ref={gutter} class="gutter" aria-hidden="true">
					{Array.from({ length: lines }, (_, i) => <span key={i} class={marked.has(i + 1) ? "bad" : ""}>{i + 1}{"\n"}</span>)}
				</pre>
				<textarea ref={area} aria-label="Configuration as JSON" spellcheck={false} autocapitalize="none" autocomplete="off" wrap="off" readOnly={!may}
					value={text} rows={Math.min(Math.max(lines + 1, 12), 36)} onInput={(e) => editing.set("text", e.currentTarget.value)}
					onScroll={(e) => (gutter.current!.scrollTop = e.currentTarget.scrollTop)} />
			</div>
			{may && (
				<div class="form-foot">
					<Buttons>
						<button type="button" class="primary" disabled={!editing.dirty || parsed.error !== null} onClick={() => ask(true)}>Review</button>
						<button type="button" onClick={() => ask(false)}>Validate</button>
					</Buttons>
				</div>
			)}
		</Panel>
	);
}
