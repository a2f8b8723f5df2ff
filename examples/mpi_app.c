/*
 * mpi_app.c - training inside of somebody's MPI program: half of its processes train together,
 * on a communicator of theirs, while the others do something else.
 *
 *     mpicc mpi_app.c $(pkg-config --cflags --libs kolm) -o mpi_app && mpirun -n 4 ./mpi_app
 */
#include <kolm.h>
#include <mpi.h>

#include <stdio.h>

enum { INPUTS = 12, CLASSES = 3, STEPS = 100 };

/* The class of a sample is which third of its inputs is largest on average. */
static void fill(void *arg, int64_t first, int rows, const struct kolm_batch *b)
{
	uint64_t step = *(const uint64_t *)arg;

	for (int r = 0; r < rows; r++) {
		uint64_t state = (step << 32) + (uint64_t)(first + r) + 1;
		float sums[CLASSES] = {0};

		for (int i = 0; i < INPUTS; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			b->x[(size_t)r * b->x_stride + i] = (float)(state >> 40) * 0x1p-23f - 1;
			sums[i % CLASSES] += b->x[(size_t)r * b->x_stride + i];
		}
		b->labels[r] = 0;
		for (int c = 1; c < CLASSES; c++)
			if (sums[c] > sums[b->labels[r]])
				b->labels[r] = c;
	}
}

static enum kolm_status train(MPI_Comm trainers, struct kolm_error *err)
{
	struct kolm_options options = KOLM_OPTIONS;
	struct kolm_world *world = NULL;
	struct kolm_model *model = NULL;
	struct kolm_engine *engine = NULL;
	struct kolm_evaluation held_out;
	struct kolm_result result;
	uint64_t step = 0;
	enum kolm_status st;

	MPI_Comm_size(trainers, &options.dp);
	options.batch = 64 * options.dp;
	options.loss = "cross-entropy";
	options.optimizer = "adamw";
	options.lr = 0.01;
	if ((st = kolm_world_mpi(&world, &trainers, err)) ||
	    (st = kolm_model_new(&model, INPUTS, err)) ||
	    (st = kolm_model_linear(model, 64, "relu", err)) ||
	    (st = kolm_model_linear(model, CLASSES, "none", err)) ||
	    (st = kolm_engine_create(&engine, world, model, &options, err)))
		goto out;
	for (; step < STEPS && st == KOLM_OK; step++)
		st = kolm_engine_step(engine, fill, &step, &result, err);
	if (st == KOLM_OK)
		st = kolm_engine_evaluate(engine, 1000, fill, &step, &held_out, err);
	if (st == KOLM_OK && kolm_world_rank(world) == 0)
		printf("%d ranks: loss %.4f, accuracy on new samples %.1f %%\n",
		       kolm_world_size(world), result.loss, held_out.accuracy * 100);
out:
	kolm_engine_free(engine);
	kolm_model_free(model);
	kolm_world_free(world);
	return st;
}

int main(int argc, char **argv)
{
	struct kolm_error err = {0};
	int rank, provided, failed = 0;
	MPI_Comm half;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	if (rank % 2 == 0)
		failed = train(half, &err) != KOLM_OK;
	if (failed)
		fprintf(stderr, "rank %d: %s; %s\n", rank, err.message, err.hint);
	MPI_Comm_free(&half);
	MPI_Finalize();
	return failed;
}
