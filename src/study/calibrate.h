/*
 * calibrate.h - virtual devices that are as fast as this machine: what kolm bench measures
 * becomes the --device of the virtual cases.
 */
#ifndef KOLM_STUDY_CALIBRATE_H
#define KOLM_STUDY_CALIBRATE_H

#include "study/child.h"
#include "study/study.h"

/*
 * Give every virtual case of the plan its device. What is not yet in calibration.json of
 * the folder is measured and put there, so that a study that is taken up again has the
 * same devices.
 */
enum status calibrate(struct plan *p, const char *folder, bool quick, struct child_signals *s,
		      struct error *err);

/* What calibration.json holds, checked: speeds that a device can have, those of a link all or
   none. The caller's to json_decref; where names it in messages. */
enum status calibrate_parse(const char *bytes, size_t size, const char *where, json_t **out,
			    struct error *err);

/* From what kolm bench prints. NAN where it lacks something. */
double calibrate_gflops(const json_t *gemm);
/* Latency in us and bandwidth in GB/s of messages, by a line through their times. */
void calibrate_link(const json_t *comm, double *latency_us, double *gb_per_s);

/* What the plan's virtual devices can do: "gflops", "bandwidth" and "link" in GB/s, "latency"
   in us. NAN without them. */
double calibrate_speed(const struct plan *p, const char *what);
/* A sentence about them; nothing without them. */
void calibrate_describe(const struct plan *p, struct text *out);

#endif
