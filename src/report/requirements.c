/* requirements.c - see requirements.h */
#include "report/requirements.h"
#include "base/util.h"

#include <string.h>

/* clang-format off */
const struct requirement requirements[] = {
	{"A1", "the grid is given on the command line, any grid works", "kolm train --dp 2 --pp 2 --mp 2"},
	{"A2", "every rank finds its groups; the diagram of the grid", "kolm grid --dp 2 --pp 2 --mp 2"},
	{"A3", "micro-batches overlap across the stages, and it can be seen", "kolm study schedules"},
	{"A4", "float16 training with dynamic gradient scaling", "kolm study accum-amp"},
	{"A5", "the naive base engine, as a baseline", "kolm study engine-vs-base"},
	{"A6", "engine against base engine: throughput, and the largest batch", "kolm study engine-vs-base"},
	{"A7", "commands of every experiment, and a report with diagram, tables and bottlenecks", "kolm report"},
	{"A8", "runs under Slurm and on one machine", "srun kolm train, see examples/slurm.sbatch"},
	{"B1", "the same run twice gives the same losses", "kolm train twice, with --seed"},
	{"B2", "time per step, without the warm-up", "kolm train, then kolm report on its folder"},
	{"B3", "strong scaling: speed-up and efficiency", "kolm study strong-scaling"},
	{"B4", "communication against computation, small and large model", "kolm study comm-vs-compute"},
	{"B5", "DataParallel against DDP", "kolm study dp-vs-ddp"},
	{"B6", "an artificial delay, and Amdahl's law", "kolm study delay"},
	{"B7", "scaling of the batch, and where it saturates", "kolm study batch-scaling"},
	{"B8", "one slow rank, and what it does to the others", "kolm study imbalance"},
	{"C1", "accumulation, mixed precision, and both together", "kolm study accum-amp"},
	{"C2", "time, memory and stability of the three variants", "kolm study accum-amp"},
	{"C3", "4, 8, 16 and 32 accumulation steps", "kolm study accum-amp"},
	{"C4", "synchronisation, precision, memory and the effective batch, explained from numbers", "kolm study accum-amp"},
	{"D1", "layers split over devices, and where the data cross", "kolm study placement"},
	{"D2", "depth against time per step", "kolm study depth"},
	{"D3", "layers spread evenly over all devices", "kolm study placement"},
	{"D4", "depth 20 on 2 and on 5 devices: time, memory, who is busy", "kolm study placement"},
	{"D5", "transfers between devices, and their cost", "kolm study transfers"},
};
/* clang-format on */
const size_t requirement_count = ARRAY_SIZE(requirements);

const struct requirement *requirement_find(const char *id)
{
	for (size_t i = 0; i < requirement_count; i++)
		if (!strcmp(requirements[i].id, id))
			return &requirements[i];
	return NULL;
}

const char *requirement_group(char letter)
{
	switch (letter) {
	case 'A':
		return "The hybrid engine";
	case 'B':
		return "Distributed data parallel";
	case 'C':
		return "Gradient accumulation and mixed precision";
	case 'D':
		return "Layer-wise model parallelism";
	default:
		return NULL;
	}
}
