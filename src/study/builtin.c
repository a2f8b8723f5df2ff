/* builtin.c - the studies that come with kolm; their files are compiled in. */
#include "study/study.h"

#include <string.h>

const struct builtin *study_find_builtin(const char *name)
{
	for (size_t i = 0; i < study_builtin_count; i++)
		if (!strcmp(study_builtins[i].name, name))
			return &study_builtins[i];
	return NULL;
}
