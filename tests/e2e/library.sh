#!/usr/bin/env bash
# libkolm as a stranger has it: installed to a prefix of its own, found by pkg-config alone, used
# from C, from C++ and inside of an MPI program.
. "$(dirname "$0")/lib.bash"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
[ -z "${SANITIZE:-}" ] || skip "programs of others are not built with sanitizers"

prefix=$PWD/prefix
cmake --install "$BUILD" --prefix "$prefix" >install.log 2>&1 || { cat install.log; exit 1; }
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
libdir=$(pkg-config --variable=libdir kolm) || fail "pkg-config does not find kolm"
export LD_LIBRARY_PATH=$libdir
read -ra flags < <(pkg-config --cflags --libs kolm)
version=$(pkg-config --modversion kolm)

# Nothing can be seen but what begins with kolm_, in either library.
seen=$(nm -D --defined-only "$libdir/libkolm.so" | awk '{ print $3 }' | grep -v '^kolm_')
[ -z "$seen" ] || fail "libkolm.so shows $seen"
seen=$(nm --defined-only --extern-only "$libdir/libkolm.a" | awk 'NF == 3 { print $3 }' | grep -v '^kolm_')
[ -z "$seen" ] || fail "libkolm.a shows $seen"
# And every function of the header is there.
tr '\n' ' ' <"$prefix/include/kolm.h" | grep -o 'KOLM_API[^;(]*(' | grep -o 'kolm_[a-z_]*($' | tr -d '(' | sort -u >declared
nm -D --defined-only "$libdir/libkolm.so" | awk '{ print $3 }' | sort -u >defined
[ -z "$(comm -3 declared defined)" ] || fail "declared and defined differ: $(comm -3 declared defined | tr '\n' ' ')"

# A model of one's own, on 2 x 2 x 2 ranks: with the shared library and with the static one.
cc=${CC:-cc}
"$cc" -Wall -Wextra -Werror "$SOURCE/examples/own_model.c" "${flags[@]}" -lm -o own_model || fail "own_model.c does not compile"
./own_model >shared.txt || fail "own_model fails"
[ "$(wc -l <shared.txt)" = 10 ] || fail "own_model says $(cat shared.txt)"
awk 'NR == 1 { first = $4 } END { exit !($4 < first / 20) }' shared.txt || fail "own_model does not learn: $(cat shared.txt)"
[ -s own_model.safetensors ] || fail "own_model has saved nothing"
grep -aq '"layers.1.gain"' own_model.safetensors || fail "the own layer's tensor is not in own_model.safetensors"
read -ra static < <(pkg-config --cflags --libs --static kolm | sed "s|-lkolm|$libdir/libkolm.a|")
"$cc" "$SOURCE/examples/own_model.c" "${static[@]}" -lm -o own_static || fail "own_model.c does not link with libkolm.a"
LD_LIBRARY_PATH='' ./own_static >static.txt || fail "own_model with libkolm.a fails"
cmp -s shared.txt static.txt || fail "libkolm.so and libkolm.a train differently"

