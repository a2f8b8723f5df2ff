/*
 * study.h - an experiment as data: what is fixed, what is varied, how often it is
 * repeated, and which tables, charts and answers come out of it.
 *
 * A study is a JSON file (docs/studies.md). study_load checks all of it, so that the
 * rest of the folder may take its shape for granted; plan_init makes the cases of it.
 */
#ifndef KOLM_STUDY_STUDY_H
#define KOLM_STUDY_STUDY_H

#include "base/error.h"
#include "base/text.h"
#include "config/option.h"

#include <jansson.h>
#include <stddef.h>

enum {
	STUDY_NAME_MAX = 64,
	STUDY_AXES_MAX = 6,
	STUDY_CASES_MAX = 400,
	STUDY_REPS_MAX = 32,
	STUDY_FILE_MAX = 1 << 20,
};

struct study {
	json_t *root;	  /* the whole file, checked */
	const char *name; /* borrowed from root, as all below */
	const char *title, *about;
};

/* A command that cases may start, and the tables of the options that it takes. */
struct study_command {
	const char *name;
	const struct option_table *tables[2]; /* the second may be NULL */
};

/* Read the bytes of a file; where names it in messages. The commands are what its cases may
   start: the first is the usual one, an empty one ends the list. */
enum status study_load(struct study *s, const struct study_command *commands, const char *bytes,
		       size_t size, const char *where, struct error *err);
void study_unload(struct study *s);

/* The studies that are built in: how many, and the i-th one's text. */
struct builtin {
	const char *name;
	const unsigned char *bytes;
	size_t size;
};
extern const struct builtin study_builtins[];
extern const size_t study_builtin_count;
const struct builtin *study_find_builtin(const char *name);

/* Where a case runs. */
enum study_place { PLACE_REAL, PLACE_VIRTUAL };
extern const char *const place_names[];

/* What the command line changes about a study. */
struct plan_options {
	bool quick;
	int reps;  /* 0: as the study says */
	int steps; /* 0: as the study says */
	int cores; /* of this machine: more ranks than that ask for virtual devices */
	bool without_real, without_virtual;
};

/* One value of an axis in a case. */
struct axis_value {
	const char *axis; /* its name */
	char text[STUDY_NAME_MAX];
	double number; /* NAN: it has none */
};

/* One combination of options, to be run several times. */
struct run_case {
	char name[2 * STUDY_NAME_MAX]; /* of its folders */
	const char *group, *command;
	struct axis_value axes[STUDY_AXES_MAX];
	int axis_count;
	enum study_place place;
	json_t *options; /* of the command: name -> value */
	int ranks;
	char device[192];		/* virtual: what --device gets */
	double gflops, memory_gb_per_s; /* virtual: its speed */
};

struct plan {
	struct run_case *cases;
	int count, reps;
};

enum status plan_init(struct plan *p, const struct study *s, const struct plan_options *o,
		      struct error *err);
void plan_release(struct plan *p);
/* How often a case is run: what does not depend on the machine is the same every time, and is
   run once. */
int plan_runs_of(const struct plan *p, const struct run_case *c);
/* Of all cases together. */
int plan_runs(const struct plan *p);

/* A text of the study with {axis} and {option} replaced by the values that the plan has:
   "1, 2 and 4". A quick plan says what it does, not what the whole one would do. */
void plan_add_text(const struct plan *p, const char *text, struct text *out);

/* The arguments of a case behind "kolm", one text each; the last ones name the folder. */
enum { CASE_ARGS_MAX = 160 };
struct case_args {
	char *argv[CASE_ARGS_MAX]; /* NULL at the end */
	int argc;
};
enum status case_args_init(struct case_args *a, const struct run_case *c, const char *folder,
			   struct error *err);
void case_args_release(struct case_args *a);
/* The same as one line for a shell; up to the folder only, if same_run is to be found out. */
void case_args_format(const struct case_args *a, bool without_folder, struct text *out);

/* A number, string or truth value as a person would write it; false: it is none of these. */
bool value_text(const json_t *value, char *buf, size_t size);

/* A member of an object, or of "quick" inside of it if that has one. */
json_t *quick_member(const json_t *object, const char *name, bool quick);

#endif
