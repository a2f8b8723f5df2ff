/* train_save.c - see saving.h */
#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "cmd/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What a rank adds to what all know: its own writing, or that it could not. The first may be as
   many as there are ranks. */
enum { WRITING = 1, FAILED = 1 << 20 };
enum { NICENESS = 10, POLL_MS = 50 };

/* ---- threads beside ---- */

static void *run_beside(void *arg)
{
	struct beside *b = arg;

	/* Whoever trains on this core comes first. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	b->work(b->arg);
	b->busy = false;
	return NULL;
}

static void begin_beside(struct beside *b, void (*work)(void *arg), void *arg)
{
	*b = (struct beside){.work = work, .arg = arg, .busy = true, .started = true};
	if (!pthread_create(&b->thread, NULL, run_beside, b))
		return;
	b->started = false;
	work(arg); /* then it is not beside */
	b->busy = false;
}

static void end_beside(struct training *t, struct beside *b)
{
	struct timespec until;

	while (b->started) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += POLL_MS * 1000 * 1000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		b->started = pthread_timedjoin_np(b->thread, NULL, &until) != 0;
		rank_at(t->rank, "writing the checkpoint of step %lld",
			(long long)t->saver.store.step);
	}
}

/* ---- what is saved ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct safetensors_entry *)a)->name,
		      ((const struct safetensors_entry *)b)->name);
}

const char *saving_name(const struct training *t, const struct region *r,
			char name[SAVING_NAME])
{
	const char *array = engine_array_name((enum optimizer)t->config.optimizer, r->array);
	const char *tensor = t->model.tensors[r->tensor].name;

	snprintf(name, SAVING_NAME, *array ? "%s.%s" : "%s", tensor, array);
	return name;
}

enum checkpoint_part saving_part(enum engine_array array)
{
	return array == ARRAY_WEIGHTS ? PART_MODEL : PART_OPTIMIZER;
}

/* All tensors of a file, in the order of their names. */
static enum status describe(const struct training *t, enum checkpoint_part part,
			    struct safetensors_entry **out, size_t *count, struct error *err)
{
	size_t n = (size_t)t->model.n_tensors;
	struct safetensors_entry *entries = calloc(n * ARRAY_COUNT, sizeof(*entries));

	if (!entries)
		return FAIL(err, ERR_MEMORY, "no memory to describe %zu tensors", n);
	*count = 0;
	for (int a = 0; a < ARRAY_COUNT; a++)
		for (int i = 0; i < t->model.n_tensors; i++) {
			const struct tensor *tensor = &t->model.tensors[i];
			struct region r = {.array = (enum engine_array)a, .tensor = i};
			struct safetensors_entry *e = &entries[*count];

			if (saving_part(r.array) != part ||
			    !engine_array_name((enum optimizer)t->config.optimizer, r.array))
				continue;
			*e = (struct safetensors_entry){
				.dtype = DTYPE_F32,
				.dims = tensor_dims(tensor),
				.shape = {tensor->rows, tensor->columns}};
			saving_name(t, &r, e->name);
			++*count;
		}
	qsort(entries, *count, sizeof(*entries), by_name);
	*out = entries;
	return OK;
}

/* Where the regions of this rank's copy go in a file. */
static void place_pieces(const struct training *t, struct saver *s, enum checkpoint_part part,
			 const struct safetensors_entry *entries, size_t count)
{
	for (int i = 0; i < s->snapshot.count; i++) {
		const struct region *r = &s->snapshot.regions[i];
		uint64_t columns = (uint64_t)t->model.tensors[r->tensor].columns;
		struct safetensors_entry key;
		const struct safetensors_entry *e;

		if (saving_part(r->array) != part)
			continue;
		saving_name(t, r, key.name);
		e = bsearch(&key, entries, count, sizeof(*entries), by_name);
		s->pieces[i] = (struct store_piece){
			.part = part,
			.at = e->begin + ((uint64_t)r->row * columns + (uint64_t)r->column) *
						 sizeof(float),
			.rows = r->rows,
			.row_bytes = (size_t)r->columns * sizeof(float),
			.stride = (size_t)columns * sizeof(float),
			.data = s->snapshot.values[i]};
	}
}

