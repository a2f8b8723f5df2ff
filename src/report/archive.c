/* archive.c - see archive.h */
#include "report/archive.h"

#include <zip.h>

const char *archive_library(void)
{
	return "libzip " LIBZIP_VERSION;
}

static bool add_files(zip_t *z, const struct bundle *b)
{
	for (int i = 0; i < b->count; i++) {
		const struct bundle_file *f = &b->files[i];
		zip_source_t *bytes = zip_source_buffer(z, f->bytes.data, f->bytes.len, 0);

		if (!bytes)
			return false;
		if (zip_file_add(z, f->name, bytes, ZIP_FL_ENC_UTF_8) < 0) {
			zip_source_free(bytes);
			return false;
		}
	}
	return true;
}

/* What the archive has become, in memory. */
static bool read_back(zip_source_t *archive, struct text *out)
{
	char part[1 << 14];
	zip_int64_t n = 0;

	if (zip_source_open(archive))
		return false;
	while ((n = zip_source_read(archive, part, sizeof(part))) > 0)
		text_add_n(out, part, (size_t)n);
	zip_source_close(archive);
	return n == 0 && !out->failed;
}

enum status archive_format(const struct bundle *b, struct text *out, struct error *err)
{
	zip_error_t problem;
	zip_source_t *archive;
	zip_t *z = NULL;
	bool done = false;
	enum status st = OK;

	zip_error_init(&problem);
	archive = zip_source_buffer_create(NULL, 0, 0, &problem);
	if (archive)
		z = zip_open_from_source(archive, ZIP_TRUNCATE, &problem);
	if (z) {
		zip_source_keep(archive); /* closing the archive gives its own away */
		done = add_files(z, b) && !zip_close(z);
		if (!done) {
			zip_error_set(&problem, zip_error_code_zip(zip_get_error(z)), 0);
			zip_discard(z);
		}
		done = done && read_back(archive, out);
	}
	if (!done)
		st = FAIL(err, ERR_FAILED, "no .zip can be made: libzip says: %s",
			  zip_error_strerror(&problem));
	zip_source_free(archive);
	zip_error_fini(&problem);
	return st;
}
