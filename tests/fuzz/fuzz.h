/* fuzz.h - the entry point of libFuzzer. */
#ifndef KOLM_TESTS_FUZZ_H
#define KOLM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
