/* config_table.c - the option table of kolm train; see config.h */
#include "config/config.h"
#include "base/dtype.h"
#include "base/limits.h"
#include "base/util.h"
#include "model/models.h"
#include "data/data.h"
#include "engine/sync.h"
#include "optim/lr.h"
#include "schedule/schedule.h"

const char *const engine_names[] = {NAMES_OF(CONFIG_ENGINES)};

static const char *const models[] = {NAMES_OF(MODELS)};
static const char *const preset_names[] = {NAMES_OF(CONFIG_PRESETS)};
static const char *const gelu_names[] = {NAMES_OF(CONFIG_GELUS)};
static const char *const recompute_names[] = {NAMES_OF(RECOMPUTES)};
const char *const config_precision_names[] = {NAMES_OF(CONFIG_PRECISIONS)};
static const char *const grad_dtypes[] = {NAMES_OF(CONFIG_GRAD_DTYPES)};
static const char *const transports[] = {NAMES_OF(CONFIG_TRANSPORTS)};
static const char *const pins[] = {NAMES_OF(CONFIG_PINS)};
static const char *const elastics[] = {NAMES_OF(CONFIG_ELASTICS)};
static const char *const log_formats[] = {NAMES_OF(CONFIG_LOG_FORMATS)};
const char *const progress_names[] = {NAMES_OF(CONFIG_PROGRESSES)};

#define AT(member)	     .offset = offsetof(struct config, member)
#define TEXT_AT(member)	     AT(member), .capacity = sizeof(((struct config *)0)->member)
#define CHOICE(member, list) .type = OPTION_CHOICE, AT(member), .choices = list

