// SPDX-License-Identifier: GPL-2.0-or-later
// One shaper: the past minutes as charts, its classes as a tree of bars, and a panel for the class that is chosen.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { access, get, mayWrite } from "./api";
import { toggled } from "./chart";
import { Charts } from "./charts";
import { ClassPanel } from "./classpanel";
import { bytes, exactRate, packets, perSecond, rate, text, time } from "./format";
import { drafts } from "./form";
import { stats } from "./live";
import { Badge, Choice, ErrorNote, Num, Panel, usePolled } from "./parts";
import { running } from "./revision";
import { ShaperForm } from "./shaperform";
import { useStore } from "./store";
import type { Row, Verdict } from "./tree";
import { ceiling, matching, rows, verdict, visible } from "./tree";
import type { ClassSample, ClassState, ShaperState } from "./types";

export interface Drops {
	perSecond: Map<string, Record<string, number>>; // by class, then reason
}

// The counters of all classes, and from two answers in a row the drops of each reason per second.
function useClasses(shaper: string, many: boolean): { classes: ClassState[]; drops: Drops; error: unknown; asked: boolean } {
	const before = useRef<{ shaper: string; at: number; classes: Map<string, ClassState> } | null>(null);
	const drops = useRef<Drops>({ perSecond: new Map() });
	const { value, error } = usePolled(async (signal) => {
		const answer = await get<{ classes: ClassState[] }>(`/v1/state/shapers/${encodeURIComponent(shaper)}/classes`, signal);
		const at = performance.now(), last = before.current;
		const now = new Map(answer.classes.map((c) => [c.name, c]));
		const perSecond = new Map<string, Record<string, number>>();
		if (last && last.shaper === shaper && at > last.at)
			for (const [name, c] of now) {
				const old = last.classes.get(name);
				if (!old) continue;
				const rates: Record<string, number> = {};
				for (const [reason, n] of Object.entries(c.drops))
					rates[reason] = Math.max(0, (n - (old.drops[reason] ?? 0)) * 1000) / (at - last.at);
				perSecond.set(name, rates);
			}
		before.current = { shaper, at, classes: now };
		drops.current = { perSecond };
		return answer;
	}, many ? 10000 : 2000, shaper);
	return { classes: value?.classes ?? [], drops: drops.current, error, asked: value !== undefined || error !== null };
}

export function ShapersPage({ name, chosen }: { name: string | undefined; chosen: string | undefined }): JSX.Element {
	const list = usePolled((signal) => get<{ shapers: ShaperState[] }>("/v1/state/shapers", signal), 5000, "shapers");
	const shapers = list.value?.shapers ?? [];
	const current = shapers.find((s) => s.name === name) ?? (name ? undefined : shapers[0]);
	return (
		<main class="page shapers">
			<h1 class="hidden">Shapers</h1>
			<ErrorNote error={list.error} />
			{shapers.length > 1 && (
				<nav class="tabs" aria-label="Shapers">
					{shapers.map((s) => (
						<a key={s.name} href={`#/shapers/${encodeURIComponent(s.name)}`} aria-current={s === current ? "page" : undefined}>{s.name}</a>
					))}
				</nav>
			)}
			{current ? <Shaper key={current.name} shaper={current} chosen={chosen} />
				: list.value && <p class="quiet">{name ? `There is no shaper ${name}.` : "No shapers are configured."}</p>}
		</main>
	);
}

const leafNames = (all: Row[]): string[] => all.filter((r) => !r.leaves).map((r) => r.state.name);

function Shaper({ shaper, chosen }: { shaper: ShaperState; chosen: string | undefined }): JSX.Element {
	const { classes, drops, error, asked } = useClasses(shaper.name, shaper.classes > 500);
	const [settings, setSettings] = useState(false);
	const all = useMemo(() => rows(classes), [classes]);
	const s = useStore(stats);
	useStore(running); // a change of names comes with the next poll; of the rest at once
	const samples = useMemo(() => new Map(
		(s?.shapers.find((x) => x.name === shaper.name)?.classes ?? []).map((c) => [c.name, c])), [s, shaper.name]);
	const row = all.find((r) => r.state.name === chosen);
	const adding = chosen === "+";
	const here = `#/shapers/${encodeURIComponent(shaper.name)}`;
	return (
		<div class={row || adding ? "split open" : "split"}>
			<div class="split-main">
				<Panel title={<>{shaper.name}<small>on port {shaper.port}, {shaper.rate_bps ? text(exactRate(shaper.rate_bps)) : "unlimited"}</small></>}
					aside={<button type="button" class="plain" aria-expanded={settings} onClick={() => setSettings(!settings)}>Settings</button>}>
					{settings && <ShaperForm shaper={shaper.name} leaves={leafNames(all)} onClose={() => setSettings(false)} />}
					<Charts shaper={shaper} names={leafNames(all)} />
				</Panel>
				<ErrorNote error={error} />
				<Tree shaper={shaper} all={all} samples={samples} drops={drops} chosen={row} here={here} />
				{asked && !error && !all.length && <p class="quiet">No classes.</p>}
			</div>
			{(row || adding) && (
				<ClassPanel key={adding ? "+" : row!.state.name} shaper={shaper} row={row} all={all} drops={drops} here={here}
					sample={row && samples.get(row.state.name)} />
			)}
			{chosen && !adding && !row && asked && classes.length > 0 && <p class="note warn">There is no class {chosen} in this shaper.</p>}
		</div>
	);
}

