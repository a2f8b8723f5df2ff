/*
 * test_screen.c - what progress screen and kolm top draw: never wider or higher than the
 * terminal, the right words, whatever is on the board.
 */
#include "testing.h"

#include "launch/board.h"
#include "launch/frame.h"

/* Columns of the widest line; *lines counts them. Styles take none. */
static int width_of(const char *text, int *lines)
{
	int widest = 0, column = 0;

	*lines = 0;
	for (; *text; text++) {
		if (*text == '\033') {
			text = strchr(text, 'm');
			assert_non_null(text);
		} else if (*text == '\n') {
			++*lines;
			column = 0;
		} else {
			assert_true((unsigned char)*text >= ' ');
			column += (*text & 0xc0) != 0x80;
			widest = imax(widest, column);
		}
	}
	assert_int_equal(column, 0); /* the last line is whole */
	return widest;
}

static struct survey *survey_of(const struct grid *grid, struct shm_memory *memory)
{
	struct survey *s;
	struct error err = {0};

	assert_int_equal(survey_create(&s, grid, grid_size(grid), 0, &err), OK);
	survey_take(s, memory, 0);
	return s;
}

/* A board on which a run of dp 2 x pp 2 x mp 2 is at step 120 of 1000. */
static const struct grid cube = {2, 2, 2};

static struct shm_memory *board_of_cube(void)
{
	struct shm_memory *memory;
	struct error err = {0};

	assert_int_equal(shm_prepare(&memory, 8, false, 0, -1, &err), OK);
	for (int i = 0; i < 8; i++) {
		struct board_rank *b = board_of(memory, i);
		struct pulse *p = &b->pulse;

		b->number = i;
		b->pid = 4000 + i;
		snprintf(b->at, sizeof(b->at), "step 120 forward %d", i);
		p->step = 120;
		p->steps = 1000;
		p->loss = 0.125;
		p->loss_scale = 1;
		p->step_ms = 20;
		p->samples_per_s = 3200;
		p->gflops = 50;
		p->peak_gflops = 25;
		p->peak_type = DTYPE_BF16;
		p->compute_ms = 12;
		p->comm_ms = 2;
		p->lost_ms = 5;
		p->now_bytes = 1 << 20;
		p->peak_bytes = (uint64_t)(i + 1) << 20;
	}
	return memory;
}

static char *drawn(const struct frame *f, const struct survey *s)
{
	static struct text out;

	text_release(&out);
	text_init(&out);
	frame_draw(f, s, &out);
	assert_false(out.failed);
	return out.data;
}

static void the_frame_tells_how_it_goes(void **state)
{
	struct shm_memory *memory = board_of_cube();
	struct survey *s = survey_of(&cube, memory);
	struct frame f = {.columns = 100, .lines = 40};
	const char *text = drawn(&f, s);
	(void)state;

	assert_non_null(strstr(text, "step  120 of 1000"));
	assert_non_null(strstr(text, " 12 %  0:18 left\n")); /* 880 steps of 20 ms */
	assert_non_null(strstr(text, "loss      0.1250 "));
	assert_non_null(strstr(text, "samples/s 3200 "));
	assert_non_null(strstr(text, "step      20.0 ms"));
	assert_non_null(strstr(text, "GFLOP/s   50.00"));
	assert_non_null(strstr(text, "of peak   25 %"));
	assert_non_null(strstr(text, "busy      60 %"));
	assert_non_null(strstr(text, "messages  10 %"));
	assert_non_null(strstr(text, "waiting   25 %"));
	assert_non_null(strstr(text, "slowest   none"));
	assert_non_null(strstr(text, "memory    8.0 MiB")); /* of the rank with most */
	assert_null(strstr(text, "scale"));
	assert_null(strstr(text, "\033")); /* no colour was wanted */
	assert_int_equal(s->peak_type, DTYPE_BF16);
	board_of(memory, 5)->pulse.peak_type = DTYPE_F32; /* another machine */
	survey_take(s, memory, 0);
	assert_int_equal(s->peak_type, -1);
	survey_free(s);
	shm_release(memory);
}

