/* bottleneck.h - where time was lost, the largest share first. */
#ifndef KOLM_STUDY_BOTTLENECK_H
#define KOLM_STUDY_BOTTLENECK_H

#include "base/json.h"
#include "study/results.h"

/* Of every way to lose time and every device: the row of the engine that lost most by it. Not
   trouble that a study puts in, nor baselines, nor ranks that shared cores. */
void bottlenecks_put(const struct results *r, struct json *j);

#endif
