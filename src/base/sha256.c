/* sha256.c - see sha256.h. The sums are libcrypto's: it has them in hand-written code for every
   processor, several times as fast as plain C. */
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

enum status sha256_begin(struct sha256 *s, struct error *err)
{
	s->state = EVP_MD_CTX_new();
	if (s->state && EVP_DigestInit_ex(s->state, EVP_sha256(), NULL))
		return OK;
	sha256_drop(s);
	return FAIL(err, ERR_FAILED, "libcrypto has no SHA-256 here");
}

void sha256_add(struct sha256 *s, const void *data, size_t size)
{
	EVP_DigestUpdate(s->state, data, size);
}

void sha256_end(struct sha256 *s, char text[SHA256_TEXT])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int n = 0;

	EVP_DigestFinal_ex(s->state, sum, &n);
	for (unsigned int i = 0; i < n; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", sum[i]);
	sha256_drop(s);
}

void sha256_drop(struct sha256 *s)
{
	EVP_MD_CTX_free(s->state);
	s->state = NULL;
}

enum status sha256_of(const void *data, size_t size, char text[SHA256_TEXT], struct error *err)
{
	struct sha256 s;
	enum status st;

	TRY(sha256_begin(&s, err));
	sha256_add(&s, data, size);
	sha256_end(&s, text);
out:
	return st;
}

/* What comes behind the first skip bytes goes to the second sum too, if there is one. */
static enum status add_file(struct sha256 s[2], int fd, const char *path, uint64_t *size,
			    uint64_t skip, struct error *err)
{
	char *block = malloc(BLOCK);
	enum status st = OK;
	ssize_t n;

	if (!block)
		return FAIL(err, ERR_MEMORY, "no memory to read %s", path);
	for (*size = 0; (n = read(fd, block, BLOCK)) != 0;) {
		uint64_t before = *size < skip ? skip - *size : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			st = FAIL(err, ERR_FAILED, "can't read %s: %s", path, strerror(errno));
			break;
		}
		sha256_add(&s[0], block, (size_t)n);
		if (s[1].state && before < (uint64_t)n)
			sha256_add(&s[1], block + before, (size_t)n - (size_t)before);
		*size += (uint64_t)n;
	}
	free(block);
	return st;
}

enum status sha256_of_file(const char *path, char text[SHA256_TEXT], uint64_t *size,
			   uint64_t skip, char *rest, struct error *err)
{
	struct sha256 s[2] = {0};
	enum status st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */

	if (fd < 0)
		return FAIL(err, ERR_FAILED, "can't read %s: %s", path, strerror(errno));
	TRY(sha256_begin(&s[0], err));
	if (rest)
		TRY(sha256_begin(&s[1], err));
	TRY(add_file(s, fd, path, size, skip, err));
	sha256_end(&s[0], text);
	if (rest)
		sha256_end(&s[1], rest);
out:
	sha256_drop(&s[1]);
	sha256_drop(&s[0]);
	close(fd);
	return st;
}
