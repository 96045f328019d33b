// SPDX-License-Identifier: GPL-2.0-or-later
// Workers, packet buffers, every reason to drop a packet, and the program itself.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, info } from "./api";
import { clock, count, perSecond, time } from "./format";
import { stats } from "./live";
import { ErrorNote, Num, Panel, usePolled } from "./parts";
import { useStore } from "./store";
import type { DropState, Info, WorkersState } from "./types";

export function SystemPage(): JSX.Element {
	return (
		<main class="page system">
			<h1 class="hidden">System</h1>
			<div class="columns">
				<div>
					<WorkersPanel />
					<InfoPanel />
				</div>
				<DropsPanel />
			</div>
		</main>
	);
}

function WorkersPanel(): JSX.Element {
	const s = useStore(stats);
	const { value, error } = usePolled((signal) => get<WorkersState>("/v1/state/workers", signal), 3000, "workers");
	const f = value?.frames;
	const total = f?.["total"] ?? 0;
	return (
		<>
			<Panel title="Workers">
				<ErrorNote error={error} />
				<table class="cards">
					<thead><tr><th>Worker</th><th class="right">Busy</th><th class="wide" /><th class="right">Holds</th><th class="right">Addresses</th><th class="right">Longest pause</th></tr></thead>
					<tbody>
						{(value?.workers ?? []).map((w) => {
							const busy = s?.workers.find((x) => x.worker === w.worker)?.busy_percent;
							return (
								<tr key={w.worker}>
									<th scope="row" class="title num">{w.worker}</th>
									<td data-label="Busy" class="right"><Num of={busy === undefined ? { n: "–", unit: "" } : { n: busy.toFixed(busy < 9.95 ? 1 : 0), unit: "%" }} strong /></td>
									<td class="wide"><Meter part={(busy ?? 0) / 100} label={`Worker ${w.worker} busy`} /></td>
									<td data-label="Holds" class="right" title="packets waiting in its schedulers"><span class="num">{count(w.frames_held ?? NaN)}</span> p</td>
									<td data-label="Addresses" class="right" title="MAC addresses it has learnt"><span class="num">{count(w.fdb_entries ?? NaN)}</span></td>
									<td data-label="Longest pause" class="right" title="longest gap between two turns of its loop while it was busy"><Num of={time(w.longest_pause_ns ?? NaN)} /></td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</Panel>
			<Panel title={<>Packet buffers<small>{total ? `${count(total)} in all` : ""}</small></>}>
				<table class="small">
					<tbody>
						{Object.entries(f ?? {}).filter(([k]) => k !== "total").map(([k, n]) => (
							<tr key={k} class={k === "unaccounted" && n > 0 ? "warn-text" : ""}>
								<td>{PLACES[k] ?? k}</td>
								<td class="wide">{k !== "unaccounted" && <Meter part={total ? n / total : 0} label={PLACES[k] ?? k} />}</td>
								<td class="right"><span class="num">{count(n)}</span></td>
							</tr>
						))}
					</tbody>
				</table>
			</Panel>
		</>
	);
}

const PLACES: Record<string, string> = {
	pool: "free", cache: "free, with a worker", held: "waiting in schedulers", handoff: "between workers", fill: "with devices, to receive into",
	rx: "received", tx: "with devices, to send", unaccounted: "unaccounted for",
};

export function Meter({ part, label }: { part: number; label: string }): JSX.Element {
	const percent = Math.max(0, Math.min(100, part * 100));
	return (
		<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={`${label}: ${Math.round(percent)} %`}>
			<rect class="track" width="100" height="8" />
			<rect class="fill" width={percent} height="8" />
		</svg>
	);
}

function DropsPanel(): JSX.Element {
	const before = useRef<{ at: number; packets: Map<string, number> } | null>(null);
	const rates = useRef(new Map<string, number>());
	const [quiet, setQuiet] = useState(false);
	const { value, error } = usePolled(async (signal) => {
		const answer = await get<{ drops: DropState[] }>("/v1/state/drops", signal);
		const at = performance.now(), last = before.current;
		rates.current = new Map(answer.drops.map((d) =>
			[d.reason, last && at > last.at ? Math.max(0, d.packets - (last.packets.get(d.reason) ?? d.packets)) * 1000 / (at - last.at) : NaN]));
		before.current = { at, packets: new Map(answer.drops.map((d) => [d.reason, d.packets])) };
		return answer.drops;
	}, 2000, "drops");
	const all = value ?? [];
	const shown = quiet ? all : all.filter((d) => d.packets > 0);
	return (
		<Panel title="Drops by reason" aside={<label class="check"><input type="checkbox" checked={quiet} onChange={(e) => setQuiet(e.currentTarget.checked)} /><span>all reasons</span></label>}>
			<ErrorNote error={error} />
			<table class="small drops-table">
				<thead><tr><th>Reason</th><th class="right">now</th><th class="right">in all</th></tr></thead>
				<tbody>
					{shown.map((d) => (
						<tr key={d.reason}>
							<td><span>{d.text}</span><small><code>{d.reason}</code></small></td>
							<td class="right"><Num of={perSecond(rates.current.get(d.reason) ?? NaN)} /></td>
							<td class="right"><span class="num">{count(d.packets)}</span></td>
						</tr>
					))}
				</tbody>
			</table>
			{value && !shown.length && <p class="quiet">No packet was dropped.</p>}
		</Panel>
	);
}

function InfoPanel(): JSX.Element {
	const [i, setInfo] = useState<Info | null>(null);
	const [error, setError] = useState<unknown>(null);
	useEffect(() => void info().then(setInfo, setError), []);
	return (
		<Panel title="Program">
			<ErrorNote error={error} />
			{i && (
				<dl class="facts">
					<dt>Version</dt><dd>{i.version}</dd>
					<dt>Running for</dt><dd>{clock(i.uptime_s)}</dd>
					<dt>For programs</dt><dd><a href="/v1/schema">settings</a>, <a href="/metrics">metrics</a></dd>
				</dl>
			)}
		</Panel>
	);
}
