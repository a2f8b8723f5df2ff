#!/usr/bin/env bash
# Training on what OpenCL has here, a GPU or PoCL's CPU: the run of the CPU on grids, schedules and
# precisions that are drawn (KOLM_SEED repeats them, KOLM_CASES is how many), alone and under
# mpirun; which device a rank gets; and one clear line where there is none.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/draw.bash"
[ "${SANITIZE:-}" != thread ] || skip "drivers have threads that nobody has told ThreadSanitizer of"
export ASAN_OPTIONS=detect_leaks=0 # drivers leave some

# ---- without any driver ----
mkdir none broken
for command in "train --dim 8 --depth 2 --batch 4" "verify --dim 8 --depth 2 --batch 4" "selftest"; do
	OCL_ICD_VENDORS=$dir/none/ expect_error 2 "--device gpu: there is none: OpenCL: no driver is installed .*; install the driver of your GPU" \
		"$KOLM" $command --device gpu
	: >broken/libOpenCL.so.1
	LD_LIBRARY_PATH=$dir/broken expect_error 2 "--device opencl:0: there is none: there is no libOpenCL.so.1" "$KOLM" $command --device opencl:0
done
OCL_ICD_VENDORS=$dir/none/ "$KOLM" devices >said.txt || fail "devices without a driver: $(cat said.txt)"
grep -q "^no GPU: OpenCL: no driver is installed" said.txt || fail "devices without a driver: $(cat said.txt)"
OCL_ICD_VENDORS=$dir/none/ "$KOLM" train --device auto --dim 8 --depth 2 --batch 4 --steps 2 --quiet --run-dir auto || fail "auto without a driver"
grep -q '"device": "cpu ' auto/summary.json || fail "auto is not the CPU"
expect_error 2 "'opencl:x' is no device; write opencl, or opencl:0" "$KOLM" train --device opencl:x

"$KOLM" devices >said.txt 2>&1 || fail "devices: $(cat said.txt)"
! grep -q "^no GPU" said.txt || skip "$(grep '^no GPU' said.txt) (Debian: pocl-opencl-icd)"
grep -qE "^opencl:0, .* of memory; products [0-9]+ GFLOP/s, copies [0-9.]+ GB/s$" said.txt || fail "devices: $(cat said.txt)"
# A rank of PoCL's takes a core; what it has built stays, what kolm keeps is this test's own.
export POCL_MAX_PTHREAD_COUNT=1 POCL_CACHE_DIR=${POCL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pocl/kcache}
export XDG_CACHE_HOME=$dir/cache

# ---- which one ----
expect_error 2 "--device opencl:31: the last one is number" "$KOLM" train --device opencl:31
two() { POCL_DEVICES="pthread pthread" "$KOLM" train --dim 16 --depth 2 --batch 4 --steps 2 --warmup 0 --overwrite --run-dir two "$@" >said.txt 2>&1 || fail "$*: $(cat said.txt)"; }
if grep -q "^opencl:0, pthread" said.txt; then # PoCL can be as many as one likes
	two --device opencl --dp 2 --threads 1
	grep -q '"oversubscribed": false' two/summary.json || fail "two ranks on two devices are marked: $(cat said.txt)"
	two --device opencl --dp 4 --threads 1
	grep -q "2 ranks share a GPU" said.txt || fail "four ranks on two devices: $(cat said.txt)"
	two --device opencl:1 --dp 2 --threads 1
	grep -q '"device": "opencl:1, .*, shared by 2 ranks"' two/summary.json || fail "two ranks on one device: $(cat two/summary.json)"
	grep -q '"oversubscribed": true' two/summary.json || fail "two ranks on one device are not marked"
fi
[ -n "$(ls cache/kolm)" ] || fail "no program was kept"

# ---- memory ----
expect_error 1 "out of device memory: rank 0 needs .* of 100.0 KiB" "$KOLM" train --device opencl:0 --dim 256 --depth 4 --device-memory 100KiB --quiet

# ---- a device that fails while it computes: a library in front of OpenCL says so ----
true=$(ldconfig -p | sed -n 's/.*libOpenCL.so.1 .*x86-64.*=> //p' | head -n 1)
if [ -n "$true" ]; then
	mkdir fails && cp "${BUILD:?the folder of the build}/opencl/libOpenCL.so.1" fails && cp -L "$true" fails/libtrue.so
	failing() { # READING PATTERN OPTIONS...
		local reading=$1 pattern=$2
		shift 2
		LD_LIBRARY_PATH=$dir/fails KOLM_FAIL_READ=$reading expect_error 1 "$pattern failed, reading memory: the device is out of resources; kolm devices says whether it is still there" \
			timeout 60 "$KOLM" train --device opencl --dim 16 --depth 2 --batch 4 --steps 20 --quiet --overwrite --run-dir failing "$@"
		! pgrep -f "$KOLM train --device opencl --dim 16 --depth 2 --batch 4 --steps 20" >/dev/null || fail "$*: ranks are left"
	}
	failing 10 "^kolm: the device opencl:0"
	POCL_DEVICES="pthread pthread" failing 40 "^kolm: rank [01] of 2 .*: the device opencl:[01]" --pp 2
