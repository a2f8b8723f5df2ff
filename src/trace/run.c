/* run.c - see run.h */
#include "trace/run.h"
#include "base/file.h"
#include "base/util.h"
#include "base/version.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum status run_write_config(const struct run *r, const struct option_values *options, int argc,
			     char *const *argv, struct error *err)
{
	enum status st;
	struct json j;
	struct text command;
	char path[PATH_MAX];

	json_init(&j, true);
	text_init(&command);
	json_begin_object(&j, NULL);
	options_write_json(options, &j);
	json_end_object(&j);
	text_add(&command, "kolm train");
	for (int i = 0; i < argc; i++) {
		text_add(&command, " ");
		text_add_quoted(&command, argv[i]);
	}
	text_add(&command, "\n");
	TRY(file_path(path, r->folder, "config.json", err));
	TRY(json_write_file(&j, path, err));
	TRY(file_path(path, r->folder, "command.txt", err));
	TRY(file_write_whole(path, command.data, command.len, err));
out:
	text_release(&command);
	json_release(&j);
	return st;
}

/* Scaled so that they add up to the step time that is shown: the mean of the ranks' own
   differs from that of rank 0 by what they begin later. */
static void put_breakdown(struct json *j, const char *name, const struct breakdown *b,
			  double step)
{
	double scale = b->step > 0 ? step / b->step : 0;

	json_begin_object(j, name);
	json_put_double(j, "compute", b->compute * scale);
	json_put_double(j, "comm_exposed", b->comm * scale);
	json_put_double(j, "bubble", b->bubble * scale);
	json_put_double(j, "imbalance", b->imbalance * scale);
	json_put_double(j, "other", b->other * scale);
	json_end_object(j);
}

static void put_evaluation(struct json *j, const struct evaluation *e)
{
	if (!e)
		return;
	json_begin_object(j, "held_out");
	json_put_int(j, "samples", e->samples);
	json_put_double(j, "loss", e->loss);
	if (!isnan(e->accuracy))
		json_put_double(j, "accuracy", e->accuracy);
	if (e->perplexity > 0)
		json_put_double(j, "perplexity", e->perplexity);
	if (e->bits_per_byte > 0)
		json_put_double(j, "bits_per_byte", e->bits_per_byte);
	json_end_object(j);
}

/* A step as one line of JSON; the text belongs to j. */
static const char *step_json(struct json *j, const struct step_metrics *s, int batch)
{
	json_reset(j);
	json_begin_object(j, NULL);
	json_put_int(j, "step", s->step);
	json_put_double(j, "loss", s->loss);
	json_put_double(j, "step_ms", s->ms);
	json_put_double(j, "samples_per_s", batch / s->ms * 1e3);
	if (s->tokens)
		json_put_double(j, "tokens_per_s", batch / s->ms * 1e3 * s->tokens);
	json_put_double(j, "grad_norm", s->grad_norm);
	json_put_double(j, "lr", s->lr);
	json_put_double(j, "loss_scale", s->loss_scale);
	json_put_bool(j, "skipped", s->skipped);
	json_put_double(j, "data_ms", s->data_ms);
	json_put_bool(j, "warmup", s->warmup);
	put_evaluation(j, s->held_out);
	if (s->breakdown) {
		put_breakdown(j, "breakdown_ms", s->breakdown, s->ms);
		json_put_int(j, "straggler", s->straggler);
	}
	json_end_object(j);
	text_add(&j->text, "\n");
	return j->text.data;
}

static enum status add_events(struct events *e, const struct step_metrics *s, int batch,
			      struct error *err)
{
	struct events_scalar scalars[EVENTS_SCALARS_MAX] = {
		{"loss", s->loss},
		{"grad_norm", s->grad_norm},
		{"loss_scale", s->loss_scale},
		{"samples_per_s", batch / s->ms * 1e3},
		{"step_ms", s->ms},
		{"lr", s->lr},
	};
	size_t n = 6;

