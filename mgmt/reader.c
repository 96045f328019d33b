// SPDX-License-Identifier: GPL-2.0-or-later
// The short life of a reader: descriptors for the file and a pipe, bounds on memory and time, no privilege, a handful
// of system calls. It writes records to the pipe: each problem, then the encoded configuration, then DONE. A
// configuration is sent even if the text has errors, with what could be read of its ports: the parent, which may ask
// the kernel about devices, adds what is wrong there, so that people see everything at once. It is used for nothing else.
//
// The parent takes no more than the bounds below and decodes only when the child is gone.
#include "mgmt/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/sandbox.h"
#include "mgmt/desired.h"
#include "mgmt/machine.h"
#include "mgmt/spawn.h"

#define READ_NS (10 * NSEC_PER_SEC)
#define READER_MEMORY (2ull << 30) // the largest possible file as a tree of JSON values is about half of it

enum { READER_CPU_SECONDS = 10, CHUNK = 1 << 16 };

enum record_type { RECORD_PROBLEM = 1, RECORD_CONFIG, RECORD_DONE };

struct record {
	uint32_t type, len;
};

struct done {
	uint32_t errors, warnings; // counted, also those beyond what is kept
};

enum { ANSWER_MAX = CONFIG_BYTES_MAX + (PROBLEMS_KEPT + 4) * (int)(sizeof(struct record) + sizeof(struct problem)) };

// --- the child ---------------------------------------------------------------------------------------------------

