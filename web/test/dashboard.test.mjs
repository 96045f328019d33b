// SPDX-License-Identifier: GPL-2.0-or-later
// The dashboard in a browser. Alone: against the mock, everything. With WEIR_URL and WEIR_PASSWORD (and WEIR_USER, default
// admin): against a running demo (configs/demo.json under load), what a mock can't prove: figures move, a change
// arrives, a probation that runs out brings the old rate back. SHOTS=DIR keeps pictures.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { openBrowser } from "./browser.mjs";
import { startMock } from "./mock.mjs";

const real = process.env.WEIR_URL;
const user = process.env.WEIR_USER ?? "admin", password = real ? process.env.WEIR_PASSWORD ?? "" : "mock";
const mockOnly = { skip: real ? "needs the mock" : false, timeout: 180000 };
let mock, browser, page, url;
const complaints = [];

before(async () => {
	if (!real) mock = await startMock({ classes: 400 });
	url = real ? real.replace(/\/$/, "") : mock.url;
	browser = await openBrowser();
	page = browser.page;
	page.setDefaultTimeout(30000); // of machines that are busy with other tests, too
	page.on("pageerror", (e) => complaints.push(e.message));
	page.on("console", (m) => {
		// Refused and lost requests are logged by the browser itself; some are part of the tests.
		if (m.type() === "error" && !/Failed to load resource|net::ERR/.test(m.text())) complaints.push(m.text());
	});
});
after(async () => {
	await browser?.close();
	mock?.close();
});

const shot = async (name) => {
	if (!process.env.SHOTS) return;
	mkdirSync(process.env.SHOTS, { recursive: true });
	await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
};
// A new page, so that a test that failed leaves nothing behind but what the server knows.
async function go(hash) {
	await page.goto("about:blank");
	await page.goto(`${url}/${hash}`);
}
const row = (name) => page.locator("table.tree tbody tr", { has: page.locator(`th a:text-is("${name}")`) });
const UNIT = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9 };
async function rateOf(name) {
	const [n, unit] = (await row(name).locator("td.rate").innerText()).split(/\s+/);
	return Number(n) * (UNIT[unit] ?? NaN);
}
async function until(what, test, ms = 30000) {
	const end = Date.now() + ms;
	let last;
	do {
		last = await test();
		if (last) return last;
		await new Promise((r) => setTimeout(r, 200));
	} while (Date.now() < end);
	assert.fail(`not within ${ms} ms: ${what}`);
}
const seen = (text, ms) => page.getByText(text).first().waitFor(ms ? { timeout: ms } : {});
const button = (name) => page.getByRole("button", { name, exact: true });
async function login() {
	await page.fill("#login-user", user);
	await page.fill("#login-password", password);
	await button("Log in").click();
	await page.waitForSelector("header.top");
}

test("a wrong password is refused, the right one lets in", async () => {
	await go("");
	await page.fill("#login-user", user);
	await page.fill("#login-password", "certainly wrong");
	await button("Log in").click();
	await seen("User or password is wrong.");
	assert.equal(await page.inputValue("#login-password"), "");
	await login();
	await page.locator(".link-state.live").waitFor();
	await seen("revision in force");
});

test("the classes of the demo move", { timeout: 180000 }, async () => {
	await go("#/shapers/right");
	await row("a").waitFor();
	assert.deepEqual((await page.locator("table.tree th.name a").allInnerTexts()).slice(0, 5), ["a", "b", "c", "ping", "rest"]);
	const [n, unit] = (await row("a").locator("td.conf").first().innerText()).split(/\s+/);
	await until("class a gets its guarantee", async () => (await rateOf("a")) > 0.9 * Number(n) * UNIT[unit]);
	const first = await row("a").innerText();
	await until("figures change", async () => (await row("a").innerText()) !== first);
	assert.equal(await page.locator(".charts .plot canvas").count(), 2);
	await shot("shapers");
});

