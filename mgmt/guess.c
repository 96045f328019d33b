// SPDX-License-Identifier: GPL-2.0-or-later
// Guesses. The distance is that of Damerau and Levenshtein in its restricted form (optimal string alignment: no part
// is edited twice). Three rows of its matrix are enough, and a row that is above the limit everywhere ends the search,
// so that comparing one name with 10^4 takes well under a millisecond.
#include "mgmt/guess.h"

#include <stdio.h>
#include <string.h>

#include "mgmt/json.h"

unsigned name_distance(const char *a, const char *b, unsigned limit)
{
	enum { LONGEST = 48 };
	unsigned rows[3][LONGEST + 1]; // of the distance matrix: this one, the one above, the one above that
	size_t na = strlen(a), nb = strlen(b);

	if (na > LONGEST || nb > LONGEST || (na > nb ? na - nb : nb - na) > limit)
		return limit + 1;
	for (size_t i = 0; i <= na; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
		unsigned best = row[0] = (unsigned)i;

		for (size_t j = 1; j <= nb; j++) {
			if (!i) {
				row[j] = (unsigned)j;
				continue;
			}
			unsigned d = above[j - 1] + (a[i - 1] != b[j - 1]);

			if (above[j] + 1 < d)
				d = above[j] + 1;
			if (row[j - 1] + 1 < d)
				d = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above2[j - 2] + 1 < d)
				d = above2[j - 2] + 1;
			row[j] = d;
			best = d < best ? d : best;
		}
		if (i && best > limit)
			return limit + 1;
	}
	return rows[na % 3][nb] > limit ? limit + 1 : rows[na % 3][nb];
}

struct guess guess_start(const char *name)
{
	size_t len = strlen(name);

	// In a short name, a few errors leave nothing of it.
	return (struct guess){.name = name, .distance = len < 2 ? 0 : len < 4 ? 1 : len < 8 ? 2 : 3};
}

void guess_add(struct guess *g, const char *known)
{
	unsigned d = name_distance(g->name, known, g->distance);
	size_t at = strlen(g->list);
	char shown[SHOWN_MAX];

	if (d <= g->distance && (!g->nearest || d < g->distance)) {
		g->nearest = known;
		g->distance = d;
	}
	if (g->known++ < GUESS_LISTED && at + strlen(text_shown(known, shown)) + 3 < sizeof g->list)
		sprintf(g->list + at, "%s%s", at ? ", " : "", shown);
}

const char *guess_text(const struct guess *g, char *buf)
{
	char shown[SHOWN_MAX];

	buf[0] = '\0';
	if (g->nearest)
		snprintf(buf, GUESS_TEXT_MAX, "; did you mean %s?", text_shown(g->nearest, shown));
	else if (g->known && g->known <= GUESS_LISTED)
		snprintf(buf, GUESS_TEXT_MAX, "; allowed: %s", g->list);
	return buf;
}
