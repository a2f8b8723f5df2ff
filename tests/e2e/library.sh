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