	if (s->tokens)
		scalars[n++] =
			(struct events_scalar){"tokens_per_s", batch / s->ms * 1e3 * s->tokens};
	if (s->held_out)
		scalars[n++] = (struct events_scalar){"held_out_loss", s->held_out->loss};
	if (s->held_out && !isnan(s->held_out->accuracy))
		scalars[n++] =
			(struct events_scalar){"held_out_accuracy", s->held_out->accuracy};
	if (s->held_out && s->held_out->perplexity > 0)
		scalars[n++] =
			(struct events_scalar){"held_out_perplexity", s->held_out->perplexity};
	if (s->held_out && s->held_out->bits_per_byte > 0)
		scalars[n++] = (struct events_scalar){"held_out_bits_per_byte",
						      s->held_out->bits_per_byte};
	return events_add(e, s->step, scalars, n, err);
}

enum status run_write_step(struct run *r, const struct step_metrics *s, int batch,
			   struct error *err)
{
	const char *line = step_json(&r->line, s, batch);
	off_t start = lseek(r->fd, 0, SEEK_END);
	enum status st = file_write_fd(r->fd, r->metrics, line, strlen(line), err);

	/* Half a line would make the whole file unreadable. */
	if (st != OK && start >= 0)
		(void)!ftruncate(r->fd, start);
	return st == OK ? add_events(&r->events, s, batch, err) : st;
}

double run_samples_per_s(const struct run_summary *s)
{
	double ms = metrics_step_ms(s->metrics).median;

	return ms > 0 ? s->config->batch / ms * 1e3 : NAN;
}

double run_tokens_per_s(const struct run_summary *s)
{
	return run_samples_per_s(s) * s->sequence;
}

double run_gflops(const struct run_summary *s)
{
	return run_samples_per_s(s) * s->sequence *
	       model_flops(engine_options(s->engine)->model) * 1e-9;
}

double run_peak_gflops(const struct run_summary *s)
{
	double sum = 0;

	for (int i = 0; i < s->rank->ranks; i++)
		sum += s->ranks[i].peak_gflops;
	return sum;
}

const char *run_peak_type(const struct run_summary *s)
{
	for (int i = 1; i < s->rank->ranks; i++)
		if (s->ranks[i].peak_type != s->ranks[0].peak_type)
			return NULL;
	return precision_names[s->ranks[0].peak_type];
}

/* What one forward pass of a micro-batch moves between stages, over the whole grid. */
static void put_transfers(struct json *j, const struct run_summary *s)
{
	int64_t messages = 0, bytes = 0;
	int64_t passes = s->ranks[0].steps * s->config->micro_batches;

	for (int i = 0; i < s->rank->ranks; i++)
		if (grid_coords(s->grid, i).dp == 0) {
			messages += s->ranks[i].traffic.forward_messages;
			bytes += s->ranks[i].traffic.forward_bytes;
		}
	json_begin_object(j, "transfers_per_forward");
	json_put_int(j, "messages", passes ? messages / passes : 0);
	json_put_int(j, "bytes", passes ? bytes / passes : 0);
	json_end_object(j);
}

static void put_machine(struct json *j, const struct run_summary *s)
{
	int threads = device_threads(s->dev);

	json_begin_object(j, "grid");
	json_put_int(j, "dp", s->grid->dp);
	json_put_int(j, "pp", s->grid->pp);
	json_put_int(j, "mp", s->grid->mp);
	json_end_object(j);
	json_put_int(j, "ranks", s->rank->ranks);
	json_put_int(j, "ranks_per_machine", s->rank->locals);
	json_put_int(j, "cores", s->rank->host_cores);
	json_put_int(j, "threads", threads);
	json_put_bool(j, "oversubscribed",
		      threads * s->rank->locals > s->rank->host_cores ||
			      device_shared_by(s->dev) > 1);
	json_put_string(j, "device", device_description(s->dev));
	if (*engine_between(s->engine))
		json_put_string(j, "between_devices", engine_between(s->engine));
	json_put_string(j, "precision", precision_names[engine_options(s->engine)->type]);
	json_put_string(j, "grad_dtype", precision_names[engine_options(s->engine)->grad_type]);
	json_put_string(j, "schedule",
			schedule_name(engine_options(s->engine)->schedule->kind));
	json_put_int(j, "chunks", engine_options(s->engine)->schedule->chunks);
	json_put_string(
		j, "engine",
		engine_names[engine_options(s->engine)->base ? ENGINE_BASE : ENGINE_HYBRID]);
	json_put_string(j, "grad_sync", grad_sync_names[engine_options(s->engine)->grad_sync]);
	json_put_int(j, "zero", engine_options(s->engine)->zero);
	put_transfers(j, s);
}

