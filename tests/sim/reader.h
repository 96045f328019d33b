// SPDX-License-Identifier: GPL-2.0-or-later
// What the files that read scenarios share: the line being read, its words, and the names known so far. A mistake ends
// the process with file, line, value and what is allowed; nothing here returns an error.
#ifndef TESTS_SIM_READER_H
#define TESTS_SIM_READER_H

#include "tests/sim/sim.h"

enum { WORDS_MAX = 64, LINE_MAX_LEN = 1024, REPEAT_MAX = CLASSES_MAX };

struct change { // a statement that edits a tree's plan, at 0 for the first one
	uint32_t tree, line;
	nsec_t at;
	char *text;
};

struct reader {
	struct scenario *s;
	uint32_t line;
	char *word[WORDS_MAX];
	uint32_t words, next;
	char text[LINE_MAX_LEN];
	struct change *change;
	uint32_t changes;
	uint32_t *hash; // class index + 1 by name, open addressing
	uint32_t hash_size;
};

// A name behind a number, and what it multiplies by; a list ends with NULL.
struct unit {
	const char *name;
	double factor;
};
extern const struct unit plain_units[]; // "" and "%"

void wrong(const struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3) __attribute__((noreturn));
// Room for one more element, zeroed, of an array that holds n; its size doubles at powers of two.
void *grow_array(void *array, uint32_t n, size_t size);

// Cuts `text` into the reader's words, which point into it.
void split_line(struct reader *r, char *text);
// The next word, which must be there; `what` it should be is for the message.
const char *next_word(struct reader *r, const char *what);
bool more_words(const struct reader *r);
// Takes the next word if it is this one.
bool accept_word(struct reader *r, const char *keyword);
double read_value(struct reader *r, const char *text, const struct unit *units, double min, double max,
		  const char *allowed);
uint64_t read_rate(struct reader *r, const char *text);
nsec_t read_time(struct reader *r, const char *text);
uint32_t read_number(struct reader *r, const char *what, uint32_t min, uint32_t max);
int32_t read_integer(struct reader *r, const char *what, int32_t min, int32_t max);
struct curve read_curve(struct reader *r);
void read_name(struct reader *r, char out[CLASS_NAME_MAX], const char *what);

// Where the hash has the class of this name, or would have it.
uint32_t *class_slot(struct reader *r, uint32_t tree, const char *text);
void class_known(struct reader *r, uint32_t tree, const char *text);
uint32_t tree_by_name(struct reader *r, const char *text);
// Index of "CLASS" of the first tree, or "TREE/CLASS".
uint32_t class_named(struct reader *r, const char *w);
uint32_t text_hash(uint32_t start, const char *text);

// plans.c: statements about trees; make_plans reads them in full once all are known.
void statement_tree(struct reader *r);
void statement_poll(struct reader *r);
void statement_class(struct reader *r);
void statement_at(struct reader *r);
void make_plans(struct reader *r);

// traffic.c, expectations.c
void statement_source(struct reader *r);
void statement_expect(struct reader *r);

#endif
