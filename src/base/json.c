/* json.c - see json.h */
#include "base/json.h"
#include "base/file.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void json_init(struct json *j, bool pretty)
{
	*j = (struct json){.pretty = pretty};
	text_init(&j->text);
}

void json_release(struct json *j)
{
	text_release(&j->text);
}

void json_reset(struct json *j)
{
	j->depth = 0;
	j->text.len = 0;
}

static void new_line(struct json *j)
{
	if (!j->pretty)
		return;
	text_add(&j->text, "\n");
	for (int i = 0; i < j->depth; i++)
		text_add(&j->text, "  ");
}

static void quoted(struct json *j, const char *s)
{
	text_add(&j->text, "\"");
	for (int n; *s; s += n ? n : 1) {
		unsigned char c = (unsigned char)*s;

		n = text_letter(s);
		if (c == '"' || c == '\\')
			text_addf(&j->text, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			text_addf(&j->text, "\\u%04x", c);
		else if (!n) /* JSON can't hold it: the letter that stands for one unknown */
			text_add(&j->text, "\\ufffd");
		else if (n == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0)
			text_addf(&j->text, "\\u%04x", (unsigned char)s[1]);
		else
			text_add_n(&j->text, s, (size_t)n);
	}
	text_add(&j->text, "\"");
}

/* Everything that stands before a value: comma, line break, name. */
static void lead_in(struct json *j, const char *name)
{
	if (j->depth) {
		if (j->has_members[j->depth])
			text_add(&j->text, j->pretty ? "," : ", ");
		j->has_members[j->depth] = true;
		new_line(j);
	}
	if (name) {
		quoted(j, name);
		text_add(&j->text, ": ");
	}
}

static void begin(struct json *j, const char *name, const char *bracket)
{
	lead_in(j, name);
	text_add(&j->text, bracket);
	j->depth++;
	assert(j->depth < JSON_MAX_DEPTH);
	j->has_members[j->depth] = false;
}

static void end(struct json *j, const char *bracket)
{
	bool had = j->has_members[j->depth];

	j->depth--;
	if (had)
		new_line(j);
	text_add(&j->text, bracket);
	if (!j->depth && j->pretty)
		text_add(&j->text, "\n");
}

void json_begin_object(struct json *j, const char *name)
{
	begin(j, name, "{");
}

void json_end_object(struct json *j)
{
	end(j, "}");
}

void json_begin_array(struct json *j, const char *name)
{
	begin(j, name, "[");
}

void json_end_array(struct json *j)
{
	end(j, "]");
}

void json_put_string(struct json *j, const char *name, const char *value)
{
	lead_in(j, name);
	quoted(j, value);
}

void json_put_int(struct json *j, const char *name, int64_t value)
{
	lead_in(j, name);
	text_addf(&j->text, "%" PRId64, value);
}

void json_put_double(struct json *j, const char *name, double value)
{
	char buf[40];

	lead_in(j, name);
	if (!isfinite(value)) {
		text_add(&j->text, "null");
		return;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(buf, sizeof(buf), "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
	text_add(&j->text, buf);
}

void json_put_bool(struct json *j, const char *name, bool value)
{
	lead_in(j, name);
	text_add(&j->text, value ? "true" : "false");
}

void json_put_null(struct json *j, const char *name)
{
	lead_in(j, name);
	text_add(&j->text, "null");
}

enum status json_write_file(const struct json *j, const char *path, struct error *err)
{
	if (j->text.failed)
		return FAIL(err, ERR_MEMORY, "no memory for the text of %s", path);
	return file_write_whole(path, j->text.data, j->text.len, err);
}
