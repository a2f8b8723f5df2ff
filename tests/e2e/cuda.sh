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
more() { [ "$cases" = 0 ] || "$@"; } # where there is time
has() { grep -q "$1" run/summary.json || fail "no $1 in $(cat run/summary.json)"; }

# Not all of its libraries.
cp "$sim/libcuda.so.1" some
export KOLM_CUDA_LIBRARY=$dir/some
expect_error 2 "the device cuda can't be used: there is no libnvrtc.so, which compiles kernels" "$KOLM" train --device cuda:0
cp "$sim/libnvrtc.so" some
KOLM_SIM_DEVICES=2 train --device cuda --dp 2
has '"device": "cuda:0, Simulated CUDA 0 over PoCL, kolm.s own products: there is no libcublasLt.so"'
has '"between_devices": "host memory: there is no libnccl.so.2"'

! grep -q gpu_ run/summary.json || fail "figures of NVML without it: $(grep gpu_ run/summary.json)"

# ---- which one ----
export KOLM_CUDA_LIBRARY=$sim
expect_error 2 "--device cuda:1: the last one is number 0" "$KOLM" train --device cuda:1
CUDA_VISIBLE_DEVICES= expect_error 2 "--device cuda:0: there is none: CUDA: no CUDA-capable device is detected" "$KOLM" train --device cuda:0
KOLM_SIM_DEVICES=4 CUDA_VISIBLE_DEVICES=2,1 train --device gpu
has '"device": "cuda:0, Simulated CUDA 2 over PoCL"'
KOLM_SIM_DEVICES=2 train --device auto --dp 2
has '"device": "cuda:0, '
has '"oversubscribed": false'
has '"between_devices": "NCCL 2.28.9"'
grep -q "^between GPUs: NCCL 2.28.9" said.txt || fail "two devices: $(cat said.txt)"
KOLM_SIM_DEVICES=2 train --device cuda --dp 4
grep -q "2 ranks share a GPU" said.txt || fail "four ranks on two devices: $(cat said.txt)"
has '"between_devices": "host memory: ranks share a GPU"'
# auto is a rank for each of them.
alone() { ! grep -q "share a GPU" said.txt || fail "$*: $(cat said.txt)"; }
KOLM_SIM_DEVICES=4 train --device cuda --pp auto --depth 4
has '"pp": 4' && has '"ranks": 4' && alone "--pp auto"
KOLM_SIM_DEVICES=4 CUDA_VISIBLE_DEVICES=3,1 train --device auto --dp auto
has '"dp": 2' && has '"device": "cuda:0, Simulated CUDA 3 over PoCL"' && alone "--dp auto of two that are visible"
KOLM_SIM_DEVICES=4 train --device cuda:2 --mp auto
has '"ranks": 1' && has '"device": "cuda:2, Simulated CUDA 2 over PoCL"'
if [ "$cases" != 0 ]; then
	KOLM_SIM_DEVICES=3 train --device gpu --dp auto --mp auto --batch 6 --dim 18
	has '"ranks": 3' && has '"planned_ms"'
