/* sums.cl - flat arrays: updates, sums, conversions. What a group sums goes to its own place. */

#define SUM_OF_GROUP(a)                                                                    \
	partial[ITEM_X] = (a);                                                             \
	BARRIER();                                                                         \
	for (int half_of = FLAT_ITEMS / 2; half_of > 0; half_of /= 2) {                    \
		if (ITEM_X < half_of)                                                      \
			partial[ITEM_X] += partial[ITEM_X + half_of];                      \
		BARRIER();                                                                 \
	}                                                                                  \
	(a) = partial[0]

#define EACH_PLACE(i, n)                                                                   \
	for (u64 i = (u64)GROUP_X * FLAT_ITEMS + (u64)ITEM_X; i < (n);                     \
	     i += (u64)GROUPS_X * FLAT_ITEMS)

/* As enum optimizer numbers them. */
#define OPT_SGD 0
#define OPT_MOMENTUM 1

/* As device/cpu/reference.c has it, operation by operation. */
KERNEL(FLAT_ITEMS, 1)
void update(VECTOR(param), VECTOR(grad), VECTOR(working), VECTOR(m), VECTOR(v), u64 n, int kind,
	    float lr, float momentum, float beta1, float beta2, float eps, float weight_decay,
	    float grad_scale, float correction1, float correction2, NUMBERS(sums))
{
	LOCAL double partial[FLAT_ITEMS];
	double squares = 0;

	EACH_PLACE(i, n)
	{
		float raw = GET_AT(grad, i), g = raw * grad_scale, p = GET_AT(param, i);

		squares += (double)raw * (double)raw;
		if (kind == OPT_SGD) {
			p -= lr * (g + weight_decay * p);
		} else if (kind == OPT_MOMENTUM) {
			float m_new = momentum * GET_AT(m, i) + (g + weight_decay * p);

			PUT_AT(m, i, m_new);
			p -= lr * m_new;
		} else {
			float m_new = beta1 * GET_AT(m, i) + (1.0f - beta1) * g;
			float v_new = beta2 * GET_AT(v, i) + (1.0f - beta2) * g * g;

			p *= 1.0f - lr * weight_decay;
			PUT_AT(m, i, m_new);
			PUT_AT(v, i, v_new);
			p -= lr / correction1 * m_new / (sqrt(v_new) / sqrt(correction2) + eps);
		}
		PUT_AT(param, i, p);
		if (HAS(working))
			PUT_AT(working, i, p);
	}
	SUM_OF_GROUP(squares);
	if (ITEM_X == 0)
		sums[sums_at + (u64)GROUP_X] = squares;
}

KERNEL(FLAT_ITEMS, 1) void sum_squares(VECTOR(x), u64 n, NUMBERS(sums))
{
	LOCAL double partial[FLAT_ITEMS];
	double squares = 0;

	EACH_PLACE(i, n)
	{
		double value = (double)GET_AT(x, i);

		squares += value * value;
	}
	SUM_OF_GROUP(squares);
	if (ITEM_X == 0)
		sums[sums_at + (u64)GROUP_X] = squares;
}

/* One group: *number += factor * the sum of n parts. */
KERNEL(FLAT_ITEMS, 1) void add_parts(NUMBERS(parts), u64 n, double factor, NUMBERS(number))
{
	LOCAL double partial[FLAT_ITEMS];
	double sum = 0;

	EACH_PLACE(i, n)
	sum += parts[parts_at + i];
	SUM_OF_GROUP(sum);
	if (ITEM_X == 0)
		number[number_at] += factor * sum;
}

KERNEL(FLAT_ITEMS, 1) void cast(VECTOR(from), VECTOR(to), u64 n)
{
	EACH_PLACE(i, n)
	PUT_AT(to, i, GET_AT(from, i));
}

/* n words of 16 bits. */
KERNEL(FLAT_ITEMS, 1) void clear(VECTOR(x), u64 n)
{
	EACH_PLACE(i, n)
	((GLOBAL u16 *)x)[x_at + i] = 0;
}

/* For benchmarks: independent multiply-adds, which no compiler can leave out. */
KERNEL(FLAT_ITEMS, 1) void multiply_adds(VECTOR(x), u64 rounds)
{
	float a[8], factor = GET_AT(x, 0), more = GET_AT(x, 1), sum = 0;

	for (int i = 0; i < 8; i++)
		a[i] = (float)(ITEM_X + i);
	for (u64 k = 0; k < rounds; k++) {
		UNROLL
		for (int i = 0; i < 8; i++)
			a[i] = fma(a[i], factor, more);
	}
	for (int i = 0; i < 8; i++)
		sum += a[i];
	if (sum == 12345.0f) /* never */
		PUT_AT(x, 2, sum);
}
