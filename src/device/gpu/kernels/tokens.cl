/* tokens.cl - rows of tables by number: embeddings and learned positions. */

#define EACH_ELEMENT(r, c, rows, columns)                                                  \
	for (int r = GROUP_Y * TILE_Y + ITEM_Y; r < (rows); r += GROUPS_Y * TILE_Y)        \
		for (int c = GROUP_X * TILE_X + ITEM_X; c < (columns); c += GROUPS_X * TILE_X)

KERNEL(TILE_X, TILE_Y)
void embed(INTS(tokens), VECTOR(table), VIEW(y), int rows, int columns, int first, int count)
{
	EACH_ELEMENT(r, c, rows, columns)
	{
		i64 token = (i64)tokens[tokens_at + (u64)r] - first;
		int here = token >= 0 && token < count;

		PUT(y, r, c, here ? GET_AT(table, (u64)token * (u64)columns + (u64)c) : 0.0f);
	}
}

/*
 * Where the rows are that have the same token: links[r] is the next one, or `rows`;
 * links[rows + r] is the place of its token if r is the first of them and that is here, or -1.
 */
KERNEL(FLAT_ITEMS, 1) void link_tokens(INTS(tokens), INTS(links), int rows, int first, int count)
{
	for (int r = GROUP_X * FLAT_ITEMS + ITEM_X; r < rows; r += GROUPS_X * FLAT_ITEMS) {
		int token = tokens[tokens_at + (u64)r], next = r + 1, before = r - 1;
		i64 place = (i64)token - first;

		while (next < rows && tokens[tokens_at + (u64)next] != token)
			next++;
		while (before >= 0 && tokens[tokens_at + (u64)before] != token)
			before--;
		links[links_at + (u64)r] = next;
		links[links_at + (u64)(rows + r)] =
			before < 0 && place >= 0 && place < count ? (int)place : -1;
	}
}

/* The first row of a token adds all of them, in their order. */
KERNEL(TILE_X, TILE_Y)
void embed_gradient(INTS(links), VECTOR(table), VIEW(dy), int rows, int columns)
{
	EACH_ELEMENT(r, c, rows, columns)
	{
		int place = links[links_at + (u64)(rows + r)];
		u64 at = (u64)place * (u64)columns + (u64)c;
		float sum = 0;

		if (place < 0)
			continue;
		for (int i = r; i < rows; i = links[links_at + (u64)i])
			sum += GET(dy, i, c);
		PUT_AT(table, at, sum + GET_AT(table, at));
	}
}

/* Row r is at position (first + r) % length. */
KERNEL(TILE_X, TILE_Y)
void add_positions(VECTOR(table), VIEW(y), int rows, int columns, int length, i64 first)
{
	EACH_ELEMENT(r, c, rows, columns)
	{
		u64 position = (u64)((first + r) % length);

		PUT(y, r, c, GET(y, r, c) + GET_AT(table, position * (u64)columns + (u64)c));
	}
}

KERNEL(TILE_X, TILE_Y)
void positions_gradient(VECTOR(table), VIEW(dy), int rows, int columns, int length, i64 first,
			int accumulate)
{
	EACH_ELEMENT(position, c, length, columns)
	{
		u64 at = (u64)position * (u64)columns + (u64)c;
		float sum = 0;

		for (i64 r = (position - first % length + length) % length; r < rows; r += length)
			sum += GET(dy, r, c);
		PUT_AT(table, at, sum + (accumulate ? GET_AT(table, at) : 0.0f));
	}
}
