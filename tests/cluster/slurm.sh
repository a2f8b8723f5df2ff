#!/usr/bin/env bash
# Four ranks under srun, in a Slurm of one node that is started here for it and stopped
# again: bit for bit the run of four ranks without it; and the batch script of examples/.
# Needs root, slurm-wlm, munge and Open MPI; exit code 77 says what is missing.
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/e2e/lib.bash"
[ -n "${MPIEXEC:-}" ] || skip "built without MPI"
"$MPIEXEC" --version 2>&1 | grep -qiE "open ?(mpi|rte)" || skip "srun --mpi=pmix is for Open MPI here"
[ "$(id -u)" = 0 ] || skip "slurmd needs root"
for tool in munged slurmctld slurmd srun sbatch; do
	PATH=$PATH:/usr/sbin command -v $tool >/dev/null || skip "there is no $tool (slurm-wlm, munge)"
done
export PATH=$PATH:/usr/sbin SLURM_CONF=$dir/slurm.conf
pids=()
end() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null; done
	cleanup
}
trap end EXIT
chmod 755 "$dir" # munge insists on who may write where
mkdir -m 755 munge
mkdir -p state spool
head -c 1024 /dev/urandom >munge/key
chmod 600 munge/key
munged -F --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
	--log-file="$dir/munge/log" --seed-file="$dir/munge/seed" --force >munge.out 2>&1 &
pids+=($!)
cores=$(nproc)
cat >slurm.conf <<END
ClusterName=kolm
SlurmctldHost=$(hostname -s)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=5
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
NodeName=$(hostname -s) CPUs=$cores State=UNKNOWN
PartitionName=gpu Nodes=$(hostname -s) Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
END
sleep 1
slurmctld -D >slurmctld.out 2>&1 &
pids+=($!)
slurmd -D >slurmd.out 2>&1 &
pids+=($!)
for _ in $(seq 60); do
	[ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && break
	sleep 0.5
done
[ "$(sinfo -h -o %T 2>/dev/null)" = idle ] ||
	skip "Slurm does not start here: $(tail -n 2 slurmctld.log slurmd.log munge.out 2>/dev/null | tr '\n' ' ')"
srun --mpi=list 2>&1 | grep -q pmix || skip "this Slurm has no pmix"

on=(srun --mpi=pmix --partition=gpu -n 4 --overcommit --export=ALL)
common=(--dim 200 --depth 5 --batch 64 --steps 10 --optimizer adamw --clip-grad 1 --threads 1 --quiet)
for grid in ${GRIDS:---dp=4}; do
	"$KOLM" train "${common[@]}" ${grid//+/ } --dump-check one --run-dir one-run --overwrite || fail "$grid without Slurm"
	timeout 100 "${on[@]}" "$KOLM" train "${common[@]}" ${grid//+/ } --dump-check two --run-dir two-run --overwrite 2>err.txt || fail "$grid under srun: $(cat err.txt)"
	[ "$(losses one-run/metrics.jsonl)" = "$(losses two-run/metrics.jsonl)" ] || fail "$grid: losses differ"
	cmp one/final.safetensors two/final.safetensors || fail "$grid: weights differ"
	echo "$grid: 4 ranks under srun, bit for bit as without"
done

# Wrong number of ranks: one message. Forgotten --mpi=pmix: said what to do.
timeout 60 "${on[@]}" "$KOLM" train --dp 3 --batch 48 >out.txt 2>&1
[ $? = 2 ] || fail "wrong number of ranks: $(cat out.txt)"
[ "$(grep -c '^kolm: ' out.txt)" = 1 ] || fail "not one message: $(cat out.txt)"
timeout 60 srun --mpi=none --partition=gpu -n 4 --overcommit "$KOLM" train --dp 4 >out.txt 2>&1
[ "$(grep -c "^kolm: srun has started 4 processes that MPI can.t join; use srun --mpi=pmix" out.txt)" = 1 ] || fail "without pmix: $(cat out.txt)"

# The example as it is, with kolm on the path.
PATH=$(dirname "$KOLM"):$PATH timeout 100 sbatch --wait --overcommit --output=job.txt "$source/examples/slurm.sbatch" --dim 64 --steps 5 ||
	fail "the batch script: $(cat job.txt)"
grep -q "median step" job.txt || fail "the batch script said: $(cat job.txt)"

# The one that outlives its ranks: one of them is killed, the job goes back into the queue and on from the last
# checkpoint, and ends where the run ends that nobody has disturbed.
model=(--dim 64 --depth 3 --batch 24 --steps 4000 --log-every 1 --optimizer adamw --threads 1 --quiet)
"$KOLM" train --dp 4 "${model[@]}" --save --run-dir calm || fail "the undisturbed run"
export RUN_DIR=$dir/elastic SAVE_EVERY=50
job=$(PATH=$(dirname "$KOLM"):$PATH sbatch --parsable --overcommit --output=elastic.txt "$source/examples/slurm-elastic.sbatch" "${model[@]}")
until [ "$(wc -l 2>/dev/null <elastic/metrics.jsonl)" -gt 400 ] 2>/dev/null; do
	[ $((tries = ${tries:-0} + 1)) -lt 600 ] || fail "the elastic job does not begin: $(cat elastic.txt)"
	sleep 0.05
done
kill -9 "$(pgrep -f "kolm train --dp auto .*--run-dir $dir/elastic" | tail -n 1)" || fail "the elastic job was through before it was hit"
for _ in $(seq 300); do
	squeue -h -j "$job" 2>/dev/null | grep -q . || break
	sleep 0.5
done
grep -q '"resumed_from"' elastic/summary.json || fail "the elastic job: $(tail -n 5 elastic.txt; squeue)"
cmp "calm/checkpoints/step-4000/model.safetensors" elastic/checkpoints/step-4000/model.safetensors || fail "the elastic job has ended elsewhere"
echo "a killed rank under Slurm: requeued, resumed, bit for bit the undisturbed run"
exit 0
