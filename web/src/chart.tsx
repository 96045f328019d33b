// SPDX-License-Identifier: GPL-2.0-or-later
// uPlot in Preact: a chart of time series with a legend of our own (toggles, reachable by keyboard, showing the figures under the
// pointer). uPlot is rebuilt only when what is drawn changes; every second it just gets new data.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Figure } from "./format";
import { NONE, text } from "./format";
import { Num } from "./parts";

export interface Curve {
	name: string;
	color: number; // 1..COLORS of the palette; 0: the neutral one
	data: (number | null)[];
}

export const COLORS = 8;

interface Props {
	label: string;
	times: number[];
	curves: Curve[];
	stacked?: boolean;
	log?: boolean;
	format: (value: number) => Figure;
	lines?: { at: number; name: string }[]; // horizontal marks
	height?: number;
	sync?: string;
	hidden: ReadonlySet<string>;
	onToggle: (name: string) => void;
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300]; // seconds
const pad = (n: number): string => String(n).padStart(2, "0");
// 14:05:30, without the seconds where all are zero.
function clockTimes(_: uPlot, splits: number[]): string[] {
	const whole = splits.every((s) => s % 60 === 0);
	return splits.map((s) => {
		const d = new Date(s * 1000);
		return `${pad(d.getHours())}:${pad(d.getMinutes())}${whole ? "" : `:${pad(d.getSeconds())}`}`;
	});
}

// Marks of an axis are round numbers; their zeros say nothing.
const markText = (f: Figure): string => text({ ...f, n: f.n.replace(/(\.[0-9]*?)0+$/, "$1").replace(/\.$/, "") });

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function useTheme(): string {
	const dark = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
	const [theme, setTheme] = useState(dark.matches ? "dark" : "light");
	useEffect(() => {
		const change = (): void => setTheme(dark.matches ? "dark" : "light");
		dark.addEventListener("change", change);
		return () => dark.removeEventListener("change", change);
	}, []);
	return theme;
}

// The first curve lies at the bottom; each is raised by the sum of those before it.
function stack(curves: Curve[]): (number | null)[][] {
	const sum: number[] = [];
	return curves.map((c) => c.data.map((v, i) => {
		if (v === null) return sum[i] === undefined ? null : sum[i]!;
		return (sum[i] = (sum[i] ?? 0) + v);
	}));
}

export function Chart(p: Props): JSX.Element {
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const [cursor, setCursor] = useState<number | null>(null);
	const theme = useTheme();
	const drawn = p.curves.filter((c) => !p.hidden.has(c.name));
	// uPlot draws in order, and a filled band must not cover those below it: the top of the stack comes first.
	const stacked = p.stacked ? stack(drawn).reverse() : drawn.map((c) => c.data);
	const order = p.stacked ? [...drawn].reverse() : drawn;
	const data: uPlot.AlignedData = [p.times, ...stacked];
	const shape = JSON.stringify([theme, p.stacked, p.log, p.height, p.sync, p.lines, order.map((c) => [c.name, c.color])]);
	const latest = useRef(data);
	latest.current = data;
	const format = useRef(p.format);
	format.current = p.format;

	useEffect(() => {
		const font = `11px ${css("--font")}`;
		const axis = { stroke: css("--muted"), font, grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false } };
		const width = (): number => box.current!.clientWidth;
		const range = (_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax => {
			const marks = (p.lines ?? []).map((l) => l.at);
			if (p.log) {
				const least = low && low > 0 ? low : 1e5, most = high && high > 0 ? high : 1e7;
				return [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most * 1.05))];
			}
			return [0, Math.max(high ?? 0, ...marks, 1000) * 1.06];
		};
		const u = new uPlot({
			width: width(),
			height: p.height ?? 220,
			legend: { show: false },
			padding: [8, 8, 0, 0],
			cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 },
				...(p.sync ? { sync: { key: p.sync } } : {}) },
			scales: { x: { time: true }, y: p.log ? { distr: 3, range } : { range } },
			axes: [
				{ ...axis, space: 76, size: 26, incrs: STEPS, values: clockTimes },
				{ ...axis, size: 74, space: p.log ? 18 : 34,
					values: (_u, splits) => splits.map((v) => (v === null ? null : markText(format.current(v)))) },
			],
			series: [
				{},
				...order.map((c): uPlot.Series => {
					const color = css(`--c${c.color}`);
					return { label: c.name, stroke: color, width: 1.5, points: { show: false }, spanGaps: false,
						...(p.stacked ? { fill: `color-mix(in srgb, ${color} 42%, ${css("--surface")})` } : {}) };
				}),
			],
			hooks: {
				setCursor: [(self) => setCursor(self.cursor.idx ?? null)],
				draw: [(self) => {
					const { ctx, bbox } = self;
					ctx.save();
					ctx.strokeStyle = ctx.fillStyle = css("--text");
					ctx.globalAlpha = 0.75;
					ctx.lineWidth = devicePixelRatio;
					ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
					ctx.font = `${11 * devicePixelRatio}px ${css("--font")}`;
					ctx.textAlign = "right";
					for (const l of p.lines ?? []) {
						const y = Math.round(self.valToPos(l.at, "y", true));
						ctx.beginPath();
						ctx.moveTo(bbox.left, y);
						ctx.lineTo(bbox.left + bbox.width, y);
						ctx.stroke();
						ctx.fillText(l.name, bbox.left + bbox.width - 4 * devicePixelRatio, y - 4 * devicePixelRatio);
					}
					ctx.restore();
				}],
			},
		}, latest.current, box.current!);
		plot.current = u;
		const resize = new ResizeObserver(() => {
			if (box.current && width() > 0 && width() !== u.width) u.setSize({ width: width(), height: p.height ?? 220 });
		});
		resize.observe(box.current!);
		return () => {
			resize.disconnect();
			plot.current = null;
			u.destroy();
		};
	}, [shape]);

	useEffect(() => {
		plot.current?.setData(data);
	});

	const at = cursor !== null && cursor < p.times.length ? cursor : p.times.length - 1;
	return (
		<figure class="chart">
			<div ref={box} class="plot" role="img" aria-label={p.label} />
			<figcaption class="legend">
				{p.curves.map((c) => {
					const v = c.data[at];
					return (
						<button key={c.name} type="button" aria-pressed={!p.hidden.has(c.name)} onClick={() => p.onToggle(c.name)}
							title={p.hidden.has(c.name) ? "Show" : "Hide"}>
							<i class={`swatch c${c.color}`} />
							<span class="name">{c.name}</span>
							<Num of={v === null || v === undefined ? NONE : p.format(v)} />
						</button>
					);
				})}
			</figcaption>
		</figure>
	);
}

export const toggled = (set: ReadonlySet<string>, name: string): Set<string> => {
	const out = new Set(set);
	if (!out.delete(name)) out.add(name);
	return out;
};

// The last minute and a half of a port, small.
export function Spark({ values, color }: { values: number[]; color: number }): JSX.Element {
	const most = Math.max(1, ...values);
	const n = Math.max(2, values.length);
	const points = values.map((v, i) => `${((i / (n - 1)) * 100).toFixed(1)},${(23 - (v / most) * 21).toFixed(1)}`).join(" ");
	return (
		<svg class={`spark s${color}`} viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
			<polyline points={points} fill="none" vector-effect="non-scaling-stroke" />
		</svg>
	);
}
