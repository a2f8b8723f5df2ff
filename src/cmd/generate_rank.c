/* generate_rank.c - the life of a rank that writes with the others; see generate.h */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/generate.h"

#include <stdio.h>
#include <string.h>

static size_t written(const struct generation *g)
{
	return g->ids.count - g->prompt;
}

/* ---- what comes out ---- */

/* The bytes of a token; without a tokenizer its number, behind a space unless it comes first.
 */
static void put(const struct generation *g, struct outlet *to, size_t i, bool first,
		struct text *out)
{
	int32_t token = g->ids.at[i];
	char number[16];
	size_t size;
	const char *bytes;

	if (g->tokenizer) {
		bytes = tokenizer_token(g->tokenizer, token, &size);
	} else {
		size = (size_t)snprintf(number, sizeof(number), "%s%d", first ? "" : " ",
					token);
		bytes = number;
	}
	outlet_put(to, bytes, size, out);
}

/* The prompt as text. It does not stop anywhere. */
static void put_prompt(const struct generation *g, struct text *out)
{
	struct outlet o;

	outlet_init(&o, "");
	for (size_t i = 0; i < g->prompt && !g->silent; i++)
		put(g, &o, i, i == 0, out);
	outlet_end(&o, out);
	outlet_release(&o);
}

/* What has become text so far; rank 0 does it for all. */
static enum status print(struct generation *g, struct error *err)
{
	struct text *shown = &g->shown;

	if (shown->failed)
		return FAIL(err, ERR_MEMORY, "no memory for the text");
	if (g->o->as_json || !shown->len)
		return OK;
	if (is_first(g->t))
		fwrite(shown->data, 1, shown->len, stdout);
	g->mid_line = shown->data[shown->len - 1] != '\n';
	shown->len = 0;
	return is_first(g->t) ? log_flush_results(err) : OK;
}

/* What was held back, and the end of the last line. */
static enum status print_end(struct generation *g, struct error *err)
{
	enum status st;

	outlet_end(&g->outlet, &g->shown);
	TRY(print(g, err));
	if (g->mid_line && !g->o->as_json && is_first(g->t)) {
		putchar('\n');
		TRY(log_flush_results(err));
	}
out:
	return st;
}

static double per_second(size_t n, double ms)
{
	return ms > 0 ? (double)n / ms * 1e3 : 0;
}

static void put_ids(struct json *j, const char *name, const int32_t *ids, size_t n)
{
	json_begin_array(j, name);
	for (size_t i = 0; i < n; i++)
		json_put_int(j, NULL, ids[i]);
	json_end_array(j);
}

/* Of the prompt, by the model. */
static size_t seen(const struct generation *g)
{
	size_t context = (size_t)g->t->config.context;

	return g->prompt < context ? g->prompt : context;
}

static enum status print_json(const struct generation *g, struct error *err)
{
	static const char *const ends[] = {NAMES_OF(GENERATE_ENDS)};
	const struct generate_options *o = g->o;
	size_t n = written(g), later = n ? n - 1 : 0;
	struct text prompt;
	struct json j;
	enum status st;

	text_init(&prompt);
	put_prompt(g, &prompt);
	json_init(&j, false);
	json_begin_object(&j, NULL);
	json_put_string(&j, "checkpoint", g->t->from.folder);
	json_put_int(&j, "step", g->t->from.step);
	json_put_double(&j, "temperature", o->temperature);
	json_put_int(&j, "top_k", o->top_k);
	json_put_double(&j, "top_p", o->top_p);
	json_put_int(&j, "seed", o->seed);
	json_put_string(&j, "prompt", prompt.data);
	json_put_string(&j, "text", g->shown.data);
	json_put_string(&j, "ended", ends[g->ended]);
	put_ids(&j, "prompt_ids", g->ids.at, g->prompt);
	put_ids(&j, "ids", g->ids.at + g->prompt, n);
	json_put_double(&j, "prompt_ms", g->prompt_ms);
	json_put_double(&j, "prompt_tokens_per_s", per_second(seen(g), g->prompt_ms));
	json_put_double(&j, "ms", g->ms);
	json_put_double(&j, "tokens_per_s", per_second(later, g->ms));
	json_end_object(&j);
	st = j.text.failed || prompt.failed
		     ? FAIL(err, ERR_MEMORY, "no memory for the document")
		     : OK;
	if (st == OK)
		puts(j.text.data);
	json_release(&j);
	text_release(&prompt);
	return st;
}

/* "240 tokens/s" */
static const char *rate(size_t n, double ms, char buf[32])
{
	double r = per_second(n, ms);

	snprintf(buf, 32, "%.*f tokens/s", r < 100, r);
	return buf;
}

/* The first token comes with the prompt: what it takes to write is that of the others. */
static void say_speed(const struct generation *g)
{
	size_t n = written(g), read = seen(g);
	char prompt[32], all[32];

	rate(read, g->prompt_ms, prompt);
	if (n > 1)
		log_info("prompt: %zu token%s in %.3f s, %s; written: %zu tokens in %.3f s, %s",
			 read, read == 1 ? "" : "s", g->prompt_ms * 1e-3, prompt, n,
			 g->ms * 1e-3, rate(n - 1, g->ms, all));
	else
		log_info("prompt: %zu token%s in %.3f s, %s; written: %zu token%s", read,
			 read == 1 ? "" : "s", g->prompt_ms * 1e-3, prompt, n,
			 n == 1 ? "" : "s");
}