/* clang-format off */
static const struct option options[] = {
	{"dp", .group = "Grid", .type = OPTION_INT, AT(dp), .initial = "1", .zero = "auto",
	 .meta = "N", .min = 1, .max = RANKS_MAX,
	 .help = "data-parallel replicas; auto: for one of the three what the others leave of the ranks, GPUs or cores, for more what --plan finds"},
	{"pp", .group = "Grid", .type = OPTION_INT, AT(pp), .initial = "1", .zero = "auto",
	 .meta = "N", .min = 1, .max = RANKS_MAX, .help = "pipeline stages"},
	{"mp", "tp", .group = "Grid", .type = OPTION_INT, AT(mp), .initial = "1", .zero = "auto",
	 .meta = "N", .min = 1, .max = RANKS_MAX, .help = "ways to split each layer (tensor parallel)"},
	{"plan", .group = "Grid", .type = OPTION_FLAG, AT(plan), .initial = "false", .unsaved = true,
	 .help = "choose what is not given of --dp, --pp, --mp, --micro-batches and --schedule: forecast all, try the best, say why; see docs/plan.md"},
	{"dry-run", .group = "Grid", .type = OPTION_FLAG, AT(dry_run), .initial = "false", .unsaved = true,
	 .help = "only say how long a step should take and what memory it needs"},
	{"transport", .group = "Grid", CHOICE(transport, transports), .initial = "auto",
	 .help = "auto: mpi in what mpirun or srun has started, otherwise shared memory"},
	{"nproc-per-node", .group = "Grid", .type = OPTION_INT, AT(nproc_per_node),
	 .initial = "auto", .zero = "auto", .meta = "N", .min = 1, .max = RANKS_MAX,
	 .help = "as torchrun has it: checked against the ranks on each machine"},
	{"as-if", .group = "Grid", .type = OPTION_STRING, TEXT_AT(as_if), .initial = "",
	 .meta = "dp=V,mp=L", .help = "the same bits on every grid whose dp divides V and mp divides L, powers of two, as if it were V x L; "
	 "--micro-batches is then of each of the V replicas"},

	{"model", .group = "Model", CHOICE(model, models), .initial = "mlp",
	 .help = "mlp: a stack of linear layers; gpt: GPT-2; llama: rms norm, rotary positions, gated layers, grouped queries"},
	{"preset", .group = "Model", CHOICE(preset, preset_names), .initial = "none",
	 .help = "sizes of a known gpt: gpt2 (124M), gpt2-medium; nano and char: nanoGPT's settings for characters, with the course of their training"},
	{"dim", .group = "Model", .type = OPTION_INT, AT(dim), .initial = "1024", .meta = "N",
	 .min = 1, .max = DIM_MAX, .help = "width of the layers; gpt and llama: 128 if nothing is said"},
	{"depth", .group = "Model", .type = OPTION_INT, AT(depth), .initial = "8", .meta = "N",
	 .min = 1, .max = DEPTH_MAX, .help = "number of layers"},
	{"widths", .group = "Model", .type = OPTION_STRING, TEXT_AT(widths), .initial = "",
	 .meta = "A,B,...", .help = "instead of --dim and --depth: the width of what goes in, of what is between the layers, "
	 "and of what comes out, such as 784,512,256,10"},
	{"activation", .group = "Model", CHOICE(activation, activation_names), .initial = "relu",
	 .help = "after every layer but the last"},
	{"norm", .group = "Model", CHOICE(norm, norm_names), .initial = "none",
	 .help = "before every layer but the first"},
	{"residual", .group = "Model", .type = OPTION_FLAG, AT(residual), .initial = "false",
	 .help = "layers that are as wide as their input add to it, the last one excepted"},
	{"dropout", .group = "Model", .type = OPTION_FLOAT, AT(dropout), .initial = "0",
	 .meta = "P", .min = 0, .max = 0.99,
	 .help = "share of what every layer but the last yields that is set to 0 in training"},

	{"layers", .group = "Language model", .type = OPTION_INT, AT(layers), .initial = "4", .meta = "N",
	 .min = 1, .max = DEPTH_MAX, .help = "number of blocks of attention and feed-forward"},
	{"heads", .group = "Language model", .type = OPTION_INT, AT(heads), .initial = "4", .meta = "N",
	 .min = 1, .max = 1024, .help = "of attention; they divide --dim"},
	{"kv-heads", .group = "Language model", .type = OPTION_INT, AT(kv_heads), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = 1024, .help = "llama: heads of keys and values, shared by groups of queries; auto: as many as --heads"},
	{"ffn", .group = "Language model", .type = OPTION_INT, AT(ffn), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = DIM_MAX, .help = "width inside of the feed-forward layers; auto: 4 times --dim, of llama 8/3 of it, rounded up"},
	{"context", .group = "Language model", .type = OPTION_INT, AT(context), .initial = "64", .meta = "T",
	 .min = 1, .max = CONTEXT_MAX, .help = "tokens of a sample"},
	{"vocab", .group = "Language model", .type = OPTION_INT, AT(vocab), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 2, .max = DIM_MAX, .help = "tokens that there are; auto: those of the tokenizer, or 256 of made-up data"},
	{"tokenizer", .group = "Language model", .type = OPTION_STRING, TEXT_AT(tokenizer), .initial = "auto",
	 .meta = "auto|byte|char|bpe|FILE", .help = "how text becomes tokens: bytes, characters, learned pieces (--vocab of them), or a tokenizer.json (see "
	 "kolm tokenizer); auto: char if there are at most 256 characters, otherwise bpe"},
	{"no-bias", .group = "Language model", .type = OPTION_FLAG, AT(no_bias), .initial = "false",
	 .help = "gpt: products and norms without a bias, as nanoGPT has it"},
	{"gelu", .group = "Language model", CHOICE(gelu, gelu_names), .initial = "tanh",
	 .help = "gpt: the approximation that GPT-2 has, or the exact one"},
	{"rope-theta", .group = "Language model", .type = OPTION_FLOAT, AT(rope_theta), .initial = "10000",
	 .meta = "X", .min = 1, .max = 1e12, .help = "llama: base of the rotary positions"},
	{"norm-eps", .group = "Language model", .type = OPTION_FLOAT, AT(norm_eps), .initial = "1e-5",
	 .meta = "X", .min = 1e-12, .max = 1, .help = "what norms add to the variance"},
	{"recompute", .group = "Language model", CHOICE(recompute, recompute_names), .initial = "none",
	 .help = "keep less of a micro-batch and compute it again before its backward pass: all of each block's attention, or all of each block"},
	{"sequence-parallel", .group = "Language model", .type = OPTION_FLAG, AT(sequence_parallel), .initial = "false",
	 .help = "with --mp: norms, dropout and residual connections on a part of the rows each"},
	{"eval-samples", .group = "Language model", .type = OPTION_INT, AT(eval_samples), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = STEPS_MAX,
	 .help = "held-out samples that an evaluation takes, spread over all; auto: all, or as many as have 131,072 tokens"},

	{"data", .group = "Data", .type = OPTION_STRING, TEXT_AT(data), .initial = "synthetic",
	 .meta = "synthetic|noise|csv:FILE|idx:IMAGES,LABELS|text:PATH|tokens:FILE",
	 .help = "synthetic is learnable (synthetic:X: targets times X), noise is not; csv: numbers, the last column is learned; "
	 "text: a file or folder, for language models"},
	{"loss", .group = "Data", CHOICE(loss, data_task_names), .initial = "auto",
	 .help = "auto: cross-entropy where what is learned is text or whole numbers of few classes, otherwise mse"},
	{"target", .group = "Data", .type = OPTION_STRING, TEXT_AT(target), .initial = "",
	 .meta = "COLUMN,...", .help = "what is learned, by name or number (-1: the last); several are targets of a regression; default: the last column"},
	{"ignore", .group = "Data", .type = OPTION_STRING, TEXT_AT(ignore), .initial = "",
	 .meta = "COLUMN,...", .help = "columns that are left out"},
	{"missing", .group = "Data", CHOICE(missing, data_missing_names), .initial = "error",
	 .help = "of a value that is empty, NA, NaN, null or ?: mean puts the mean of its column there, drop leaves the sample out"},
	{"scale-target", .group = "Data", .type = OPTION_FLAG, AT(scale_target), .initial = "false",
	 .help = "targets of a regression to mean 0 and deviation 1; losses are then in that scale"},
	{"holdout", .group = "Data", .type = OPTION_FLOAT, AT(holdout), .initial = "0.1",
	 .meta = "X", .min = 0, .max = 0.9,
	 .help = "share of a data file that is kept for evaluation"},
	{"test", .group = "Data", .type = OPTION_STRING, TEXT_AT(test), .initial = "",
	 .meta = "SPEC", .help = "evaluate with this file, as in --data, instead of a share of --data"},

	{"batch", .group = "Batch", .type = OPTION_INT, AT(batch), .initial = "64", .meta = "N",
	 .min = 1, .max = BATCH_MAX, .help = "global batch: samples per optimizer step"},
	{"micro-batches", "accum-steps", .group = "Batch", .type = OPTION_INT, AT(micro_batches),
	 .initial = "1", .meta = "M", .min = 1, .max = BATCH_MAX,
	 .help = "cut the batch in M parts and accumulate their gradients"},
	{"micro-batch-size", .group = "Batch", .type = OPTION_INT, AT(micro_batch_size),
	 .initial = "auto", .zero = "auto", .meta = "S", .min = 1, .max = BATCH_MAX,
	 .help = "samples per micro-batch; batch = dp * M * S, give any two"},

	{"schedule", .group = "Pipeline", CHOICE(schedule, schedule_names), .initial = "1f1b",
	 .help = "order of the micro-batches in the stages; 'kolm schedule' draws them"},
	{"chunks", .group = "Pipeline", .type = OPTION_INT, AT(chunks), .initial = "auto",
	 .zero = "auto", .meta = "V", .min = 1, .max = 64,
	 .help = "interleaved: parts of the model per stage; auto: 2"},
	{"layers-per-stage", .group = "Pipeline", .type = OPTION_STRING, TEXT_AT(layers_per_stage),
	 .initial = "", .meta = "A,B,...", .help = "instead of a balanced cut"},
	{"engine", .group = "Pipeline", CHOICE(engine, engine_names), .initial = "hybrid",
	 .help = "base: the naive engine, one micro-batch at a time, nothing overlaps"},

	{"grad-sync", .group = "Gradients", CHOICE(grad_sync, grad_sync_names), .initial = "ddp",
	 .help = "ddp: buckets summed during the backward pass; flat: all after it; master: DataParallel"},
	{"bucket-mb", .group = "Gradients", .type = OPTION_FLOAT, AT(bucket_mb), .initial = "25",
	 .meta = "X", .min = 0.001, .max = 1e6, .help = "size of a bucket of ddp, in MiB"},
	{"zero", .group = "Gradients", .type = OPTION_INT, AT(zero), .initial = "0", .meta = "0|1",
	 .min = 0, .max = 1, .help = "1: optimizer state sharded over the replicas"},

	{"precision", .group = "Precision", CHOICE(precision, config_precision_names), .initial = "fp32",
	 .help = "of weights, activations and messages; sums, optimizer and its weights are fp32; auto: bf16 where every "
	 "rank's device multiplies it, otherwise fp32"},
	{"amp", .group = "Precision", .type = OPTION_FLAG, AT(amp), .initial = "false",
	 .unsaved = true, .help = "the same as --precision fp16"},
	{"grad-dtype", .group = "Precision", CHOICE(grad_dtype, grad_dtypes), .initial = "auto",
	 .help = "of gradients, and of the messages that sum them, in 16-bit training; auto: fp32 beyond 256 micro-batches (bf16: 32), else "
	 "16, which is what --precision says; fp16, bf16: 16 by its name"},
	{"loss-scale", .group = "Precision", .type = OPTION_FLOAT, AT(loss_scale), .initial = "dynamic",
	 .zero = "dynamic", .meta = "X", .min = 1e-6, .max = 1e12,
	 .help = "fp16: factor of the loss; dynamic: as PyTorch's GradScaler"},
	{"init-scale", .group = "Precision", .type = OPTION_FLOAT, AT(init_scale), .initial = "65536",
	 .meta = "X", .min = 1e-6, .max = 1e12, .help = "loss scale at the start"},
	{"growth-factor", .group = "Precision", .type = OPTION_FLOAT, AT(growth_factor), .initial = "2",
	 .meta = "X", .min = 1, .max = 1024, .help = "of the loss scale after --growth-interval finite steps"},
	{"backoff-factor", .group = "Precision", .type = OPTION_FLOAT, AT(backoff_factor), .initial = "0.5",
	 .meta = "X", .min = 1e-6, .max = 0.999999, .help = "of the loss scale after a step that was not finite"},
	{"growth-interval", .group = "Precision", .type = OPTION_INT, AT(growth_interval), .initial = "2000",
	 .meta = "N", .min = 1, .max = 1000000000, .help = "finite steps in a row until the scale grows"},

	{"optimizer", .group = "Optimizer", CHOICE(optimizer, optimizer_names), .initial = "sgd",
	 .help = "as PyTorch defines them"},
	{"lr", .group = "Optimizer", .type = OPTION_FLOAT, AT(lr), .initial = "0.001", .meta = "X",
	 .min = 0, .max = 1e6, .help = "learning rate"},
	{"momentum", .group = "Optimizer", .type = OPTION_FLOAT, AT(momentum), .initial = "0.9",
	 .meta = "X", .min = 0, .max = 0.999999, .help = "of the momentum optimizer"},
	{"beta1", .group = "Optimizer", .type = OPTION_FLOAT, AT(beta1), .initial = "0.9",
	 .meta = "X", .min = 0, .max = 0.999999, .help = "of adamw"},
	{"beta2", .group = "Optimizer", .type = OPTION_FLOAT, AT(beta2), .initial = "0.999",
	 .meta = "X", .min = 0, .max = 0.999999, .help = "of adamw"},
	{"eps", .group = "Optimizer", .type = OPTION_FLOAT, AT(eps), .initial = "1e-08",
	 .meta = "X", .min = 1e-30, .max = 1, .help = "of adamw"},
	{"weight-decay", .group = "Optimizer", .type = OPTION_FLOAT, AT(weight_decay),
	 .initial = "0", .meta = "X", .min = 0, .max = 1e6,
	 .help = "added to the gradient; adamw: decoupled"},
	{"clip-grad", .group = "Optimizer", .type = OPTION_FLOAT, AT(clip_grad), .initial = "off",
	 .zero = "off", .meta = "X", .min = 0, .max = 1e30,
	 .help = "largest norm of the gradient over all parameters"},

	{"lr-schedule", .group = "Learning rate", CHOICE(lr_schedule, lr_kind_names), .initial = "constant",
	 .help = "how --lr goes down over the steps: half a cosine, a line, in steps, or a line at the end (wsd); "
	 "docs/training.md has the formulas"},
	{"lr-warmup", .group = "Learning rate", .type = OPTION_INT, AT(lr_warmup), .initial = "0", .meta = "N",
	 .min = 0, .max = STEPS_MAX, .help = "first steps, in which it grows from --lr / N to --lr"},
	{"lr-min", .group = "Learning rate", .type = OPTION_FLOAT, AT(lr_min), .initial = "0", .meta = "X",
	 .min = 0, .max = 1e6, .help = "cosine, linear, wsd: that of the last step; step: never less"},
	{"lr-step", .group = "Learning rate", .type = OPTION_INT, AT(lr_step), .initial = "none", .zero = "none",
	 .meta = "N", .min = 1, .max = STEPS_MAX, .help = "step: every N steps it is multiplied with --lr-gamma"},
	{"lr-gamma", .group = "Learning rate", .type = OPTION_FLOAT, AT(lr_gamma), .initial = "0.1", .meta = "X",
	 .min = 0, .max = 1, .help = "step: what with"},
	{"lr-decay", .group = "Learning rate", .type = OPTION_STRING, TEXT_AT(lr_decay), .initial = "0.2",
	 .meta = "SHARE|N", .help = "wsd: the last steps, in which it goes down: a share of all, such as 0.2, or how many"},

	{"steps", .group = "Run", .type = OPTION_INT, AT(steps), .initial = "35", .meta = "N",
	 .min = 1, .max = STEPS_MAX, .help = "optimizer steps"},
	{"epochs", .group = "Run", .type = OPTION_INT, AT(epochs), .initial = "none", .zero = "none", .meta = "N",
	 .min = 1, .max = 1000000, .help = "instead of --steps: how often a data file is gone through"},
	{"warmup", .group = "Run", .type = OPTION_INT, AT(warmup), .initial = "5", .meta = "N",
	 .min = 0, .max = STEPS_MAX, .help = "first steps that are left out of the statistics"},
	{"seed", .group = "Run", .type = OPTION_INT64, AT(seed), .initial = "0", .meta = "N",
	 .min = 0, .max = 9007199254740992.0, .help = "of weights and data; same seed, same run"},
	{"eval-every", .group = "Run", .type = OPTION_INT, AT(eval_every), .initial = "off", .zero = "off",
	 .meta = "N", .min = 1, .max = STEPS_MAX,
	 .help = "evaluate on the held-out samples every N steps, not at the end only"},
	{"patience", .group = "Run", .type = OPTION_INT, AT(patience), .initial = "off", .zero = "off",
	 .meta = "N", .min = 1, .max = STEPS_MAX,
	 .help = "end after N evaluations in a row without a held-out loss that is the best so far"},
	{"max-bad-steps", .group = "Run", .type = OPTION_INT, AT(max_bad_steps), .initial = "10", .zero = "off",
	 .meta = "N", .min = 1, .max = STEPS_MAX,
	 .help = "more steps in a row than these with a loss that is not finite are a failure"},
	{"inject", .group = "Run", .type = OPTION_STRING, TEXT_AT(inject), .initial = "",
	 .meta = "SPEC", .repeat = true,
	 .help = "trouble on purpose, may be repeated: sleep=TIME, kill or hang behind any of rank=R, step=S, "
	 "at=forward|backward|optimizer; or wrong results, nan, scale=X, shift or stale, behind any of rank=R, step=S, micro-batch=M"},
	{"timeout", .group = "Run", .type = OPTION_SECONDS, AT(timeout), .initial = "60",
	 .zero = "off", .meta = "SECONDS", .min = 0.1, .max = 1e6,
	 .help = "no progress for so long is a hang: report it and stop"},

	{"save", .group = "Checkpoints", .type = OPTION_FLAG, AT(save), .initial = "false",
	 .help = "write a checkpoint when the run ends, also by Ctrl-C or a signal; SIGUSR1 asks for one at once"},
	{"save-every", .group = "Checkpoints", .type = OPTION_STRING, TEXT_AT(save_every), .initial = "",
	 .meta = "N|TIME", .help = "and every N steps, or so often, such as 10min"},
	{"save-last", .group = "Checkpoints", .type = OPTION_INT, AT(save_last), .initial = "3", .zero = "all",
	 .meta = "K", .min = 1, .max = 1000000, .help = "keep the newest K checkpoints, and the best one"},
	{"resume", .group = "Checkpoints", .type = OPTION_STRING, TEXT_AT(resume), .initial = "",
	 .meta = "RUN|DIR|auto", .unsaved = true, .reserved = true,
	 .help = "go on from the last good checkpoint of a run, in its folder and with its options, or from a checkpoint, "
	 "in a new run; any grid will do; auto: from the last one in --run-dir, if there is any"},
	{"restarts", .group = "Checkpoints", .type = OPTION_INT, AT(restarts), .initial = "0", .meta = "N",
	 .min = 0, .max = 1000, .help = "when a rank is killed or hangs, go on from the last checkpoint, up to N times"},
	{"elastic", .group = "Checkpoints", CHOICE(elastic, elastics), .initial = "dp",
	 .help = "dp: then with fewer replicas, as many as the ranks that are left can be; none: on the same grid"},

	{"device", .group = "Machine", .type = OPTION_STRING, TEXT_AT(device), .initial = "cpu",
	 .meta = "cpu|gpu|cuda:N|opencl:N|auto|virtual:K=X,...",
	 .help = "see kolm devices; ranks take GPUs in turn; virtual takes the time that gflops=X, gflops16=X, bandwidth=X, link=X, "
	 "latency=TIME, slow=RANK:FACTOR, slow-link=A-B:FACTOR say, mem=X"},
	{"device-memory", .group = "Machine", .type = OPTION_SIZE, AT(device_memory),
	 .initial = "unlimited", .zero = "unlimited", .meta = "BYTES",
	 .help = "memory limit, such as 2GiB; exceeding it is an error that says what did not fit"},
	{"threads", .group = "Machine", .type = OPTION_INT, AT(threads), .initial = "auto",
	 .zero = "auto", .meta = "N", .min = 1, .max = 256, .help = "auto: one per core"},
	{"pin", .group = "Machine", CHOICE(pin, pins), .initial = "auto",
	 .help = "auto: keep each thread on a core of its own"},

	{"run-dir", .group = "Output", .type = OPTION_STRING, TEXT_AT(run_dir), .initial = "",
	 .meta = "DIR", .unsaved = true, .reserved = true,
	 .help = "where the run's files go, for one run at a time; default runs/TIME-PID"},
	{"overwrite", .group = "Output", .type = OPTION_FLAG, AT(overwrite), .initial = "false",
	 .unsaved = true, .reserved = true,
	 .help = "replace the files of an earlier run in --run-dir"},
	{"trace", .group = "Output", .type = OPTION_INT, AT(trace), .initial = "8", .zero = "off",
	 .meta = "N", .min = 0, .max = 1000,
	 .help = "keep what every rank did in the last N steps in timeline.json, for kolm trace and Perfetto"},
	{"tensorboard", .group = "Output", .type = OPTION_FLAG, AT(tensorboard), .initial = "false",
	 .help = "write losses, norms and speeds for TensorBoard as well, to event files in the run's folder"},
	{"log-every", .group = "Output", .type = OPTION_INT, AT(log_every), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = STEPS_MAX,
	 .help = "print and write down every Nth step, and those that are special; auto: the first 1000, then so that "
	 "there are about 10000 lines"},
	{"dump-check", .group = "Output", .type = OPTION_STRING, TEXT_AT(dump_check),
	 .initial = "", .meta = "DIR", .unsaved = true, .reserved = true,
	 .help = "write weights, batches and dropout masks for a check elsewhere (at most 20 steps)"},
	{"config", .group = "Output", .type = OPTION_STRING, TEXT_AT(config_file), .initial = "",
	 .meta = "FILE", .unsaved = true, .reserved = true,
	 .help = "read options from JSON, such as config.json of a run; the command line wins"},
	{"log-format", .group = "Output", CHOICE(log_format, log_formats), .initial = "text",
	 .unsaved = true, .help = "one line per step, for people or for programs"},
	{"breakdown", .group = "Output", .type = OPTION_FLAG, AT(breakdown), .initial = "false",
	 .unsaved = true,
	 .help = "print and write down where the time of every step went, not of the run only"},
	{"progress", .group = "Output", CHOICE(progress, progress_names), .initial = "auto",
	 .unsaved = true,
	 .help = "screen: a live one instead of a line per step; ranks: with a line per rank; plain: lines; "
	 "auto: a screen on a terminal"},
	{"quiet", .group = "Output", .type = OPTION_FLAG, AT(quiet), .initial = "false",
	 .unsaved = true, .help = "print errors and warnings only"},
	{"verbose", .group = "Output", .type = OPTION_FLAG, AT(verbose), .initial = "false",
	 .unsaved = true, .help = "say more about the machine and the memory"},
};

