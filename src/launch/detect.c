/* detect.c - who has started this process, from the environment. */
#include "base/units.h"
#include "base/util.h"
#include "launch/launch.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A number from 0 in the environment, or -1. */
static int number_of(const char *name)
{
	const char *text = getenv(name);
	int64_t value;

	if (!text || !units_parse_int(text, &value) || value < 0 || value > INT_MAX)
		return -1;
	return (int)value;
}

bool launcher_detect(struct launcher *l)
{
	/* The first that is set tells: mpirun within a Slurm job is mpirun. */
	static const struct {
		const char *name, *rank, *ranks;
		bool hurries;
	} known[] = {
		{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
		{"MPICH", "PMI_RANK", "PMI_SIZE", false},
		/* srun sets these for its tasks; a batch script has no number of tasks of
		   its step. */
		{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		int rank = number_of(known[i].rank), ranks = number_of(known[i].ranks);

		if (rank < 0 || ranks <= rank)
			continue;
		/* An interactive shell is a step of one task too: there we start our ranks. */
		if (ranks == 1 && !strcmp(known[i].name, "Slurm"))
			continue;
		*l = (struct launcher){.name = known[i].name,
				       .rank = rank,
				       .ranks = ranks,
				       .hurries = known[i].hurries};
		return true;
	}
	return false;
}
