/* scaler.c - see scaler.h */
#include "engine/scaler.h"

enum status scaler_update(struct scaler *s, bool skipped, struct error *err)
{
	if (s->interval == 0)
		return OK;
	if (skipped) {
		s->scale *= s->backoff;
		s->finite = 0;
		if (s->scale < SCALER_FLOOR) {
			FAIL(err, ERR_FAILED,
			     "gradients are not finite even with a loss scale of %g", s->scale);
			return HINT(err,
				    "use a smaller --lr, --clip-grad 1, or --precision bf16");
		}
	} else if (++s->finite == s->interval) {
		s->scale *= s->growth;
		s->finite = 0;
	}
	return OK;
}
