// SPDX-License-Identifier: GPL-2.0-or-later
// The settings of a shaper itself, as the schema lists them.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Write } from "./api";
import { access, curl, mayWrite, pointerEscape, segment } from "./api";
import { startReview } from "./commit";
import { Buttons, problemsOf, SettingField, StaleNote, useBlame, useDraft, useSchema, valueFields, valueJson } from "./form";
import { CopyButton, ErrorNote } from "./parts";
import { running } from "./revision";
import { useStore } from "./store";
import type { Json, JsonObject } from "./types";

const PREFIX = "/shapers/*/";

export function ShaperForm(p: { shaper: string; leaves: string[]; onClose: () => void }): JSX.Element {
	const r = useStore(running);
	const may = mayWrite(useStore(access));
	const conf = ((r?.document["shapers"] as JsonObject | undefined)?.[p.shaper] ?? {}) as JsonObject;
	const editing = useDraft(`${p.shaper}//`, valueFields("", conf));
	const rows = useSchema().filter((s) => s.path.startsWith(PREFIX) && !s.path.slice(PREFIX.length).includes("/") &&
		["number", "word", "boolean", "class"].includes(s.type));
	const [error, setError] = useState<unknown>(null);
	const form = useBlame(error);
	const pointer = `/shapers/${pointerEscape(p.shaper)}`;
	const key = (path: string): string => path.slice(PREFIX.length);

	const change = (): Write => {
		const body: Record<string, Json> = {};
		for (const s of rows) {
			const k = key(s.path), now = editing.fields[k] ?? "";
			if (now === (editing.base[k] ?? "")) continue;
			body[k] = now.trim() ? valueJson(now, s, conf[k]) : null;
		}
		return { title: `Change shaper ${p.shaper}`, method: "PATCH", path: `/v1/config/shapers/${segment(p.shaper)}`, body, etag: editing.etag };
	};
	const submit = async (e: Event): Promise<void> => {
		e.preventDefault();
		setError(null);
		try {
			await startReview(change(), () => (editing.discard(), p.onClose()), setError);
		} catch (e) {
			setError(e);
		}
	};
	return (
		<form class="form inset" ref={form} onSubmit={submit}>
			<StaleNote editing={editing} />
			<ErrorNote error={error} />
			<div class="grid">
				{rows.map((s) => (
					<SettingField key={s.path} setting={s} editing={editing} field={key(s.path)} pointer={`${pointer}/${key(s.path)}`}
						problems={problemsOf(error)} disabled={!may} options={s.type === "class" ? p.leaves : undefined} />
				))}
			</div>
			{may && (
				<Buttons>
					<button type="submit" class="primary" disabled={!editing.dirty}>Review</button>
					{editing.dirty && <button type="button" class="plain" onClick={() => (editing.discard(), setError(null))}>Discard</button>}
					<span class="spread" />
					{editing.dirty && <CopyButton text={() => curl(change(), {})}>Copy as curl</CopyButton>}
				</Buttons>
			)}
		</form>
	);
}