/* So that the checkpoint is enough to use the model. */
static enum status add_tokenizer(struct training *t, struct error *err)
{
	struct text json;
	enum status st = OK;

	text_init(&json);
	if (t->data.text.tokenizer) {
		TRY(tokenizer_write(t->data.text.tokenizer, true, &json, err));
		TRY(store_add_tokenizer(&t->saver.store, json.data, json.len, err));
	}
out:
	text_release(&json);
	return st;
}

enum status training_save_open(struct training *t, struct error *err)
{
	struct saver *s = &t->saver;
	struct safetensors_entry *entries = NULL;
	size_t count;
	enum status st = OK;

	s->on = t->config.save || *t->config.save_every;
	s->keep = t->config.save_last;
	s->written = -1;
	s->begun_at = clock_ms();
	if (!s->on)
		return OK;
	json_init(&s->state, true);
	TRY(store_init(&s->store, t->run.folder, err));
	TRY(add_tokenizer(t, err));
	TRY(snapshot_init(&s->snapshot, t->engine, err));
	s->pieces = calloc((size_t)s->snapshot.count + 1, sizeof(*s->pieces));
	if (!s->pieces) {
		st = FAIL(err, ERR_MEMORY, "no memory for the pieces of a checkpoint");
		goto out;
	}
	for (int part = 0; part < PART_COUNT; part++) {
		TRY(describe(t, (enum checkpoint_part)part, &entries, &count, err));
		if (count) {
			TRY(store_describe(&s->store, (enum checkpoint_part)part, entries,
					   count, err));
			place_pieces(t, s, (enum checkpoint_part)part, entries, count);
		}
		free(entries);
		entries = NULL;
	}
out:
	free(entries);
	return st;
}

void training_save_close(struct training *t)
{
	struct saver *s = &t->saver;

	if (!s->on)
		return;
	end_beside(t, &s->beside);
	free(s->pieces);
	snapshot_release(&s->snapshot);
	store_release(&s->store);
	json_release(&s->state);
	s->on = false;
}

/* ---- saving ---- */

static void write_pieces(void *arg)
{
	struct saver *s = arg;

	s->beside.st =
		store_write(&s->store, s->pieces, (size_t)s->snapshot.count, &s->beside.err);
}

static void finish_store(void *arg)
{
	struct saver *s = arg;

	s->beside.st = store_finish(&s->store, &s->state, s->keep, s->sha256, &s->beside.err);
	if (s->beside.st == OK && s->best)
		s->beside.st = store_mark_best(&s->store, s->store.step, &s->beside.err);
}

/* Everything of state.json but what the store adds. */
static void describe_state(struct training *t)
{
	struct json *j = &t->saver.state;
	struct engine_state e = engine_state(t->engine);

	json_reset(j);
	json_begin_object(j, NULL);
	json_put_string(j, "schema", CHECKPOINT_SCHEMA);
	json_put_string(j, "version", KOLM_VERSION);
	json_put_int(j, "samples", t->samples);
	json_put_int(j, "seed", t->config.seed);
	json_begin_object(j, "optimizer");
	json_put_string(j, "kind", optimizer_names[t->config.optimizer]);
	json_put_int(j, "updates", e.updates);
	json_end_object(j);
	json_begin_object(j, "loss_scale");
	json_put_double(j, "scale", e.scale);
	json_put_int(j, "finite_steps", e.finite);
	json_end_object(j);
	json_begin_object(j, "data");
	data_form_write(data_form(&t->data), j);
	json_end_object(j);
	course_write(&t->course, j);
	json_begin_object(j, "options");
	options_write_json(&t->config.values, j);
	json_end_object(j);
}

/* Not written, on all ranks: whoever knows why says so. */
static void give_up(struct training *t)
{
	struct saver *s = &t->saver;

	if (s->beside.st != OK)
		log_warn("the checkpoint of step %lld was not written: %s%s%s",
			 (long long)s->store.step, s->beside.err.msg,
			 *s->beside.err.hint ? "; " : "", s->beside.err.hint);
	if (is_first(t))
		store_abort(&s->store);
	s->phase = SAVING_NOTHING;
}

