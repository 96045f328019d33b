// SPDX-License-Identifier: GPL-2.0-or-later
// Debian's Chromium under playwright-core, with a profile of its own that is gone afterwards.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function openBrowser(options = {}) {
	const profile = mkdtempSync(join(tmpdir(), "weir-web-"));
	const context = await chromium.launchPersistentContext(profile, {
		executablePath: CHROMIUM, headless: true, ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 },
		args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
		...options,
	});
	return {
		context,
		page: context.pages()[0] ?? (await context.newPage()),
		close: async () => {
			await context.close();
			rmSync(profile, { recursive: true, force: true });
		},
	};
}