static const char *const examples[] = {
	"kolm train                               # 8 layers of 1024, 35 steps",
	"kolm train --optimizer adamw --dim 256 --steps 200",
	"kolm train --batch 256 --micro-batches 8 # accumulate 8 micro-batches of 32",
	"kolm train --data csv:digits.csv --dim 64 --depth 3 --optimizer adamw",
	"kolm train --widths 784,512,256,10 --norm layer --activation gelu",
	"kolm train --dp 2 --pp 2 --mp 2 --micro-batches 4  # 8 ranks",
	"kolm train --model gpt --data text:book.txt --context 128 --steps 500",
	"kolm train --pp 4 --schedule zb-h1 --micro-batches 8",
	"kolm train --precision fp16 --optimizer adamw",
	"kolm train --data csv:digits.csv --epochs 20 --eval-every 50 --patience 5",
	"kolm train --lr-schedule cosine --lr-warmup 5 --steps 100",
	"kolm train --dp 4 --inject rank=3,step=12,kill     # what a crash looks like",
	"mpirun -n 4 kolm train --dp 4            # over MPI, on one machine or several",
	"kolm train --config runs/old/config.json --lr 0.01",
	"kolm train --dp 4 --save-every 100 --run-dir r",
	"kolm train --resume r --dp 2             # and later, on another grid",
	NULL,
};
/* clang-format on */

const struct option_table config_table = {
	.command = "train",
	.usage = "kolm train [options]",
	.summary = "Train a model and write what was measured to a run folder.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
};
