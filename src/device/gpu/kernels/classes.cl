/* classes.cl - losses: a group for each row, whose part of the sum goes to its own place. */

/* The largest over all items, for each of them, and the sum; a barrier comes between two of
   these. */
#define MOST_OF_ROW(a)                                                                     \
	partial[ITEM_X] = (double)(a);                                                     \
	BARRIER();                                                                         \
	for (int half_of = ROW_ITEMS / 2; half_of > 0; half_of /= 2) {                     \
		if (ITEM_X < half_of)                                                      \
			partial[ITEM_X] = fmax(partial[ITEM_X], partial[ITEM_X + half_of]); \
		BARRIER();                                                                 \
	}                                                                                  \
	(a) = (float)partial[0]

#define SUM_OF_ROW(a)                                                                      \
	partial[ITEM_X] = (a);                                                             \
	BARRIER();                                                                         \
	for (int half_of = ROW_ITEMS / 2; half_of > 0; half_of /= 2) {                     \
		if (ITEM_X < half_of)                                                      \
			partial[ITEM_X] += partial[ITEM_X + half_of];                      \
		BARRIER();                                                                 \
	}                                                                                  \
	(a) = partial[0]

/* scale: twice that of device_mse. */
KERNEL(ROW_ITEMS, 1)
void mse(VIEW(y), VIEW(target), VIEW(dy), int columns, float scale, NUMBERS(sums))
{
	LOCAL double partial[ROW_ITEMS];
	double sum = 0;
	int r = GROUP_X;

	for (int c = ITEM_X; c < columns; c += ROW_ITEMS) {
		float difference = GET(y, r, c) - GET(target, r, c);

		sum += (double)difference * (double)difference;
		PUT(dy, r, c, scale * difference);
	}
	SUM_OF_ROW(sum);
	if (ITEM_X == 0)
		sums[sums_at + (u64)r] = sum;
}

/* The maximum of a row and the sum of exp(y - maximum), for each item. */
#define MEASURE_ROW(top, sum)                                                              \
	top = -INFINITY;                                                                   \
	for (int c = ITEM_X; c < columns; c += ROW_ITEMS)                                  \
		top = fmax(top, GET(y, r, c));                                             \
	MOST_OF_ROW(top);                                                                  \
	BARRIER();                                                                         \
	sum = 0;                                                                           \
	for (int c = ITEM_X; c < columns; c += ROW_ITEMS)                                  \
		sum += (double)exp(GET(y, r, c) - top);                                    \
	SUM_OF_ROW(sum)

/* dy = scale * (softmax - onehot); dy may be y, and an item writes what it alone reads. */
#define PUT_GRADIENT(top, sum, label)                                                      \
	for (int c = ITEM_X; c < columns; c += ROW_ITEMS) {                                \
		float share = (float)((double)scale / (sum)) * exp(GET(y, r, c) - (top));  \
                                                                                           \
		PUT(dy, r, c, c == (label) ? share - scale : share);                       \
	}

/* The classes from `first` on; stats are those of this slice. */
KERNEL(ROW_ITEMS, 1)
void class_stats(VIEW(y), INTS(labels), VECTOR(stats), int columns, int first)
{
	LOCAL double partial[ROW_ITEMS];
	int r = GROUP_X;
	i64 label = (i64)labels[labels_at + (u64)r] - first;
	double sum;
	float top;

	MEASURE_ROW(top, sum);
	if (ITEM_X == 0) {
		PUT_AT(stats, 3 * r, top);
		PUT_AT(stats, 3 * r + 1, (float)sum);
		PUT_AT(stats, 3 * r + 2,
		       label >= 0 && label < columns ? GET(y, r, label) : -INFINITY);
	}
}

/* From the stats of all slices, joined in their order: the same on every rank. */
KERNEL(ROW_ITEMS, 1)
void class_loss(VIEW(y), INTS(labels), VIEW(dy), VECTOR(stats), int rows, int columns, int first,
		int slices, float scale, NUMBERS(sums), NUMBERS(correct))
{
	int r = GROUP_X;
	i64 label = (i64)labels[labels_at + (u64)r] - first;
	float top = GET_AT(stats, 3 * r), value = GET_AT(stats, 3 * r + 2);
	double sum = (double)GET_AT(stats, 3 * r + 1);

	for (int s = 1; s < slices; s++) {
		u64 at = 3 * ((u64)s * (u64)rows + (u64)r);
		float other = GET_AT(stats, at), most = fmax(top, other);

		sum = sum * exp((double)top - (double)most) +
		      (double)GET_AT(stats, at + 1) * exp((double)other - (double)most);
		top = most;
		value = fmax(value, GET_AT(stats, at + 2));
	}
	PUT_GRADIENT(top, sum, label)
	if (ITEM_X == 0) {
		sums[sums_at + (u64)r] = log(sum) - ((double)value - (double)top);
		correct[correct_at + (u64)r] = value >= top ? 1.0 : 0.0;
	}
}
