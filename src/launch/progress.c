/* progress.c - see progress.h */
#include "launch/progress.h"
#include "base/clock.h"
#include "launch/board.h"
#include "launch/frame.h"
#include "launch/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAME_MS = 125 };

struct progress {
	struct shm_memory *memory; /* borrowed */
	int words[2];		   /* a pipe: what ranks say */
	bool table;		   /* a line for each rank */
	bool begun, ended;
	double drawn; /* when, in ms */
	struct survey *survey;
	struct screen screen;
	struct text said;  /* by ranks, not yet printed */
	struct text frame; /* working memory */
};

enum status progress_open(struct progress **out, const struct launch *l,
			  struct shm_memory *memory, struct error *err)
{
	static const struct grid alone = {1, 1, 1};
	struct progress *p;
	enum status st;

	*out = NULL;
	if (l->screen == SCREEN_NONE)
		return OK;
	p = calloc(1, sizeof(*p));
	if (!p)
		return FAIL(err, ERR_MEMORY, "no memory for the progress screen");
	st = survey_create(&p->survey, l->grid ? l->grid : &alone, l->ranks, clock_ms(), err);
	if (st == OK && pipe2(p->words, O_CLOEXEC))
		st = FAIL(err, ERR_FAILED, "can't make a pipe: %s", strerror(errno));
	if (st != OK) {
		survey_free(p->survey);
		free(p);
		return st;
	}
	fcntl(p->words[0], F_SETFL, O_NONBLOCK); /* not the end of the ranks */
	p->memory = memory;
	p->table = l->screen == SCREEN_RANKS;
	screen_init(&p->screen, STDERR_FILENO);
	text_init(&p->said);
	text_init(&p->frame);
	*out = p;
	return OK;
}

void progress_free(struct progress *p)
{
	if (!p)
		return;
	close(p->words[0]);
	close(p->words[1]);
	text_release(&p->said);
	text_release(&p->frame);
	screen_release(&p->screen);
	survey_free(p->survey);
	free(p);
}

void progress_join(const struct progress *p)
{
	if (p)
		dup2(p->words[1], STDERR_FILENO);
}

static void hear(struct progress *p)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(p->words[0], buf, sizeof(buf))) > 0)
		text_add_n(&p->said, buf, (size_t)n);
}

/* Take out the first n bytes of what was said. */
static void forget(struct progress *p, size_t n)
{
	memmove(p->said.data, p->said.data + n, p->said.len - n);
	p->said.len -= n;
	if (n)
		p->said.data[p->said.len] = '\0';
}

/* Words go to the terminal as they are, where no frame stands. */
static void pass_on(struct progress *p)
{
	screen_leave(&p->screen);
	if (p->said.len)
		screen_show(&p->screen, p->said.data, "");
	forget(p, p->said.len);
}

/* The frame, and above it what was said, as far as those are whole lines. */
static void draw(struct progress *p, bool with_words)
{
	struct frame f = {
		.utf8 = p->screen.utf8, .colour = p->screen.colour, .table = p->table};
	const char *end = with_words ? memrchr(p->said.data, '\n', p->said.len) : NULL;
	size_t whole = end ? (size_t)(end + 1 - p->said.data) : 0;
	char after = whole ? p->said.data[whole] : '\0';

	screen_size(&p->screen, &f.columns, &f.lines);
	p->frame.len = 0;
	frame_draw(&f, p->survey, &p->frame);
	if (p->frame.failed)
		return;
	if (whole)
		p->said.data[whole] = '\0';
	screen_show(&p->screen, whole ? p->said.data : "", p->frame.data);
	if (whole)
		p->said.data[whole] = after;
	forget(p, whole);
	p->drawn = clock_ms();
}

/* All steps are done, or a signal has asked for the end: what is said now closes the run. */
static bool is_closing(const struct progress *p)
{
	return p->survey->step >= p->survey->steps || board_of(p->memory, 0)->stop;
}

void progress_update(struct progress *p)
{
	if (!p)
		return;
	hear(p);
	survey_take(p->survey, p->memory, clock_ms());
	if (screen_is_blocked(&p->screen))
		return; /* to watch the ranks is more important */
	/* The first pulse comes behind the heading. */
	p->begun = p->survey->steps > 0;
	if (p->begun && p->said.len && is_closing(p))
		progress_end(p);
	else if (!p->begun || p->ended || !screen_is_ours(&p->screen))
		pass_on(p);
	else if (p->said.len || clock_ms() - p->drawn >= FRAME_MS)
		draw(p, true);
}

void progress_resume(struct progress *p)
{
	if (p)
		screen_leave(&p->screen);
}

void progress_end(struct progress *p)
{
	if (!p)
		return;
	/* A run that is over before its first frame has none: it would stand above the heading.
	 */
	if (p->drawn > 0 && !p->ended && screen_is_ours(&p->screen)) {
		survey_take(p->survey, p->memory, clock_ms());
		p->survey->stands = false; /* what follows says why it has ended */
		draw(p, false);
	}
	p->ended = true;
	hear(p);
	pass_on(p);
}
