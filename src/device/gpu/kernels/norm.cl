/* norm.cl - layer norm and rms norm: a group for each row, or for some columns. */

/* The sums over all items of two numbers, for each of them; a barrier comes between two of
   these. */
#define SUM_OF_ROW(a, b)                                                                   \
	partial[0][ITEM_X] = (a);                                                          \
	partial[1][ITEM_X] = (b);                                                          \
	BARRIER();                                                                         \
	for (int half_of = ROW_ITEMS / 2; half_of > 0; half_of /= 2) {                     \
		if (ITEM_X < half_of) {                                                    \
			partial[0][ITEM_X] += partial[0][ITEM_X + half_of];                \
			partial[1][ITEM_X] += partial[1][ITEM_X + half_of];                \
		}                                                                          \
		BARRIER();                                                                 \
	}                                                                                  \
	(a) = partial[0][0];                                                               \
	(b) = partial[1][0]

/* The mean is improved by what is left when it is taken off; see device/cpu/cpu_norm.c. */
KERNEL(ROW_ITEMS, 1)
void norm_forward(VIEW(x), VIEW(y), VIEW(saved), VECTOR(weight), VECTOR(bias), int columns,
		  float eps, int centred)
{
	LOCAL double partial[2][ROW_ITEMS];
	double sum = 0, rest = 0, mean = 0, variance;
	float shift, factor;
	int r = GROUP_X;

	if (centred) {
		for (int c = ITEM_X; c < columns; c += ROW_ITEMS)
			sum += (double)GET(x, r, c);
		SUM_OF_ROW(sum, rest);
		mean = sum / (double)columns;
		BARRIER();
	}
	shift = (float)mean;
	sum = rest = 0;
	for (int c = ITEM_X; c < columns; c += ROW_ITEMS) {
		double away = (double)(GET(x, r, c) - shift);

		rest += away;
		sum += away * away;
	}
	SUM_OF_ROW(sum, rest);
	variance = sum / (double)columns;
	if (centred) {
		rest /= (double)columns;
		variance -= rest * rest;
		variance = variance > 0 ? variance : (variance <= 0 ? 0 : variance);
		shift = (float)((double)shift + rest);
	}
	factor = (float)(1.0 / sqrt(variance + (double)eps));
	if (ITEM_X == 0) {
		PUT(saved, r, 0, shift);
		PUT(saved, r, 1, factor);
	}
	for (int c = ITEM_X; c < columns; c += ROW_ITEMS) {
		float normed = (GET(x, r, c) - shift) * factor;

		PUT(y, r, c, fma(normed, GET_AT(weight, c), HAS(bias) ? GET_AT(bias, c) : 0.0f));
	}
}

KERNEL(ROW_ITEMS, 1)
void norm_backward_input(VIEW(x), VIEW(dy), VIEW(dx), VIEW(saved), VECTOR(weight), int columns,
			 int centred)
{
	LOCAL double partial[2][ROW_ITEMS];
	int r = GROUP_X;
	float mean = GET(saved, r, 0), factor = GET(saved, r, 1), g_mean, gx_mean;
	double g = 0, gx = 0;

	for (int c = ITEM_X; c < columns; c += ROW_ITEMS) {
		float gradient = GET(dy, r, c) * GET_AT(weight, c);

		g += (double)gradient;
		gx += (double)(gradient * ((GET(x, r, c) - mean) * factor));
	}
	SUM_OF_ROW(g, gx);
	g_mean = centred ? (float)(g / (double)columns) : 0.0f;
	gx_mean = (float)(gx / (double)columns);
	for (int c = ITEM_X; c < columns; c += ROW_ITEMS) {
		float gradient = GET(dy, r, c) * GET_AT(weight, c);
		float normed = (GET(x, r, c) - mean) * factor;

		PUT(dx, r, c, fma(-normed, gx_mean, gradient - g_mean) * factor);
	}
}

/*
 * Column sums of dy and, if there is x, of dy times x that is normed: gradients of a bias and
 * of a weight. Every LANESth row goes to one item; the items of a column are added in order.
 */
KERNEL(COLUMNS, LANES)
void column_sums(VIEW(x), VIEW(dy), VIEW(saved), VECTOR(dweight), VECTOR(dbias), int rows,
		 int columns, int accumulate)
{
	LOCAL float sums[2][LANES][COLUMNS];
	int c = GROUP_X * COLUMNS + ITEM_X;
	float weight = 0, bias = 0;

	for (int r = ITEM_Y; r < rows && c < columns; r += LANES) {
		float d = GET(dy, r, c);

		bias += d;
		if (HAS(x))
			weight = fma(d, (GET(x, r, c) - GET(saved, r, 0)) * GET(saved, r, 1),
				     weight);
	}
	sums[0][ITEM_Y][ITEM_X] = weight;
	sums[1][ITEM_Y][ITEM_X] = bias;
	BARRIER();
	if (ITEM_Y == 0 && c < columns) {
		for (int lane = 1; lane < LANES; lane++) {
			weight += sums[0][lane][ITEM_X];
			bias += sums[1][lane][ITEM_X];
		}
		if (HAS(dweight))
			PUT_AT(dweight, c, weight + (accumulate ? GET_AT(dweight, c) : 0.0f));
		if (HAS(dbias))
			PUT_AT(dbias, c, bias + (accumulate ? GET_AT(dbias, c) : 0.0f));
	}
}