// ---- the tree

const ROWS = 150;
const VERDICTS: Record<Verdict, readonly ["good" | "warn" | "bad" | "calm", string] | null> = {
	idle: null, flowing: null, limit: ["warn", "at its limit"], short: ["bad", "below its guarantee"],
};

function Tree(p: { shaper: ShaperState; all: Row[]; samples: Map<string, ClassSample>; drops: Drops; chosen: Row | undefined; here: string }): JSX.Element {
	const [filter, setFilter] = useState("");
	const [active, setActive] = useState(false);
	const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
	const [limit, setLimit] = useState(ROWS);
	const [scale, setScale] = useState<"link" | "class">("link");
	const write = mayWrite(useStore(access));
	const edited = useStore(drafts);
	const wanted = filter.trim().toLowerCase();
	const filtered = wanted || active
		? matching(p.all, (r) => (!wanted || r.state.name.toLowerCase().includes(wanted)) &&
			(!active || (p.samples.get(r.state.name)?.bps ?? 0) > 0 || (p.samples.get(r.state.name)?.backlog_packets ?? 0) > 0))
		: visible(p.all, closed);
	return (
		<Panel class="tree-panel" title={<>Classes<small>{p.all.length}</small></>} aside={
			<>
				<input type="search" class="filter" placeholder="Filter by name" aria-label="Filter classes by name" value={filter}
					onInput={(e) => (setFilter(e.currentTarget.value), setLimit(ROWS))} />
				<label class="check"><input type="checkbox" checked={active} onChange={(e) => setActive(e.currentTarget.checked)} /><span>with traffic</span></label>
				<Choice label="Scale of the bars" value={scale} options={[["link", "Bars of the link"], ["class", "of the class"]]} onChange={setScale} />
				{write && <a class="button" href={`${p.here}/+`}>Add a class</a>}
			</>
		}>
			<table class={p.all.some((r) => r.leaves) ? "tree" : "tree flat"}>
				<thead>
					<tr>
						<th>Class</th><th class="right">Rate</th>
						<th class="barcol"><BarKey /></th>
						<th class="right conf">Guarantee</th><th class="right conf">Share</th><th class="right conf">Limit</th>
						<th class="right">Delay p50</th><th class="right">p99</th><th class="right">Backlog</th><th class="right">Drops</th>
					</tr>
				</thead>
				<tbody>
					{filtered.slice(0, limit).map((r) => (
						<TreeRow key={r.state.name} row={r} sample={p.samples.get(r.state.name)} link={p.shaper.rate_bps} scale={scale}
							drops={p.drops} here={p.here} chosen={r === p.chosen} closed={closed.has(r.state.name)}
							edited={edited.has(`${p.shaper.name}/${r.state.name}`)} onFold={() => setClosed(toggled(closed, r.state.name))} />
					))}
				</tbody>
			</table>
			{filtered.length > limit && (
				<p class="more">
					<button type="button" onClick={() => setLimit(limit + ROWS)}>Show {Math.min(ROWS, filtered.length - limit)} more</button>{" "}
					<span class="quiet">{limit} of {filtered.length}</span>
				</p>
			)}
			{p.all.length > 0 && !filtered.length && <p class="quiet">No class matches.</p>}
		</Panel>
	);
}

function BarKey(): JSX.Element {
	return (
		<span class="barkey">
			<span><i class="k-rt" />guarantee</span><span><i class="k-ls" />share</span><span><i class="k-ul" />limit</span>
		</span>
	);
}

const curveText = (bps: number): JSX.Element => <Num of={exactRate(bps)} />;
const total = (drops: Record<string, number>): number => Object.values(drops).reduce((a, b) => a + b, 0);

