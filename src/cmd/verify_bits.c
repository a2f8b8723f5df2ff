/*
 * verify_bits.c - kolm verify --bitwise: is every bit of a run on a grid that of one rank, and
 * if not, where did that begin? See verify.h
 *
 * First all steps, by what each leaves (fingerprint.h). Then the first that differs again, and
 * in it everything that was computed on the way (engine/transcript.h): what differs first, of
 * things that are computed one from the other, is where a sum was taken in another way.
 */
#include "base/json.h"
#include "base/util.h"
#include "cmd/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line of two texts that differs, up to its end: false if there is none. */
static bool first_difference(const char *a, const char *b, const char **in_a, const char **in_b)
{
	while (*a && *b) {
		size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");

		if (n != m || memcmp(a, b, n)) {
			*in_a = a;
			*in_b = b;
			return true;
		}
		a += n + (a[n] == '\n');
		b += m + (b[m] == '\n');
	}
	*in_a = a;
	*in_b = b;
	return *a || *b;
}

/* "STEP\tNAME\tVALUE" */
static void read_line(const char *line, int *step, char *name, size_t name_size, char *value,
		      size_t value_size)
{
	const char *tab = line + strcspn(line, "\t\n");
	size_t n;

	*step = atoi(line);
	tab += *tab == '\t';
	n = strcspn(tab, "\t\n");
	snprintf(name, name_size, "%.*s", (int)n, tab);
	tab += n + (tab[n] == '\t');
	snprintf(value, value_size, "%.*s", (int)strcspn(tab, "\n"), tab);
}

static const char *as_decimal(char *text, size_t size)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	snprintf(text, size, "%.17g", strtod(copy, NULL));
	return text;
}

/* Of two tensors: the first element that differs; -1: none. */
static int64_t first_element(const struct safetensors *a, const struct safetensors *b,
			     const char *name, float *x, float *y)
{
	const struct safetensors_entry *p = safetensors_find(a, name),
				       *q = safetensors_find(b, name);
	const float *s, *t;

	if (!p || !q)
		return -1;
	s = safetensors_data(a, p);
	t = safetensors_data(b, q);
	for (size_t i = 0; i < (p->end - p->begin) / sizeof(float); i++)
		if (memcmp(&s[i], &t[i], sizeof(*s))) {
			*x = s[i];
			*y = t[i];
			return (int64_t)i;
		}
	return -1;
}

static const char gradient_of[] = "gradient of ";

/* The name of the tensor that a line is about, or NULL: it is a number. */
static const char *tensor_in(const struct bits *b, bool *gradient)
{
	static const char *const numbers[] = {"loss", "gradient norm", "loss scale", "skipped"};

	*gradient = !strncmp(b->what, gradient_of, sizeof(gradient_of) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(b->what, numbers[i]))
			return NULL;
	return b->what + (*gradient ? sizeof(gradient_of) - 1 : 0);
}

/* Of a step whose loss or norm differs, the first gradient or tensor that does too. */
static void name_tensor(struct bits *b, const struct outcome *one, const struct outcome *many)
{
	float x, y;
	int64_t at = -1;

	for (int k = 0; k < 2 && at < 0; k++) {
		const struct safetensors *s = k ? &one->weights : &one->gradients;

		for (size_t i = 0; i < s->count && at < 0; i++) {
			at = first_element(s, k ? &many->weights : &many->gradients,
					   s->entries[i].name, &x, &y);
			if (at >= 0)
				snprintf(b->also, sizeof(b->also),
					 "%s%.128s[%lld]: %.9g (%a), on one rank %.9g (%a)",
					 k ? "" : gradient_of, s->entries[i].name,
					 (long long)at, (double)y, (double)y, (double)x,
					 (double)x);
		}
	}
}

static void name_values(struct bits *b, const struct outcome *one, const struct outcome *many)
{
	bool gradient;
	const char *tensor = tensor_in(b, &gradient);
	float x = 0, y = 0;

	b->element = -1;
	if (!tensor) {
		as_decimal(b->one, sizeof(b->one));
		as_decimal(b->many, sizeof(b->many));
		name_tensor(b, one, many);
		return;
	}
	b->element =
		first_element(gradient ? &one->gradients : &one->weights,
			      gradient ? &many->gradients : &many->weights, tensor, &x, &y);
	snprintf(b->one, sizeof(b->one), "%.9g (%a)", (double)x, (double)x);
	snprintf(b->many, sizeof(b->many), "%.9g (%a)", (double)y, (double)y);
}

/* What is computed from what is the same, and is not the same. */
static void name_sum(struct bits *b, const struct outcome *one, const struct outcome *many)
{
	const char *p, *q;
	bool gradient;
	const char *tensor = tensor_in(b, &gradient);

	if (first_difference(one->transcript, many->transcript, &p, &q)) {
		p += strcspn(p, " \n");
		p += *p == ' ';
		snprintf(b->sum, sizeof(b->sum), "%.*s", (int)strcspn(p, "\n"), p);
	} else if (gradient) {
		snprintf(b->sum, sizeof(b->sum), "the sum over replicas of the %s", b->what);
	} else if (tensor) {
		snprintf(b->sum, sizeof(b->sum), "the update of %s", tensor);
	} else if (!strcmp(b->what, "loss")) {
		snprintf(b->sum, sizeof(b->sum), "the sum of the losses of all micro-batches");
	} else {
		snprintf(b->sum, sizeof(b->sum), "the sum of the squares of all gradients");
	}
}

