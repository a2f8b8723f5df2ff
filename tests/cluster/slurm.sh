#!/usr/bin/env bash
# Four ranks under srun, in a Slurm of one node: bit for bit the run of four ranks without it; and the batch script
# of examples/. Needs what slurm.bash needs.
. "$(dirname "$0")/slurm.bash"

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
