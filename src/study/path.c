/* path.c - see path.h */
#include "study/path.h"
#include "base/text.h"
#include "base/units.h"
#include "base/util.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND_MAX = 4096 };

/* What lies at the end of a path. */
struct found {
	const json_t *list[FOUND_MAX];
	int count;
};

static void follow(const json_t *at, const char *path, int rank, bool of_ranks, struct found *f)
{
	size_t n = strcspn(path, ".");
	const char *rest = path[n] ? path + n + 1 : "";
	char name[64];

	if (!at || f->count == FOUND_MAX || n >= sizeof(name))
		return;
	if (!*path) {
		f->list[f->count++] = at;
		return;
	}
	if (json_is_array(at)) {
		bool numbered = isdigit((unsigned char)*path);

		for (size_t i = 0; i < json_array_size(at); i++) {
			/* Rank 0 is meant even where the row is another rank's. */
			bool wanted = numbered ? i == strtoul(path, NULL, 10)
					       : !of_ranks || rank < 0 || i == (size_t)rank;

			if (wanted)
				follow(json_array_get(at, i), numbered ? rest : path, rank,
				       false, f);
		}
		return;
	}
	memcpy(name, path, n);
	name[n] = '\0';
	follow(json_object_get(at, name), rest, rank, !strcmp(name, "per_rank"), f);
}

/* The word in front of a path, and the path behind it. */
static const char *split_path(const char *path, char word[16])
{
	const char *blank = strchr(path, ' ');

	word[0] = '\0';
	if (!blank || blank - path >= 16)
		return path;
	memcpy(word, path, (size_t)(blank - path));
	word[blank - path] = '\0';
	return blank + 1;
}

double path_value(const json_t *document, const char *path, int rank)
{
	static struct found f;
	char word[16];
	double least = INFINITY, most = -INFINITY, total = 0;
	int n = 0;

	f.count = 0;
	follow(document, split_path(path, word), rank, false, &f);
	for (int i = 0; i < f.count; i++) {
		const json_t *one = f.list[i];
		double value;

		if (!json_is_number(one) && !json_is_boolean(one))
			continue;
		value = json_is_boolean(one) ? json_is_true(one) : json_number_value(one);
		least = fmin(least, value);
		most = fmax(most, value);
		total += value;
		n++;
	}
	if (!n || (!*word && n > 1))
		return NAN;
	if (!strcmp(word, "min"))
		return least;
	if (!strcmp(word, "max"))
		return most;
	return strcmp(word, "mean") ? total : total / n;
}

/* 0-3,6 of an array of whole numbers in order. */
static void add_ranges(struct text *t, const json_t *array)
{
	size_t n = json_array_size(array);

	for (size_t i = 0, end; i < n; i = end) {
		long long first = json_integer_value(json_array_get(array, i)), last = first;

		for (end = i + 1; end < n; end++, last++)
			if (json_integer_value(json_array_get(array, end)) != last + 1)
				break;
		text_addf(t, i ? ",%lld" : "%lld", first);
		if (last > first)
			text_addf(t, "-%lld", last);
	}
}

char *path_text(const json_t *document, const char *path, int rank)
{
	static struct found f;
	struct text t;
	char word[16], size[32], *result;

	f.count = 0;
	follow(document, split_path(path, word), rank, false, &f);
	text_init(&t);
	for (int i = 0; i < f.count; i++) {
		const json_t *one = f.list[i];

		if (i)
			text_add(&t, " | ");
		if (json_is_array(one)) {
			add_ranges(&t, one);
		} else if (json_is_number(one) && json_number_value(one) >= 0) {
			units_format_size((uint64_t)json_number_value(one), size, sizeof(size));
			text_add(&t, size);
		} else if (json_is_string(one)) {
			text_add(&t, json_string_value(one));
		}
	}
	result = t.len && !t.failed ? strdup(t.data) : NULL;
	text_release(&t);
	return result;
}
