/* option_pages.c - the man page from the option tables. */
#include "config/option.h"
#include "base/util.h"
#include "base/version.h"

#include <string.h>

/* Text for troff: a leading dot or quote is a request, a backslash an escape. */
static void put_troff(FILE *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		line_start = *text == '\n';
		if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\\')
			fputs("\\e", out);
		else
			fputc(*text, out);
	}
}

static void put_choices(const struct option *o, FILE *out)
{
	for (int i = 0; o->choices && o->choices[i]; i++)
		fprintf(out, "%s%s", i ? "|" : "", o->choices[i]);
}

static void man_option(const struct option *o, FILE *out)
{
	fputs(".TP\n\\fB\\-\\-", out);
	put_troff(out, o->name);
	fputs("\\fR ", out);
	if (o->choices)
		put_choices(o, out);
	else if (o->meta)
		fprintf(out, "\\fI%s\\fR", o->meta);
	fputc('\n', out);
	put_troff(out, o->help);
	if (o->alias) {
		fputs(" (also \\fB\\-\\-", out);
		put_troff(out, o->alias);
		fputs("\\fR)", out);
	}
	if (*o->initial && o->type != OPTION_FLAG) {
		fputs(". Default: ", out);
		put_troff(out, o->initial);
	}
	fputs(".\n", out);
}

struct entry {
	const char *name, *about;
};

/* Every variable that kolm reads; a test holds it against the sources. */
static const struct entry environment[] = {
	{"KOLM_CPU",
	 "The kernels to compute with: generic, avx2, avx512, avx512bf16, amx, reference, or emulated and emulated-amx (avx512bf16 "
	 "and amx on CPUs without it, for tests), instead "
	 "of the best ones that this CPU can run. Others differ by rounding."},
	{"KOLM_CUDA_LIBRARY",
	 "A folder that the CUDA libraries are taken from, and no others: for tests on a "
	 "simulated CUDA."},
	{"KOLM_NCCL",
	 "0 has GPUs of different ranks exchange through memory of the host, also where there is NCCL."},
	{"CUDA_DEVICE_MAX_CONNECTIONS",
	 "Less than 32 is raised to that: queues of a GPU that share a connection could wait for each other for ever."},
	{"CUDA_HOME, CUDA_PATH",
	 "Where the CUDA toolkit is, if its libraries are not where the loader looks."},
	{"KOLM_MPI_HOSTS",
	 "For tests: N has the ranks of a job on one machine behave as if they were on "
	 "N, one block after the other; N,cyclic deals them out in turn."},
	{"TMPDIR",
	 "Where the temporary folders of kolm verify and kolm max-batch go; /tmp if it is not set."},
	{"XDG_CACHE_HOME, HOME",
	 "Token files of texts, and tokenizers that were learned from them, are kept in "
	 "$XDG_CACHE_HOME/kolm, or else in $HOME/.cache/kolm; what is there can be removed at any time."},
	{"TERM", "If it is not set, or dumb, there is no progress screen."},
	{"NO_COLOR", "If it is set and not empty, the screen has no colours."},
	{"LC_ALL, LC_CTYPE, LANG",
	 "The first that is set tells whether the terminal shows UTF-8."},
	{"OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, PMI_RANK, PMI_SIZE, SLURM_PROCID, "
	 "SLURM_STEP_NUM_TASKS",
	 "Set by Open MPI's mpirun, MPICH's and srun: this process is a rank of a job."},
	{"PMIX_RANK", "Set by srun --mpi=pmix, which a job of srun's needs."},
	{"OMPI_ALLOW_RUN_AS_ROOT", "If it is not set, kolm doctor warns root of mpirun."},
};

/* Of the folder of a run. */
static const struct entry files[] = {
	{"config.json", "Every option, resolved; kolm train --config reads it."},
	{"command.txt", "The command line."},
	{"metrics.jsonl", "A line of JSON per step, written as the step ends."},
	{"summary.json", "What was measured over all steps, and by each rank."},
	{"timeline.json", "What every rank did in the last steps (--trace), for kolm trace and "
			  "Perfetto."},
	{"events.out.tfevents.TIME.HOST.PID",
	 "The numbers of each step for TensorBoard "
	 "(--tensorboard); a run that goes on adds a file."},
	{"checkpoints/step-N/",
	 "A checkpoint (--save, --save-every): model.safetensors, "
	 "optimizer.safetensors if the optimizer has a state, tokenizer.json of a language "
	 "model, state.json with the step, the options and the sums of the others."},
	{"checkpoints/latest, checkpoints/best",
	 "Which of them is the newest, and which the best."},
	{"job.json", "While it runs: where kolm top finds the ranks."},
	{".lock", "While it runs: that it is in use."},
};

static void man_entries(const struct entry *entries, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		fputs(".TP\n\\fB", out);
		put_troff(out, entries[i].name);
		fputs("\\fR\n", out);
		put_troff(out, entries[i].about);
		fputc('\n', out);
	}
}

void options_print_man(const struct option_table *const *tables, size_t count, FILE *out)
{
	fprintf(out,
		".TH KOLM 1 \"\" \"kolm %s\"\n.SH NAME\nkolm \\- a parallel training engine\n"
		".SH SYNOPSIS\n\\fBkolm\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n"
		"kolm trains a stack of linear layers, measures every step and writes down what it "
		"measured.\nDashes and underscores are the same in every option's name.\n",
		KOLM_VERSION);
	for (size_t t = 0; t < count; t++) {
		const struct option_table *table = tables[t];

		fprintf(out, ".SH KOLM %s\n", table->command);
		put_troff(out, table->usage);
		fputs("\n.PP\n", out);
		put_troff(out, table->summary);
		fputc('\n', out);
		for (size_t i = 0; i < table->count; i++)
			man_option(&table->options[i], out);
		if (!table->examples)
			continue;
		fputs(".PP\nExamples:\n.nf\n", out);
		for (int i = 0; table->examples[i]; i++) {
			put_troff(out, table->examples[i]);
			fputc('\n', out);
		}
		fputs(".fi\n", out);
	}
	fputs(".SH EXIT STATUS\n0 done; 1 failed; 2 wrong usage or configuration; a failing rank's own "
	      "code, or 128 and its signal; 129, 130, 143 when stopped by SIGHUP, Ctrl\\-C, SIGTERM.\n",
	      out);
	fputs(".SH ENVIRONMENT\n", out);
	man_entries(environment, ARRAY_SIZE(environment), out);
	fputs(".SH FILES\nThe folder of a run is \\-\\-run\\-dir, or runs/TIME\\-PID:\n", out);
	man_entries(files, ARRAY_SIZE(files), out);
}
