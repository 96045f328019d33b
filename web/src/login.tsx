// SPDX-License-Identifier: GPL-2.0-or-later
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "./api";
import { changePassword, login, logout } from "./api";
import { Dialog, ErrorNote, Logo } from "./parts";
import type { Session } from "./types";

function LoginForm({ user: known }: { user?: string }): JSX.Element {
	const [user, setUser] = useState(known ?? "");
	const [password, setPassword] = useState("");
	const [busy, setBusy] = useState(false);
	const [wait, setWait] = useState(0);
	const [error, setError] = useState<unknown>(null);
	const first = useRef<HTMLInputElement>(null);
	useEffect(() => first.current?.focus(), []);
	useEffect(() => {
		if (wait <= 0) return;
		const timer = setTimeout(() => setWait(wait - 1), 1000);
		return () => clearTimeout(timer);
	}, [wait]);
	const submit = async (e: Event): Promise<void> => {
		e.preventDefault();
		setBusy(true);
		setError(null);
		try {
			await login(user, password);
		} catch (e) {
			const status = (e as ApiError).status;
			if (status === 429) setWait((e as ApiError).retryAfter || 1);
			setError(status === 401 ? new Error("User or password is wrong.") : e);
			setPassword("");
			setBusy(false);
		}
	};
	return (
		<form class="login-form" onSubmit={submit}>
			<div class="field">
				<label for="login-user">User</label>
				<input id="login-user" ref={known ? null : first} type="text" autocomplete="username" autocapitalize="none" spellcheck={false}
					required value={user} readOnly={known !== undefined} onInput={(e) => setUser(e.currentTarget.value)} />
			</div>
			<div class="field">
				<label for="login-password">Password</label>
				<input id="login-password" ref={known ? first : null} type="password" autocomplete="current-password" required value={password}
					onInput={(e) => setPassword(e.currentTarget.value)} />
			</div>
			<ErrorNote error={error} />
			<button type="submit" class="primary" disabled={busy || wait > 0}>
				{wait > 0 ? `Wait ${wait} s` : busy ? "Logging in…" : "Log in"}
			</button>
		</form>
	);
}

export function LoginPage(): JSX.Element {
	return (
		<main class="login">
			<div class="login-card">
				<div class="login-brand"><Logo /><h1>weir</h1></div>
				<LoginForm />
				<p class="quiet">The first password was printed when weir started for the first time.</p>
			</div>
		</main>
	);
}

export function LoginAgain({ user }: { user: string }): JSX.Element {
	return (
		<Dialog title="Your session has ended" onClose={() => undefined} locked class="small-dialog">
			<div class="dialog-body">
				<p>Log in again to go on. What you have typed is still there.</p>
				<LoginForm user={user} />
			</div>
		</Dialog>
	);
}

// Everything the page knows goes with the session.
const leave = (): void => void logout().then(() => location.reload(), () => undefined);

export function Account({ session }: { session: Session }): JSX.Element {
	const [open, setOpen] = useState(false);
	return (
		<>
			<button type="button" class="plain user" aria-haspopup="dialog" onClick={() => setOpen(true)}><span>{session.user}</span></button>
			<button type="button" class="plain" onClick={leave}>Log out</button>
			{open && <AccountDialog session={session} onClose={() => setOpen(false)} />}
		</>
	);
}

function AccountDialog({ session, onClose }: { session: Session; onClose: () => void }): JSX.Element {
	const [values, setValues] = useState({ old: "", new: "", again: "" });
	const [state, setState] = useState<{ error: unknown; done: boolean; busy: boolean }>({ error: null, done: false, busy: false });
	const differ = values.again !== "" && values.again !== values.new;
	const submit = async (e: Event): Promise<void> => {
		e.preventDefault();
		if (differ || state.busy) return;
		setState({ error: null, done: false, busy: true });
		try {
			await changePassword(session.user, values.old, values.new);
			setValues({ old: "", new: "", again: "" });
			setState({ error: null, done: true, busy: false });
		} catch (error) {
			setState({ error, done: false, busy: false });
		}
	};
	const field = (key: keyof typeof values, label: string, autocomplete: "current-password" | "new-password"): JSX.Element => (
		<div class="field">
			<label for={`account-${key}`}>{label}</label>
			<input id={`account-${key}`} type="password" autocomplete={autocomplete} required value={values[key]} aria-invalid={key === "again" && differ}
				onInput={(e) => setValues({ ...values, [key]: e.currentTarget.value })} />
		</div>
	);
	return (
		<Dialog title={session.user} onClose={onClose} class="small-dialog">
			<form onSubmit={submit}>
				<div class="dialog-body">
					<p class="quiet">Role: {session.role}</p>
					<input type="text" class="hidden" autocomplete="username" value={session.user} readOnly tabIndex={-1} aria-hidden="true" />
					{field("old", "Password", "current-password")}
					{field("new", "New password", "new-password")}
					{field("again", "New password again", "new-password")}
					{differ && <p class="field-note bad">The two differ.</p>}
					<ErrorNote error={state.error} />
					{state.done && <p class="note good" role="status">The password is changed.</p>}
				</div>
				<footer class="dialog-foot">
					<span class="spread" />
					<button type="submit" class="primary" disabled={state.busy || differ || !values.new || !values.again}>Change the password</button>
				</footer>
			</form>
		</Dialog>
	);
}