test("a change arrives, and reverts when nobody confirms", { timeout: 180000 }, async () => {
	await go("#/shapers/right/a");
	const form = page.getByRole("form", { name: "Settings of class a" });
	await form.getByLabel("rt rate").waitFor();
	const was = await until("a rate", () => rateOf("a"));
	// Three fifths, whatever the demo's rates are: of 500mbit, 300mbit.
	const old = await form.getByLabel("rt rate").inputValue();
	const less = old.replace(/[0-9.]+/, (n) => String(Number(n) * 0.6));
	await form.getByLabel("rt rate").fill(less);
	await form.getByLabel("ls rate").fill(less);
	await button("Review").click();
	const dialog = page.getByRole("dialog");
	await dialog.getByText("/shapers/right/classes/a/rt").waitFor();
	await dialog.getByText("/shapers/right/classes/a/ls").waitFor();
	assert.deepEqual(await dialog.locator("ins").allInnerTexts(), [less, less]);
	await shot("review");
	await dialog.getByLabel("Seconds until it reverts").fill("12");
	await button("Apply on probation").click();
	await seen("is on probation");
	await seen(/0 packets lost/);
	const at = Date.now();
	await shot("pending");
	await until("the rate falls", async () => (await rateOf("a")) < 0.93 * was, 11000);
	await until("the probation ends", async () => !(await page.locator(".pending").isVisible()));
	assert.ok(Date.now() - at > 9000, "not before its time");
	await until("the old rate is back", async () => (await rateOf("a")) > 0.95 * was);
	assert.equal(await form.getByLabel("rt rate").inputValue(), old);
	await go("#/history");
	await page.locator(".revisions .badge", { hasText: "reverted" }).first().waitFor();
});

test("a change that is confirmed stays; rolling back is a change too", mockOnly, async () => {
	await go("#/shapers/right/b");
	await page.getByLabel("ul rate").fill("700mbit");
	await button("Review").click();
	await page.getByLabel("Comment for the history").fill("less for b");
	await button("Apply on probation").click();
	await button("Confirm").click();
	await page.locator(".pending").waitFor({ state: "detached" });
	assert.equal(mock.config().shapers.right.classes.b.ul, "700mbit");
	await go("#/history");
	await seen("less for b");
	await page.locator(".changes ins", { hasText: "700mbit" }).waitFor();
	await page.getByRole("button", { name: "Roll back to revision 1", exact: true }).click();
	await page.getByRole("dialog").getByText("Keep it for good").click();
	await button("Apply").click();
	await seen("is in force.");
	assert.equal(mock.config().shapers.right.classes.b.ul, "1gbit");
});

test("errors stand beside their fields", mockOnly, async () => {
	await go("#/shapers/right/c");
	await page.getByLabel("rt rate").fill("5 parsecs");
	await seen("is missing a unit");
	await page.getByLabel("rt rate").fill("401gbit");
	await button("Review").click();
	const note = await page.getByLabel("rt rate").getAttribute("aria-describedby");
	await until("the field says it", async () => (await page.locator(`[id="${note}"]`).innerText()).includes("is not allowed: 1kbit to 400gbit"));
	assert.equal(await page.getByLabel("rt rate").getAttribute("aria-invalid"), "true");
	await until("the field to blame has the focus", () => page.getByLabel("rt rate").evaluate((e) => e === document.activeElement));
	await shot("errors");
	await page.getByLabel("rt rate").fill("950mbit");
	await button("Review").click();
	await seen(/guarantees add up to/);
	await button("Discard").click();
	assert.equal(await page.getByLabel("rt rate").inputValue(), "100mbit");
});

test("what was written for curl is the whole change", mockOnly, async () => {
	await go("#/shapers/right/c");
	await page.getByLabel("ls rate").fill("150mbit");
	const text = await page.getByRole("button", { name: "Copy as curl" }).getAttribute("title");
	assert.match(text, /^curl -k -u 'admin' -X PUT/);
	assert.match(text, /-H 'If-Match: "r[0-9]+"'/);
	assert.match(text, /-d '\{"rt":"100mbit","ls":"150mbit","ul":"1gbit"\}'/);
	assert.ok(text.includes(`'${url}/v1/config/shapers/right/classes/c'`));
	await button("Discard").click();
});

test("somebody else's change is neither lost nor in the way", mockOnly, async () => {
	await go("#/shapers/right/c");
	await page.getByLabel("ls rate").fill("150mbit");
	mock.patch({ shapers: { right: { classes: { c: { ul: "600mbit" } } } } });
	await seen("The configuration was changed since you began to edit");
	await button("Review").click();
	await seen(/The configuration has changed since: revision [0-9]+ is in force/); // the server's 412
	await button("Load it, keep my edits").click();
	assert.equal(await page.getByLabel("ls rate").inputValue(), "150mbit");
	assert.equal(await page.getByLabel("ul rate").inputValue(), "600mbit");
	await button("Review").click();
	await page.getByRole("dialog").getByText("Keep it for good").click();
	await button("Apply").click();
	await seen("is in force.");
	assert.deepEqual(mock.config().shapers.right.classes.c, { rt: "100mbit", ls: "150mbit", ul: "600mbit" });
});

