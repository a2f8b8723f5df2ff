/*
 * option.h - options as data. One table per command feeds the command line, --help,
 * JSON configuration files and config.json.
 *
 * Names on the command line, in files and here are the same, dashes and underscores
 * alike. The struct that an option belongs to is the caller's; the table says where
 * in it each value goes.
 */
#ifndef KOLM_CONFIG_OPTION_H
#define KOLM_CONFIG_OPTION_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
	OPTION_INT,	/* int */
	OPTION_INT64,	/* int64_t */
	OPTION_FLOAT,	/* double */
	OPTION_SIZE,	/* uint64_t bytes: 25MB, 2GiB */
	OPTION_TIME,	/* double ms: 10ms, 2s, 3 */
	OPTION_SECONDS, /* double s: 10ms, 2s, 3 */
	OPTION_CHOICE,	/* int: index into choices */
	OPTION_STRING,	/* char[capacity] */
	OPTION_FLAG,	/* bool */
};

struct option {
	const char *name, *alias; /* alias may be NULL */
	enum option_type type;
	size_t offset, capacity;
	const char *initial;	    /* the default, as a user would write it */
	const char *zero;	    /* the word that stands for 0, or NULL */
	double min, max;	    /* numbers; min == max: any */
	const char *const *choices; /* NULL-terminated */
	const char *group, *help;
	const char *meta; /* how its value is written; see option_completion.c */
	bool repeat;	  /* a string that may be given several times: joined by ';' */
	bool unsaved;	  /* about this invocation, not about the run: not in config.json */
	bool reserved;	  /* where files go, or more options: not for a study's file to say */
};

/* Who set an option; the higher one wins. */
enum option_source { SOURCE_DEFAULT, SOURCE_FILE, SOURCE_COMMAND_LINE };

enum { OPTION_MAX = 128, OPTION_POSITIONAL_MAX = 32 };

struct option_table {
	const char *command; /* "train" */
	const char *usage;   /* "kolm train [options]" */
	const char *summary;
	const struct option *options;
	size_t count;
	const char *const *examples; /* lines, NULL-terminated */
	int positional;		     /* how many other arguments are allowed */
	const char *arguments;	     /* what they are, such as "NAME|DIR|show NAME", or NULL */
	const char *(*name)(size_t i); /* the i-th NAME that it knows; NULL behind the last */
	const struct option_table *passes_on; /* whose options it takes too, or NULL */
};

struct option_values {
	const struct option_table *table;
	void *target;
	unsigned char source[OPTION_MAX]; /* enum option_source */
	const char *positional[OPTION_POSITIONAL_MAX];
	int positionals;
	bool help; /* --help was given */
};

void options_init(struct option_values *v, const struct option_table *table, void *target);

/* Read the command line behind the command's name. */
enum status options_parse(struct option_values *v, int argc, char *const *argv,
			  struct error *err);

/* Read those that the table knows, and --help; the others go to rest (argc + 1 pointers),
   for another table. */
enum status options_split(struct option_values *v, int argc, char *const *argv, char **rest,
			  int *n, struct error *err);

/* Set one option by name from text, unless a higher source has set it. */
enum status options_set(struct option_values *v, const char *name, const char *text,
			enum option_source source, struct error *err);

/* Is there such an option, and would it take that value? */
enum status options_check(const struct option_table *table, const char *name, const char *text,
			  struct error *err);

/* The option of that name, or NULL. */
const struct option *options_find(const struct option_table *table, const char *name);
enum option_source options_source(const struct option_values *v, const char *name);

/* As if it had been set by that source, or by nobody. */
void options_mark(struct option_values *v, const char *name, enum option_source source);
void options_forget(struct option_values *v, const char *name);

/* A JSON object of options (bytes of a file; where names it in messages). */
enum status options_read_json(struct option_values *v, const char *bytes, size_t size,
			      const char *where, struct error *err);
/* Members of an object that j is in: every option but the unsaved ones. */
void options_write_json(const struct option_values *v, struct json *j);

void options_print_help(const struct option_table *table, FILE *out);
/* All commands as one man page in troff, and as a completion script for bash. */
void options_print_man(const struct option_table *const *tables, size_t count, FILE *out);
void options_print_completion(const struct option_table *const *tables, size_t count,
			      FILE *out);

#endif
