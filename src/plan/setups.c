/* setups.c - see setups.h */
#include "plan/setups.h"
#include "base/text.h"
#include "base/units.h"
#include "base/util.h"
#include "data/csv.h"
#include "plan/words.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How a cell becomes a member of a row. */
enum cell_kind {
	CELL_TEXT,
	CELL_NUMBER,
	CELL_SCHEDULE,
	CELL_RECOMPUTE,
	CELL_FLAG,
	CELL_MEASURED
};

struct column {
	const char *name;
	enum cell_kind kind;
	size_t offset;
	int min, max;
	const char *empty; /* what an empty cell stands for, or NULL: it may not be empty */
};

#define AT(member) offsetof(struct setups_row, member)
#define NUMBER(member, text, least, most) \
	{text, CELL_NUMBER, AT(setup.member), least, most, NULL},
/* clang-format off */
static const struct column columns[] = {
	{"cluster", CELL_TEXT, AT(cluster), 0, 0, NULL},
	{"model", CELL_TEXT, AT(model), 0, 0, ""},
	SETUP_NUMBERS(NUMBER)
	{"schedule", CELL_SCHEDULE, AT(setup.schedule), 0, 0, "1f1b"},
	{"recompute", CELL_RECOMPUTE, AT(setup.recompute), 0, 0, "none"},
	{"sequence_parallel", CELL_FLAG, AT(setup.sequence_parallel), 0, 0, "0"},
	{"iter_ms", CELL_MEASURED, AT(iter_ms), 0, 0, ""},
	{"mem_gib", CELL_MEASURED, AT(mem_gib), 0, 0, ""},
	/* Those from here on may be left out. */
	{"ffn", CELL_NUMBER, AT(setup.ffn), 0, 1 << 22, "0"},
	{"kv_heads", CELL_NUMBER, AT(setup.kv_heads), 0, 1 << 16, "0"},
};
/* clang-format on */

enum { COLUMNS = ARRAY_SIZE(columns), OPTIONAL = 2, CELL_MAX = 128 };

struct reader {
	struct csv csv;
	const char *where;
	int columns;	   /* that the file has */
	int from[COLUMNS]; /* which cell of a record it is; -1: the file does not have it */
};

static enum status wrong(const struct reader *r, const struct column *column, const char *text,
			 const char *wanted, struct error *err)
{
	return FAIL(err, ERR_USAGE, "%s line %lld: %s '%.64s' should be %s", r->where,
		    (long long)r->csv.line, column->name, text, wanted);
}

static enum status read_whole(const struct reader *r, const struct column *column,
			      const char *text, int *out, struct error *err)
{
	char wanted[80];
	double value;

	snprintf(wanted, sizeof(wanted), "a whole number from %d to %d", column->min,
		 column->max);
	if (!units_parse_float(text, &value) ||
	    !(value >= column->min && value <= column->max) || floor(value) != value)
		return wrong(r, column, text, wanted, err);
	*out = (int)value;
	return OK;
}

/* One of some words; -1: it is none of them. */
static enum status take_word(const struct reader *r, const struct column *column,
			     const char *text, int word, const char *wanted, struct error *err)
{
	return word < 0 ? wrong(r, column, text, wanted, err) : OK;
}

static enum status read_measured(const struct reader *r, const struct column *column,
				 const char *text, double *out, struct error *err)
{
	*out = NAN;
	if (!*text)
		return OK;
	if (!units_parse_float(text, out) || !(*out > 0 && *out < 1e15))
		return wrong(r, column, text, "empty or a number above 0", err);
	return OK;
}

/* What an empty number stands for; "": that of the others, see recognise. */
static const char *empty_number(const char *name)
{
	static const char *const words[][2] = {
		{"chunks", "1"}, {"zero", "0"}, {"gpus", ""}, {"dp", ""}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i][0], name))
			return words[i][1];
	return NULL;
}

