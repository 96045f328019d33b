// SPDX-License-Identifier: GPL-2.0-or-later
// Where in a JSON text is the value a pointer names? The server speaks in pointers, an editor in lines.

export interface Place {
	line: number; // from 1
	offset: number;
}

export interface Scan {
	places: Map<string, Place>;
	error: { text: string; place: Place } | null;
}

class Stop extends Error {
	constructor(readonly at: number, text: string) {
		super(text);
	}
}

// Reads the text once. Stops at the first thing that is not JSON; places found before it are kept.
export function scan(text: string): Scan {
	const starts: Map<string, number> = new Map();
	let i = 0;

	const space = (): void => {
		while (i < text.length && " \t\r\n".includes(text[i]!)) i++;
	};
	const string = (): string => {
		const from = i++;
		while (i < text.length && text[i] !== '"') {
			if (text[i] === "\n") throw new Stop(from, "a text must end on its line");
			i += text[i] === "\\" ? 2 : 1;
		}
		if (i >= text.length) throw new Stop(from, "a text has no end");
		i++;
		try {
			return JSON.parse(text.slice(from, i)) as string;
		} catch {
			throw new Stop(from, "an escape sequence is wrong");
		}
	};
	const what = (): string => (i < text.length ? `found “${text[i]}”` : "found the end");
	// `at` is where a reader would look: the key of a member, the value of an element.
	const value = (pointer: string, at: number, depth: number): void => {
		if (depth > 64) throw new Stop(i, "nested too deeply");
		starts.set(pointer, at);
		const c = text[i];
		if (c === '"') return void string();
		if (c === "{" || c === "[") {
			const end = c === "{" ? "}" : "]";
			i++;
			space();
			if (text[i] === end) return void i++;
			for (let n = 0; ; n++) {
				space();
				const from = i;
				let key = String(n);
				if (c === "{") {
					if (text[i] !== '"') throw new Stop(i, `expected a name in quotes, ${what()}`);
					key = string().replace(/~/g, "~0").replace(/\//g, "~1");
					space();
					if (text[i] !== ":") throw new Stop(i, `expected “:”, ${what()}`);
					i++;
					space();
				}
				value(`${pointer}/${key}`, from, depth + 1);
				space();
				if (text[i] === end) return void i++;
				if (text[i] !== ",") throw new Stop(i, `expected “,” or “${end}”, ${what()}`);
				i++;
			}
		}
		const word = /^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)/.exec(text.slice(i, i + 400));
		if (!word) throw new Stop(i, `expected a value, ${what()}`);
		i += word[0].length;
	};

	let stop: Stop | null = null;
	try {
		space();
		value("", i, 0);
		space();
		if (i < text.length) throw new Stop(i, `expected the end, ${what()}`);
	} catch (e) {
		if (!(e instanceof Stop)) throw e;
		stop = e;
	}

	const lines = [0];
	for (let n = text.indexOf("\n"); n >= 0; n = text.indexOf("\n", n + 1)) lines.push(n + 1);
	const place = (offset: number): Place => {
		let low = 0, high = lines.length;
		while (high - low > 1) {
			const middle = (low + high) >> 1;
			if (lines[middle]! <= offset) low = middle;
			else high = middle;
		}
		return { line: low + 1, offset };
	};
	const places = new Map<string, Place>();
	for (const [pointer, offset] of starts) places.set(pointer, place(offset));
	return { places, error: stop && { text: stop.message, place: place(stop.at) } };
}

// The place of the pointer, or of the nearest thing around it that exists.
export function find(places: Map<string, Place>, pointer: string): Place | undefined {
	for (let p = pointer; ; p = p.slice(0, p.lastIndexOf("/"))) {
		const place = places.get(p);
		if (place || p === "") return place;
		if (!p.includes("/")) return places.get("");
	}
}
