// SPDX-License-Identifier: GPL-2.0-or-later
// A value that components can watch. What more than one component needs lives in a few of these; everything else is state
// of the component that shows it.
import { useEffect, useState } from "preact/hooks";

export class Store<T> {
	private watchers = new Set<() => void>();
	constructor(private value: T) {}

	get(): T {
		return this.value;
	}

	set(value: T): void {
		if (value === this.value) return;
		this.value = value;
		for (const watcher of [...this.watchers]) watcher();
	}

	// Calls back after every change; the answer ends that.
	watch(watcher: () => void): () => void {
		this.watchers.add(watcher);
		return () => this.watchers.delete(watcher);
	}
}

// Renders the component again whenever the value changes.
export function useStore<T>(store: Store<T>): T {
	const [, render] = useState({});
	useEffect(() => {
		const seen = store.get();
		const end = store.watch(() => render({}));
		if (store.get() !== seen) render({}); // changed between rendering and watching
		return end;
	}, [store]);
	return store.get();
}