function TreeRow(p: {
	row: Row; sample: ClassSample | undefined; link: number; scale: "link" | "class"; drops: Drops; here: string;
	chosen: boolean; closed: boolean; edited: boolean; onFold: () => void;
}): JSX.Element {
	const { state: c, depth } = p.row;
	const s = p.sample;
	const v = VERDICTS[verdict(p.row, s, p.link)];
	const byReason = p.drops.perSecond.get(c.name);
	const title = Object.entries(c.drops).map(([reason, n]) =>
		`${reason}: ${text(perSecond(byReason?.[reason] ?? 0))}, ${n.toLocaleString("en-US")} in all`).join("\n");
	const open = (e: MouseEvent): void => {
		if ((e.target as HTMLElement).closest("a,button")) return;
		location.hash = `${p.here}/${encodeURIComponent(c.name)}`;
	};
	return (
		<tr class={p.chosen ? "chosen" : ""} onClick={open}>
			<th scope="row" class={`name d${Math.min(depth, 8)}`}>
				{p.row.leaves ? (
					<button type="button" class="fold" aria-expanded={!p.closed} aria-label={`Classes below ${c.name}`} onClick={p.onFold}>
						<svg viewBox="0 0 10 10" aria-hidden="true"><path d="M3 1.500 7 5 3 8.500" /></svg>
					</button>
				) : <span class="nofold" />}
				<a href={`${p.here}/${encodeURIComponent(c.name)}`} aria-current={p.chosen ? "true" : undefined}>{c.name}</a>
				{c.default && <span class="tag" title="takes what no rule matches">default</span>}
				{p.edited && <span class="tag edited">edited</span>}
				{v && <span class="verdict"><Badge tone={v[0]}>{v[1]}</Badge></span>}
			</th>
			<td class="right rate"><Num of={rate(s?.bps ?? NaN)} strong /></td>
			<td class="barcol"><Bar row={p.row} bps={s?.bps ?? 0} link={p.link} scale={p.scale} /></td>
			<td class="right conf">{curveText(c.rt_bps)}</td>
			<td class="right conf">{curveText(c.ls_bps)}</td>
			<td class="right conf">{curveText(c.ul_bps)}</td>
			<td class="right p50" data-label="p50"><Num of={time(s?.delay_p50_ns ?? 0)} /></td>
			<td class="right p99" data-label="p99"><Num of={time(s?.delay_p99_ns ?? 0)} /></td>
			<td class="right backlog" data-label="waiting" title={s ? text(bytes(s.backlog_bytes)) : ""}><Num of={packets(s?.backlog_packets ?? NaN)} /></td>
			<td class="right drops" data-label="drops" title={title}>
				<Num of={perSecond(s?.drops_ps ?? NaN)} />
				<small><span class="num">{text(packets(total(c.drops)))}</span></small>
			</td>
		</tr>
	);
}

// What flows, against what was promised. Up to the guarantee the bar is dark; what is above it was lent by others.
export function Bar({ row, bps, link, scale }: { row: Row; bps: number; link: number; scale: "link" | "class" }): JSX.Element {
	const c = row.state;
	const top = ceiling(row, link);
	const most = Math.max(c.rt_bps, c.ls_bps, bps, c.ul_bps > 0 && c.ul_bps < link ? c.ul_bps : 0);
	const full = scale === "link" ? (link > 0 ? link : most || 1) : Math.max(1, Math.min(most * 1.25, Math.max(top, most)));
	const x = (v: number): number => Math.min(100, (100 * v) / full);
	const sure = Math.min(bps, c.rt_bps);
	return (
		<svg class="bar" role="img" aria-label={`${text(rate(bps))}${c.rt_bps ? `, guaranteed ${text(exactRate(c.rt_bps))}` : ""}`}>
			<rect class="track" x="0" y="5" width="100%" height="8" rx="2" />
			<rect class="lent" x="0" y="5" width={`${x(bps)}%`} height="8" rx="2" />
			<rect class="sure" x="0" y="5" width={`${x(sure)}%`} height="8" rx="2" />
			{c.ls_bps > 0 && <rect class="ls" x={`${x(c.ls_bps)}%`} y="3" width="2" height="12" />}
			{c.ul_bps > 0 && c.ul_bps <= full && <rect class="ul" x={`${x(c.ul_bps)}%`} y="1" width="2" height="16" transform="translate(-2 0)" />}
			{c.rt_bps > 0 && <svg class="rt" x={`${x(c.rt_bps)}%`} y="0" overflow="visible"><path d="M-3.500 0h7L0 5z" /><rect x="-.75" y="4" width="1.500" height="10" /></svg>}
		</svg>
	);
}