test("a class is added, gets a curve of two pieces and settings of its queue, and is deleted", mockOnly, async () => {
	const apply = async () => {
		await button("Review").click();
		await page.getByRole("dialog").getByText("Keep it for good").click();
		await button("Apply").click();
		await page.getByRole("dialog").waitFor({ state: "detached" });
	};
	await go("#/shapers/right");
	await page.getByRole("link", { name: "Add a class" }).click();
	await page.getByLabel("Name", { exact: true }).fill("voice");
	await page.getByLabel("ls rate").fill("2mbit");
	await page.getByLabel("rt: kind of curve").selectOption("curve");
	await page.getByLabel("m1, at first").fill("4mbit");
	await page.getByLabel("d, for").fill("10ms");
	await page.getByLabel("m2, then").fill("2mbit");
	await page.locator("summary", { hasText: "Queue" }).click();
	await page.getByLabel("limit", { exact: true }).fill("2000");
	await page.getByLabel("ecn", { exact: true }).selectOption("false");
	await apply();
	assert.deepEqual(mock.config().shapers.right.classes.voice, { rt: { m1: "4mbit", d: "10ms", m2: "2mbit" }, ls: "2mbit", leaf: { limit: 2000, ecn: false } });
	await row("voice").waitFor();
	assert.equal(await page.getByLabel("m1, at first").inputValue(), "4mbit");
	await button("Delete").click();
	await page.getByRole("dialog").getByText("removed").waitFor();
	await page.getByRole("dialog").getByText("Keep it for good").click();
	await button("Apply").click();
	await until("it is gone", () => !("voice" in mock.config().shapers.right.classes));
	await row("voice").waitFor({ state: "detached" });
});

test("the settings of a shaper", mockOnly, async () => {
	await go("#/shapers/right");
	await button("Settings").click();
	await page.getByLabel("rate", { exact: true }).fill("900mbit");
	await page.getByLabel("link_layer").selectOption("ptm");
	await button("Review").click();
	await page.getByRole("dialog").getByText("Keep it for good").click();
	await button("Apply").click();
	await until("it is in force", () => mock.config().shapers.right.rate === "900mbit" && mock.config().shapers.right.link_layer === "ptm");
	mock.patch({ shapers: { right: { rate: "1gbit", link_layer: null } } });
});

test("a session that ends keeps what was typed", mockOnly, async () => {
	await go("#/shapers/right/a");
	await page.getByLabel("ls rate").fill("123mbit");
	mock.expireSessions();
	await seen("Your session has ended");
	await shot("session-ended");
	await page.fill("#login-password", password);
	await button("Log in").click();
	await page.getByRole("dialog").waitFor({ state: "detached" });
	assert.equal(await page.getByLabel("ls rate").inputValue(), "123mbit");
	await page.locator(".link-state.live").waitFor();
	await button("Review").click();
	await page.getByRole("dialog").getByText("123mbit").waitFor();
	await button("Back").click();
	await button("Discard").click();
});

test("a stream that breaks is taken up again, and says so", mockOnly, async () => {
	await go("#/overview");
	await page.locator(".link-state.live").waitFor();
	mock.cutStreams();
	await page.locator(".link-state.waiting, .link-state.connecting").waitFor();
	await page.locator(".link-state.live").waitFor();
	mock.alarm("port right: link went down");
	await seen("port right: link went down");
});

test("the configuration as text: syntax, problems by line, review", mockOnly, async () => {
	await go("#/config");
	const area = page.getByLabel("Configuration as JSON");
	const text = await area.inputValue();
	assert.deepEqual(JSON.parse(text), mock.config());
	await area.fill(text.replace('"bridges":', '"bridges"'));
	await seen("This is not JSON yet.");
	const wrong = text.replace('"default": "rest"', '"default": "rust"').replace('"a": {"rt": "500mbit"', '"a": {"rt": "500 megabananas"');
	await area.fill(wrong);
	await button("Validate").click();
	await seen("2 problems; nothing was changed.");
	const line = 1 + wrong.slice(0, wrong.indexOf('"a": {')).split("\n").length - 1;
	await button(`line ${line}`).click();
	assert.ok((await area.evaluate((a) => a.value.slice(a.selectionStart, a.selectionEnd))).includes("megabananas"));
	await shot("config-errors");
	await area.fill(text.replace('"w-left"', '"w-west"'));
	await button("Review").click();
	await seen("traffic stops for about a second");
	assert.ok(await button("Apply on probation").isDisabled());
	await button("Back").click();
	await button("Discard").click();
	assert.equal(await area.inputValue(), text);
});

