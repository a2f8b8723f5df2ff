#!/usr/bin/env bash
# The CUDA driver on a CUDA without a GPU (tests/cuda/sim.h), whose kernels run on PoCL: itself,
# grids that are drawn (KOLM_SEED repeats them, KOLM_CASES is how many), which device a rank gets,
# what is missing, and what fails. It shows that our calls are right, not what hardware does.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/draw.bash"
[ "${SANITIZE:-}" != thread ] || skip "drivers have threads that nobody has told ThreadSanitizer of"
export ASAN_OPTIONS=detect_leaks=0 # PoCL leaves some
seed=${KOLM_SEED:-19} cases=${KOLM_CASES:-0}
sim=${BUILD:?the folder of the build}/cuda
[ -e "$sim/libcuda.so.1" ] || fail "there is no $sim/libcuda.so.1"

# ---- without ----
mkdir none some
export KOLM_CUDA_LIBRARY=$dir/none
expect_error 2 "--device cuda:0: there is none: there is no libcuda.so.1, NVIDIA's driver, in .*; install the driver" "$KOLM" train --device cuda:0
expect_error 2 "'cuda:x' is no device; write cuda, or cuda:0" "$KOLM" train --device cuda:x
"$KOLM" devices >said.txt 2>&1 || fail "devices: $(cat said.txt)"
grep -q "^opencl:0, pthread" said.txt || skip "no PoCL, on which the simulated CUDA computes (Debian: pocl-opencl-icd)"

export POCL_MAX_PTHREAD_COUNT=1 POCL_CACHE_DIR=${POCL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pocl/kcache}
export XDG_CACHE_HOME=$dir/cache KOLM_SIM_SEED=$seed
echo "cuda: KOLM_SEED=$seed KOLM_CASES=$cases"
train() { "$KOLM" train --dim 16 --depth 2 --batch 4 --steps 2 --warmup 0 --overwrite --run-dir run --threads 1 "$@" >said.txt 2>&1 || fail "train $*: $(cat said.txt)"; }
has() { grep -q "$1" run/summary.json || fail "no $1 in $(cat run/summary.json)"; }

# Not all of its libraries.
cp "$sim/libcuda.so.1" some
export KOLM_CUDA_LIBRARY=$dir/some
expect_error 2 "the device cuda can't be used: there is no libnvrtc.so, which compiles kernels" "$KOLM" train --device cuda:0
cp "$sim/libnvrtc.so" some
train --device cuda:0
has '"device": "cuda:0, Simulated CUDA 0 over PoCL, kolm.s own products: there is no libcublasLt.so"'

# ---- which one ----
export KOLM_CUDA_LIBRARY=$sim
expect_error 2 "--device cuda:1: the last one is number 0" "$KOLM" train --device cuda:1
CUDA_VISIBLE_DEVICES= expect_error 2 "--device cuda:0: there is none: CUDA: no CUDA-capable device is detected" "$KOLM" train --device cuda:0
KOLM_SIM_DEVICES=4 CUDA_VISIBLE_DEVICES=2,1 train --device gpu
has '"device": "cuda:0, Simulated CUDA 2 over PoCL"'
KOLM_SIM_DEVICES=2 train --device auto --dp 2
has '"device": "cuda:0, '
has '"oversubscribed": false'
KOLM_SIM_DEVICES=2 train --device cuda --dp 4
grep -q "2 ranks share a GPU" said.txt || fail "four ranks on two devices: $(cat said.txt)"
[ "$cases" = 0 ] || KOLM_SIM_ARCH=91 train --device cuda:0 # newer than NVRTC: by way of PTX, and nothing kept fits

# ---- what fails ----
expect_error 1 "out of device memory: rank 0 needs .* of 100.0 KiB" "$KOLM" train --device cuda:0 --dim 256 --depth 4 --device-memory 100KiB --quiet
KOLM_SIM_MEMORY=34000000 expect_error 1 "out of memory: .* more than is free of the 32.4 MiB of cuda:0" "$KOLM" train --device cuda:0 --dim 256 --depth 4 --quiet
KOLM_SIM_FAIL=busy expect_error 1 "the device cuda:0 can't be used: CUDA-capable device.* busy or unavailable" "$KOLM" train --device cuda:0 --quiet
broken() { # FAILURE PATTERN
	KOLM_SIM_FAIL=$1 "$KOLM" train --device cuda --dp 2 --dim 16 --depth 2 --batch 4 --steps 9 --quiet --overwrite --run-dir run >said.txt 2>&1
	[ $? = 134 ] || fail "$1: another exit code: $(cat said.txt)"
	grep -q "^kolm: error: the cuda device failed: .*: $2 .*, here or in what was queued before$" said.txt || fail "$1: $(cat said.txt)"
	! pgrep -f "^$KOLM train --device cuda --dp 2 --dim 16 --depth 2" >/dev/null || fail "$1: ranks are left"
}
broken launch:30 "an illegal memory access was encountered"
broken lost:45 "unknown error"

# ---- itself, and the run of the CPU ----
[ "$cases" = 0 ] || for library in /usr/local/cuda/lib64/libnvrtc.so /usr/local/cuda/lib/libnvrtc.so; do
	[ ! -e $library ] || export KOLM_SIM_NVRTC=$library
done
"$KOLM" selftest --device cuda:0 --rounds 1 >said.txt 2>&1 || fail "selftest: $(cat said.txt)"
grep -qE "^[0-9]+ ok, 0 failed$" said.txt || fail "selftest: $(cat said.txt)"
export KOLM_SIM_DEVICES=4
verify() { "$KOLM" verify --device cuda --batch 32 --steps 2 "$@" >said.txt 2>&1 || fail "verify $*: $(cat said.txt)"; }
gpt="--model gpt --layers 2 --heads 4 --dim 24 --context 6 --vocab 29 --pp 2 --mp 2 --micro-batches 2"
verify --dim 24 --depth 4 --dp 2 --pp 2 --micro-batches 4 --schedule zb-h1 --precision bf16 --activation gelu
verify $gpt --dropout 0.1
RANDOM=$seed
for ((i = 0; i < cases; i++)); do
	draw
	KOLM_SIM_SEED=$RANDOM KOLM_SIM_DEVICES=$((1 << RANDOM % 3)) verify $options
done
# Without one of the ways to wait it is another run.
for ignored in wait $([ "$cases" = 0 ] || echo host); do
	KOLM_SIM_IGNORE=$ignored "$KOLM" verify --device cuda --batch 32 --steps 2 $gpt >said.txt 2>&1 && fail "nobody waits ($ignored), and it is the same run"
done
exit 0