fi

# ---- itself ----
"$KOLM" selftest --device opencl:0 --rounds 2 --report report.txt >said.txt 2>&1 || fail "selftest: $(cat said.txt)"
grep -qE "^[0-9]+ ok, 0 failed$" said.txt || fail "selftest: $(cat said.txt)"
for line in "product, forward" "attention, gradients" "all-gather, 2 ranks" "20 steps of a GPT"; do
	grep -q "^ok      $line" said.txt || fail "selftest says nothing of $line: $(cat said.txt)"
done
grep -q "^opencl:0  .* bytes of memory" report.txt || fail "selftest's report: $(cat report.txt)"

# ---- the run of the CPU ----
seed=${KOLM_SEED:-19} cases=${KOLM_CASES:-1}
echo "gpu: KOLM_SEED=$seed KOLM_CASES=$cases"
RANDOM=$seed
verify() { "$KOLM" verify --device opencl --batch 32 --steps 6 "$@" >said.txt 2>&1 || fail "verify $*: $(cat said.txt)"; }
verify --dim 48 --depth 8 --dp 2 --pp 2 --micro-batches 4 --schedule zb-h1 --precision bf16 --activation gelu
verify --model gpt --layers 2 --heads 4 --dim 24 --context 40 --vocab 29 --pp 2 --mp 2 --micro-batches 2 --dropout 0.1
verify --model llama --layers 2 --heads 4 --kv-heads 2 --dim 24 --context 6 --vocab 31 --dp 2 --mp 2 --zero 1 --precision fp16
for ((i = 0; i < cases; i++)); do
	draw
	verify $options
done
# It can fail.
"$KOLM" verify --device opencl:0 --dim 24 --depth 4 --batch 16 --dp 2 --steps 4 --inject rank=1,scale=1.1 >/dev/null 2>&1 && fail "a gradient that is wrong is the same run"

# ---- under mpirun ----
[ -n "${MPIEXEC:-}" ] || exit 0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 ASAN_OPTIONS=detect_leaks=0
numbers() { grep -oE '"(loss|grad_norm)": [^,]*' "$1/metrics.jsonl"; }
# The ranks of a grid over MPI and over shared memory: the same bits, on this device too.
over_mpi() { # HOSTS OPTIONS...
	local hosts=$1 how
	shift
	"$KOLM" train --device opencl --batch 32 --steps 4 "$@" --dump-check shm --run-dir shm-run --overwrite --quiet 2>said.txt || fail "$*: $(cat said.txt)"
	KOLM_MPI_HOSTS=$hosts "$MPIEXEC" -n 4 "$KOLM" train --device opencl --batch 32 --steps 4 "$@" --dump-check mpi --run-dir mpi-run --overwrite --quiet 2>said.txt ||
		fail "mpirun, $hosts hosts, $*: $(cat said.txt)"
	[ "$(numbers shm-run)" = "$(numbers mpi-run)" ] || fail "mpirun, $hosts hosts, $*: other losses or gradients"
	cmp shm/final.safetensors mpi/final.safetensors || fail "mpirun, $hosts hosts, $*: other weights"
}
over_mpi 2 --model gpt --layers 2 --heads 4 --dim 24 --context 6 --vocab 29 --dp 2 --pp 2 --micro-batches 4
[ "$cases" -le 2 ] || over_mpi 1 --dim 24 --depth 4 --mp 2 --pp 2 --micro-batches 4 --schedule 1f1b --precision bf16
[ "$cases" -le 2 ] || over_mpi 2,cyclic --dim 24 --depth 4 --dp 4 --zero 1 --optimizer adamw --precision fp16
OCL_ICD_VENDORS=$dir/none/ "$MPIEXEC" -n 4 "$KOLM" train --device gpu --dp 4 --batch 32 >said.txt 2>&1 && fail "mpirun without a driver"
[ "$(grep -c '^kolm: ' said.txt)" = 1 ] || fail "mpirun without a driver, not one message: $(cat said.txt)"
exit 0
