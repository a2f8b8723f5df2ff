/* words.c - see words.h */
#include "plan/words.h"
#include "base/util.h"

#include <strings.h>

struct word {
	const char *text;
	int means;
};

/* Beside the names that kolm has itself. */
static const struct word schedules[] = {
	{"-", SCHEDULE_1F1B},
	{"pipedream-flush", SCHEDULE_1F1B},
	{"dapple", SCHEDULE_1F1B},
	{"non-interleaved", SCHEDULE_1F1B},
	{"1f1b-interleaved", SCHEDULE_INTERLEAVED},
	{"interleaved-1f1b", SCHEDULE_INTERLEAVED},
	{"interleaved1f1b", SCHEDULE_INTERLEAVED},
	{"interleaved_1f1b", SCHEDULE_INTERLEAVED},
	{"vpp", SCHEDULE_INTERLEAVED},
	{"zb", SCHEDULE_ZB_H1},
	{"zbh1", SCHEDULE_ZB_H1},
	{"zb1p", SCHEDULE_ZB_H1},
	{"zb_h1", SCHEDULE_ZB_H1},
};

static const struct word recomputes[] = {
	{"-", SETUP_NONE},
	{"no", SETUP_NONE},
	{"false", SETUP_NONE},
	{"off", SETUP_NONE},
	{"0", SETUP_NONE},
	{"core", SETUP_SELECTIVE},
	{"core_attn", SETUP_SELECTIVE},
	{"attention", SETUP_SELECTIVE},
	{"attn", SETUP_SELECTIVE},
	{"block", SETUP_FULL},
	{"uniform", SETUP_FULL},
	{"yes", SETUP_FULL},
	{"true", SETUP_FULL},
	{"1", SETUP_FULL},
};

static const struct word flags[] = {
	{"0", 0}, {"no", 0},  {"false", 0}, {"off", 0}, {"-", 0},
	{"1", 1}, {"yes", 1}, {"true", 1},  {"on", 1},
};

static int find(const char *text, const char *const *names, const struct word *words,
		size_t count)
{
	for (int i = 0; names && names[i]; i++)
		if (!strcasecmp(names[i], text))
			return i;
	for (size_t i = 0; i < count; i++)
		if (!strcasecmp(words[i].text, text))
			return words[i].means;
	return -1;
}

int words_schedule(const char *text)
{
	return find(text, schedule_names, schedules, ARRAY_SIZE(schedules));
}

int words_recompute(const char *text)
{
	return find(text, setup_recompute_names, recomputes, ARRAY_SIZE(recomputes));
}

int words_flag(const char *text)
{
	return find(text, NULL, flags, ARRAY_SIZE(flags));
}