test("many classes: few rows, a filter, folding", mockOnly, async () => {
	await go("#/shapers/uplink");
	await row("town-1").waitFor();
	assert.equal(await page.locator("table.tree tbody tr").count(), 150);
	await page.getByLabel("Filter classes by name").fill("customer-10234");
	await row("customer-10234").waitFor();
	assert.deepEqual(await page.locator("table.tree th.name a").allInnerTexts(), ["town-10", "customer-10234"]);
	await page.getByLabel("Filter classes by name").fill("");
	await page.getByRole("button", { name: "Classes below town-1", exact: true }).click();
	await row("customer-10000").waitFor({ state: "detached" });
	await page.locator(".legend", { hasText: "others" }).first().waitFor();
	await shot("many");
});

test("by keyboard: open a class, change the window, close the class", mockOnly, async () => {
	await go("#/shapers/right");
	await row("b").locator("a").focus();
	await page.keyboard.press("Enter");
	await page.locator("#side-title", { hasText: "b" }).waitFor();
	await until("the heading has the focus", () => page.evaluate(() => document.activeElement?.id === "side-title"));
	await page.keyboard.press("Escape");
	await page.locator(".side").waitFor({ state: "detached" });
	const span = page.getByRole("group", { name: "Time shown" });
	await span.getByLabel("5 min").focus();
	await page.keyboard.press("ArrowLeft");
	assert.ok(await span.getByLabel("1 min").isChecked());
	const a = page.locator(".charts .legend").first().getByRole("button", { name: /^a / });
	await a.focus();
	await page.keyboard.press("Space");
	assert.equal(await a.getAttribute("aria-pressed"), "false");
});

// Contrast of every visible text with the ground it stands on, by WCAG 2.
const dimTexts = () => {
	const parse = (c) => c.match(/[\d.]+/g).map(Number);
	const luminance = (rgb) => {
		const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const out = [];
	for (const e of document.querySelectorAll("body *")) {
		if (e.closest("svg,.hidden,:disabled") || !e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
		let ground = e;
		while (ground && parse(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
		const a = luminance(parse(getComputedStyle(e).color).slice(0, 3)), b = luminance(ground ? parse(getComputedStyle(ground).backgroundColor).slice(0, 3) : [255, 255, 255]);
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (contrast < 4.5) out.push(`${e.className || e.tagName}: ${e.textContent.slice(0, 30)} (${contrast.toFixed(2)})`);
	}
	return out;
};

test("telephone and desk, light and dark: nothing sticks out, everything can be read", { timeout: 300000 }, async () => {
	const problems = [];
	for (const [width, height] of [[360, 760], [1280, 900]])
		for (const colorScheme of ["light", "dark"]) {
			await page.setViewportSize({ width, height });
			await page.emulateMedia({ colorScheme });
			for (const view of ["overview", "shapers/right", "shapers/right/a", "history", "config", "system"]) {
				await page.goto(`${url}/#/${view}`);
				await page.locator(".panel, .side").first().waitFor();
				await new Promise((r) => setTimeout(r, 400));
				const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				if (over > 0) problems.push(`${view} at ${width}: ${over} px too wide`);
				for (const t of await page.evaluate(dimTexts)) problems.push(`${view} ${width} ${colorScheme}: ${t}`);
				await shot(`${view.replace(/\//g, "-")}-${width}-${colorScheme}`);
			}
		}
	await page.setViewportSize({ width: 1280, height: 900 });
	assert.deepEqual(problems, []);
});

test("the own password", mockOnly, async () => {
	await page.locator("button.user").click();
	await page.getByLabel("Password", { exact: true }).fill("wrong");
	await page.getByLabel("New password", { exact: true }).fill("a better one");
	await page.getByLabel("New password again").fill("a better one or not");
	await seen("The two differ.");
	await page.getByLabel("New password again").fill("a better one");
	await button("Change the password").click();
	await seen("the old password is wrong");
	await page.getByLabel("Password", { exact: true }).fill(password);
	await button("Change the password").click();
	await seen("The password is changed.");
	await button("Close").click();
});

test("who may only look sees no buttons to change things", mockOnly, async () => {
	await button("Log out").click();
	await page.waitForSelector("#login-user");
	await page.fill("#login-user", "viewer");
	await page.fill("#login-password", "mock");
	await button("Log in").click();
	await page.waitForSelector("header.top");
	await go("#/shapers/right/a");
	await seen("read only: your role is viewer");
	assert.equal(await button("Review").count(), 0);
	assert.equal(await page.getByRole("link", { name: "Add a class" }).count(), 0);
	assert.ok(await page.getByLabel("rt rate").isDisabled());
});

test("neither errors in the browser nor violations of its security policy", () => assert.deepEqual(complaints, []));
