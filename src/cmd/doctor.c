/*
 * doctor.c - kolm doctor: what this machine offers and what would go wrong, each finding
 * with its remedy.
 */
#include "cmd/cmd.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/room.h"
#include "base/text.h"
#include "base/units.h"
#include "base/util.h"
#include "cmd/bench.h"
#include "comm/mpi/mpi.h"
#include "comm/shm/shm.h"
#include "config/option.h"
#include "device/device.h"
#include "launch/launch.h"
#include "data/gunzip.h"
#include "report/archive.h"
#include "report/pdf.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct doctor {
	bool as_json;
	struct json json;
	int warnings, failures;
};

enum level { GOOD, WARNING, FAILURE };

/* clang-format off */
static const struct option options[] = {
	{"json", .group = "Options", .type = OPTION_FLAG, .offset = offsetof(struct doctor, as_json),
	 .initial = "false", .help = "print one JSON document instead of text"},
};
/* clang-format on */

const struct option_table doctor_table = {
	.command = "doctor",
	.usage = "kolm doctor [--json]",
	.summary =
		"Look at this machine and say what would slow kolm down or stop it, and what to do. "
		"Exit code 1 if something that kolm needs does not work here.",
	.options = options,
	.count = ARRAY_SIZE(options),
};

/* One finding: what was looked at, what was found, and what to do about it (or NULL). */
static void finding(struct doctor *d, enum level level, const char *name, const char *remedy,
		    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void finding(struct doctor *d, enum level level, const char *name, const char *remedy,
		    const char *fmt, ...)
{
	static const char *const names[] = {"ok", "warning", "FAILURE"};
	char text[512], shown[2 * sizeof(text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_printable(shown, sizeof(shown), text);
	d->warnings += level == WARNING;
	d->failures += level == FAILURE;
	if (!d->as_json) {
		printf("%-8s %-12s %s\n", names[level], name, shown);
		if (remedy)
			printf("%-8s %-12s -> %s\n", "", "", remedy);
		return;
	}
	json_begin_object(&d->json, NULL);
	json_put_string(&d->json, "level", names[level]);
	json_put_string(&d->json, "name", name);
	json_put_string(&d->json, "text", text);
	if (remedy)
		json_put_string(&d->json, "remedy", remedy);
	json_end_object(&d->json);
}

/* The first line of a small system file; false if there is none. */
static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(buf, (int)size, f);

	if (f)
		fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

static void check_cores(struct doctor *d, const struct device *dev)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	char text[128];
	double quota, period;

	finding(d, GOOD, "cpu", NULL, "%s; %ld hardware threads online",
		device_description(dev), online);
	if (read_line("/sys/fs/cgroup/cpu.max", text, sizeof(text)) &&
	    sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0 &&
	    quota / period < device_cores(dev))
		finding(d, WARNING, "cpu quota",
			"raise the container's CPU limit, or use --threads",
			"this container may use %.1f cores' time, less than its %d cores",
			quota / period, device_cores(dev));
}

/* What its cores can multiply, all at once. Who has no instruction has the peak of fp32. */
static void check_peaks(struct doctor *d, struct device *dev, double peaks[PRECISION_COUNT])
{
	struct bench b = {.dev = dev, .seconds = 0.1};
	char text[128] = "";
	size_t n = 0;

	bench_fma_peaks(&b, peaks);
	for (int k = 0; k < PRECISION_COUNT; k++)
		if (device_multiplies(dev, (enum dtype)k))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %.0f GFLOP/s",
					      n ? ", " : "", precision_names[k], peaks[k]);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "%s%s as fp32: no instruction", n ? ", " : "",
					      precision_names[k]);
	finding(d, GOOD, "peak", NULL, "%s", text);
}

static void check_load(struct doctor *d, const struct device *dev)
{
	double load;

	if (getloadavg(&load, 1) != 1)
		return;
	if (load > 0.5 * device_cores(dev))
		finding(d, WARNING, "load", "measure when the machine is quiet",
			"a load of %.1f on %d cores in the last minute: timings will be noisy",
			load, device_cores(dev));
	else
		finding(d, GOOD, "load", NULL, "%.1f on %d cores in the last minute", load,
			device_cores(dev));
}

static void check_memory(struct doctor *d)
{
	struct room room = room_of_cgroups("/sys/fs/cgroup", "/proc/self/cgroup");
	uint64_t total = machine_memory();
	char size[32];

	units_format_size(total, size, sizeof(size));
	if (room.free < total)
		finding(d, WARNING, "memory",
			"raise the container's memory limit, or use --device-memory",
			"of the machine's %s, %s", size, room.why);
	else
		finding(d, GOOD, "memory", NULL, "%s", size);
}

