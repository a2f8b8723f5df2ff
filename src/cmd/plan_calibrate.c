/* plan_calibrate.c - kolm plan --calibrate: this machine as a cluster, a core as a device, from
   what kolm bench measures. */
#include "cmd/plan.h"
#include "base/file.h"
#include "base/json.h"
#include "base/machine.h"
#include "cmd/machine_speed.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { ROWS = 256, WIDTH = 1024 }; /* of the products that are measured */
#define SECONDS 0.01		   /* for each figure */

struct measured {
	double value;
	const char *origin;
};

/* What kolm train does where nothing was measured: counted in its sources. */
static void fill(struct measured m[CLUSTER_CONSTANT_COUNT], const struct machine_speed *s)
{
	static const char peak[] = "kolm bench peak, multiply-adds of bf16, one core";
	static const char products[] =
		"kolm bench gemm, bf16, 256 rows of 1024, one core, as a share of the peak";
	static const char comm[] = "kolm bench comm, messages of 2 ranks";
	static const char none[] = "one machine: there are no others";
	double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

	m[CLUSTER_PEAK] = (struct measured){s->peak16 * 1e-3, peak};
	m[CLUSTER_PROCESSORS] = (struct measured){1, "a device is a core"};
	m[CLUSTER_PRODUCT_SHARE] =
		(struct measured){fmin(1, s->products16 / s->peak16), products};
	m[CLUSTER_PRODUCT_RAMP] = (struct measured){0, "is in the share"};
	m[CLUSTER_FLASH_SHARE] = (struct measured){
		0.5, "assumed: kolm bench kernels shows attention at about half of the peak"};
	m[CLUSTER_MEMORY] = (struct measured){memory / s->cores / (1 << 30),
					      "of the machine, for each core"};
	m[CLUSTER_MEMORY_BANDWIDTH] = (struct measured){
		s->bandwidth, "kolm bench peak, in place, all cores, for each of them"};
	m[CLUSTER_MEMORY_SHARE] = (struct measured){1, "is in the bandwidth"};
	m[CLUSTER_LAUNCH] = (struct measured){0, "a kernel is a call"};
	m[CLUSTER_STEP] = (struct measured){0, "nothing is done once a step but the update"};
	m[CLUSTER_NODE] = (struct measured){s->cores, "cores of this machine"};
	m[CLUSTER_LINK_BANDWIDTH] = (struct measured){s->message_gb_per_s, comm};
	m[CLUSTER_LINK_LATENCY] = (struct measured){s->message_us, comm};
	m[CLUSTER_NODE_BANDWIDTH] = (struct measured){s->message_gb_per_s, none};
	m[CLUSTER_NODE_SHARE] = (struct measured){1, none};
	m[CLUSTER_NODE_LATENCY] = (struct measured){s->message_us, none};
	m[CLUSTER_SUM_LATENCY] = (struct measured){s->message_us, none};
	m[CLUSTER_SUM_OVERLAP] = (struct measured){0, "ranks add up themselves"};
	m[CLUSTER_GRADIENT_OVERLAP] = (struct measured){0, "ranks add up themselves"};
	m[CLUSTER_GRADIENT_BYTES] =
		(struct measured){2, "kolm train --precision bf16, up to 32 micro-batches"};
	m[CLUSTER_BUCKET_BYTES] = (struct measured){0, "gradients are summed where they are"};
	m[CLUSTER_LOGIT_BYTES] =
		(struct measured){2, "kolm train writes their gradient where they are"};
	m[CLUSTER_STAGE_BUFFERS] =
		(struct measured){0, "kolm train keeps what its schedule has in flight"};
	m[CLUSTER_OPTIMIZER_BYTES] = (struct measured){
		28, "counted: AdamW on 32 bits 24, gradient 2, copy to 16 bits 2"};
	m[CLUSTER_RESERVED] = (struct measured){0, "kolm plans all of its memory"};
}

static void put_sums(struct json *j, const struct machine_speed *s)
{
	json_begin_object(j, "sums");
	json_begin_array(j, "rows");
	for (int i = 0; i < s->sum_count; i++) {
		json_begin_array(j, NULL);
		json_put_int(j, NULL, s->sums[i].ranks);
		json_put_double(j, NULL, s->sums[i].us);
		json_put_double(j, NULL, s->sums[i].gb_per_s);
		json_end_array(j);
	}
	json_end_array(j);
	json_put_string(j, "unit", "ranks, us, GB/s");
	json_put_string(
		j, "origin",
		"kolm bench comm, all-reduce of 1 KiB and of 16 MiB, as latency + 2 (n - 1) "
		"/ n bytes / bandwidth");
	json_end_object(j);
}

static void put_cluster(struct json *j, const struct machine_speed *s)
{
	struct measured m[CLUSTER_CONSTANT_COUNT];

	fill(m, s);
	json_begin_object(j, NULL);
	json_put_string(j, "name", "this-machine");
	json_put_string(j, "about", "made by kolm plan --calibrate: a device is a core");
	json_begin_object(j, "constants");
	for (int i = 0; i < CLUSTER_CONSTANT_COUNT; i++) {
		enum cluster_constant which = (enum cluster_constant)i;

		json_begin_object(j, cluster_constant_name(which));
		json_put_double(j, "value", m[i].value);
		json_put_string(j, "unit", cluster_constant_unit(which));
		json_put_string(j, "origin", m[i].origin);
		json_end_object(j);
	}
	json_end_object(j);
	put_sums(j, s);
	json_end_object(j);
}

enum status plan_calibrate(const struct plan_settings *o, struct error *err)
{
	struct speed_options options = {.seconds = SECONDS, .rows = ROWS, .width = WIDTH};
	struct machine_speed speed;
	struct cluster check;
	struct json json;
	enum status st;

	json_init(&json, true);
	TRY(machine_speed_measure(&speed, &options, err));
	if (!speed.sum_count) { /* one core: what a sum would be is never asked for */
		speed.sums[speed.sum_count].ranks = 2;
		speed.sums[speed.sum_count].us = speed.message_us = 1;
		speed.sums[speed.sum_count++].gb_per_s = speed.message_gb_per_s =
			speed.bandwidth;
	}
	put_cluster(&json, &speed);
	TRY(cluster_read(&check, json.text.data, json.text.len, o->calibrate, err));
	TRY(json_write_file(&json, o->calibrate, err));
	printf("%s: a core of %d reaches %.1f GFLOP/s in products of bf16, %.1f GB/s; a sum over 2 of "
	       "them %.1f GB/s\n",
	       o->calibrate, speed.cores, speed.products16, speed.bandwidth,
	       speed.sums[0].gb_per_s);
out:
	json_release(&json);
	return st;
}