static enum status read_cell(const struct reader *r, const struct column *column,
			     const char *text, struct setups_row *row, struct error *err)
{
	void *at = (char *)row + column->offset;
	const char *empty = column->empty ? column->empty : empty_number(column->name);
	enum status st = OK;
	int i;

	if (!*text && !empty)
		return wrong(r, column, text, "given", err);
	if (!*text)
		text = empty;
	switch (column->kind) {
	case CELL_TEXT:
		if (strlen(text) >= SETUPS_NAME_MAX)
			return wrong(r, column, text, "a shorter name", err);
		memcpy(at, text, strlen(text) + 1);
		break;
	case CELL_NUMBER:
		*(int *)at = 0;
		if (*text)
			TRY(read_whole(r, column, text, at, err));
		break;
	case CELL_SCHEDULE:
		i = words_schedule(text);
		TRY(take_word(r, column, text, i, "naive, gpipe, 1f1b, interleaved or zb-h1",
			      err));
		*(enum schedule_kind *)at = (enum schedule_kind)i;
		break;
	case CELL_RECOMPUTE:
		i = words_recompute(text);
		TRY(take_word(r, column, text, i, "none, selective or full", err));
		*(enum setup_recompute *)at = (enum setup_recompute)i;
		break;
	case CELL_FLAG:
		i = words_flag(text);
		TRY(take_word(r, column, text, i, "0 or 1", err));
		*(bool *)at = i == 1;
		break;
	case CELL_MEASURED:
		return read_measured(r, column, text, at, err);
	}
out:
	return st;
}

/* A cell as a printable text without the quotes. */
static enum status text_of(const struct cell *cell, char text[CELL_MAX], struct error *err)
{
	char *copy = cell_text(cell);

	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for a cell of %zu bytes", cell->size);
	snprintf(text, CELL_MAX, "%s", copy);
	free(copy);
	return OK;
}

static enum status read_heading(struct reader *r, const struct cell *cells, int count,
				struct error *err)
{
	char text[CELL_MAX];
	enum status st = OK;

	for (int c = 0; c < COLUMNS; c++)
		r->from[c] = -1;
	for (int i = 0; i < count; i++) {
		int c = 0;

		TRY(text_of(&cells[i], text, err));
		while (c < COLUMNS && strcmp(columns[c].name, text))
			c++;
		if (c == COLUMNS)
			return FAIL(err, ERR_USAGE, "%s: column '%.64s' is unknown", r->where,
				    text);
		if (r->from[c] >= 0)
			return FAIL(err, ERR_USAGE, "%s: column %s is there twice", r->where,
				    text);
		r->from[c] = i;
	}
	r->columns = count;
	for (int c = 0; c < COLUMNS - OPTIONAL; c++)
		if (r->from[c] < 0)
			return FAIL(err, ERR_USAGE, "%s: there is no column %s", r->where,
				    columns[c].name);
out:
	return st;
}

static bool begins(const char *text, const char *word)
{
	return !strncasecmp(text, word, strlen(word));
}

/*
 * A model is one of SETUP_MODELS by the beginning of its name, otherwise gpt. Sizes of Llama 3
 * that the table leaves out are known. 1f1b of several chunks is interleaved, and the other way
 * round; one stage has no schedule. Devices that are not given are those of the grid, and
 * replicas what is left of the devices.
 */
static void recognise(struct setups_row *row)
{
	struct setup *s = &row->setup;

	for (int i = 0; setup_model_names[i]; i++)
		if (begins(row->model, setup_model_names[i]))
			s->model = (enum setup_model)i;
	if (begins(row->model, "llama3") || begins(row->model, "llama-3")) {
		bool largest = s->hidden == 16384;

		if (!s->ffn)
			s->ffn = largest ? 53248 : s->hidden / 2 * 7;
		if (!s->kv_heads && s->heads % 8 == 0)
			s->kv_heads = 8;
	}
	if (!s->dp)
		s->dp = imax(1, s->gpus / s->tp / s->pp);
	if (!s->gpus)
		s->gpus = (int)min64((int64_t)s->dp * s->tp * s->pp, INT_MAX);
	if (s->pp == 1)
		s->chunks = 1;
	if (s->schedule == SCHEDULE_1F1B && s->chunks > 1)
		s->schedule = SCHEDULE_INTERLEAVED;
	else if (s->schedule == SCHEDULE_INTERLEAVED && s->chunks == 1)
		s->schedule = SCHEDULE_1F1B;
}