static bool write_all(const void *data, size_t len)
{
	for (const char *at = data; len;) {
		ssize_t n = write(STDOUT_FILENO, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool send_record(enum record_type type, const void *body, size_t len)
{
	struct record r = {type, (uint32_t)len};

	return write_all(&r, sizeof r) && write_all(body, len);
}

// All of descriptor 0, up to one byte more than is allowed. NULL with a problem.
static char *read_text(size_t *len, struct problems *out)
{
	size_t room = CHUNK;
	char *text = malloc(room);

	*len = 0;
	while (text) {
		ssize_t n = read(STDIN_FILENO, text + *len, room - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			problem_add(out, PROBLEM_ERROR, "", "can't be read: %s", strerror(errno));
			free(text);
			return NULL;
		}
		*len += (size_t)n;
		if (n == 0 || *len > CONFIG_FILE_MAX)
			return text;
		if (*len == room) {
			char *more = realloc(text, room *= 2);

			if (!more)
				free(text);
			text = more;
		}
	}
	problem_add(out, PROBLEM_ERROR, "", "not enough memory to read it");
	return NULL;
}

static struct config *parse(struct problems *out)
{
	struct config *c = NULL;
	size_t len;
	char *text = read_text(&len, out);

	if (text && len > CONFIG_FILE_MAX)
		problem_add(out, PROBLEM_ERROR, "", "larger than %d bytes, the most that is read", CONFIG_FILE_MAX);
	else if (text)
		c = desired_read(text, len, out);
	free(text);
	return c;
}

static bool send_config(struct config *c, const struct problems *found)
{
	uint8_t *bytes;
	size_t len;

	if (found->errors)
		c->bridges = c->shapers = 0; // perhaps half read; the parent asks about ports only
	if (!config_encode(c, &bytes, &len))
		return false;
	bool sent = send_record(RECORD_CONFIG, bytes, len);

	free(bytes);
	return sent;
}

int reader_main(void)
{
	struct problems found = {0};
	struct config *c;
	bool sent = true;

	prctl(PR_SET_NAME, "weir-reader");
	desired_prepare();
	if (sandbox_limit(READER_MEMORY, READER_CPU_SECONDS) || sandbox_drop_privileges() ||
	    sandbox_enter(SANDBOX_READER))
		return 1;
	c = parse(&found);
	for (uint32_t i = 0; i < found.kept && sent; i++)
		sent = send_record(RECORD_PROBLEM, &found.list[i], sizeof found.list[i]);
	if (c)
		sent = sent && send_config(c, &found);
	sent = sent && send_record(RECORD_DONE, &(struct done){found.errors, found.warnings}, sizeof(struct done));
	config_free(c);
	problems_free(&found);
	return sent ? 0 : 1;
}

// --- the parent --------------------------------------------------------------------------------------------------

struct reader {
	pid_t pid;
	int fd;
	nsec_t deadline;
	uint8_t *answer;
	size_t len, room;
	bool offline;
	bool complete;       // end of file was seen
	const char *failure; // why the answer is not to be used; NULL: none
};

// The open file, or -1 with a problem. Opening never waits (a FIFO), reading does, in the child.
static int open_file(const char *file, struct problems *out)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		problem_add(out, PROBLEM_ERROR, "", "can't be opened: %s", strerror(errno));
	} else if (S_ISDIR(st.st_mode)) {
		problem_add(out, PROBLEM_ERROR, "", "is a directory");
	} else if (S_ISREG(st.st_mode) && st.st_size > CONFIG_FILE_MAX) {
		problem_add(out, PROBLEM_ERROR, "", "%lld bytes are too many, at most %d are read",
			    (long long)st.st_size, CONFIG_FILE_MAX);
	} else {
		fcntl(fd, F_SETFL, 0);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

struct reader *reader_start(const char *file, bool offline, struct problems *out)
{
	struct reader *r = calloc(1, sizeof *r);
	int text = r ? open_file(file, out) : -1, pipes[2];

	if (text < 0) {
		if (!r)
			problem_add(out, PROBLEM_ERROR, "", "not enough memory");
		free(r);
		return NULL;
	}
	if (pipe2(pipes, O_CLOEXEC)) {
		problem_add(out, PROBLEM_ERROR, "", "can't start a reader: %s", strerror(errno));
		close(text);
		free(r);
		return NULL;
	}
	r->pid = spawn_role("reader", (int[]){text, pipes[1], STDERR_FILENO}, 3);
	close(text);
	close(pipes[1]);
	r->offline = offline;
	r->fd = pipes[0];
	r->deadline = clock_now() + READ_NS;
	fcntl(r->fd, F_SETFL, O_NONBLOCK);
	if (r->pid > 0)
		return r;
	problem_add(out, PROBLEM_ERROR, "", "can't start a reader: %s", strerror(-r->pid));
	close(r->fd);
	free(r);
	return NULL;
}

int reader_fd(const struct reader *r)
{
	return r->fd;
}

nsec_t reader_deadline(const struct reader *r)
{
	return r->deadline;
}

static bool make_room(struct reader *r)
{
	size_t room = r->room ? 2 * r->room : CHUNK;
	uint8_t *more;

	if (r->len < r->room)
		return true;
	if (r->room > ANSWER_MAX)
		r->failure = "the reader says more than it may";
	else if (!(more = realloc(r->answer, room)))
		r->failure = "not enough memory";
	else
		r->answer = more, r->room = room;
	return !r->failure;
}

bool reader_read(struct reader *r)
{
	while (make_room(r)) {
		ssize_t n = read(r->fd, r->answer + r->len, r->room - r->len);

		if (n > 0) {
			r->len += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || errno != EAGAIN) {
			r->complete = true;
			return true;
		}
		if (time_before(clock_now(), r->deadline))
			return false;
		r->failure = "reading it took longer than 10 s";
		break;
	}
	return true;
}

// A problem as a child wrote it: ended and harmless on a terminal, whatever the child is.
static void add_problem(struct problems *out, const uint8_t *body)
{
	struct problem p;

	memcpy(&p, body, sizeof p);
	p.path[sizeof p.path - 1] = p.text[sizeof p.text - 1] = 0;
	for (char *c = p.path; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	for (char *c = p.text; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	problem_add(out, p.level == PROBLEM_WARNING ? PROBLEM_WARNING : PROBLEM_ERROR, p.path, "%s", p.text);
}

// What is wrong with the encoding is of interest only if nothing was wrong with the text.
static struct config *take_config(const uint8_t *body, size_t len, struct problems *out)
{
	struct problems found = {0};
	struct config *c = config_decode(body, len, &found);

	if (!c && !out->errors)
		problem_add(out, PROBLEM_ERROR, "", "%s", found.kept ? found.list[0].text : "not enough memory");
	problems_free(&found);
	return c;
}

// Takes the records apart. True if they end with DONE; the configuration, if there was one, in *c.
static bool take_answer(const struct reader *r, struct config **c, struct problems *out)
{
	size_t at = 0;

	while (r->len - at >= sizeof(struct record)) {
		const uint8_t *body = r->answer + at + sizeof(struct record);
		struct record h;
		struct done done;

		memcpy(&h, r->answer + at, sizeof h);
		if (h.len > r->len - at - sizeof h)
			return false;
		at += sizeof h + h.len;
		if (h.type == RECORD_PROBLEM && h.len == sizeof(struct problem)) {
			add_problem(out, body);
		} else if (h.type == RECORD_CONFIG && !*c) {
			*c = take_config(body, h.len, out);
		} else if (h.type == RECORD_DONE && h.len == sizeof done) {
			memcpy(&done, body, sizeof done);
			if (done.errors > out->errors)
				out->errors = done.errors;
			if (done.warnings > out->warnings)
				out->warnings = done.warnings;
			return at == r->len && (*c || out->errors);
		} else {
			return false;
		}
	}
	return false;
}

struct config *reader_finish(struct reader *r, struct problems *out)
{
	int status = spawn_reap(r->pid, r->complete ? NSEC_PER_SEC : 0);
	struct config *c = NULL;
	char ending[80];

	if (r->failure)
		problem_add(out, PROBLEM_ERROR, "", "%s", r->failure);
	else if (status)
		problem_add(out, PROBLEM_ERROR, "", "the process that reads it failed: %s",
			    spawn_ending(status, ending, sizeof ending));
	else if (!take_answer(r, &c, out))
		problem_add(out, PROBLEM_ERROR, "", "the process that reads it gave no usable answer");
	if (c && !out->errors)
		config_check(c, out);
	if (c && !r->offline)
		machine_check(c, out);
	if (out->errors) {
		config_free(c);
		c = NULL;
	}
	close(r->fd);
	free(r->answer);
	free(r);
	return c;
}

struct config *read_config(const char *file, bool offline, struct problems *out)
{
	struct reader *r = reader_start(file, offline, out);

	if (!r)
		return NULL;
	while (!reader_read(r)) {
		struct pollfd p = {.fd = r->fd, .events = POLLIN};

		poll(&p, 1, 200);
	}
	return reader_finish(r, out);
}