static void skipped_steps_and_scale_are_shown(void **state)
{
	struct shm_memory *memory = board_of_cube();
	struct frame f = {.columns = 100, .lines = 40};
	struct survey *s;
	(void)state;

	board_of(memory, 0)->pulse.loss_scale = 65536;
	board_of(memory, 0)->pulse.skipped = 3;
	s = survey_of(&cube, memory);
	assert_non_null(strstr(drawn(&f, s), "scale     65536"));
	assert_non_null(strstr(drawn(&f, s), "skipped   3"));
	survey_free(s);
	shm_release(memory);
}

static void rates_that_vary_and_evaluations_are_shown(void **state)
{
	struct shm_memory *memory = board_of_cube();
	struct frame f = {.columns = 100, .lines = 40};
	struct survey *s = survey_of(&cube, memory);
	(void)state;

	assert_null(strstr(drawn(&f, s), "lr "));
	assert_null(strstr(drawn(&f, s), "held out"));
	survey_free(s);
	board_of(memory, 0)->pulse.scheduled = board_of(memory, 0)->pulse.evaluated = true;
	board_of(memory, 0)->pulse.lr = 0.00025;
	board_of(memory, 0)->pulse.held_out_loss = 0.125;
	s = survey_of(&cube, memory);
	assert_non_null(strstr(drawn(&f, s), "lr        0.00025"));
	assert_non_null(strstr(drawn(&f, s), "held out  0.125"));
	survey_free(s);
	shm_release(memory);
}

static void what_is_not_computed_is_not_shown(void **state)
{
	struct shm_memory *memory = board_of_cube();
	struct frame f = {.columns = 100, .lines = 40};
	struct survey *s;
	(void)state;

	board_of(memory, 0)->pulse.loss = NAN;
	s = survey_of(&cube, memory);
	assert_non_null(strstr(drawn(&f, s), "loss      nan"));
	survey_free(s);
	board_of(memory, 0)->pulse.simulated = true;
	s = survey_of(&cube, memory);
	assert_non_null(strstr(drawn(&f, s), "loss      - "));
	survey_free(s);
	shm_release(memory);
}

static void the_slowest_rank_is_named(void **state)
{
	struct shm_memory *memory = board_of_cube();
	struct frame f = {.columns = 100, .lines = 40};
	struct survey *s;
	(void)state;

	board_of(memory, 5)->pulse.lost_ms = 0.1;
	board_of(memory, 5)->pulse.compute_ms = 18;
	s = survey_of(&cube, memory);
	assert_non_null(strstr(drawn(&f, s), "slowest   rank 5"));
	/* Where nobody waits, nobody is to blame. */
	survey_free(s);
	for (int i = 0; i < 8; i++)
		board_of(memory, i)->pulse.lost_ms = i == 5 ? 0 : 0.1;
	s = survey_of(&cube, memory);
	assert_non_null(strstr(drawn(&f, s), "slowest   none"));
	survey_free(s);
	shm_release(memory);
}

static void a_standstill_names_who_is_waited_for(void **state)
{
	struct shm_memory *memory = board_of_cube();
	struct survey *s = survey_of(&cube, memory);
	struct frame f = {.columns = 120, .lines = 40, .table = true};
	const char *text;
	(void)state;

	for (int i = 0; i < 8; i++)
		if (i != 3) {
			struct comm_status *status = shm_status(memory, i);

			status->kind = i < 4 ? REQUEST_COLLECTIVE : REQUEST_RECEIVE;
			status->op = COMM_ALLREDUCE;
			status->members[0] = 0x0f;
			status->peer = i - 4;
		}
	survey_take(s, memory, 1500);
	assert_null(strstr(drawn(&f, s), "no step"));
	survey_take(s, memory, 6000);
	text = drawn(&f, s);
	assert_non_null(strstr(text, "no step for 6 s: 4 ranks wait for rank 3, at step 120 "
				     "forward 3"));
	assert_null(strstr(text, "left")); /* there is no telling */
	assert_non_null(strstr(text, "forward 0, in all-reduce\n"));
	assert_non_null(strstr(text, "forward 7, waits for rank 3\n"));
	survey_free(s);
	shm_release(memory);
}

