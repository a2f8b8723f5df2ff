/* report_end.c - the end of a report: bottlenecks, what stands in for what, every question. */
#include "report/report.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct value text_value(const char *s)
{
	return (struct value){.present = *s != '\0', .text = s};
}

static struct value number_value(double x)
{
	return (struct value){.present = !isnan(x), .number = x};
}

enum { BOTTLENECKS = 3 };

/* Does a say more about the engine than b? What was measured before what was simulated,
   then by the share of the step. */
static bool weighs_more(const struct bottleneck *a, const struct bottleneck *b)
{
	if (a->simulated != b->simulated)
		return b->simulated;
	return (isnan(a->share) ? -1 : a->share) > (isnan(b->share) ? -1 : b->share);
}

/* The three kinds of cost that weigh most, each with the case where it weighs most. */
static int choose_bottlenecks(const struct sources *s, struct bottleneck best[BOTTLENECKS])
{
	struct bottleneck one;
	int n = 0;

	for (int i = 0; i < s->study_count; i++)
		for (size_t k = 0; study_bottleneck(&s->studies[i], k, &one); k++) {
			int at = 0;

			while (at < n && strcmp(best[at].what, one.what))
				at++;
			if (at < n && !weighs_more(&one, &best[at]))
				continue;
			/* It takes the place of its kind, or of the last one. */
			if (at == n && n == BOTTLENECKS && !weighs_more(&one, &best[n - 1]))
				continue;
			if (at == n && n < BOTTLENECKS)
				n++;
			for (at = at < n ? at : n - 1;
			     at > 0 && weighs_more(&one, &best[at - 1]); at--)
				best[at] = best[at - 1];
			best[at] = one;
		}
	return n;
}

void report_add_bottlenecks(struct document *d, struct sources *s)
{
	struct bottleneck best[BOTTLENECKS];
	int n = choose_bottlenecks(s, best);
	struct table *t = n ? table_new(&d->arena, 5, n) : NULL;
	struct text verdict;

	if (!t)
		return;
	document_heading(d, 1, "bottlenecks", "Conclusion: the bottlenecks of the engine");
	text_init(&verdict);
	for (int i = 0; i < n; i++)
		text_addf(&verdict, "%s%s",
			  i == 0      ? ""
			  : i < n - 1 ? ", "
				      : " and ",
			  best[i].what);
	text_add(&verdict, ".");
	if (*verdict.data >= 'a' && *verdict.data <= 'z')
		*verdict.data = (char)(*verdict.data - 'a' + 'A');
	s->conclusion =
		(struct answer){.id = "P.5",
				.question = "Which bottlenecks of the engine were observed?",
				.verdict = document_string(d, verdict.data),
				.supported = true};
	s->conclusion.anchor =
		document_answer(d, "P.5", s->conclusion.question, s->conclusion.verdict, true)
			.anchor;
	text_release(&verdict);
	t->title = "What costs the engine time, why, and what helps";
	t->columns[0].label = "bottleneck";
	t->columns[1] = (struct column){"at worst, of the step", "", COLUMN_PERCENT, 0};
	t->columns[2].label = "where";
	t->columns[3].label = "cause";
	t->columns[4].label = "remedy";
	for (int i = 0; i < n; i++) {
		struct value *v = t->rows[i].values;

		v[0] = text_value(document_string(d, best[i].what));
		v[1] = number_value(best[i].share);
		v[2] = text_value(
			document_stringf(d, "%s: %s", best[i].study->title, best[i].where));
		v[2].link = best[i].study->section.anchor;
		v[3] = text_value(document_string(d, best[i].cause));
		v[4] = text_value(document_string(d, best[i].remedy));
	}
	t->note = "Rows with trouble that a study puts in, with a baseline (base engine, naive "
		  "schedule, DataParallel) or with more ranks than cores are not counted.";
	document_table(d, t);
}

/* ---- what can't be seen here ---- */

