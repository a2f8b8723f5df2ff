/*
 * make_digits.c - a small set of digit images, made up: a 5x7 glyph at a random place
 * near the middle of a 12x12 image, with uneven ink, missing pixels and noise. Writes it as CSV
 * and as IDX (MNIST's format):
 *
 *     make_digits FOLDER [SAMPLES]
 */
#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 12, PIXELS = SIDE * SIDE, GLYPH_WIDTH = 5, GLYPH_HEIGHT = 7, SEED = 7 };

static const char *const glyphs[10] = {
	".###.#...##..###.#.###..##...#.###.", "..#...##....#....#....#....#...###.",
	".###.#...#....#...#...#...#...#####", ".###.#...#....#..##.....##...#.###.",
	"...#...##..#.#.#..#.#####...#....#.", "######....####.....#....##...#.###.",
	"..##..#...#....####.#...##...#.###.", "#####....#...#...#...#....#....#...",
	".###.#...##...#.###.#...##...#.###.", ".###.#...##...#.####....#...#..##..",
};

/* Sample i: its label is i mod 10, everything else is drawn from its own stream. */
static void draw(uint64_t i, unsigned char image[PIXELS])
{
	float noise[PIXELS], ink[PIXELS];
	const char *glyph = glyphs[i % 10];
	int left = 3 + (int)rng_below(SEED, i, 1 << 20, 3);
	int top = 2 + (int)rng_below(SEED, i, (1 << 20) + 1, 2);

	rng_uniform(SEED, i, 0, PIXELS, 0, 60, noise);
	rng_uniform(SEED, i, PIXELS, PIXELS, 0, 1, ink);
	for (int p = 0; p < PIXELS; p++) {
		int x = p % SIDE - left, y = p / SIDE - top;
		int inside = x >= 0 && x < GLYPH_WIDTH && y >= 0 && y < GLYPH_HEIGHT;

		image[p] = (unsigned char)noise[p];
		if (inside && glyph[y * GLYPH_WIDTH + x] == '#' && ink[p] > 0.05f)
			image[p] = (unsigned char)(140 + 115 * ink[p]);
	}
}

static void put_u32(struct text *t, unsigned value)
{
	for (int shift = 24; shift >= 0; shift -= 8) {
		char byte = (char)(value >> shift);

		text_add_n(t, &byte, 1);
	}
}

static enum status write_to(const char *folder, const char *name, const struct text *t,
			    struct error *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (t->failed)
		return FAIL(err, ERR_MEMORY, "no memory for %s", path);
	return file_write_whole(path, t->data, t->len, err);
}

static enum status make(const char *folder, unsigned samples, struct error *err)
{
	enum status st;
	struct text csv, images, labels;

	text_init(&csv);
	text_init(&images);
	text_init(&labels);
	put_u32(&images, 0x00000803);
	put_u32(&images, samples);
	put_u32(&images, SIDE);
	put_u32(&images, SIDE);
	put_u32(&labels, 0x00000801);
	put_u32(&labels, samples);
	for (int p = 0; p < PIXELS; p++)
		text_addf(&csv, "p%d,", p);
	text_add(&csv, "digit\n");
	for (unsigned i = 0; i < samples; i++) {
		unsigned char image[PIXELS];
		char label = (char)(i % 10);

		draw(i, image);
		for (int p = 0; p < PIXELS; p++)
			text_addf(&csv, "%d,", image[p]);
		text_addf(&csv, "%d\n", label);
		text_add_n(&images, (const char *)image, PIXELS);
		text_add_n(&labels, &label, 1);
	}
	TRY(file_make_folder(folder, err));
	TRY(write_to(folder, "digits.csv", &csv, err));
	TRY(write_to(folder, "digits-images.idx", &images, err));
	TRY(write_to(folder, "digits-labels.idx", &labels, err));
out:
	text_release(&labels);
	text_release(&images);
	text_release(&csv);
	return st;
}

int main(int argc, char **argv)
{
	struct error err;
	int samples = argc > 2 ? atoi(argv[2]) : 5000;

	if (argc < 2 || argc > 3 || samples < 10 || samples > 1000000) {
		fprintf(stderr, "usage: make_digits FOLDER [SAMPLES from 10 to 1000000]\n");
		return 2;
	}
	if (make(argv[1], (unsigned)samples, &err) != OK) {
		fprintf(stderr, "make_digits: %s\n", err.msg);
		return 1;
	}
	return 0;
}
