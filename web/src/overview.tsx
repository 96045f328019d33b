// SPDX-License-Identifier: GPL-2.0-or-later
// Is all well? Ports, shapers, what is wrong right now, and which revision is in force.
import type { JSX } from "preact";
import { get } from "./api";
import { Spark } from "./chart";
import { Charts } from "./charts";
import { count, date, exactRate, perSecond, rate, text } from "./format";
import { alarms, portPast, stats } from "./live";
import { Badge, ErrorNote, Num, Panel, StateBadge, usePolled } from "./parts";
import type { Running } from "./revision";
import { pending, running } from "./revision";
import { useStore } from "./store";
import { Meter } from "./system";
import type { ClassSample, JsonObject, PortState, ShaperState, Stats, WorkersState } from "./types";

const sum = (values: Record<string, number> | undefined): number =>
	Object.values(values ?? {}).reduce((a, b) => a + b, 0);

// What is wrong at this moment, told from the figures; alarms are what the box itself has reported.
function concerns(s: Stats | null, workers: WorkersState | undefined): string[] {
	const out: string[] = [];
	for (const p of s?.ports ?? []) {
		if (!p.up) out.push(`Port ${p.name} has no link.`);
		if (p.lost_pps > 0) out.push(`Port ${p.name} loses ${text(perSecond(p.lost_pps))} packets before they have a class.`);
	}
	for (const w of s?.workers ?? [])
		if (w.busy_percent >= 95) out.push(`Worker ${w.worker} is ${Math.round(w.busy_percent)} % busy: CPU-bound.`);
	const lost = workers?.frames["unaccounted"] ?? 0;
	if (lost > 0) out.push(`${count(lost)} packet buffers are unaccounted for.`);
	return out;
}

export function Overview(): JSX.Element {
	const s = useStore(stats);
	const ports = usePolled((signal) => get<{ ports: PortState[] }>("/v1/state/ports", signal), 2000, "ports");
	const workers = usePolled((signal) => get<WorkersState>("/v1/state/workers", signal), 5000, "workers");
	const shapers = usePolled((signal) => get<{ shapers: ShaperState[] }>("/v1/state/shapers", signal), 5000, "shapers");
	return (
		<main class="page overview">
			<h1 class="hidden">Overview</h1>
			<div class="columns">
				<RevisionPanel />
				<ConcernPanel now={concerns(s, workers.value)} />
			</div>
			<PortsPanel ports={ports.value?.ports ?? []} error={ports.error} stats={s} />
			<ShapersPanel shapers={shapers.value?.shapers ?? []} error={shapers.error} stats={s} />
		</main>
	);
}

function RevisionPanel(): JSX.Element {
	const r = useStore(running);
	const p = useStore(pending);
	return (
		<Panel title="Configuration" aside={<a href="#/history">History</a>}>
			{!r ? <p class="quiet">…</p> : (
				<div class="fact">
					<span class="big num">{r.id}</span>
					<span>
						revision in force {p?.id === r.id ? <Badge tone="warn">pending</Badge> : r.revision && <StateBadge state={r.revision.state} />}
						{r.revision && (
							<small>{r.revision.author || "unknown"}, {date(r.revision.created)}{r.revision.comment && `: ${r.revision.comment}`}</small>
						)}
					</span>
				</div>
			)}
		</Panel>
	);
}

function ConcernPanel({ now }: { now: string[] }): JSX.Element {
	const past = useStore(alarms);
	return (
		<Panel title="Alarms" aside={past.length > 0 && (
			<button type="button" class="plain" onClick={() => alarms.set([])}>Clear the list</button>
		)}>
			{!now.length && !past.length && <p class="allwell"><Badge tone="good">none</Badge> since this page was opened</p>}
			<ul class="alarms" aria-live="polite">
				{now.map((t) => <li key={t}><Badge tone="bad">now</Badge> {t}</li>)}
				{past.map((a) => (
					<li key={`${a.at} ${a.text}`}><Badge tone="warn">{date(new Date(a.at).toISOString()).slice(11)}</Badge> {a.text}</li>
				))}
			</ul>
		</Panel>
	);
}

const MODES: Record<string, string> = {
	zerocopy: "the device writes straight into weir's memory",
	copy: "native mode with one copy by the driver",
	generic: "the slow way: the device's driver has no XDP support",
};