static bool find_line(struct bits *b, const struct outcome *one, const struct outcome *many)
{
	const char *p, *q;
	int ignored;
	char name[sizeof(b->what)];

	b->differ = first_difference(one->fingerprint, many->fingerprint, &p, &q);
	if (b->differ) {
		read_line(p, &b->step, b->what, sizeof(b->what), b->one, sizeof(b->one));
		read_line(q, &ignored, name, sizeof(name), b->many, sizeof(b->many));
	}
	return b->differ;
}

/* Both again up to the step that differs. */
static enum status look_closer(struct verify *v, struct error *err)
{
	struct variant how = {.until = v->bits.step + 1, .gradients = true, .bits = true};
	struct outcome one = {0}, many = {0};
	struct bits *b = &v->bits, again = {0};
	enum status st;

	TRY(run_variant(&v->setup, &how, &many, err));
	how.alone = true;
	TRY(run_variant(&v->setup, &how, &one, err));
	if (find_line(&again, &one, &many) && again.step == b->step) {
		*b = again;
		name_values(b, &one, &many);
		name_sum(b, &one, &many);
	} else {
		b->element = -1;
		snprintf(b->sum, sizeof(b->sum),
			 "nothing that is there when both are run again: something is not "
			 "deterministic");
	}
out:
	outcome_release(&one);
	outcome_release(&many);
	return st;
}

/* Everything in every step is the same; is what the next would begin with? */
static void compare_end(struct verify *v)
{
	struct bits *b = &v->bits;

	if (!strcmp(v->one.optimizer_sha256, v->many.optimizer_sha256) &&
	    !strcmp(v->one.weights_sha256, v->many.weights_sha256))
		return;
	*b = (struct bits){.differ = true, .step = v->one.count - 1, .element = -1};
	snprintf(b->what, sizeof(b->what), "the optimizer's state");
	snprintf(b->one, sizeof(b->one), "%.16s...", v->one.optimizer_sha256);
	snprintf(b->many, sizeof(b->many), "%.16s...", v->many.optimizer_sha256);
	snprintf(b->sum, sizeof(b->sum), "its moments");
}

static const char *where_of(const struct bits *b, char *text, size_t size)
{
	char element[32] = "";

	if (b->element >= 0)
		snprintf(element, sizeof(element), "[%lld]", (long long)b->element);
	snprintf(text, size, "step %d, %s%s: %s, on one rank %s", b->step, b->what, element,
		 b->many, b->one);
	return text;
}

static void print_json(const struct verify *v, const char *where)
{
	char grid[64];
	struct json j;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_bool(&j, "ok", !v->bits.differ);
	json_put_string(&j, "verdict", v->bits.differ ? "different" : "same bits");
	json_put_string(&j, "grid", verify_grid(v, grid, sizeof(grid)));
	json_put_string(&j, "as_if", v->setup.as_if);
	json_put_string(&j, "precision", precision_names[v->setup.type]);
	json_put_int(&j, "steps", v->one.count);
	json_put_string(&j, "weights_sha256", v->many.weights_sha256);
	json_put_string(&j, "one_rank_weights_sha256", v->one.weights_sha256);
	if (v->bits.differ) {
		json_put_int(&j, "first_step", v->bits.step);
		json_put_string(&j, "first_what", v->bits.what);
		if (v->bits.element >= 0)
			json_put_int(&j, "first_element", v->bits.element);
		json_put_string(&j, "where", where);
		if (*v->bits.also)
			json_put_string(&j, "tensor", v->bits.also);
		json_put_string(&j, "sum", v->bits.sum);
	}
	json_end_object(&j);
	fputs(j.text.data, stdout);
	json_release(&j);
}

static void print_text(const struct verify *v, const char *where)
{
	char grid[64];

	printf("%s against one rank, as if %s, %d steps: ", verify_grid(v, grid, sizeof(grid)),
	       v->setup.as_if, v->one.count);
	if (v->bits.differ)
		printf("NOT the same bits\n  first at %s\n%s%s%s  from %s\n", where,
		       *v->bits.also ? "  and " : "", v->bits.also, *v->bits.also ? "\n" : "",
		       v->bits.sum);
	else
		printf("the same bits; weights sha256 %s\n", v->many.weights_sha256);
}

enum status verify_bits(struct verify *v, struct error *err)
{
	char where[512], grid[64];
	enum status st;

	TRY(run_variant(&v->setup, &(struct variant){.bits = true}, &v->many, err));
	TRY(run_variant(&v->setup, &(struct variant){.alone = true, .bits = true}, &v->one,
			err));
	if (find_line(&v->bits, &v->one, &v->many))
		TRY(look_closer(v, err));
	else
		compare_end(v);
	where_of(&v->bits, where, sizeof(where));
	if (v->as_json)
		print_json(v, where);
	else
		print_text(v, where);
	if (!v->bits.differ)
		return OK;
	FAIL(err, ERR_FAILED, "%s has other bits than one rank: %s",
	     verify_grid(v, grid, sizeof(grid)), where);
	st = HINT(err, "it comes from %.200s", v->bits.sum);
out:
	return st;
}
