/* test_plan_search.c - what kolm plan finds: the best of all, the front, the map of grids, the
   step taken apart; and a plan that is made again from its JSON. */
#include "testing.h"

#include "plan/draw.h"
#include "plan/plan.h"
#include "plan/simulate.h"
#include "plan/stage.h"
#include "plan_setups.h"

static struct random rng;

/* A small space, with nothing fixed. */
static struct search_space random_space(void)
{
	struct search_space space;

	search_space_init(&space);
	space.setup = random_setup(&rng);
	space.setup.layers = random_int(&rng, 1, 9);
	space.setup.gpus = random_int(&rng, 1, 12);
	space.setup.global_batch = random_int(&rng, 1, 24);
	space.setup.dp = space.setup.tp = space.setup.pp = space.setup.micro_batch = 0;
	space.setup.chunks = 0;
	space.memory = 1e18;
	space.top = 3;
	return space;
}

typedef void (*visitor)(void *arg, const struct setup *s);

static void visit_schedules(struct setup s, visitor visit, void *arg)
{
	for (int kind = SCHEDULE_1F1B; kind < SCHEDULE_KIND_COUNT; kind++)
		for (s.chunks = 1; s.chunks <= SEARCH_CHUNKS_MAX; s.chunks++) {
			int m = setup_micro_batches(&s);

			s.schedule = (enum schedule_kind)kind;
			if (s.pp == 1 && kind != SCHEDULE_1F1B)
				continue;
			if (kind == SCHEDULE_INTERLEAVED && m % s.pp)
				continue;
			if (kind == SCHEDULE_ZB_H1 && m < 2 * s.pp)
				continue;
			if (setup_check(&s, fresh(&err)) == OK)
				visit(arg, &s);
		}
}

/* All that can be run, by trying every number there is. */
static void visit_all(const struct search_space *space, visitor visit, void *arg)
{
	struct setup s = space->setup;

	for (s.dp = 1; s.dp <= s.gpus; s.dp++)
		for (s.tp = 1; s.tp <= s.gpus; s.tp++)
			for (s.pp = 1; s.pp <= s.gpus; s.pp++)
				for (s.micro_batch = 1; s.micro_batch <= s.global_batch;
				     s.micro_batch++)
					for (int i = 0; i < 24; i++) {
						s.recompute = (enum setup_recompute)(i % 3);
						s.sequence_parallel = i / 3 % 2;
						s.zero = i / 6;
						if ((s.zero && s.dp == 1) ||
						    (s.sequence_parallel && s.tp == 1) ||
						    (int64_t)s.dp * s.tp * s.pp != s.gpus ||
						    s.global_batch % (s.dp * s.micro_batch))
							continue;
						visit_schedules(s, visit, arg);
					}
}

struct trying {
	const struct cluster *c;
	const struct search_space *space;
	const struct search *r;
	double closed, simulated; /* the fastest that fits */
	int64_t tried, fits;
};

static void try_one(void *arg, const struct setup *s)
{
	struct trying *t = arg;
	struct forecast f = forecast_of(s, t->c);
	double step;
	bool covered = false;

	t->tried++;
	for (int i = 0; i < t->r->front_count; i++)
		covered |= t->r->front[i].forecast.memory <= f.memory &&
			   t->r->front[i].forecast.step <= f.step * 1.0011;
	if (!covered)
		fail_msg("%g s with %g bytes is before the front", f.step, f.memory);
	for (int i = 0; i < t->r->grid_count; i++) {
		const struct search_grid *g = &t->r->grids[i];

		if (g->pp == s->pp && g->tp == s->tp)
			assert_true(g->least <= f.memory &&
				    (f.memory > t->space->memory || g->step <= f.step));
	}
	if (f.memory > t->space->memory)
		return;
	t->fits++;
	t->closed = fmin(t->closed, f.step);
	assert_int_equal(simulate_step(&step, &f, s, t->c, fresh(&err)), OK);
	t->simulated = fmin(t->simulated, step);
}

static void check_space(struct search *r, const struct search_space *space,
			const struct cluster *c)
{
	struct trying t = {
		.c = c, .space = space, .r = r, .closed = INFINITY, .simulated = INFINITY};

	assert_int_equal(search_run(r, space, c, fresh(&err)), OK);
	visit_all(space, try_one, &t);
	assert_int_equal(r->tried, t.tried);
	assert_int_equal(r->fits, t.fits);
	if (!t.fits) {
		assert_int_equal(r->best_count, 0);
		return;
	}
	expect_near(r->best[0].forecast.step, t.closed, 1e-12, "the fastest");
	for (int k = 0; k < r->too_large_count; k++) {
		assert_true(r->too_large[k].forecast.memory > space->memory);
		assert_true(r->too_large[k].forecast.step < r->best[0].forecast.step);
	}
	assert_int_equal(search_simulate(r, c, space->top, fresh(&err)), OK);
	assert_true(r->best_count <= space->top);
	expect_near(r->best[0].simulated, t.simulated, 1e-12, "the fastest, simulated");
}

/* The chosen one is the best of all that fit, in closed form and simulated; the front, the map
   and the counts are of all that there is. */
