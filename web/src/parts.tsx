// SPDX-License-Identifier: GPL-2.0-or-later
// Small things that several pages show.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";
import type { Figure } from "./format";
import type { Change, Json, ProblemItem, RevisionState } from "./types";

// A figure with its unit, each with a place of its own, so that columns stay put while digits change.
export function Num({ of, strong }: { of: Figure; strong?: boolean }): JSX.Element {
	return (
		<span class={strong ? "num strong" : "num"}>
			{of.n}
			{of.unit && <span class="unit">{"\u202f"}{of.unit}</span>}
		</span>
	);
}

export function Logo(): JSX.Element {
	return (
		<svg class="logo" viewBox="0 0 32 32" fill="none" aria-hidden="true">
			<path class="wall" d="M11 13h5.5l2.5 16h-8z" />
			<path class="water" d="M2 8.5h12.5c8 0 5.500 16 15.500 16" stroke-width="3.200" stroke-linecap="round" />
			<path class="water thin" d="M2 15h5M2 21.500h5M24.500 29.500h5.500" stroke-width="2" stroke-linecap="round" />
		</svg>
	);
}

export function Panel(props: {
	title: ComponentChildren;
	aside?: ComponentChildren;
	children: ComponentChildren;
	class?: string;
}): JSX.Element {
	return (
		<section class={`panel ${props.class ?? ""}`}>
			<header class="panel-head">
				<h2>{props.title}</h2>
				{props.aside && <div class="panel-aside">{props.aside}</div>}
			</header>
			{props.children}
		</section>
	);
}

export type Tone = "good" | "warn" | "bad" | "calm";
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
	return <span class={`badge ${tone}`}>{children}</span>;
}

const STATES: Record<RevisionState, Tone> = {
	stored: "calm", pending: "warn", confirmed: "good", reverted: "calm", failed: "bad",
};
export const StateBadge = ({ state }: { state: RevisionState }): JSX.Element => (
	<Badge tone={STATES[state] ?? "calm"}>{state}</Badge>
);

// A choice between a few: radio buttons that look like one control.
export function Choice<T extends string>(props: {
	label: string;
	value: T;
	options: readonly (readonly [T, string])[];
	onChange: (value: T) => void;
	disabled?: boolean;
}): JSX.Element {
	const name = useRef(`choice-${Math.random().toString(36).slice(2)}`);
	return (
		<fieldset class="choice" disabled={props.disabled ?? false}>
			<legend class="hidden">{props.label}</legend>
			{props.options.map(([value, text]) => (
				<label key={value}>
					<input type="radio" name={name.current} checked={value === props.value}
						onChange={() => props.onChange(value)} />
					<span>{text}</span>
				</label>
			))}
		</fieldset>
	);
}

export function ErrorNote({ error, children }: { error: unknown; children?: ComponentChildren }): JSX.Element | null {
	if (!error) return null;
	return (
		<div class="note bad" role="alert" tabIndex={-1}>
			<p>{error instanceof Error ? error.message : String(error)}</p>
			{error instanceof ApiError && <ProblemList items={error.errors} />}
			{children}
		</div>
	);
}

export function ProblemList({ items }: { items: ProblemItem[] }): JSX.Element | null {
	if (!items.length) return null;
	return (
		<ul class="problems">
			{items.map((p) => (
				<li key={p.pointer + p.text}>
					<code>{p.pointer || "/"}</code> {p.text}
				</li>
			))}
		</ul>
	);
}

export const shown = (value: Json | undefined): string =>
	value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

const OPS = { add: "added", remove: "removed", replace: "changed" } as const;
const CHANGES_MAX = 200;

export function Changes({ changes }: { changes: Change[] }): JSX.Element {
	if (!changes.length) return <p class="quiet">No difference.</p>;
	return (
		<>
			<ul class="changes">
				{changes.slice(0, CHANGES_MAX).map((c) => (
					<li key={c.op + c.path} class={c.op}>
						<span class="op">{OPS[c.op] ?? c.op}</span>
						<code class="where">{c.path || "/"}</code>
						<span class="values">
							{c.from !== undefined && <del>{shown(c.from)}</del>}
							{c.from !== undefined && c.to !== undefined && <span class="arrow" aria-label="becomes">→</span>}
							{c.to !== undefined && <ins>{shown(c.to)}</ins>}
						</span>
					</li>
				))}
			</ul>
			{changes.length > CHANGES_MAX && <p class="quiet">… and {changes.length - CHANGES_MAX} more.</p>}
		</>
	);
}

export function CopyButton({ text, children }: { text: () => string; children: ComponentChildren }): JSX.Element {
	const [state, setState] = useState<"" | "copied" | "failed">("");
	const copy = (): void => {
		navigator.clipboard.writeText(text()).then(
			() => setState("copied"),
			() => setState("failed"),
		);
	};
	useEffect(() => {
		if (!state) return;
		const timer = setTimeout(() => setState(""), 2000);
		return () => clearTimeout(timer);
	}, [state]);
	return (
		<button type="button" class="plain" onClick={copy} title={text()}>
			<span aria-live="polite">{state === "copied" ? "Copied" : state === "failed" ? "Copying was refused" : children}</span>
		</button>
	);
}

// A modal dialog of the browser: focus stays inside, Escape closes it.
export function Dialog(props: {
	title: string;
	onClose: () => void;
	children: ComponentChildren;
	class?: string;
	locked?: boolean; // cannot be dismissed
}): JSX.Element {
	const ref = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		const dialog = ref.current!;
		dialog.showModal();
		return () => dialog.close();
	}, []);
	return (
		<dialog ref={ref} class={props.class ?? ""} aria-labelledby="dialog-title"
			onCancel={(e) => {
				e.preventDefault();
				if (!props.locked) props.onClose();
			}}>
			<header class="dialog-head">
				<h2 id="dialog-title">{props.title}</h2>
				{!props.locked && (
					<button type="button" class="plain close" aria-label="Close" onClick={props.onClose}>✕</button>
				)}
			</header>
			{props.children}
		</dialog>
	);
}

// Asks again every `ms` while the page is visible; the last good answer stays while one fails.
export function usePolled<T>(ask: (signal: AbortSignal) => Promise<T>, ms: number, key: string): {
	value: T | undefined;
	error: unknown;
} {
	const [state, setState] = useState<{ key: string; value: T | undefined; error: unknown }>({
		key, value: undefined, error: null });
	useEffect(() => {
		const stop = new AbortController();
		let timer = 0;
		const turn = async (): Promise<void> => {
			if (!document.hidden) {
				try {
					const value = await ask(stop.signal);
					if (!stop.signal.aborted) setState({ key, value, error: null });
				} catch (error) {
					if (!stop.signal.aborted) setState((s) => ({ key, value: s.key === key ? s.value : undefined, error }));
				}
			}
			if (!stop.signal.aborted) timer = window.setTimeout(turn, ms);
		};
		const seen = (): void => {
			if (document.hidden) return;
			clearTimeout(timer);
			void turn();
		};
		void turn();
		document.addEventListener("visibilitychange", seen);
		return () => {
			stop.abort();
			clearTimeout(timer);
			document.removeEventListener("visibilitychange", seen);
		};
	}, [key, ms]);
	return state.key === key ? state : { value: undefined, error: null };
}

// Renders once a second, for clocks.
export function useSecond(on = true): number {
	const [now, setNow] = useState(performance.now());
	useEffect(() => {
		if (!on) return;
		const timer = setInterval(() => setNow(performance.now()), 500);
		return () => clearInterval(timer);
	}, [on]);
	return on ? performance.now() : now;
}
