/* bundle.c - see bundle.h */
#include "report/bundle.h"
#include "base/file.h"
#include "report/archive.h"
#include "report/commands.h"
#include "report/html.h"
#include "report/pdf.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is in it ---- */

/* Its bytes, to be written before the next one is added; NULL: no memory. */
static struct text *add_file(struct bundle *b, const char *folder, const char *title,
			     const char *ending)
{
	struct bundle_file *more = realloc(b->files, (size_t)(b->count + 1) * sizeof(*more));
	struct bundle_file *f;

	if (!more)
		return NULL;
	b->files = more;
	f = &more[b->count++];
	text_init(&f->bytes);
	snprintf(f->name, sizeof(f->name), "%s%s%s", folder, title, ending);
	return &f->bytes;
}

/* "Table 5. Time per step": table-5-time-per-step. Where words end, so does a long name. */
static void name_of(const char *title, char name[64])
{
	size_t n = 0;

	for (; *title && n < 60; title++)
		if (isalnum((unsigned char)*title))
			name[n++] = (char)tolower((unsigned char)*title);
		else if (n && name[n - 1] != '-')
			name[n++] = '-';
	if (*title)
		while (n && name[n - 1] != '-')
			n--;
	while (n && name[n - 1] == '-')
		n--;
	name[n] = '\0';
}

static void draw(const struct block *b, struct text *out)
{
	struct canvas_svg svg;

	if (b->kind == BLOCK_CHART) {
		int width = chart_width(b->chart);

		canvas_svg_begin(&svg, out, width, chart_height(b->chart, width));
		chart_draw(b->chart, width, &svg.canvas);
	} else {
		canvas_svg_begin(&svg, out, b->drawing.width, b->drawing.height);
		b->drawing.draw(b->drawing.arg, &svg.canvas);
	}
	canvas_svg_end(&svg);
}

static bool add_block(struct bundle *b, const struct block *block)
{
	const char *title = "";
	struct text *out;
	char name[64];

	if (block->kind == BLOCK_TABLE)
		title = block->table->title;
	else if (block->kind == BLOCK_CHART)
		title = block->chart->title;
	else if (block->kind == BLOCK_DRAWING)
		title = block->caption;
	if (!*title)
		return true;
	name_of(title, name);
	out = block->kind == BLOCK_TABLE ? add_file(b, "tables/", name, ".csv")
					 : add_file(b, "figures/", name, ".svg");
	if (!out)
		return false;
	if (block->kind == BLOCK_TABLE)
		table_csv(block->table, out);
	else
		draw(block, out);
	return !out->failed;
}

static bool add_texts(struct bundle *b, const struct document *d, const struct sources *s)
{
	struct text *out;

	if (s->study_count) {
		out = add_file(b, "", "commands", ".txt");
		if (!out)
			return false;
		commands_add_all(s, out);
		if (out->failed)
			return false;
	}
	out = add_file(b, "", "report", ".html");
	if (!out)
		return false;
	html_format(d, out);
	return !out->failed;
}

enum status bundle_make(struct bundle *b, const struct document *d, const struct sources *s,
			bool whole, struct error *err)
{
	enum status st = OK;
	bool room = add_texts(b, d, s);

	if (room && pdf_library()) {
		struct text *out = add_file(b, "", "report", ".pdf");

		room = out != NULL;
		if (room)
			TRY(pdf_format(d, out, err));
	}
	for (size_t i = 0; i < d->count && room && whole; i++)
		room = add_block(b, &d->blocks[i]);
	if (!room)
		st = FAIL(err, ERR_MEMORY, "no memory for the files of the report");
out:
	return st;
}

void bundle_release(struct bundle *b)
{
	for (int i = 0; i < b->count; i++)
		text_release(&b->files[i].bytes);
	free(b->files);
	*b = (struct bundle){0};
}

/* ---- where it goes ---- */

/* The folder of a file that is in one. */
static enum status make_folder_of(const char *path, struct error *err)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	return file_make_folder(folder, err);
}

enum status bundle_write(const struct bundle *b, const char *folder, struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	TRY(file_make_folder(folder, err));
	for (int i = 0; i < b->count; i++) {
		const struct bundle_file *f = &b->files[i];

		TRY(file_path(path, folder, f->name, err));
		if (strchr(f->name, '/'))
			TRY(make_folder_of(path, err));
		TRY(file_write_whole(path, f->bytes.data, f->bytes.len, err));
		printf("%s\n", path);
	}
out:
	return st;
}

/* Files of another report among ours would be handed in with them. */
static enum status check_empty(const char *folder, struct error *err)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	if (dir)
		closedir(dir);
	if (!n)
		return OK;
	FAIL(err, ERR_USAGE, "--bundle: %s is not empty", folder);
	return HINT(err, "give a new folder, or a FILE.zip, which is replaced");
}

static bool is_archive(const char *target)
{
	size_t n = strlen(target);

	return n > 4 && !strcasecmp(target + n - 4, ".zip");
}

enum status bundle_pack(const struct bundle *b, const char *target, struct error *err)
{
	struct text bytes;
	enum status st;

	text_init(&bytes);
	if (!is_archive(target)) {
		TRY(check_empty(target, err));
		TRY(bundle_write(b, target, err));
		goto out;
	}
	TRY(archive_format(b, &bytes, err));
	TRY(file_write_whole(target, bytes.data, bytes.len, err));
	printf("%s: %d files\n", target, b->count);
out:
	text_release(&bytes);
	return st;
}
