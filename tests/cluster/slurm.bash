# slurm.bash - for the scripts beside it: a Slurm of one node with four GPUs, which are none, started here and
# stopped again at the end. Needs root, slurm-wlm, munge and Open MPI; exit code 77 says what is missing.
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
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
[ $cores -ge 4 ] || cores=4 # as a node with so many GPUs has
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
GresTypes=gpu
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
NodeName=$(hostname -s) CPUs=$cores Gres=gpu:4 State=UNKNOWN
PartitionName=gpu Nodes=$(hostname -s) Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
END
for i in 0 1 2 3; do mknod "$dir/gpu$i" c 1 3 || skip "no device files can be made here"; done
echo "Name=gpu File=$dir/gpu[0-3]" >gres.conf
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