function PortsPanel({ ports, error, stats: s }: { ports: PortState[]; error: unknown; stats: Stats | null }): JSX.Element {
	return (
		<Panel title="Ports">
			<ErrorNote error={error} />
			<table class="cards">
				<thead>
					<tr>
						<th>Port</th><th>Device</th><th>Link</th><th>Mode</th>
						<th class="right">Receives</th><th aria-hidden="true" class="sparks" /><th class="right">Sends</th><th aria-hidden="true" class="sparks" />
						<th class="right">Lost</th><th class="right">Dropped</th>
					</tr>
				</thead>
				<tbody>
					{ports.map((p) => {
						const live = s?.ports.find((l) => l.name === p.name);
						const past = portPast.get(p.name);
						const up = live?.up ?? p.up, mode = live?.mode ?? p.mode;
						return (
							<tr key={p.name}>
								<th scope="row" class="title">{p.name}</th>
								<td data-label="Device"><code>{p.device}</code></td>
								<td data-label="Link"><Badge tone={up ? "good" : "bad"}>{up ? "up" : "down"}</Badge></td>
								<td data-label="Mode"><span title={MODES[mode]}>{mode}</span></td>
								<td data-label="Receives" class="right">
									<Num of={rate(live?.rx_bps ?? NaN)} strong />
									<small><Num of={perSecond(live?.rx_pps ?? NaN)} /></small>
								</td>
								<td class="sparks"><Spark values={past?.rx ?? []} color={1} /></td>
								<td data-label="Sends" class="right">
									<Num of={rate(live?.tx_bps ?? NaN)} strong />
									<small><Num of={perSecond(live?.tx_pps ?? NaN)} /></small>
								</td>
								<td class="sparks"><Spark values={past?.tx ?? []} color={2} /></td>
								<td data-label="Lost" class="right" title="Lost by the device before weir saw them">
									<span class={p.rx_lost > 0 ? "num warn-text" : "num"}>{count(p.rx_lost)}</span>
								</td>
								<td data-label="Dropped" class="right" title={dropsTitle(p.drops)}><span class="num">{count(sum(p.drops))}</span></td>
							</tr>
						);
					})}
				</tbody>
			</table>
			{!ports.length && !error && <p class="quiet">No ports.</p>}
		</Panel>
	);
}

const dropsTitle = (drops: Record<string, number> | undefined): string =>
	Object.entries(drops ?? {}).filter(([, n]) => n > 0).map(([reason, n]) => `${reason}: ${count(n)}`).join("\n") || "nothing dropped";

// The classes of a shaper in the order of the configuration, without those that have others below them: those carry sums.
function leavesOf(r: Running | null, shaper: string): string[] {
	const conf = (r?.document["shapers"] as JsonObject | undefined)?.[shaper] as JsonObject | undefined;
	const classes = Object.entries((conf?.["classes"] ?? {}) as JsonObject);
	const above = new Set(classes.map(([, c]) => String((c as JsonObject)["parent"] ?? "root")));
	return classes.map(([name]) => name).filter((name) => !above.has(name));
}

const CHARTS = 3;

function ShapersPanel({ shapers, error, stats: s }: { shapers: ShaperState[]; error: unknown; stats: Stats | null }): JSX.Element {
	const r = useStore(running);
	return (
		<Panel title="Shapers">
			<ErrorNote error={error} />
			<table class="cards">
				<thead>
					<tr><th>Shaper</th><th>Port</th><th class="right">Link rate</th><th class="right">Sent</th><th class="wide">In use</th>
						<th class="right">Classes</th><th class="right">Backlog</th><th class="right">Drops</th></tr>
				</thead>
				<tbody>
					{shapers.map((sh) => {
						const leaves = new Set(leavesOf(r, sh.name));
						const live = s?.shapers.find((l) => l.name === sh.name);
						const port = s?.ports.find((p) => p.name === sh.port);
						const used = live && sh.rate_bps > 0 ? Math.min(1, (port?.tx_bps ?? 0) / sh.rate_bps) : 0;
						const total = (pick: (c: ClassSample) => number): number =>
							live ? live.classes.reduce((a, c) => a + (leaves.has(c.name) ? pick(c) : 0), 0) : NaN;
						return (
							<tr key={sh.name}>
								<th scope="row" class="title"><a href={`#/shapers/${encodeURIComponent(sh.name)}`}>{sh.name}</a></th>
								<td data-label="Port">{sh.port}</td>
								<td data-label="Link rate" class="right"><Num of={exactRate(sh.rate_bps)} /></td>
								<td data-label="Sent" class="right"><Num of={rate(port?.tx_bps ?? NaN)} strong /></td>
								<td data-label="In use" class="wide">
									<Meter part={used} label="Link in use" />
								</td>
								<td data-label="Classes" class="right"><span class="num">{count(sh.classes)}</span></td>
								<td data-label="Backlog" class="right"><span class="num">{count(total((c) => c.backlog_packets))}</span> p</td>
								<td data-label="Drops" class="right"><Num of={perSecond(total((c) => c.drops_ps))} /></td>
							</tr>
						);
					})}
				</tbody>
			</table>
			{!shapers.length && !error && <p class="quiet">No shapers.</p>}
			{shapers.slice(0, CHARTS).map((sh) => <Charts key={sh.name} brief shaper={sh} names={leavesOf(r, sh.name)} />)}
		</Panel>
	);
}