void report_add_stand_ins(struct document *d)
{
	static const char *const rows[][3] = {
		{"GPUs, CUDA devices and their number",
		 "ranks on CPU cores; --pp auto takes all cores", "nothing was run on a GPU"},
		{"utilisation from nvidia-smi",
		 "the share of the step that a rank computes, from its own records",
		 "what a GPU would show"},
		{"CUDA memory of each device",
		 "every allocation of a rank by kind, to the byte, and its peak",
		 "the caching of an allocator, fragmentation"},
		{"streams and asynchronous copies",
		 "sends that do not block, receives posted early, sums in buckets",
		 "copies between host and device"},
		{"more devices than this machine has cores",
		 "virtual devices: the real executor, on a clock that goes on by what operations "
		 "and transfers are said to cost. They compute nothing; such rows are simulated",
		 "contention that the model of the device does not know"},
		{"fp16 speed of tensor cores",
		 "fp16 storage with fp32 arithmetic: bytes halve, arithmetic does not get faster",
		 "the factor that tensor cores bring"},
		{"srun --partition=gpu --gres=gpu:4",
		 "examples/slurm.sbatch for CPU nodes; examples/slurm-gpu.sbatch, run on "
		 "simulated GPUs (tests/cluster/slurm_gpu.sh)",
		 "a GPU allocation"},
	};
	struct table *t = table_new(&d->arena, 3, ARRAY_SIZE(rows));

	if (!t)
		return;
	document_heading(d, 1, "stand-ins", "What can't be seen on this machine");
	document_paragraph(
		d, "The course speaks of a node with 4 GPUs. This machine has none; here is "
		   "what stands in for each, and what is not shown.");
	t->columns[0].label = "the course speaks of";
	t->columns[1].label = "here";
	t->columns[2].label = "not shown";
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t k = 0; k < 3; k++)
			t->rows[i].values[k] = text_value(rows[i][k]);
	document_table(d, t);
}

/* ---- the index ---- */

struct question {
	struct answer answer;
	const struct study *study;
};

/* 1.2.3 before 1.5.A1 before 2.1 before P.1, as bytes have it. */
static int by_id(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	return strcmp(x->answer.id, y->answer.id);
}

static struct question *collect_questions(const struct sources *s, int *count)
{
	struct question *all = NULL, one = {.study = NULL};
	int n = 0;

	for (int i = 0; i < s->study_count; i++)
		for (size_t k = 0; study_answer(&s->studies[i], k, &one.answer); k++) {
			struct question *more = realloc(all, (size_t)(n + 1) * sizeof(*more));

			if (!more)
				break;
			all = more;
			one.study = &s->studies[i];
			all[n++] = one;
		}
	if (s->conclusion.id) {
		struct question *more = realloc(all, (size_t)(n + 1) * sizeof(*more));

		if (more) {
			all = more;
			all[n++] = (struct question){.answer = s->conclusion};
		}
	}
	if (n)
		qsort(all, (size_t)n, sizeof(*all), by_id);
	*count = n;
	return all;
}

void report_add_index(struct document *d, const struct sources *s)
{
	int n;
	struct question *all = collect_questions(s, &n);
	struct table *t = n ? table_new(&d->arena, 4, n) : NULL;

	if (t) {
		document_heading(d, 1, "answers", "Every question, its page and the verdict");
		t->columns[0].label = "id";
		t->columns[1].label = "question";
		t->columns[2] = (struct column){"page", "", COLUMN_PAGE, -1};
		t->columns[3].label = "verdict";
		for (int i = 0; i < n; i++) {
			const struct answer *a = &all[i].answer;
			struct value *v = t->rows[i].values;

			v[0] = text_value(document_string(d, a->id));
			v[0].link = a->anchor;
			v[1] = text_value(document_string(d, a->question));
			v[2] = (struct value){.present = true, .link = a->anchor};
			v[3] = text_value(document_string(d, a->verdict));
		}
		document_table(d, t);
	}
	free(all);
}
