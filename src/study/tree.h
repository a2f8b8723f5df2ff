/* tree.h - a tree of jansson's, written as everything else here is: fewest digits. */
#ifndef KOLM_STUDY_TREE_H
#define KOLM_STUDY_TREE_H

#include "base/error.h"
#include "base/json.h"

#include <jansson.h>

/* Put it into an object (with its name) or an array (NULL) that j is in. */
void tree_put(struct json *j, const char *name, const json_t *tree);
enum status tree_write_file(const json_t *tree, const char *path, struct error *err);

#endif