# A learning rate that is set is that of the next steps: with any optimizer as if it had been an option;
# with 0 nothing is learned; what is none is refused.
cat >rates.c <<'END'
#include <kolm.h>
#include <math.h>
#include <stdio.h>
static void fill(void *arg, int64_t first, int rows, const struct kolm_batch *b)
{
	(void)arg;
	for (int r = 0; r < rows; r++)
		for (int k = 0; k < 8; k++) {
			b->x[(size_t)r * b->x_stride + (size_t)k] = (float)((first + r + 3 * k) % 7) - 3;
			if (k < 4)
				b->target[(size_t)r * b->target_stride + (size_t)k] = (float)((first + r) % 5);
		}
}
/* The loss behind three steps. */
static double train(const char *optimizer, double lr, double set)
{
	struct kolm_options o = KOLM_OPTIONS;
	struct kolm_error err = {0};
	struct kolm_world *world = NULL;
	struct kolm_model *model = NULL;
	struct kolm_engine *engine = NULL;
	struct kolm_result r = {0};

	o.optimizer = optimizer;
	o.lr = lr;
	if (kolm_world_alone(&world, &err) || kolm_model_new(&model, 8, &err) ||
	    kolm_model_linear(model, 4, "none", &err) || kolm_engine_create(&engine, world, model, &o, &err) ||
	    (set >= 0 && kolm_engine_set_lr(engine, set, &err)))
		return NAN;
	for (int i = 0; i < 4; i++)
		if (kolm_engine_step(engine, fill, NULL, &r, &err))
			return NAN;
	if (kolm_engine_set_lr(engine, NAN, &err) != KOLM_USAGE || kolm_engine_set_lr(engine, -1, &err) != KOLM_USAGE)
		return NAN;
	kolm_engine_free(engine);
	kolm_model_free(model);
	kolm_world_free(world);
	return r.loss;
}
int main(void)
{
	static const char *const optimizers[] = {"sgd", "momentum", "adamw"};

	for (int i = 0; i < 3; i++) {
		double option = train(optimizers[i], 0.02, -1), other = train(optimizers[i], 0.01, -1);
		double set = train(optimizers[i], 0.01, 0.02), still = train(optimizers[i], 0.01, 0);

		printf("%s: %g %g %g %g\n", optimizers[i], option, set, other, still);
		if (!(set == option) || !(option < other) || !(other < still))
			return 1;
	}
	return 0;
}
END
"$cc" -Wall -Wextra -Werror rates.c "${flags[@]}" -lm -o rates || fail "rates.c does not compile"
./rates >rates.txt || fail "learning rates that are set: $(cat rates.txt)"

# A GPT, on one rank and on 2 x 2 x 2: the same losses, to rounding, and tensors by their names.
"$cc" -Wall -Wextra -Werror "$SOURCE/examples/small_gpt.c" "${flags[@]}" -o small_gpt || fail "small_gpt.c does not compile"
for ranks in 1 8; do
	./small_gpt "$SOURCE/LICENSE" $ranks >gpt.$ranks.txt 2>&1 || fail "small_gpt on $ranks ranks fails: $(cat gpt.$ranks.txt)"
	[ "$(wc -l <gpt.$ranks.txt)" = 7 ] || fail "small_gpt says $(cat gpt.$ranks.txt)"
	awk 'NR == 1 { first = $4 } NR == 6 { exit !($4 < first - 0.3) }' gpt.$ranks.txt || fail "small_gpt does not learn: $(cat gpt.$ranks.txt)"
	grep -aq '"blocks.1.attention.qkv.weight"' small_gpt.safetensors || fail "small_gpt has saved no block"
	mv small_gpt.safetensors gpt.$ranks.safetensors
done
paste gpt.1.txt gpt.8.txt | awk 'NR < 7 { d = $4 - $8; if (d < -0.01 || d > 0.01) exit 1 }' || fail "one rank and eight learn differently: $(cat gpt.?.txt)"