/* What all ranks are writing: nobody any more, or has somebody failed? */
static void advance(struct training *t, double busy)
{
	struct saver *s = &t->saver;

	if (s->phase == SAVING_NOTHING || fmod(busy, FAILED) > 0)
		return;
	end_beside(t, &s->beside);
	if (busy > 0) {
		give_up(t);
	} else if (s->phase == SAVING_FINISHES) {
		s->phase = SAVING_NOTHING;
		s->written = s->store.step;
		s->took_ms += clock_ms() - s->begun_at;
		s->count++;
	} else {
		s->phase = SAVING_FINISHES;
		if (is_first(t))
			begin_beside(&s->beside, finish_store, s);
	}
}

struct engine_word training_word(void *arg)
{
	const struct training *t = arg;
	const struct saver *s = &t->saver;
	double since = clock_ms() - s->begun_at;
	struct engine_word w = {.asked = rank_asked(t->rank)};

	if (!s->on)
		return w;
	if (is_first(t) && t->config.save_every_ms > 0 && since > t->config.save_every_ms)
		w.asked = fmax(w.asked, 1);
	if (s->phase != SAVING_NOTHING)
		w.busy = s->beside.busy ? WRITING : s->beside.st != OK ? FAILED : 0;
	return w;
}

/* Wait until what is being written is written, or was given up, on all ranks. */
static void settle(struct training *t)
{
	struct saver *s = &t->saver;

	while (s->phase != SAVING_NOTHING) {
		end_beside(t, &s->beside);
		if (engine_agree(t->engine, s->beside.st == OK, &(struct error){0}) == OK)
			advance(t, 0);
		else
			give_up(t);
	}
}

/* Was the model evaluated just now, and never better? */
static bool is_best(const struct training *t)
{
	return t->config.eval_every && t->evaluated == t->done && course_is_best(&t->course);
}

/* Copy what is to be saved, and have it written. */
static enum status begin(struct training *t, struct error *err)
{
	struct saver *s = &t->saver;
	double start = clock_ms();
	enum status st;

	store_name(&s->store, t->done);
	s->begun_at = start;
	s->phase = SAVING_WRITES;
	s->best = is_best(t);
	s->beside = (struct beside){0};
	if (is_first(t)) {
		describe_state(t);
		s->beside.st = store_begin(&s->store, &s->beside.err);
	}
	/* Nobody opens files that are not there yet. */
	if (engine_agree(t->engine, s->beside.st == OK, &(struct error){0}) != OK) {
		give_up(t);
		return OK;
	}
	TRY(snapshot_take(&s->snapshot, err));
	begin_beside(&s->beside, write_pieces, s);
	s->held_ms += clock_ms() - start;
out:
	return st;
}

enum status training_save_step(struct training *t, struct engine_word word, struct error *err)
{
	struct saver *s = &t->saver;
	int every = t->config.save_every_steps;
	enum status st = OK;

	if (!s->on)
		return OK;
	advance(t, word.busy);
	if (word.asked > 0)
		rank_answered(t->rank);
	if (t->course.bad_steps) /* nobody would want to go on from here */
		return OK;
	if (word.asked > 0 || (every && t->done % every == 0) || is_best(t)) {
		double start = clock_ms();

		settle(t);
		s->held_ms += clock_ms() - start;
		TRY(begin(t, err));
	}
out:
	return st;
}

enum status training_save_end(struct training *t, struct error *err)
{
	struct saver *s = &t->saver;
	enum status st = OK;

	if (!s->on)
		return OK;
	settle(t);
	if (s->written != t->done) {
		TRY(begin(t, err));
		settle(t);
	}
	if (s->written == t->done)
		return OK;
	FAIL(err, ERR_FAILED, "the last checkpoint, of step %d, was not written: %s", t->done,
	     *s->beside.err.msg ? s->beside.err.msg : "another rank could not");
	st = HINT(err, "%s", s->beside.err.hint);
out:
	return st;
}
