/* bottleneck.h - where time was lost, the largest share first. */
#ifndef KOLM_STUDY_BOTTLENECK_H
#define KOLM_STUDY_BOTTLENECK_H

#include "base/json.h"
#include "study/results.h"

/* Of every way to lose time and every device: the row that lost most by it. */
void bottlenecks_put(const struct results *r, struct json *j);

#endif
