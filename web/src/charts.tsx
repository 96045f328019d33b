// SPDX-License-Identifier: GPL-2.0-or-later
// The last minutes of a shaper: rate and delay of its leaf classes.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Curve } from "./chart";
import { Chart, COLORS, toggled } from "./chart";
import { rate, time } from "./format";
import type { Past } from "./live";
import { past, stats } from "./live";
import { Choice } from "./parts";
import { useStore } from "./store";

const SPANS = [["60", "1 min"], ["300", "5 min"], ["600", "10 min"]] as const;
type Span = (typeof SPANS)[number][0];

export function windowOf(p: Past, seconds: number): { slots: number[]; times: number[] } {
	const slots = p.slots(seconds);
	return { slots, times: slots.map((i) => p.time[i]!) };
}

export const pick = (ring: Float32Array | undefined, slots: number[]): (number | null)[] =>
	slots.map((i) => {
		const v = ring ? ring[i]! : NaN;
		return Number.isNaN(v) ? null : v;
	});

const RERANK_MS = 30000;

// At most as many curves as there are colours one can tell apart: the classes that sent most. They are chosen anew
// now and then only, so that colours do not jump about.
function useBusiest(p: Past | undefined, names: string[], seconds: number): string[] {
	const ranked = useRef<{ of: string; at: number; names: string[] }>({ of: "", at: 0, names: [] });
	const of = names.join(" ");
	const old = ranked.current;
	if (p && (old.of !== of || (names.length > COLORS && performance.now() - old.at > RERANK_MS))) {
		let best = names;
		if (names.length > COLORS) {
			const slots = p.slots(seconds);
			const sent = (n: string): number => pick(p.series.get(n)?.bps, slots).reduce<number>((a, v) => a + (v ?? 0), 0);
			const top = new Set(names.map((n) => [sent(n), n] as const).sort((a, b) => b[0] - a[0]).slice(0, COLORS).map(([, n]) => n));
			best = names.filter((n) => top.has(n));
		}
		ranked.current = { of, at: performance.now(), names: best };
	}
	return ranked.current.names;
}

export function Charts({ shaper, names, brief }: { shaper: { name: string; rate_bps: number }; names: string[]; brief?: boolean }): JSX.Element {
	useStore(stats); // every second
	const [span, setSpan] = useState<Span>("300");
	const [style, setStyle] = useState<"stacked" | "lines">("stacked");
	const [quantile, setQuantile] = useState<"p99" | "p50">("p99");
	const [what, setWhat] = useState<"rate" | "delay">("rate"); // where there is little room, one at a time
	const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
	const p = past.get(shaper.name);
	const busiest = useBusiest(p, names, Number(span));
	if (!p || !busiest.length) return <p class="quiet chart-wait">The chart begins with the first second of live data.</p>;

	const { slots, times } = windowOf(p, Number(span));
	const curve = (name: string, i: number, ring: "bps" | "p50" | "p99"): Curve =>
		({ name, color: (i % COLORS) + 1, data: pick(p.series.get(name)?.[ring], slots) });
	const rates = busiest.map((n, i) => curve(n, i, "bps"));
	if (names.length > busiest.length) {
		const drawn = new Set(busiest);
		const others = names.filter((n) => !drawn.has(n)).map((n) => p.series.get(n)?.bps).filter((r) => r !== undefined);
		rates.push({ name: `${names.length - busiest.length} others`, color: 0,
			data: slots.map((i) => others.reduce((a, r) => a + (Number.isNaN(r[i]!) ? 0 : r[i]!), 0)) });
	}
	const shared = { times, hidden, onToggle: (name: string) => setHidden(toggled(hidden, name)), sync: shaper.name, height: brief ? 170 : 220 };
	return (
		<div class="charts">
			{!brief && (
				<div class="chart-tools">
					<Choice label="Time shown" value={span} options={SPANS} onChange={setSpan} />
					<Choice label="Kind of chart" value={style} options={[["stacked", "Stacked"], ["lines", "Lines"]]} onChange={setStyle} />
					<Choice label="Delay shown" value={quantile} options={[["p50", "Delay p50"], ["p99", "p99"]]} onChange={setQuantile} />
				</div>
			)}
			<div class="one-chart chart-tools">
				<Choice label="Chart shown" value={what} options={[["rate", "Rate"], ["delay", "Delay"]]} onChange={setWhat} />
			</div>
			<div class="chart-pair">
				<div class={what === "rate" ? "" : "other-chart"}>
					<h3>{brief && <><a href={`#/shapers/${encodeURIComponent(shaper.name)}`}>{shaper.name}</a>: </>}Rate</h3>
					<Chart {...shared} label={`Rate of each class of ${shaper.name} over time`} curves={rates} stacked={style === "stacked"} format={rate}
						lines={shaper.rate_bps ? [{ at: shaper.rate_bps, name: "link" }] : []} />
				</div>
				<div class={what === "delay" ? "" : "other-chart"}>
					<h3>Delay in the queue, {quantile}</h3>
					<Chart {...shared} label={`Queueing delay of each class of ${shaper.name} over time`} curves={busiest.map((n, i) => curve(n, i, quantile))}
						log format={time} />
				</div>
			</div>
		</div>
	);
}
