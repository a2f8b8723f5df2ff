/* own_folder.h - a folder for each test: its set-up and tear-down. */
#ifndef KOLM_TESTS_OWN_FOLDER_H
#define KOLM_TESTS_OWN_FOLDER_H

#include "testing.h"

static char folder[256];

static inline int make_folder(void **state)
{
	(void)state;
	test_folder(folder, sizeof(folder));
	return 0;
}

static inline int remove_folder(void **state)
{
	(void)state;
	test_folder_remove(folder);
	return 0;
}

#endif
