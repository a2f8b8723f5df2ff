/* requirements.c - see requirements.h */
#include "report/requirements.h"

#include <stddef.h>

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
	case 'E':
		return "Language models";
	default:
		return NULL;
	}
}
