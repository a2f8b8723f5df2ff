/* version.h - the one place that names the version; CMake reads it from here. */
#ifndef KOLM_BASE_VERSION_H
#define KOLM_BASE_VERSION_H

#define KOLM_VERSION "0.1.0"

#endif
