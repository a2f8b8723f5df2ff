/* foreign.c - see foreign.h */
#include "config/foreign.h"
#include "base/text.h"
#include "base/util.h"

/* What there is nothing for here is not in the list: no hint rather than a wrong one. */
const struct foreign foreign_names[] = {
	{"learning-rate", "lr"},
	{"hidden", "dim"},
	{"hidden-size", "dim"},
	{"hidden-dim", "dim"},
	{"d-model", "dim"},
	{"width", "dim"},
	{"layers", "depth"},
	{"num-layers", "depth"},
	{"n-layers", "depth"},
	{"num-hidden-layers", "depth"},
	{"batch-size", "batch"},
	{"global-batch-size", "batch"},
	{"train-batch-size", "batch"},
	{"gradient-accumulation-steps", "micro-batches"},
	{"num-microbatches", "micro-batches"},
	{"train-micro-batch-size-per-gpu", "micro-batch-size"},
	{"data-parallel", "dp"},
	{"data-parallel-size", "dp"},
	{"tensor-parallel", "mp"},
	{"tensor-parallel-size", "mp"},
	{"tensor-model-parallel-size", "mp"},
	{"model-parallel-size", "mp"},
	{"pipeline-parallel", "pp"},
	{"pipeline-parallel-size", "pp"},
	{"pipeline-model-parallel-size", "pp"},
	{"pipeline-schedule", "schedule"},
	{"virtual-pipeline-model-parallel-size", "chunks"},
	{"nproc", "nproc-per-node"},
	{"num-gpus", "nproc-per-node"},
	{"train-iters", "steps"},
	{"iterations", "steps"},
	{"max-steps", "steps"},
	{"num-steps", "steps"},
	{"zero-stage", "zero"},
	{"use-distributed-optimizer", "zero"},
	{"fp16", "precision"},
	{"bf16", "precision"},
	{"half", "precision"},
	{"mixed-precision", "precision"},
	{"dtype", "precision"},
	{"initial-loss-scale", "init-scale"},
	{"initial-scale-power", "init-scale"},
	{"loss-scale-window", "growth-interval"},
	{"adam-beta1", "beta1"},
	{"adam-beta2", "beta2"},
	{"adam-eps", "eps"},
	{"epsilon", "eps"},
	{"wd", "weight-decay"},
	{"grad-clip", "clip-grad"},
	{"clip-grad-norm", "clip-grad"},
	{"gradient-clipping", "clip-grad"},
	{"max-grad-norm", "clip-grad"},
	{"hidden-dropout", "dropout"},
	{"normalization", "norm"},
	{"random-seed", "seed"},
	{"manual-seed", "seed"},
	{"dataset", "data"},
	{"data-path", "data"},
	{"data-dir", "data"},
	{"output-dir", "run-dir"},
	{"out-dir", "run-dir"},
	{"log-dir", "run-dir"},
	{"save-interval", "save-every"},
	{"save-steps", "save-every"},
	{"save-total-limit", "save-last"},
	{"load", "resume"},
	{"resume-from-checkpoint", "resume"},
	{"max-restarts", "restarts"},
	{"distributed-backend", "transport"},
	{"num-threads", "threads"},
	{"reduce-bucket-size", "bucket-mb"},
	{"bucket-cap-mb", "bucket-mb"},
};
const size_t foreign_count = ARRAY_SIZE(foreign_names);

const char *foreign_find(const char *name)
{
	for (size_t i = 0; i < foreign_count; i++)
		if (name_equal(name, foreign_names[i].theirs))
			return foreign_names[i].ours;
	return NULL;
}
