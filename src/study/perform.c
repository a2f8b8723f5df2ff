/* perform.c - see perform.h */
#include "study/perform.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "study/answer.h"
#include "study/calibrate.h"
#include "study/result.h"
#include "study/runner.h"

#include <stdio.h>
#include <string.h>

static bool is_complete(const struct plan *p, const struct evidence *e)
{
	for (int i = 0; i < p->count * p->reps; i++)
		if (!e->documents[i])
			return false;
	return true;
}

static struct study_outcome sum_up(const struct plan *p, const struct evidence *e)
{
	struct study_outcome o = {.cases = p->count};

	for (int i = 0; i < p->count; i++) {
		bool good = false;

		for (int rep = 0; rep < p->reps; rep++)
			good = good || e->documents[i * p->reps + rep];
		if (good || !e->failed[i])
			continue;
		if (!o.failed++)
			snprintf(o.first, sizeof(o.first), "%s: %s", p->cases[i].name,
				 e->failed[i]);
	}
	return o;
}

/* Everything that follows from the runs. */
static enum status conclude(const struct study *s, const struct plan *p,
			    const struct evidence *e, const char *folder, bool quick,
			    struct error *err)
{
	struct columns columns = {0};
	struct tables tables = {.study = s, .plan = p};
	struct result result = {.tables = &tables,
				.folder = folder,
				.quick = quick,
				.complete = is_complete(p, e)};
	json_t *answers = NULL;
	enum status st;

	TRY(columns_init(&columns, s, err));
	TRY(results_init(&tables.by_case, &columns, p, e, false, err));
	TRY(results_init(&tables.by_rank, &columns, p, e, true, err));
	observations_fill(&tables.by_case);
	observations_fill(&tables.by_rank);
	answers = answers_make(&tables);
	result.answers = answers;
	TRY(result_write(&result, err));
	result_print(&result);
out:
	json_decref(answers);
	results_release(&tables.by_case);
	results_release(&tables.by_rank);
	columns_release(&columns);
	return st;
}

/* Why it ended early, and that nothing is lost. */
static enum status stopped(const struct study *s, const struct plan *p,
			   const struct evidence *e, int number, struct error *err)
{
	const char *name;
	enum status code = error_of_signal(number, &name);

	FAIL(err, code, "%s was stopped by %s: %d of %d runs are kept", s->name, name,
	     evidence_runs(e, p), plan_runs(p));
	return HINT(err, "the same command goes on from there");
}

enum status study_perform(const struct study *s, const struct study_options *o,
			  struct study_outcome *outcome, struct error *err)
{
	char folder[PATH_MAX];
	struct folder claim = {0};
	struct plan plan = {0};
	struct evidence evidence = {0};
	struct child_signals signals;
	struct runner runner = {.study = s,
				.plan = &plan,
				.folder = folder,
				.fresh = o->fresh,
				.signals = &signals,
				.evidence = &evidence};
	enum status st, ran = OK;
	struct error why = {.code = OK};

	child_signals_take(&signals);
	TRY(plan_init(&plan, s, &o->plan, err));
	TRY(file_path(folder, o->out, s->name, err));
	TRY(file_check_below(folder, o->out, err));
	TRY(folder_claim(&claim, folder, err));
	TRY(evidence_init(&evidence, &plan, err));
	TRY(calibrate(&plan, o->out, o->plan.quick, &signals, err));
	if (!signals.stopped) {
		TRY(runner_write_commands(&runner, err));
		ran = runner_run(&runner, &why);
	}
	/* A full disk or a signal is no reason to keep back what has been measured. */
	st = conclude(s, &plan, &evidence, folder, o->plan.quick, ran == OK ? err : NULL);
	if (ran != OK) {
		st = error_copy(err, &why);
	} else if (signals.stopped) {
		st = stopped(s, &plan, &evidence, signals.stopped, err);
	} else if (st == OK) {
		*outcome = sum_up(&plan, &evidence);
		log_info("%s: results are in %s", s->name, folder);
	}
out:
	evidence_release(&evidence);
	plan_release(&plan);
	folder_release(&claim);
	child_signals_release(&signals);
	return st;
}
