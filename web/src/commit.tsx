// SPDX-License-Identifier: GPL-2.0-or-later
// A change's way into force: the form asks for a dry run (errors go back to the form), the difference is shown, and is
// applied for good or on probation. While a revision is on probation a bar over every page says so.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Write, WriteOptions } from "./api";
import { access, ApiError, curl, mayWrite, write } from "./api";
import { count, text, time } from "./format";
import { Changes, CopyButton, Dialog, ErrorNote, useSecond } from "./parts";
import { applied, decide, lastReceipt, pending } from "./revision";
import { Store, useStore } from "./store";
import type { Receipt } from "./types";

interface Review {
	write: Write;
	preview: Receipt;
	restart: boolean;
	onApplied: () => void;
	onRefused: (error: unknown) => void;
}

const review = new Store<Review | null>(null);

// Opens the dialog, or throws what the server has against the change.
export async function startReview(w: Write, onApplied: () => void, onRefused: (error: unknown) => void): Promise<void> {
	let restart = false, preview: Receipt;
	try {
		preview = await write(w, { dryRun: true });
	} catch (e) {
		// The other reason for 409 than a pending revision: new sockets. The dialog asks whether that is all right.
		if (!(e instanceof ApiError) || e.status !== 409 || pending.get()) throw e;
		preview = await write(w, { dryRun: true, restart: true });
		restart = true;
	}
	review.set({ write: w, preview, restart, onApplied, onRefused });
}

const CONFIRM_MIN = 5, CONFIRM_MAX = 3600;

export function ReviewDialog(): JSX.Element | null {
	const r = useStore(review);
	return r && <ReviewContent key={r.write.path + r.write.etag} review={r} />;
}

function ReviewContent({ review: r }: { review: Review }): JSX.Element {
	const [probation, setProbation] = useState(true);
	const [seconds, setSeconds] = useState("60");
	const [comment, setComment] = useState("");
	const [restart, setRestart] = useState(false);
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState<unknown>(null);
	const n = Number(seconds);
	const fits = !probation || (Number.isInteger(n) && n >= CONFIRM_MIN && n <= CONFIRM_MAX);
	const options: WriteOptions = {
		...(probation && fits ? { confirm: n } : {}),
		...(r.restart ? { restart: true } : {}),
		...(comment.trim() ? { comment: comment.trim() } : {}),
	};
	const nothing = r.preview.changes.length === 0;
	const close = (): void => review.set(null);
	const apply = async (e: Event): Promise<void> => {
		e.preventDefault();
		if (nothing || !fits || busy) return;
		setBusy(true);
		setError(null);
		try {
			const receipt = await write(r.write, options);
			close();
			r.onApplied();
			await applied(receipt).catch(() => undefined);
		} catch (e) {
			setBusy(false);
			if (e instanceof ApiError && (e.status === 412 || e.status === 422)) {
				close();
				r.onRefused(e);
			} else setError(e);
		}
	};
	return (
		<Dialog title={r.write.title} onClose={close} class="review">
			<form onSubmit={apply}>
				<div class="dialog-body">
					<Changes changes={r.preview.changes} />
					{(r.preview.warnings ?? []).map((w) => (
						<div class="note warn" key={(w.path ?? w.pointer ?? "") + w.text}>
							<p><code>{w.path ?? w.pointer}</code> {w.text}</p>
						</div>
					))}
					{r.restart && (
						<label class="note warn check">
							<input type="checkbox" checked={restart} onChange={(e) => setRestart(e.currentTarget.checked)} />
							<span>This needs new sockets: traffic stops for about a second. Do it all the same.</span>
						</label>
					)}
					{!nothing && (
						<>
							<fieldset class="ways">
								<legend class="hidden">How to apply</legend>
								<label class="check">
									<input type="radio" name="way" checked={probation} onChange={() => setProbation(true)} />
									<span>
										Keep it only if I confirm within{" "}
										<input class="short" type="text" inputMode="numeric" aria-label="Seconds until it reverts" value={seconds}
											onInput={(e) => (setSeconds(e.currentTarget.value), setProbation(true))} aria-invalid={!fits} /> s
										<small>Otherwise it reverts by itself, even if this browser loses its way to the box.</small>
									</span>
								</label>
								<label class="check">
									<input type="radio" name="way" checked={!probation} onChange={() => setProbation(false)} />
									<span>Keep it for good</span>
								</label>
							</fieldset>
							{!fits && <p class="field-note bad">Allowed are {CONFIRM_MIN} to {CONFIRM_MAX} seconds.</p>}
							<div class="field">
								<label for="review-comment">Comment for the history</label>
								<input id="review-comment" type="text" maxLength={200} value={comment} onInput={(e) => setComment(e.currentTarget.value)} />
							</div>
						</>
					)}
					<ErrorNote error={error} />
				</div>
				<footer class="dialog-foot">
					<CopyButton text={() => curl(r.write, options)}>Copy as curl</CopyButton>
					<span class="spread" />
					<button type="button" class="plain" onClick={close}>Back</button>
					{!nothing && (
						<button type="submit" class="primary" disabled={busy || !fits || (r.restart && !restart)}>
							{busy ? "Applying…" : probation ? "Apply on probation" : "Apply"}
						</button>
					)}
				</footer>
			</form>
		</Dialog>
	);
}

export function PendingBar(): JSX.Element | null {
	const p = useStore(pending);
	const a = useStore(access);
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState<unknown>(null);
	useSecond(p !== null);
	if (!p) return null;
	const left = Math.max(0, (p.endsAt - performance.now()) / 1000);
	const act = (verb: "confirm" | "revert") => async (): Promise<void> => {
		setBusy(true);
		setError(null);
		try {
			await decide(p.id, verb);
		} catch (e) {
			setError(e);
		}
		setBusy(false);
	};
	return (
		<aside class="pending" aria-label="Pending revision">
			<div class="pending-line">
				<p>
					<strong>Revision {p.id}</strong> by {p.author} is on probation.{" "}
					{left > 0 ? <>It reverts in <span class="num strong">{Math.ceil(left)}</span> s.</> : "It is being reverted…"}
				</p>
				{mayWrite(a) && left > 0 && (
					<div class="buttons">
						<button type="button" class="primary" disabled={busy} onClick={act("confirm")}>Confirm</button>
						<button type="button" disabled={busy} onClick={act("revert")}>Revert now</button>
					</div>
				)}
			</div>
			<ErrorNote error={error} />
			<svg class="countdown" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
				<rect width={Math.min(100, (100 * left) / Math.max(1, p.total))} height="3" />
			</svg>
		</aside>
	);
}

export function ReceiptNote(): JSX.Element | null {
	const r = useStore(lastReceipt);
	if (!r) return null;
	const figures = [
		r.duration_ns !== undefined && `took ${text(time(r.duration_ns))}`,
		r.longest_pause_ns !== undefined && `longest pause ${r.longest_pause_ns ? text(time(r.longest_pause_ns)) : "none"}`,
		r.packets_lost !== undefined && `${count(r.packets_lost)} packets lost`,
	].filter(Boolean);
	return (
		<div class="receipt" role="status">
			<p>
				<strong>Revision {r.revision} is {r.state === "pending" ? "in force, on probation" : "in force"}.</strong>{" "}
				<span class="figures">{figures.join(" · ")}</span>
			</p>
			<button type="button" class="plain close" aria-label="Dismiss" onClick={() => lastReceipt.set(null)}>✕</button>
		</div>
	);
}