fi
KOLM_SIM_DEVICES=3 expect_error 2 "3 ranks do not divide by the grid's other 2" "$KOLM" train --device gpu --dp 2 --pp auto
# A task of Slurm's with --gpus-per-task sees a GPU of its own, as number 0.
if [ -n "${MPIEXEC:-}" ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
	job() { KOLM_SIM_DEVICES=4 "$MPIEXEC" -n 2 bash -c "$1 "'exec "$0" train --device gpu --dp auto --dim 16 --depth 2 --batch 4 --steps 2 --warmup 0 --overwrite --run-dir run --threads 1' "$KOLM" >said.txt 2>&1 || fail "$1: $(cat said.txt)"; }
	job 'export CUDA_VISIBLE_DEVICES=$((3 - OMPI_COMM_WORLD_LOCAL_RANK));'
	has '"device": "cuda:0, Simulated CUDA 3 over PoCL"' && alone "a GPU for each task"
	if [ "$cases" != 0 ]; then
		job 'export CUDA_VISIBLE_DEVICES=1;'
		has '"device": "cuda:0, Simulated CUDA 1 over PoCL, shared by 2 ranks"'
		grep -q "2 ranks share a GPU" said.txt || fail "two tasks with the same GPU: $(cat said.txt)"
	fi
fi
[ "$cases" = 0 ] || KOLM_SIM_ARCH=91 train --device cuda:0 # newer than NVRTC: by way of PTX, and nothing kept fits

# ---- what fails ----
expect_error 1 "out of device memory: rank 0 needs .* of 100.0 KiB" "$KOLM" train --device cuda:0 --dim 256 --depth 4 --device-memory 100KiB --quiet
KOLM_SIM_MEMORY=34000000 expect_error 1 "out of memory: .* more than is free of the 32.4 MiB of cuda:0" "$KOLM" train --device cuda:0 --dim 256 --depth 4 --quiet
KOLM_SIM_FAIL=busy expect_error 1 "the device cuda:0 can't be used: CUDA-capable device.* busy or unavailable" "$KOLM" train --device cuda:0 --quiet
shared() { ls /dev/shm | grep -v ^vader_segment; } # what jobs of MPI have beside this is none of ours
# broken FAILURE PATTERN OPTIONS...: a device fails while it computes: one message, exit code 1, and nothing is left.
broken() {
	local failure=$1 pattern=$2
	shift 2
	mkdir -p temporary
	shared >shared.txt
	TMPDIR=$dir/temporary KOLM_SIM_FAIL=$failure expect_error 1 "$pattern; nvidia-smi and dmesg say whether it is still there, kolm selftest --device cuda:. whether it computes" \
		timeout 60 "$KOLM" train --device cuda --dim 16 --depth 2 --batch 8 --steps 40 --overwrite --run-dir run --quiet "$@"
	! pgrep -f "$KOLM train --device cuda --dim 16 --depth 2 --batch 8" >/dev/null || fail "$failure, $*: ranks are left"
	[ -z "$(ls -A temporary)" ] && shared | diff - shared.txt || fail "$failure, $*: memory or files are left"
	! ls -A run run/checkpoints 2>/dev/null | grep -qE "^\.|job.json|tmp" || fail "$failure, $*: $(ls -A run) is left"
}
illegal="an illegal memory access was encountered .CUDA_ERROR_ILLEGAL_ADDRESS., here or in what was queued before" gone="unknown error .CUDA_ERROR_UNKNOWN., here or in what was queued before"
broken launch:2 "^kolm: the device cuda:0 failed, [a-z ]*: $illegal"
more broken lost:300 "^kolm: the device cuda:0 failed, [a-z ]*: $gone" --save-every 1
export KOLM_SIM_DEVICES=4
more broken launch:300@2 "^kolm: rank 2 of 4 .dp0 pp1 mp0. on .*: the device cuda:2 failed, [a-z ]*: $illegal" --dp 2 --pp 2 --micro-batches 2
broken lost:200@1 "^kolm: rank 1 of 2 .dp0 pp0 mp1. on .*: the device cuda:1 failed, [a-z ]*: $gone" --mp 2 --save-every 1
# NCCL: what can't be joined, what fails at once or later, and a rank that is gone while others wait for it on their devices.
KOLM_SIM_FAIL=join expect_error 1 "NCCL can't join the GPUs of 2 ranks: unhandled system error; .* KOLM_NCCL=0" "$KOLM" train --device cuda --dp 2 --quiet
broken exchange:9 "^kolm: rank . of 2 .* on .*: the device cuda:. failed, an all-reduce with NCCL: unhandled system error" --dp 2
more broken remote:9 "^kolm: rank . of 2 .* on .*: the device cuda:. failed, [a-z ]* a message with NCCL: remote process exited or there was a network error" --pp 2
timeout 60 "$KOLM" train --device cuda --dp 2 --pp 2 --dim 16 --depth 2 --batch 8 --steps 9 --inject rank=1,step=3,kill --overwrite --run-dir run --quiet >said.txt 2>&1
[ $? = 137 ] && grep -q "^kolm: rank 1 of 4 .* was ended by signal 9" said.txt || fail "a killed rank: $(cat said.txt)"
# A rank that is gone with its device does not end a run that may restart.
KOLM_SIM_FAIL=lost:300@1 train --device cuda --dp 2 --steps 6 --save-every 1 --restarts 1
has '"restarts": 1'
if [ -n "${MPIEXEC:-}" ]; then
	for rank in $(more echo 0) 1; do
		KOLM_SIM_FAIL=lost:200@$rank timeout 60 "$MPIEXEC" -n 2 "$KOLM" train --device cuda --dp 2 --dim 16 --depth 2 --batch 8 --steps 40 --overwrite --run-dir job --quiet >said.txt 2>&1
		[ $? = 1 ] || fail "mpirun, rank $rank: another exit code: $(cat said.txt)"
		[ "$(grep -c "^kolm: " said.txt)" = 1 ] && grep -q "^kolm: rank $rank of 2 .*: the device cuda:$rank failed, [a-z ]*: $gone; nvidia-smi" said.txt || fail "mpirun, rank $rank: $(cat said.txt)"
		! ls -A job | grep -qE "^\.|job.json" || fail "mpirun, rank $rank: $(ls -A job) is left"
	done
fi
unset KOLM_SIM_DEVICES

# ---- what NVML says (tests/cuda/sim_nvml.c): which device it is, what is allocated there, how long it worked ----
figures() { sed -n "s/^ *\"$1\": \([0-9.]*\).*/\1/p" "$2" | tr '\n' ' '; } # NAME FILE
measured() { KOLM_SIM_DEVICES=4 CUDA_VISIBLE_DEVICES=3,1 KOLM_SIM_KERNEL=300 "$KOLM" train --device cuda --dp 2 --dim 16 --depth 2 --batch 4 --overwrite --run-dir "$@"; }
measured busy --steps 100 --quiet || fail "a run that is measured"
[ "$(figures gpu_celsius busy/summary.json)" = "43 41 " ] && [ "$(figures gpu_watts busy/summary.json)" = "103 101 " ] || fail "other GPUs: $(grep gpu_ busy/summary.json)"
own=$(figures peak_bytes busy/summary.json | cut -d' ' -f1) # beside it there are 16 bytes for benchmarks
[ "$(figures gpu_bytes busy/summary.json)" = "$((own + 16)) $((own + 16)) " ] || fail "other memory than $own: $(grep gpu_ busy/summary.json)"
measured idle --steps 20 --quiet --inject at=forward,sleep=60ms || fail "a run that is idle"
set -- $(figures gpu_utilization busy/summary.json) $(figures gpu_utilization idle/summary.json)
awk "BEGIN { exit !($1 > 2 * $3 && $2 > 2 * $4 && $3 >= 0 && $1 <= 1) }" || fail "busy: $1 and $2, idle: $3 and $4"
measured long --steps 100000 --quiet 2>said.txt &
for ((i = 0; i < 300; i++)); do
	"$KOLM" top long --json >top.json 2>/dev/null && [ "$(figures step top.json)" -gt 2 ] && break
	sleep 0.1
done
[ "$(figures gpu_celsius top.json)$(figures gpu_bytes top.json)" = "43 41 $((own + 16)) $((own + 16)) " ] || fail "top: $(cat top.json said.txt)"
"$KOLM" top long --once >top.txt
kill -INT $(pgrep -P $! || echo $!) # of a shell that ignores it, or itself
wait $!
mib=$(awk "BEGIN { printf \"%.1f MiB\", ($own + 16) / 1048576 }")
grep -qE "^rank .* GPU +GPU mem +temp " top.txt && grep -qE "^ +1 .* [0-9]+ % +$mib +41 C " top.txt && grep -qE "GPU mem +$mib +GPU temp +43 C" top.txt || fail "top: $(cat top.txt)"
if command -v script >/dev/null; then
	export -f measured
	SHELL=$BASH TERM=xterm LC_ALL=C KOLM=$KOLM timeout 60 script -qfec "stty cols 120 rows 30; measured seen --steps 60 --progress ranks" screen.log </dev/null >/dev/null
	sed "s/$(printf '\033')\[[0-9]*[mAKJ]//g; s/\r//g" screen.log >screen.txt
	grep -qE "GPU mem +$mib +GPU temp +43 C" screen.txt && grep -qE "^ +0 .* [0-9]+ % +$mib +43 C " screen.txt || fail "the screen: $(tail -n 30 screen.txt)"
fi
"$KOLM" report busy --out report >/dev/null 2>said.txt || fail "report: $(cat said.txt)"
tr '\n' ' ' <report/report.html | grep -qE "GPU busy.*GPU memory.*hottest.*>43<.*>103<.*>41<.*>101<" || fail "no GPU in the report"

# ---- itself, and the run of the CPU ----
[ "$cases" = 0 ] || for library in /usr/local/cuda/lib64/libnvrtc.so /usr/local/cuda/lib/libnvrtc.so; do
	[ ! -e $library ] || export KOLM_SIM_NVRTC=$library
done
KOLM_SIM_DEVICES=2 "$KOLM" selftest --device cuda --rounds 1 >said.txt 2>&1 || fail "selftest: $(cat said.txt)"
grep -q "^ok  *reduce-scatter, 2 ranks, NCCL 2.28.9  *fp32, fp16, bf16$" said.txt || fail "selftest: $(cat said.txt)"
grep -qE "^[0-9]+ ok, 0 failed$" said.txt || fail "selftest: $(cat said.txt)"
export KOLM_SIM_DEVICES=4
verify() { "$KOLM" verify --device cuda --batch 32 --steps 2 "$@" >said.txt 2>&1 || fail "verify $*: $(cat said.txt)"; }
gpt="--model gpt --layers 2 --heads 4 --dim 24 --context 6 --vocab 29 --pp 2 --mp 2 --micro-batches 2"
verify --dim 24 --depth 4 --dp 2 --pp 2 --micro-batches 4 --schedule zb-h1 --precision bf16 --activation gelu
verify $gpt --dropout 0.1
more verify --dim 24 --depth 4 --dp 2 --pp 2 --micro-batches 4 --schedule interleaved --chunks 2 --zero 1
RANDOM=$seed
for ((i = 0; i < cases; i++)); do
	draw
	KOLM_SIM_SEED=$RANDOM KOLM_SIM_DEVICES=$((1 << RANDOM % 3)) verify $options
done
# ---- time: of the device's own events, where every kernel takes 1 ms and a host's call far less ----
timed() { KOLM_SIM_KERNEL=1000 KOLM_SIM_COPY=700 train --device cuda --pp 2 --schedule 1f1b --dim 24 --depth 4 --batch 32 --micro-batches 4 --steps 2; }
spans() { sed -n "s/.*\"cat\": \"$1\".*\"pid\": \([0-9]*\).*\"ts\": \([0-9.]*\), \"dur\": \([0-9.]*\).*/\1 \2 \3/p" run/timeline.json; } # KIND: rank, begin, us
took() { # KIND COUNT US: so many of them, each at least so long
	spans "$1" | awk -v n="$2" -v least="$3" '$3 < least { bad = 1 } END { exit bad || NR != n }' || fail "$1: not $2 of $3 us: $(spans "$1")"
}
KOLM_NCCL=0 timed
"$CHECK_TIMELINE" run/timeline.json >said.txt 2>&1 || fail "timeline.json: $(cat said.txt)"
took forward 16 1999   # two products
took backward 16 3999  # on both stages; the first layer has no gradient of its input
took optimizer 4 999
took "copy out" 16 699 # a message of each micro-batch, either way
took "copy in" 16 699
# Activations leave the first rank and come to the second while it computes: the share of their copies, in %.
hidden() {
	{ spans "copy out" | sed -n 's/^0 /copy 0 /p'; spans "copy in" | sed -n 's/^1 /copy 1 /p'; { spans forward; spans backward; } | sed 's/^/work /'; } | awk '
		{ rank[NR] = $2; begin[NR] = $3; end[NR] = $3 + $4 }
		$1 == "copy" { copies[NR]; all += $4 }
		$1 == "work" { work[NR] }
		END {
			for (c in copies) for (w in work) if (rank[c] == rank[w]) {
				from = begin[c] > begin[w] ? begin[c] : begin[w]; to = end[c] < end[w] ? end[c] : end[w]
				if (to > from) under += to - from
			}
			printf "%d\n", 100 * under / all
		}'
}
share=$(hidden)
echo "of messages $share % are under what their ranks compute"
[ "$share" -ge 20 ] || fail "messages do not go on while ranks compute: $share %"
KOLM_NCCL=0 KOLM_SIM_STREAMS=1 timed # one queue for all: nothing can
share=$(hidden)
[ "$share" -lt 20 ] || fail "in one queue $share % of messages are under what ranks compute"
# With NCCL nothing is copied.
timed
"$CHECK_TIMELINE" run/timeline.json >said.txt 2>&1 || fail "timeline.json: $(cat said.txt)"
took forward 16 1999
took send 16 0
took receive 16 0
took "copy out" 0 0

# Without one of the ways to wait it is another run.
for ignored in nccl $([ "$cases" = 0 ] || echo wait host); do
	KOLM_SIM_IGNORE=$ignored "$KOLM" verify --device cuda --batch 32 --steps 2 $gpt >said.txt 2>&1 && fail "nobody waits ($ignored), and it is the same run"
done
exit 0