static void time_left_follows_the_clock(void **state)
{
	struct shm_memory *memory = board_of_cube();
	struct survey *s = survey_of(&cube, memory);
	(void)state;

	/* 80 steps in 8 s, though each says it took 20 ms: the rest is making batches. */
	for (int i = 0; i < 8; i++)
		board_of(memory, i)->pulse.step = 200;
	survey_take(s, memory, 8000);
	assert_float_equal(s->left_ms, 800 * 100, 1);
	survey_take(s, memory, 8050);
	assert_float_equal(s->left_ms, 800 * 100 - 50, 1);
	board_of(memory, 0)->pulse.step = 1000;
	survey_take(s, memory, 9000);
	assert_float_equal(s->left_ms, 0, 0);
	survey_free(s);
	shm_release(memory);
}

/* Whatever the numbers, no line is wider than the terminal and none is too many. */
static void frames_fit_every_terminal(void **state)
{
	static const double extremes[] = {0, 1e-300, 9.9996, 999.96, 1e9, 1e300, INFINITY, NAN};
	struct shm_memory *memory = board_of_cube();
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(extremes); k++) {
		struct pulse *p = &board_of(memory, 0)->pulse;
		struct survey *s;

		p->loss = -extremes[k];
		p->step_ms = p->samples_per_s = p->gflops = p->loss_scale = extremes[k];
		p->lost_ms = p->compute_ms = extremes[k];
		p->steps = k % 2 ? 10000000 : 1000;
		p->peak_bytes = UINT64_MAX >> 8 * k;
		s = survey_of(&cube, memory);
		for (int columns = 40; columns <= 200; columns++)
			for (int i = 0; i < 16; i++) {
				struct frame f = {.columns = columns,
						  .lines = i & 1 ? 8 : 40,
						  .utf8 = i & 2,
						  .colour = i & 4,
						  .table = true,
						  .pids = i & 8,
						  .title = "runs/küünal: 8 ranks"};
				int lines;

				assert_in_range(width_of(drawn(&f, s), &lines), 20,
						columns - 1);
				assert_in_range(lines, 5, f.lines - 1);
			}
		survey_free(s);
	}
	shm_release(memory);
}

static void ranks_that_do_not_fit_are_counted(void **state)
{
	struct shm_memory *memory = board_of_cube();
	struct survey *s = survey_of(&cube, memory);
	struct frame f = {.columns = 100, .lines = 11, .table = true};
	int lines;
	(void)state;

	width_of(drawn(&f, s), &lines);
	assert_int_equal(lines, 10);
	assert_non_null(strstr(drawn(&f, s), "and 3 more ranks\n"));
	f.lines = 0; /* no terminal: all of them */
	assert_null(strstr(drawn(&f, s), "more ranks"));
	survey_free(s);
	shm_release(memory);
}

/* A board of random bytes, as another version's could look to us. */
static void garbage_on_the_board_is_survived(void **state)
{
	struct random r = random_start("garbage");
	struct shm_memory *memory = board_of_cube();
	(void)state;

	for (int round = 0; round < 200; round++) {
		struct frame f = {.columns = random_int(&r, 40, 200),
				  .lines = random_int(&r, 4, 50),
				  .utf8 = round & 1,
				  .table = true,
				  .pids = true};
		struct survey *s;
		int lines;

		for (int i = 0; i < 8; i++) {
			unsigned char *page = (unsigned char *)board_of(memory, i);
			unsigned char *status = (unsigned char *)shm_status(memory, i);

			for (size_t n = 0; n < sizeof(struct board_rank); n++)
				page[n] = (unsigned char)random_int(&r, 0, 255);
			for (size_t n = 0; n < sizeof(struct comm_status); n++)
				status[n] = (unsigned char)random_int(&r, 0, 3);
		}
		s = survey_of(&cube, memory);
		assert_true(width_of(drawn(&f, s), &lines) < f.columns);
		assert_true(lines < f.lines);
		survey_free(s);
	}
	shm_release(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_frame_tells_how_it_goes),
		cmocka_unit_test(skipped_steps_and_scale_are_shown),
		cmocka_unit_test(rates_that_vary_and_evaluations_are_shown),
		cmocka_unit_test(what_is_not_computed_is_not_shown),
		cmocka_unit_test(the_slowest_rank_is_named),
		cmocka_unit_test(a_standstill_names_who_is_waited_for),
		cmocka_unit_test(time_left_follows_the_clock),
		cmocka_unit_test(frames_fit_every_terminal),
		cmocka_unit_test(ranks_that_do_not_fit_are_counted),
		cmocka_unit_test(garbage_on_the_board_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
