// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of the dashboard that are functions of their arguments.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

async function load(file) {
	const out = await build({ entryPoints: [new URL(`../src/${file}`, import.meta.url).pathname], bundle: true, write: false, format: "esm", platform: "neutral",
		mainFields: ["module", "main"], jsx: "automatic", jsxImportSource: "preact", loader: { ".css": "empty" } });
	return import(`data:text/javascript;base64,${Buffer.from(out.outputFiles[0].text).toString("base64")}`);
}
const f = await load("format.ts"), tree = await load("tree.ts"), place = await load("place.ts");

test("figures have three digits and never the wrong unit", () => {
	for (const [bps, want] of [[0, "0 bit/s"], [1, "1 bit/s"], [999, "999 bit/s"], [999.6, "1.00 kbit/s"], [1000, "1.00 kbit/s"], [523400000, "523 Mbit/s"], [99960000, "100 Mbit/s"],
		[9996000, "10.0 Mbit/s"], [999499999, "999 Mbit/s"], [999600000, "1.00 Gbit/s"], [400e9, "400 Gbit/s"], [NaN, "–"]])
		assert.equal(f.text(f.rate(bps)), want);
	assert.equal(f.text(f.time(3100)), "3.10 µs");
	assert.equal(f.text(f.time(0)), "–");
	assert.equal(f.text(f.exactRate(1500000)), "1.5 Mbit/s");
	assert.equal(f.text(f.exactRate(123456789)), "123.456789 Mbit/s");
	assert.equal(f.count(12345678), "12,345,678");
	assert.equal(f.clock(93784), "1 d 2 h");
	assert.equal(f.clock(0), "0 s");
});

test("quantities of the configuration language", () => {
	for (const [input, unit, want] of [["500mbit", "bps", 5e8], ["1.5 gbit", "bps", 1.5e9], ["100000000", "bps", 1e8], ["0.3kbit", "bps", 300], ["5ms", "time", 5e6], ["0", "time", 0], ["1514b", "bytes", 1514],
		["2kib", "bytes", 2048], ["-64b", "bytes", -64], ["1.001kbit", "bps", 1001]])
		assert.equal(f.parseQuantity(input, unit), want, input);
	for (const [input, unit] of [["500", "time"], ["5kbps", "bps"], ["m", "bps"], ["", "bps"], ["1.5bit", "bps"], ["1e9", "bps"], ["5 m bit", "bps"]])
		assert.equal(typeof f.parseQuantity(input, unit), "string", input);
	for (const [bps, want] of [[5e8, "500mbit"], [1.5e6, "1.5mbit"], [1e9, "1gbit"], [999, "999"], [1234567, "1234.567kbit"]]) {
		assert.equal(f.rateText(bps), want);
		assert.equal(f.parseQuantity(want, "bps"), bps);
	}
});

const cls = (name, parent, more = {}) => ({ name, parent, leaf: "fq_codel", default: false, rt_bps: 0, ls_bps: 0, ul_bps: 0, drops: {}, ...more });

test("the tree keeps the order of the configuration, children below parents", () => {
	const all = tree.rows([cls("x1", "x"), cls("x", "root"), cls("y", "root"), cls("x2", "x"), cls("x1a", "x1"), cls("stray", "gone")]);
	assert.deepEqual(all.map((r) => [r.state.name, r.depth]), [["x", 0], ["x1", 1], ["x1a", 2], ["x2", 1], ["y", 0], ["stray", 0]]);
	assert.deepEqual(tree.matching(all, (r) => r.state.name === "x1a").map((r) => r.state.name), ["x", "x1", "x1a"]);
	assert.deepEqual(tree.visible(all, new Set(["x1"])).map((r) => r.state.name), ["x", "x1", "x2", "y", "stray"]);
	assert.deepEqual(tree.visible(all, new Set(["x"])).map((r) => r.state.name), ["x", "y", "stray"]);
	assert.deepEqual(tree.rows([cls("a", "b"), cls("b", "a")]), []); // no endless walk
});

test("a class is short only if packets wait", () => {
	const [row] = tree.rows([cls("a", "root", { rt_bps: 1e8, ul_bps: 2e8 })]);
	const says = (bps, backlog) => tree.verdict(row, { bps, backlog_packets: backlog }, 1e9);
	assert.equal(says(0, 0), "idle");
	assert.equal(says(5e7, 0), "flowing");
	assert.equal(says(5e7, 10), "short");
	assert.equal(says(0, 10), "short");
	assert.equal(says(1.5e8, 10), "flowing");
	assert.equal(says(1.99e8, 10), "limit");
	assert.equal(tree.verdict(row, undefined, 1e9), "idle");
});

test("places of pointers in a text", () => {
	const text = '{\n  "a": {"b": [1,\n    {"x/y": "q\\"u"}]},\n  "c~d": null\n}\n';
	const { places, error } = place.scan(text);
	assert.equal(error, null);
	const line = (p) => place.find(places, p).line;
	assert.deepEqual(["", "/a", "/a/b", "/a/b/0", "/a/b/1", "/a/b/1/x~1y", "/c~0d"].map(line), [1, 2, 2, 2, 3, 3, 4]);
	assert.equal(line("/a/b/7/nothing"), 2); // the nearest thing around it
	assert.equal(line("/zzz"), 1);
	for (const [bad, at] of [['{"a": 1,}', 1], ['{\n"a" 1}', 2], ["[1\n2]", 2], ['{"a": "x\ny"}', 1], ["{} x", 1], ["", 1], ["[01]", 1], ['["\\q"]', 1], ["[".repeat(5000), 1]]) {
		const e = place.scan(bad).error;
		assert.ok(e, bad.slice(0, 20));
		assert.equal(e.place.line, at, bad.slice(0, 20));
		assert.throws(() => JSON.parse(bad));
	}
});