static void put_straggler(struct json *j, const struct breakdowns *b)
{
	if (b->straggler < 0)
		return;
	json_begin_object(j, "straggler");
	json_put_int(j, "rank", b->straggler);
	json_put_double(j, "excess_ms", b->excess_ms);
	json_end_object(j);
}

static void put_prediction(struct json *j, const struct prediction_of_step *p)
{
	json_put_double(j, "predicted_ms", p->step_ms);
	json_put_double(j, "predicted_low_ms", p->low_ms);
	json_put_double(j, "predicted_high_ms", p->high_ms);
	json_put_double(j, "predicted_bubble", p->bubble);
	json_put_int(j, "prediction_trials", p->trials);
	json_put_double(j, "prediction_took_ms", p->trials_ms);
}

static void put_steps(struct json *j, const struct run_summary *s)
{
	struct statistics ms = metrics_step_ms(s->metrics);
	int n = s->metrics->count;

	json_put_int(j, "parameters", model_parameters(engine_options(s->engine)->model));
	json_put_int(j, "batch", s->config->batch);
	json_put_int(j, "micro_batches", s->config->micro_batches);
	json_put_int(j, "steps", n + s->metrics->first);
	json_put_int(j, "warmup", s->config->warmup);
	json_put_bool(j, "interrupted", s->interrupted);
	json_put_bool(j, "stopped_early", s->stopped_early);
	json_put_bool(j, "diverged", s->diverged);
	if (s->resumed_from >= 0)
		json_put_int(j, "resumed_from", s->resumed_from);
	json_put_int(j, "restarts", s->restarts);
	if (s->saved) {
		json_begin_object(j, "checkpoints");
		json_put_int(j, "count", s->saved);
		json_put_double(j, "held_up_ms", s->saving_ms);
		json_put_double(j, "took_ms", s->saved_ms);
		json_end_object(j);
	}
	if (s->weights_sha256)
		json_put_string(j, "weights_sha256", s->weights_sha256);
	json_begin_object(j, "step_ms");
	json_put_double(j, "median", ms.median);
	json_put_double(j, "mean", ms.mean);
	json_put_double(j, "stdev", ms.stdev);
	json_put_double(j, "min", ms.min);
	json_put_double(j, "max", ms.max);
	json_end_object(j);
	json_put_double(j, "samples_per_s", run_samples_per_s(s));
	if (s->language)
		json_put_double(j, "tokens_per_s", run_tokens_per_s(s));
	json_put_double(j, "gflops", run_gflops(s));
	json_put_double(j, "peak_gflops", run_peak_gflops(s));
	if (run_peak_type(s))
		json_put_string(j, "peak_dtype", run_peak_type(s));
	json_put_double(j, "first_loss", metrics_first_loss(s->metrics));
	json_put_double(j, "final_loss", n ? s->metrics->losses[n - 1] : NAN);
	json_put_double(j, "lr", n ? s->metrics->lr : NAN);
	json_put_int(j, "skipped_steps", s->metrics->skipped);
	put_prediction(j, s->predicted);
	if (s->planned_ms > 0)
		json_put_double(j, "planned_ms", s->planned_ms);
	json_put_double(j, "bubble", s->breakdowns->bubble);
	put_breakdown(j, "breakdown_ms", &s->breakdowns->mean, ms.mean);
	put_straggler(j, s->breakdowns);
}

