// SPDX-License-Identifier: GPL-2.0-or-later
// All revisions, what differs between any two, and the way back to one.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { access, get, mayWrite } from "./api";
import { startReview } from "./commit";
import { date } from "./format";
import { Badge, Changes, ErrorNote, Panel, StateBadge } from "./parts";
import { running } from "./revision";
import { useStore } from "./store";
import type { Diff, Revision } from "./types";

const PAGE = 50;

export function HistoryPage(): JSX.Element {
	const r = useStore(running);
	const may = mayWrite(useStore(access));
	const [list, setList] = useState<Revision[]>([]);
	const [more, setMore] = useState(false);
	const [error, setError] = useState<unknown>(null);
	const [pair, setPair] = useState<{ from: number; to: number } | null>(null);

	const load = async (before?: number): Promise<void> => {
		try {
			const { revisions } = await get<{ revisions: Revision[] }>(`/v1/revisions?limit=${PAGE}${before ? `&before=${before}` : ""}`);
			setList((old) => (before ? [...old, ...revisions] : revisions));
			setMore(revisions.length === PAGE);
			setError(null);
		} catch (e) {
			setError(e);
		}
	};
	useEffect(() => void load(), [r]);

	const rollback = async (id: number): Promise<void> => {
		setError(null);
		try {
			await startReview({ title: `Roll back to revision ${id}`, method: "POST", path: `/v1/revisions/${id}/rollback`, etag: r?.etag ?? "*" },
				() => undefined, setError);
		} catch (e) {
			setError(e);
		}
	};
	const from = pair?.from ?? list[0]?.parent ?? 0, to = pair?.to ?? list[0]?.id ?? 0;
	return (
		<main class="page history">
			<h1 class="hidden">History</h1>
			<ErrorNote error={error} />
			<Panel title="Revisions" aside={<span class="quiet">choose two to compare</span>}>
				<table class="cards revisions">
					<thead>
						<tr><th class="radio">From</th><th class="radio">To</th><th class="right">Revision</th><th>State</th><th>When</th><th>Who</th><th class="wide">What</th><th /></tr>
					</thead>
					<tbody>
						{list.map((v) => (
							<tr key={v.id} class={v.id === r?.id ? "chosen" : ""}>
								<td class="radio" data-label="From"><input type="radio" name="from" aria-label={`Compare from revision ${v.id}`} checked={v.id === from} onChange={() => setPair({ from: v.id, to })} /></td>
								<td class="radio" data-label="To"><input type="radio" name="to" aria-label={`Compare to revision ${v.id}`} checked={v.id === to} onChange={() => setPair({ from, to: v.id })} /></td>
								<th scope="row" class="right title num">{v.id}</th>
								<td data-label="State"><StateBadge state={v.state} />{v.id === r?.id && <> <Badge tone="calm">in force</Badge></>}</td>
								<td data-label="When" class="nowrap">{date(v.created)}</td>
								<td data-label="Who">{v.author || "–"}{v.source && <small>{v.source}</small>}</td>
								<td data-label="What" class="wide what">{v.comment || v.summary}{v.comment && <small>{v.summary}</small>}</td>
								<td class="right">{may && v.id !== r?.id && <button type="button" onClick={() => rollback(v.id)}>Roll back<span class="hidden"> to revision {v.id}</span></button>}</td>
							</tr>
						))}
					</tbody>
				</table>
				{more && <p class="more"><button type="button" onClick={() => load(list[list.length - 1]!.id)}>Show older ones</button></p>}
			</Panel>
			{list.length > 0 && <DiffPanel from={from} to={to} />}
		</main>
	);
}

function DiffPanel({ from, to }: { from: number; to: number }): JSX.Element {
	const [diff, setDiff] = useState<Diff | null>(null);
	const [error, setError] = useState<unknown>(null);
	useEffect(() => {
		const stop = new AbortController();
		setDiff(null);
		setError(null);
		// Before the first revision there was none: that one is compared with its parent, nothing.
		const path = from ? `/v1/revisions/${from}/diff?to=${to}` : `/v1/revisions/${to}/diff`;
		get<Diff>(path, stop.signal).then(setDiff, (e) => stop.signal.aborted || setError(e));
		return () => stop.abort();
	}, [from, to]);
	return (
		<Panel title={<>Difference<small>{from ? `revision ${from}` : "nothing"} → revision {to}</small></>}>
			<ErrorNote error={error} />
			{diff ? <Changes changes={diff.changes} /> : !error && <p class="quiet">…</p>}
		</Panel>
	);
}