static enum status read_row(const struct reader *r, const struct cell *cells,
			    struct setups_row *row, struct error *err)
{
	struct error own = {0};
	char text[CELL_MAX];
	enum status st = OK;

	row->line = r->csv.line;
	for (int c = 0; c < COLUMNS; c++) {
		*text = '\0';
		if (r->from[c] >= 0)
			TRY(text_of(&cells[r->from[c]], text, err));
		TRY(read_cell(r, &columns[c], text, row, err));
	}
	recognise(row);
	if (setup_check(&row->setup, &own) != OK)
		st = FAIL(err, ERR_USAGE, "%s line %lld: %s", r->where, row->line, own.msg);
out:
	return st;
}

static enum status grow(struct setups *t, struct error *err)
{
	int capacity = t->capacity ? 2 * t->capacity : 64;
	struct setups_row *rows;

	if (t->count < t->capacity)
		return OK;
	if (t->count >= SETUPS_ROWS_MAX)
		return FAIL(err, ERR_USAGE, "a table has at most %d rows", SETUPS_ROWS_MAX);
	rows = realloc(t->rows, (size_t)capacity * sizeof(*rows));
	if (!rows)
		return FAIL(err, ERR_MEMORY, "no memory for a table of %d rows", capacity);
	t->rows = rows;
	t->capacity = capacity;
	return OK;
}

/* Behind the lines that begin with #, and how many they are. */
static const char *skip_comments(const char *at, const char *end, int64_t *lines)
{
	for (*lines = 0; at < end && *at == '#'; ++*lines) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		at = next ? next + 1 : end;
	}
	return at;
}

/* A row that can't be is told at the end: the others can. */
static enum status read_or_note(const struct reader *r, const struct cell *cells,
				struct setups_row *row, struct error *err)
{
	struct error own = {0};
	enum status st = read_row(r, cells, row, &own);

	if (st != OK && st != ERR_USAGE)
		return error_copy(err, &own);
	if (st == ERR_USAGE)
		snprintf(row->problem, sizeof(row->problem), "%.*s",
			 (int)sizeof(row->problem) - 1, own.msg);
	return OK;
}

static enum status read_all(struct setups *t, struct reader *r, struct error *err)
{
	struct cell cells[COLUMNS];
	int count;
	enum status st = OK;

	TRY(csv_next(&r->csv, cells, COLUMNS, &count, err));
	if (!count)
		return FAIL(err, ERR_USAGE, "%s is empty", r->where);
	TRY(read_heading(r, cells, imin(count, COLUMNS), err));
	if (count > COLUMNS)
		return FAIL(err, ERR_USAGE, "%s has %d columns; there are %d", r->where, count,
			    COLUMNS);
	for (;;) {
		TRY(csv_next(&r->csv, cells, COLUMNS, &count, err));
		if (!count)
			break;
		if (count != r->columns)
			return FAIL(err, ERR_USAGE, "%s line %lld has %d cells instead of %d",
				    r->where, (long long)r->csv.line, count, r->columns);
		TRY(grow(t, err));
		t->rows[t->count] = (struct setups_row){.line = 0};
		TRY(read_or_note(r, cells, &t->rows[t->count], err));
		t->problems += *t->rows[t->count].problem != '\0';
		t->count++;
	}
	if (!t->count)
		st = FAIL(err, ERR_USAGE, "%s has no rows", r->where);
out:
	return st;
}

enum status setups_read(struct setups *t, const char *bytes, size_t size, const char *where,
			struct error *err)
{
	struct reader r = {.where = where};
	const char *end = bytes + size;
	int64_t lines;
	enum status st;

	*t = (struct setups){.rows = NULL};
	bytes = skip_comments(bytes, end, &lines);
	TRY(csv_open(&r.csv, bytes, (size_t)(end - bytes), where, err));
	r.csv.lines += lines;
	TRY(read_all(t, &r, err));
out:
	if (st != OK)
		setups_release(t);
	return st;
}

void setups_release(struct setups *t)
{
	free(t->rows);
	*t = (struct setups){.rows = NULL};
}