static void the_best_is_found(void **state)
{
	struct cluster c = builtin("v100-16g-dlperf");
	struct search *r = malloc(sizeof(*r));
	int done = 0;

	(void)state;
	c.constants[CLUSTER_RESERVED] = 0;
	while (done < 20) {
		struct search_space space = random_space();

		check_space(r, &space, &c);
		if (!r->tried)
			continue;
		assert_int_equal(r->too_large_count, 0);
		space.memory = r->best[0].forecast.memory * 0.8;
		check_space(r, &space, &c);
		done++;
	}
	free(r);
}

/* More devices are listed only where they are faster. */
static void fewer_devices_are_slower(void **state)
{
	struct cluster c = builtin("a100-80g-selene");
	struct search *work = malloc(sizeof(*work));
	struct search_found found[SEARCH_COUNTS_MAX];

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct search_space space = random_space();
		int n;

		space.setup.gpus = random_int(&rng, 1, 64);
		assert_int_equal(search_devices(found, &n, &space, &c, work, fresh(&err)), OK);
		for (int k = 1; k < n; k++) {
			assert_true(found[k].setup.gpus > found[k - 1].setup.gpus);
			assert_true(found[k].forecast.step < found[k - 1].forecast.step);
		}
	}
	free(work);
}

/* All stages are looked at where only some could be. */
static void the_fullest_and_the_slowest_are_found(void **state)
{
	struct cluster c = builtin("a100-80g-selene");

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct setup s = random_setup(&rng);
		struct stage_kinds kinds;
		struct outline o = outline_of(&s);
		struct forecast f;
		double slowest = 0, fullest = 0;

		s.layers += random_int(&rng, 0, 7);
		f = forecast_of(&s, &c);
		stage_kinds_init(&kinds, &o, &s, &c);
		stage_kinds_set_message(&kinds, &s, &c);
		for (int stage = 0; stage < s.pp; stage++) {
			struct forecast_memory m;
			struct stage_cost cost =
				stage_cost(&kinds, &s, &c, setup_layers(&s, stage), s.chunks,
					   stage == 0, stage == s.pp - 1);

			forecast_memory(&m, &s, &c, &kinds, stage);
			fullest = fmax(fullest, forecast_memory_sum(&m));
			slowest = fmax(slowest, stage_whole(&cost));
		}
		expect_near(f.memory, fullest, 1e-12, "the fullest stage");
		expect_near((f.work + f.sums + f.messages) / setup_micro_batches(&s), slowest,
			    1e-9, "the slowest stage");
	}
}

static void a_step_taken_apart_adds_up(void **state)
{
	struct cluster c = builtin("a100-80g-selene");

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct setup s = random_setup(&rng);
		struct explanation e;
		const struct explained_step *x = &e.step;

		assert_int_equal(explanation_init(&e, &s, &c, fresh(&err)), OK);
		expect_near(explained_compute(x) + explained_comm(x) + x->bubble +
				    x->imbalance + x->other,
			    x->step, 1e-6, "parts of a step");
		assert_true(x->bubble >= 0 && x->imbalance >= 0 && x->host >= 0);
		explanation_release(&e);
	}
}

/* From its own JSON the same plan comes again, to the last letter. */
static void a_plan_is_made_again(void **state)
{
	struct cluster c = builtin("h100-80g");

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct search_space space = random_space();
		struct plan *p = NULL, *again = NULL;
		struct json a, b;

		if (plan_create(&p, &space, &c, i % 2, fresh(&err)) != OK)
			continue;
		p->search.seconds = 0; /* the only thing that differs */
		json_init(&a, true);
		json_init(&b, true);
		plan_put(&a, p, true);
		if (plan_read(&again, a.text.data, a.text.len, "plan", fresh(&err)) != OK)
			fail_msg("%s", err.msg);
		again->search.seconds = 0;
		plan_put(&b, again, true);
		assert_string_equal(a.text.data, b.text.data);
		assert_int_equal(plan_read(&again, "{}", 2, "plan", fresh(&err)), ERR_USAGE);
		json_release(&a);
		json_release(&b);
		plan_free(p);
		plan_free(again);
	}
}

/* A cell for every grid that something can be run on. */
static void the_map_has_all_grids(void **state)
{
	struct cluster c = builtin("a100-80g-selene");
	struct search_space space = random_space();
	struct search *r = malloc(sizeof(*r));
	struct text svg;
	int cells = 0;

	(void)state;
	space.setup.gpus = 8;
	space.setup.heads = 8;
	space.setup.hidden = 64;
	space.setup.layers = 8;
	space.setup.global_batch = 8;
	assert_int_equal(search_run(r, &space, &c, fresh(&err)), OK);
	text_init(&svg);
	draw_grids_svg(r, "a map", &svg);
	assert_false(svg.failed);
	for (const char *at = svg.data; (at = strstr(at, "<title>dp ")); at++)
		cells++;
	assert_int_equal(r->grid_count, 10); /* tp x pp that divide 8 */
	assert_int_equal(cells, r->grid_count);
	text_release(&svg);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_is_found),
		cmocka_unit_test(fewer_devices_are_slower),
		cmocka_unit_test(the_fullest_and_the_slowest_are_found),
		cmocka_unit_test(a_step_taken_apart_adds_up),
		cmocka_unit_test(a_plan_is_made_again),
		cmocka_unit_test(the_map_has_all_grids),
	};

	rng = random_start("test_plan_search");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