static void check_huge_pages(struct doctor *d)
{
	char text[128];

	if (!read_line("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text)))
		return;
	if (strstr(text, "[never]"))
		finding(d, WARNING, "huge pages",
			"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
			"off: large layers lose time in the page tables");
	else
		finding(d, GOOD, "huge pages", NULL, "%s", text);
}

static void check_pinning(struct doctor *d)
{
	cpu_set_t before;

	if (sched_getaffinity(0, sizeof(before), &before) ||
	    sched_setaffinity(0, sizeof(before), &before))
		finding(d, WARNING, "pinning", "run with --pin none to silence this",
			"threads can't be kept on their cores: %s", strerror(errno));
	else
		finding(d, GOOD, "pinning", NULL, "threads can be kept on their cores");
}

static void check_limits(struct doctor *d)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
		finding(d, WARNING, "limits", "ulimit -v unlimited",
			"address space is limited to %llu bytes: ranks may fail to map their memory",
			(unsigned long long)limit.rlim_cur);
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		finding(d, WARNING, "limits", "ulimit -f unlimited",
			"files are limited to %llu bytes, and shared memory with them",
			(unsigned long long)limit.rlim_cur);
	if (!getrlimit(RLIMIT_NPROC, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < 256)
		finding(d, WARNING, "limits", "ulimit -u 4096",
			"only %llu processes are allowed", (unsigned long long)limit.rlim_cur);
}

static void check_shared_memory(struct doctor *d)
{
	struct shm_memory *memory;
	struct error err = {0};

	if (shm_prepare(&memory, 2, false, 0, -1, &err) != OK) {
		finding(d, FAILURE, "shm", *err.hint ? err.hint : NULL,
			"ranks can't share memory: %s", err.msg);
		return;
	}
	shm_release(memory);
	finding(d, GOOD, "shm", NULL, "ranks share memory through memfd; /dev/shm is not used");
}

static void check_clock(struct doctor *d)
{
	char text[64];

	if (!read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
		       sizeof(text)))
		return;
	if (!strcmp(text, "hpet") || !strcmp(text, "acpi_pm"))
		finding(d, WARNING, "clock",
			"boot with clocksource=tsc if the hardware allows it",
			"%s: every look at the clock costs a microsecond", text);
	else
		finding(d, GOOD, "clock", NULL, "%s", text);
}

static void check_mpi(struct doctor *d)
{
	struct launcher by;
	const char *library = mpi_library();

	if (!library)
		finding(d, WARNING, "mpi",
			"install libopenmpi-dev or libmpich-dev and build again, if you need it",
			"built without: all ranks are on this machine");
	else if (launcher_detect(&by))
		finding(d, GOOD, "mpi", NULL, "%s; started by %s as rank %d of %d", library,
			by.name, by.rank, by.ranks);
	else
		finding(d, GOOD, "mpi", NULL, "%s, for mpirun and srun", library);
	if (library && getuid() == 0 && !getenv("OMPI_ALLOW_RUN_AS_ROOT") &&
	    strstr(library, "Open MPI"))
		finding(d, WARNING, "mpi root",
			"use another user, or mpirun --allow-run-as-root",
			"Open MPI's mpirun refuses to run as root");
}

static void check_reports(struct doctor *d)
{
	if (pdf_library())
		finding(d, GOOD, "reports", NULL, "HTML, and PDF with %s", pdf_library());
	else
		finding(d, WARNING, "reports",
			"install libcairo2-dev and fonts-dejavu-core and build again, if you need it",
			"HTML only: built without cairo, which writes PDF");
	if (archive_library())
		finding(d, GOOD, "bundles", NULL, "bundles with %s", archive_library());
	else
		finding(d, WARNING, "bundles",
			"install libzip-dev and build again, if you need it",
			"bundles as folders only: built without libzip");
	if (gunzip_library())
		finding(d, GOOD, "data", NULL, "compressed files with %s", gunzip_library());
	else
		finding(d, WARNING, "data",
			"install zlib1g-dev and build again, if you need it",
			"no compressed files: built without zlib");
}

static void check_container(struct doctor *d)
{
	if (!access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK))
		finding(d, GOOD, "container", NULL,
			"inside a container: its limits count, not the machine's");
}

static enum status open_cpu(struct device **dev, struct error *err)
{
	struct device_options o = {.kernels = getenv("KOLM_CPU"), .pin = false};

	return device_open(dev, "cpu", &o, err);
}

static void check_all(struct doctor *d, struct device *dev, double peaks[PRECISION_COUNT])
{
	check_cores(d, dev);
	check_peaks(d, dev, peaks);
	check_load(d, dev);
	check_memory(d);
	check_huge_pages(d);
	check_pinning(d);
	check_limits(d);
	check_shared_memory(d);
	check_mpi(d);
	check_reports(d);
	check_clock(d);
	check_container(d);
}

enum status cmd_doctor(int argc, char *const *argv, struct error *err)
{
	enum status st;
	struct doctor d = {0};
	struct option_values values;
	struct device *dev = NULL;
	double peaks[PRECISION_COUNT];

	options_init(&values, &doctor_table, &d);
	json_init(&d.json, true);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&doctor_table, stdout);
		goto out;
	}
	TRY(open_cpu(&dev, err));
	if (d.as_json) {
		json_begin_object(&d.json, NULL);
		json_begin_array(&d.json, "findings");
	}
	check_all(&d, dev, peaks);
	if (d.as_json) {
		json_end_array(&d.json);
		bench_put_peaks(&d.json, dev, peaks);
		json_put_int(&d.json, "warnings", d.warnings);
		json_put_int(&d.json, "failures", d.failures);
		json_end_object(&d.json);
		fputs(d.json.text.data, stdout);
	} else {
		printf("\n%d warnings, %d failures\n", d.warnings, d.failures);
	}
	if (d.failures)
		st = FAIL(err, ERR_FAILED, "%d of what kolm needs does not work here",
			  d.failures);
out:
	device_close(dev);
	json_release(&d.json);
	return st;
}