# What is wrong with a language model is said; a LLaMA learns too.
cat >languages.c <<'END'
#include <kolm.h>
#include <stdio.h>
#include <string.h>
enum { CONTEXT = 8 };
static void fill(void *arg, int64_t first, int rows, const struct kolm_batch *b)
{
	if (b->x || b->target)
		*(int *)arg = -1;
	for (int i = 0; i < rows * CONTEXT; i++) {
		b->tokens[i] = (int32_t)((first + i) % 5);
		b->labels[i] = *(int *)arg == 2 ? 5 : (int32_t)((first + i + 1) % 5);
	}
}
static int refused(enum kolm_status st, const struct kolm_error *err, const char *why)
{
	if (st == KOLM_USAGE && strstr(err->message, why))
		return 1;
	fprintf(stderr, "%d '%s', not '%s'\n", (int)st, err->message, why);
	return 0;
}
int main(void)
{
	struct kolm_language l = KOLM_LANGUAGE;
	struct kolm_options o = KOLM_OPTIONS;
	struct kolm_error err = {0};
	struct kolm_world *world = NULL;
	struct kolm_model *model = NULL;
	struct kolm_engine *engine = NULL;
	struct kolm_result r = {0};
	double first = 0;
	int what = 0;

	l.context = CONTEXT;
	l.vocabulary = 5;
	l.dim = 30;
	if (!refused(kolm_model_llama(&model, &l, &err), &err, "dim 30 does not divide by 4 heads"))
		return 1;
	l.dim = 20;
	if (!refused(kolm_model_llama(&model, &l, &err), &err, "width 5: rotary positions"))
		return 1;
	l.dim = 32;
	l.kv_heads = 2;
	if (!refused(kolm_model_gpt(&model, &l, &err), &err, "4 heads, of which 2 have keys"))
		return 1;
	l.recompute = "all";
	if (!refused(kolm_model_llama(&model, &l, &err), &err, "all"))
		return 1;
	l.recompute = "block";
	o.batch = 4;
	o.optimizer = "adamw";
	o.precision = "bf16";
	o.lr = 0.01;
	if (kolm_world_alone(&world, &err) || kolm_model_llama(&model, &l, &err) ||
	    !refused(kolm_model_linear(model, 4, "none", &err), &err, "a language model has its layers") ||
	    !refused(kolm_engine_create(&engine, world, model, &o, &err), &err, "loss mse of a language model"))
		return 1;
	o.loss = "cross-entropy";
	if (kolm_engine_create(&engine, world, model, &o, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	for (int i = 0; i < 20; i++) {
		if (kolm_engine_step(engine, fill, &what, &r, &err) || what)
			return 1;
		first = i ? first : r.loss;
	}
	what = 2;
	if (!(r.loss < first / 2) || !refused(kolm_engine_step(engine, fill, &what, &r, &err), &err, "5 is no token from 0 to 4"))
		return 1;
	kolm_engine_free(engine);
	kolm_model_free(model);
	kolm_world_free(world);
	return 0;
}
END
"$cc" -Wall -Wextra -Werror languages.c "${flags[@]}" -o languages || fail "languages.c does not compile"
./languages 2>languages.txt || fail "language models of the library: $(cat languages.txt)"

# From C++.
if command -v c++ >/dev/null; then
	cat >user.cc <<'END'
#include <kolm.h>
#include <cstdio>
int main()
{
	kolm_options options = KOLM_OPTIONS;
	kolm_error err = {};
	kolm_world *world = nullptr;
	kolm_model *model = nullptr;
	kolm_engine *engine = nullptr;
	options.dp = 3; /* of a world of one: refused, with a reason */
	if (kolm_world_alone(&world, &err) || kolm_model_new(&model, 4, &err) || kolm_model_linear(model, 2, "relu", &err))
		return 1;
	if (kolm_engine_create(&engine, world, model, &options, &err) != KOLM_USAGE)
		return 2;
	std::printf("%s %s\n", kolm_version(), err.message);
	kolm_model_free(model);
	kolm_world_free(world);
	return 0;
}
END
	c++ -Wall -Wextra -Werror user.cc "${flags[@]}" -o user_cc || fail "a C++ program does not compile"
	[ "$(./user_cc)" = "$version dp 3 x pp 1 x mp 1 is no grid of 1 ranks" ] || fail "a C++ program says $(./user_cc)"
fi

# Inside of an MPI program, on a communicator of its own.
if [ -n "${MPIEXEC:-}" ] && command -v mpicc >/dev/null; then
	mpicc -Wall -Wextra -Werror "$SOURCE/examples/mpi_app.c" "${flags[@]}" -o mpi_app || fail "mpi_app.c does not compile"
	"$MPIEXEC" -n 4 ./mpi_app >mpi.txt 2>mpi.err || fail "mpi_app fails: $(cat mpi.err)"
	grep -q '^2 ranks: loss 0\.[0-3].*accuracy on new samples 9[0-9]' mpi.txt || fail "mpi_app says $(cat mpi.txt)"
fi
