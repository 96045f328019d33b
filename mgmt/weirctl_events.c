// SPDX-License-Identifier: GPL-2.0-or-later
// Lines end with LF, CR or CRLF, wherever the reads happened to cut them. Several data lines of an event are joined by LF. An
// empty line ends an event; one without data is dropped, and so is what the end of the stream cuts off.
#include "mgmt/weirctl_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool append(char **text, size_t *len, size_t *room, const char *bytes, size_t n)
{
	if (*len + n + 1 > EVENT_BYTES_MAX)
		return false;
	if (*len + n + 1 > *room) {
		size_t want = 2 * (*len + n + 1);
		char *grown = realloc(*text, want);

		if (!grown)
			return false;
		*text = grown;
		*room = want;
	}
	memcpy(*text + *len, bytes, n);
	*len += n;
	(*text)[*len] = '\0';
	return true;
}

static void dispatch(struct sse *e)
{
	if (e->data_len) {
		e->data[e->data_len - 1] = '\0'; // the LF after the last line
		e->event(e->arg, e->name[0] ? e->name : "message", e->data);
	}
	e->data_len = 0;
	e->name[0] = '\0';
}

static bool take_line(struct sse *e)
{
	const char *line = e->line_len ? e->line : "", *value;
	size_t field;

	if (!*line) {
		dispatch(e);
		return true;
	}
	field = strcspn(line, ":");
	value = line + field + (line[field] == ':');
	value += *value == ' ';
	if (field == 4 && !strncmp(line, "data", 4))
		return append(&e->data, &e->data_len, &e->data_room, value, strlen(value)) &&
		       append(&e->data, &e->data_len, &e->data_room, "\n", 1);
	if (field == 5 && !strncmp(line, "event", 5))
		snprintf(e->name, sizeof e->name, "%s", value);
	else if (field == 2 && !strncmp(line, "id", 2))
		snprintf(e->id, sizeof e->id, "%s", value);
	return true;
}

bool sse_feed(struct sse *e, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while (bytes < end) {
		size_t n = 0;

		if (e->after_cr && *bytes == '\n') {
			e->after_cr = false;
			bytes++;
			continue;
		}
		e->after_cr = false;
		while (bytes + n < end && bytes[n] != '\n' && bytes[n] != '\r')
			n++;
		if (n && !append(&e->line, &e->line_len, &e->line_room, bytes, n))
			return false;
		bytes += n;
		if (bytes == end)
			break;
		e->after_cr = *bytes++ == '\r';
		if (!take_line(e))
			return false;
		e->line_len = 0;
	}
	return true;
}

void sse_restart(struct sse *e)
{
	e->line_len = e->data_len = 0;
	e->name[0] = '\0';
	e->after_cr = false;
}

void sse_free(struct sse *e)
{
	free(e->line);
	free(e->data);
	e->line = e->data = NULL;
	e->line_len = e->data_len = e->line_room = e->data_room = 0;
}
