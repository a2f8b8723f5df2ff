/* rows.cl - what is done element by element to matrices whose rows may lie apart. */

/* This item's columns of every row that it has. */
#define EACH_ELEMENT(r, c, rows, columns)                                                  \
	for (int r = GROUP_Y * TILE_Y + ITEM_Y; r < (rows); r += GROUPS_Y * TILE_Y)        \
		for (int c = GROUP_X * TILE_X + ITEM_X; c < (columns); c += GROUPS_X * TILE_X)

KERNEL(TILE_X, TILE_Y) void copy(VIEW(to), VIEW(from), int rows, int columns, int size)
{
	EACH_ELEMENT(r, c, rows, columns)
	{
		u64 i = to_at + (u64)r * to_stride + (u64)c;
		u64 j = from_at + (u64)r * from_stride + (u64)c;

		if (size == 4)
			((GLOBAL u32 *)to)[i] = ((GLOBAL const u32 *)from)[j];
		else if (size == 2)
			((GLOBAL u16 *)to)[i] = ((GLOBAL const u16 *)from)[j];
		else
			((GLOBAL char *)to)[i] = ((GLOBAL const char *)from)[j];
	}
}

KERNEL(TILE_X, TILE_Y)
void activate(VIEW(y), VECTOR(bias), VIEW(before), int rows, int columns, int act)
{
	EACH_ELEMENT(r, c, rows, columns)
	{
		float z = GET(y, r, c);

		if (HAS(bias))
			z += GET_AT(bias, c);
		if (HAS(before))
			PUT(before, r, c, z);
		PUT(y, r, c, activation(z, act));
	}
}

KERNEL(TILE_X, TILE_Y) void derive(VIEW(dy), VIEW(saved), int rows, int columns, int act)
{
	EACH_ELEMENT(r, c, rows, columns)
	PUT(dy, r, c, GET(dy, r, c) * slope(GET(saved, r, c), act));
}

KERNEL(TILE_X, TILE_Y) void add(VIEW(to), VIEW(from), int rows, int columns)
{
	EACH_ELEMENT(r, c, rows, columns)
	PUT(to, r, c, GET(to, r, c) + GET(from, r, c));
}

/* Where the call begins is `first` of a whole matrix of `whole` columns. */
KERNEL(TILE_X, TILE_Y)
void dropout(VIEW(to), VIEW(from), int rows, int columns, DROPOUT, u64 first, u64 whole)
{
	EACH_ELEMENT(r, c, rows, columns)
	PUT(to, r, c,
	    KEPT(first + (u64)r * whole + (u64)c) ? GET(from, r, c) * factor : 0.0f);
}

KERNEL(TILE_X, TILE_Y) void gate(VIEW(x), VIEW(y), int rows, int columns, int act)
{
	EACH_ELEMENT(r, c, rows, columns)
	PUT(y, r, c, activation(GET(x, r, c), act) * GET(x, r, columns + c));
}

KERNEL(TILE_X, TILE_Y)
void gate_gradient(VIEW(x), VIEW(dx), VIEW(dy), int rows, int columns, int act)
{
	EACH_ELEMENT(r, c, rows, columns)
	{
		float z = GET(x, r, c), up = GET(x, r, columns + c), d = GET(dy, r, c);
		float out = activation(z, act);
		float saved = act == ACT_RELU || act == ACT_TANH ? out : z;

		PUT(dx, r, c, d * up * slope(saved, act));
		PUT(dx, r, columns + c, d * out);
	}
}

/*
 * Elements i and i + half of every head of a row by the angle of its position. That is taken
 * in whole turns, in double: positions may be large.
 */
KERNEL(TILE_X, TILE_Y)
void rotate_heads(VIEW(x), int rows, int heads, int half_width, int length, int first, float theta,
	    int back)
{
	EACH_ELEMENT(r, i, rows, half_width)
	{
		double turns = pow((double)theta, -(double)i / (double)half_width) *
			       0.15915494309189535 * (double)(first + r % length);
		float angle = (float)((turns - floor(turns + 0.5)) * 6.283185307179586);
		float s = sin(angle), c = cos(angle);

		if (back)
			s = -s;
		for (int h = 0; h < heads; h++) {
			int at = 2 * h * half_width + i;
			float a = GET(x, r, at), b = GET(x, r, at + half_width);

			PUT(x, r, at, fma(a, c, -(b * s)));
			PUT(x, r, at + half_width, fma(b, c, a * s));
		}
	}
}