/* ---- what goes in ---- */

/*
 * Have the model see all that it has not seen yet. Where that does not fit behind what it has,
 * it begins anew with the last ones: at first with as many as fit, later with half of that, so
 * that every token is seen twice and not, as with a window that moves by one, context times.
 */
static enum status feed(struct generation *g, const float **outputs, struct error *err)
{
	int context = g->t->config.context, rows = g->t->forward_rows;
	size_t keep = (size_t)(g->position ? imax(1, context / 2) : context);
	enum status st = OK;

	if ((size_t)g->position + g->ids.count - g->fed > (size_t)context) {
		g->fed = g->ids.count - keep;
		g->position = 0;
	}
	while (g->fed < g->ids.count) {
		size_t left = g->ids.count - g->fed;
		int n = left < (size_t)rows ? (int)left : rows;
		bool last = (size_t)n == left;

		TRY(engine_feed(g->t->engine, g->ids.at + g->fed, n, g->position,
				last ? outputs : NULL, err));
		g->fed += (size_t)n;
		g->position += n;
	}
out:
	return st;
}

/* ---- one token after the other ---- */

/* One rank of those that know the outputs chooses, and says whether a signal asks for an end.
 */
static enum status choose(struct generation *g, const float *outputs, int32_t *token,
			  struct error *err)
{
	const struct training *t = g->t;
	int32_t words[2] = {-1, 0};
	enum status st;

	if (outputs && grid_coords(&t->grid, t->rank->number).mp == 0) {
		words[0] = sampler_choose(&g->sampler, outputs, (int64_t)written(g));
		words[1] = rank_stop(t->rank);
	}
	TRY(engine_pass_on(t->engine, words, 2, err));
	g->t->stopped = words[1];
	*token = words[0];
	if (*token < 0) {
		FAIL(err, ERR_FAILED, "what the model says of the next token is no number");
		return HINT(err, "its weights may not be: see the losses of the run");
	}
out:
	return st;
}

/* Is that all? Otherwise the token is one of those that were written, and is shown. */
static bool take(struct generation *g, int32_t token)
{
	if (g->t->stopped) {
		g->ended = GENERATE_ENDED_SIGNAL;
		return false;
	}
	if (g->tokenizer && !g->o->past_end && token == tokenizer_end_of_text(g->tokenizer)) {
		g->ended = GENERATE_ENDED_END_OF_TEXT;
		return false;
	}
	g->ids.at[g->ids.count++] = token; /* there is room */
	put(g, &g->outlet, g->ids.count - 1,
	    written(g) == 1 && (g->silent || g->o->only_new || g->o->as_json), &g->shown);
	if (g->outlet.stopped) {
		g->ended = GENERATE_ENDED_STOP;
		return false;
	}
	g->ended = GENERATE_ENDED_LENGTH;
	return written(g) < (size_t)g->o->tokens;
}

static enum status write_text(struct generation *g, struct error *err)
{
	const float *outputs = NULL;
	double begin = clock_ms();
	int32_t token;
	bool more = true;
	enum status st;

	if (!g->o->only_new && !g->o->as_json)
		put_prompt(g, &g->shown);
	TRY(print(g, err));
	TRY(feed(g, &outputs, err));
	g->prompt_ms = clock_ms() - begin;
	begin = clock_ms();
	while (more) {
		TRY(choose(g, outputs, &token, err));
		more = take(g, token);
		TRY(print(g, err));
		if (more)
			TRY(feed(g, &outputs, err));
	}
	g->ms = clock_ms() - begin;
	TRY(print_end(g, err));
out:
	return st;
}

/* Rank 0 says how it went, and how it ends that a signal has stopped it. */
static enum status finish(const struct generation *g, struct error *err)
{
	const struct training *t = g->t;
	const char *name;
	enum status st = OK, code;

	t->rank->ended_by = t->stopped;
	if (!is_first(t))
		return OK;
	if (g->o->as_json)
		TRY(print_json(g, err));
	TRY(log_flush_results(err));
	say_speed(g);
	if (t->stopped) {
		code = error_of_signal(t->stopped, &name);
		return FAIL(err, code, "stopped by %s after %zu of %d tokens", name, written(g),
			    g->o->tokens);
	}
out:
	return st;
}

enum status generate_rank(struct rank *rank, void *arg, struct error *err)
{
	struct generation *g = arg;
	struct training *t = g->t;
	struct sampling by = {.temperature = g->o->temperature,
			      .top_k = g->o->top_k,
			      .top_p = g->o->top_p,
			      .seed = (uint64_t)g->o->seed};
	enum status st;

	t->rank = rank;
	if (!t->schedule.orders) { /* a rank of a job */
		if (!is_first(t))
			log_set_level(LOG_QUIET);
		rank_at(rank, "preparing");
		TRY(generate_prepare(g, err));
		TRY(training_check_room(t, err));
	}
	outlet_init(&g->outlet, g->o->stop);
	text_init(&g->shown);
	TRY(sampler_init(&g->sampler, &by, g->vocabulary, err));
	TRY(training_open_engine(t, err));
	rank_at(rank, "reading %s", t->from.folder);
	TRY(training_load_weights(t, err));
	TRY(write_text(g, err));
	TRY(finish(g, err));
	engine_free(t->engine); /* not where it failed: requests may be under way in it */
out:
	return st;
}
