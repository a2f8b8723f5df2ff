/* train_trace.c - what the ranks do is recorded, collected and written; see training.h */
#include "base/file.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/training.h"

#include <math.h>
#include <stdlib.h>

enum { RECORDS_MAX = 1 << 19 }; /* of all ranks: some 100 MB of timeline.json */

static int layers_of(const struct training *t, int stage)
{
	const struct partition *p = &t->partition;
	int n = 0;

	for (int i = 0; i < t->model.count; i++)
		n += schedule_place(&t->schedule, partition_part_of(p, i)).stage == stage;
	return n;
}

/* A linear layer has one each way, and the last one's output may be gathered. A block of
   attention and feed-forward has four products: rows that are spread are collected and summed
   for each, twice on the way back, and once more where it is computed again. */
static int slice_sums(const struct config *c, int layers)
{
	return config_is_language(c) ? 16 * layers + 2 : 2 * layers + 1;
}

enum status training_trace_begin(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	int stage = grid_coords(&t->grid, t->rank->number).pp;
	struct trace_plan plan = {.order = &t->schedule.orders[stage],
				  .layers = layers_of(t, stage),
				  .slice_sums = slice_sums(c, layers_of(t, stage)),
				  .micro_batches = c->micro_batches,
				  .dp = t->grid.dp,
				  .mp = t->grid.mp,
				  .copies = device_has_stamps(t->dev)};
	int64_t most = RECORDS_MAX / t->rank->ranks, step = trace_records_per_step(&plan);
	enum status st = OK;

	if (!c->trace) /* then only for where the time of a step goes */
		return plan.copies ? records_init(&t->records, step, err) : OK;
	/* One more: of the oldest only a part may be left. */
	if (t->rank->number == 0 && step * (c->trace + 1) > most)
		log_verbose("timeline.json has room for %lld steps", (long long)(most / step));
	TRY(records_init(&t->records, min64(step * (c->trace + 1), most), err));
	TRY(gather_init(&t->gather, t->rank, err));
out:
	return st;
}

static void describe(struct training *t)
{
	const struct links *links = device_links(t->dev);
	struct trace *trace = &t->trace;

	*trace = (struct trace){.grid = t->grid,
				.schedule = t->schedule.kind,
				.micro_batches = t->schedule.micro_batches,
				.chunks = t->schedule.chunks,
				.base = t->config.engine == ENGINE_BASE,
				.linked = device_is_virtual(t->dev)};
	if (trace->linked) {
		trace->latency_ns = links->latency_ns;
		trace->ns_per_byte = links->ns_per_byte;
	}
	if (isfinite(t->predicted.step_ms))
		trace->before = (struct trace_prediction){
			t->predicted.step_ms, t->predicted.low_ms, t->predicted.high_ms};
	snprintf(trace->device, sizeof(trace->device), "%s", device_description(t->dev));
}

static void report_clocks(const struct trace *trace)
{
	for (int i = 0; i < trace->n_clocks; i++)
		log_verbose("the clock of rank %d's machine is ahead of rank 0's by %.1f us, "
			    "give or take %.1f",
			    trace->clocks[i].host, (double)trace->clocks[i].offset_ns * 1e-3,
			    (double)trace->clocks[i].error_ns * 1e-3);
}

enum status training_trace_collect(struct training *t, struct error *err)
{
	enum status st = OK;

	if (!t->config.trace)
		return OK;
	comm_observe(t->rank->world, &t->rank->pace, NULL);
	if (t->rank->number == 0) {
		describe(t);
		TRY(trace_init(&t->trace, err));
	}
	TRY(gather_records(&t->gather, &t->records, &t->trace, err));
	if (t->rank->number == 0) {
		report_clocks(&t->trace);
		TRY(trace_arrange(&t->trace, t->config.trace, &t->schedule, err));
	}
out:
	return st;
}

enum status training_trace_write(struct training *t, struct error *err)
{
	char path[PATH_MAX];
	enum status st = OK;

	if (!t->config.trace)
		return OK;
	if (t->trace.first_step > t->trace.last_step) {
		log_warn("no timeline.json: a step has more to record than there is room for");
		return OK;
	}
	TRY(file_path(path, t->run.folder, "timeline.json", err));
	TRY(trace_write(&t->trace, path, err));
out:
	return st;
}

void training_trace_end(struct training *t)
{
	trace_release(&t->trace);
	records_release(&t->records);
}