void rank_summary_fill(struct rank_summary *s, const struct engine *e, const struct pulse *p,
		       int steps)
{
	const struct memory_account *a = device_memory(engine_device(e));

	s->steps = steps;
	s->traffic = *engine_traffic(e);
	s->peak_gflops = p->peak_gflops;
	s->peak_type = (enum dtype)p->peak_type;
	s->peak_bytes = (int64_t)a->total_peak;
	for (int k = 0; k < MEMORY_KIND_COUNT; k++)
		s->kind_bytes[k] = (int64_t)a->peak[k];
}

static void put_rank(struct json *j, const struct run_summary *s, int rank)
{
	const struct rank_summary *own = &s->ranks[rank];
	const struct breakdown *b = &s->breakdowns->ranks[rank];
	struct coords c = grid_coords(s->grid, rank);

	json_begin_object(j, NULL);
	json_put_int(j, "rank", rank);
	json_put_int(j, "dp", c.dp);
	json_put_int(j, "pp", c.pp);
	json_put_int(j, "mp", c.mp);
	json_put_double(j, "utilization", b->step > 0 ? b->compute / b->step : 0);
	json_put_double(j, "step_ms", b->step);
	json_put_double(j, "peak_gflops", own->peak_gflops);
	json_put_string(j, "peak_dtype", precision_names[own->peak_type]);
	put_breakdown(j, "breakdown_ms", b, b->step);
	json_put_int(j, "peak_bytes", own->peak_bytes);
	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		char name[32];

		snprintf(name, sizeof(name), "%s_bytes", memory_kind_name((enum memory_kind)k));
		json_put_int(j, name, own->kind_bytes[k]);
	}
	if (own->gpu_readings) {
		json_put_double(j, "gpu_utilization", own->gpu.busy);
		if (!isnan(own->gpu.bytes))
			json_put_int(j, "gpu_bytes", (int64_t)own->gpu.bytes);
		json_put_double(j, "gpu_celsius", own->gpu.celsius);
		json_put_double(j, "gpu_watts", own->gpu.watts);
		json_put_int(j, "gpu_readings", own->gpu_readings);
	}
	json_put_int(j, "p2p_messages", own->traffic.messages);
	json_put_int(j, "p2p_bytes", own->traffic.bytes);
	json_put_int(j, "collective_bytes", own->traffic.collective_bytes);
	json_put_int(j, "traffic_in_bytes", own->traffic.moved.in);
	json_put_int(j, "traffic_out_bytes", own->traffic.moved.out);
	json_begin_array(j, "layers");
	for (int i = 0; i < engine_options(s->engine)->model->count; i++)
		if (schedule_place(engine_options(s->engine)->schedule,
				   partition_part_of(engine_options(s->engine)->partition, i))
			    .stage == c.pp)
			json_put_int(j, NULL, i);
	json_end_array(j);
	json_end_object(j);
}

/* What per_rank's layers are called, where that is more than a number. */
static void put_layer_names(struct json *j, const struct run_summary *s)
{
	const struct model *m = engine_options(s->engine)->model;

	if (!s->language)
		return;
	json_begin_array(j, "layer_names");
	for (int i = 0; i < m->count; i++)
		json_put_string(j, NULL, m->layers[i]->name);
	json_end_array(j);
}

enum status run_write_summary(const struct run *r, const struct run_summary *s,
			      struct error *err)
{
	enum status st;
	struct json j;
	char path[PATH_MAX];

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "schema", "kolm.summary/1");
	json_put_string(&j, "version", KOLM_VERSION);
	put_machine(&j, s);
	put_steps(&j, s);
	put_evaluation(&j, s->evaluation);
	if (s->best)
		metrics_put_best(&j, s->best);
	put_layer_names(&j, s);
	json_begin_array(&j, "per_rank");
	for (int i = 0; i < s->rank->ranks; i++)
		put_rank(&j, s, i);
	json_end_array(&j);
	json_end_object(&j);
	TRY(file_path(path, r->folder, "summary.json", err));
	TRY(json_write_file(&j, path, err));
out:
	json_release(&j);
	return st;
}
