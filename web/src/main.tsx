// SPDX-License-Identifier: GPL-2.0-or-later
// The frame around all pages: navigation by the address's fragment, so that the server has one page only and every view
// can be linked to.
import "./app.css";
import type { JSX } from "preact";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { access, whoAmI } from "./api";
import { PendingBar, ReceiptNote, ReviewDialog } from "./commit";
import { ConfigPage } from "./config";
import { drafts } from "./form";
import { HistoryPage } from "./history";
import { link, reconnect, startLive } from "./live";
import { Account, LoginAgain, LoginPage } from "./login";
import { Overview } from "./overview";
import { ErrorNote, Logo, useSecond } from "./parts";
import { ShapersPage } from "./shapers";
import { useStore } from "./store";
import { SystemPage } from "./system";

const PAGES = [
	["overview", "Overview", "M3 3h6v8H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 13h6v4H3z"],
	["shapers", "Shapers", "M3 4h14M6 9h11M6 14h11M3 9h.01M3 14h.01"],
	["history", "History", "M10 5v5l3 2M3 10a7 7 0 1 0 2-5M3 3v3h3"],
	["config", "Configuration", "M7 5 3 10l4 5M13 5l4 5-4 5"],
	["system", "System", "M5 5h10v10H5zM8 2v3M12 2v3M8 15v3M12 15v3M2 8h3M2 12h3M15 8h3M15 12h3"],
] as const;

function useRoute(): string[] {
	const read = (): string[] => {
		try {
			return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map((s) => decodeURIComponent(s));
		} catch {
			return []; // a mistyped address
		}
	};
	const [route, setRoute] = useState(read);
	useEffect(() => {
		const change = (): void => setRoute(read());
		addEventListener("hashchange", change);
		return () => removeEventListener("hashchange", change);
	}, []);
	return route;
}

function LinkState(): JSX.Element {
	const l = useStore(link);
	useSecond(l.state === "waiting");
	const left = l.state === "waiting" ? Math.max(1, Math.ceil((l.retryAt - performance.now()) / 1000)) : 0;
	const text = l.state === "live" ? "Live" : l.state === "waiting" ? `Reconnecting in ${left} s` : l.state === "off" ? "Offline" : "Connecting";
	return (
		<span class={`link-state ${l.state}`}>
			<i aria-hidden="true" />
			<span role="status">{l.state === "waiting" ? <span class="hidden">Reconnecting</span> : text}</span>
			{l.state === "waiting" && (
				<>
					<span aria-hidden="true">{text}</span>
					<button type="button" class="plain" onClick={() => void reconnect()}>now</button>
				</>
			)}
		</span>
	);
}

function Page({ route }: { route: string[] }): JSX.Element {
	switch (route[0]) {
	case "shapers": return <ShapersPage name={route[1]} chosen={route[2]} />;
	case "history": return <HistoryPage />;
	case "config": return <ConfigPage />;
	case "system": return <SystemPage />;
	default: return <Overview />;
	}
}

function App(): JSX.Element {
	const a = useStore(access);
	const route = useRoute();
	const edited = useStore(drafts).size > 0;
	const [error, setError] = useState<unknown>(null);
	const ask = (): void => void whoAmI().then(() => {
		setError(null);
		if (access.get().state === "unknown") access.set({ state: "nobody" });
	}, setError);
	useEffect(ask, []);
	useEffect(() => {
		if (!edited) return;
		const warn = (e: BeforeUnloadEvent): void => e.preventDefault();
		addEventListener("beforeunload", warn);
		return () => removeEventListener("beforeunload", warn);
	}, [edited]);
	if (a.state === "unknown")
		return error ? <main class="login"><div class="login-card"><ErrorNote error={error} /><button type="button" class="primary" onClick={ask}>Try again</button></div></main> : <></>;
	if (a.state === "nobody") return <LoginPage />;
	const page = PAGES.some(([id]) => id === route[0]) ? route[0] : "overview";
	return (
		<>
			<header class="top">
				<a class="brand" href="#/overview" aria-label="weir, overview"><Logo /><span>weir</span></a>
				<nav class="main-nav" aria-label="Pages">
					{PAGES.map(([id, name, icon]) => (
						<a key={id} href={`#/${id}`} aria-current={page === id ? "page" : undefined}>
							<svg viewBox="0 0 20 20" aria-hidden="true"><path d={icon} /></svg>
							<span>{name}</span>
						</a>
					))}
				</nav>
				<div class="top-right">
					<LinkState />
					<Account session={a.session} />
				</div>
			</header>
			<PendingBar />
			<ReceiptNote />
			<Page route={route} />
			<ReviewDialog />
			{a.state === "ended" && <LoginAgain user={a.session.user} />}
		</>
	);
}

startLive();
render(<App />, document.getElementById("app")!);
