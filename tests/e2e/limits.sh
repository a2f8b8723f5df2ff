#!/usr/bin/env bash
# Limits on memory (ulimit -v, -d, -f, cgroups): what fits runs, and what does not is one message with the limit, its
# value and what was needed; nobody is killed.
. "$(dirname "$0")/lib.bash"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
(ulimit -v 4000000 && "$KOLM" --version) >/dev/null 2>&1 || skip "a sanitizer needs more address space than that"

# limited OPTION VALUE COMMAND...
limited() { (ulimit "$1" "$2" && shift 2 && exec "$@"); }

# Ranks map what they need, not the memory of the machine for each of them.
small=(--dim 64 --depth 4 --batch 64 --steps 2 --threads 1 --quiet)
for limit in "-v 60000000" "-v 400000" "-d 400000" "-f 60000000" "-f 20000"; do
	limited $limit "$KOLM" train "${small[@]}" --dp 4 --run-dir "fits$limit" || fail "4 ranks do not fit into ulimit $limit"
done
limited -v 1000000 "$KOLM" train --device virtual --dp 16 --pp 6 --depth 6 --batch 96 --steps 1 --warmup 0 --quiet --run-dir many ||
	fail "96 virtual ranks do not fit into a gigabyte"

# The plan is checked before anything starts.
large=(--dim 1024 --depth 8 --dp 4 --steps 2 --threads 1 --quiet --run-dir large)
expect_error 1 "^kolm: out of memory: each rank maps, .* [0-9.]+ MiB, but 'ulimit -v 150000' allows 146.5 MiB, of which .* are in use; " \
	limited -v 150000 "$KOLM" train "${large[@]}"
expect_error 1 "^kolm: out of memory: the ranks share [0-9.]+ MiB, but 'ulimit -f 100000' allows 97.7 MiB; " limited -f 100000 "$KOLM" train "${large[@]}"
expect_error 1 "^kolm: out of memory: each rank has for itself [0-9.]+ MiB, but 'ulimit -d 30000' allows 29.3 MiB" limited -d 30000 "$KOLM" train "${large[@]}"
[ ! -e large ] || fail "a run that was refused has a folder"

# Whatever the limit: it works, or there is one message with the limit in it.
for kib in $(seq 20000 15000 110000); do
	for command in "train --dp 3 --batch 48 --dim 128 --depth 4 --steps 2 --threads 2 --quiet --run-dir sweep$kib" \
		"verify --dp 2 --pp 2 --dim 64 --depth 4 --steps 2" "max-batch --dp 2 --dim 64 --device-memory 8MB"; do
		limited -v "$kib" "$KOLM" $command >/dev/null 2>err.txt
		rc=$?
		[ $rc = 0 ] || [ $rc = 127 ] && continue # 127: not even the libraries could be loaded
		[ $rc = 1 ] || fail "ulimit -v $kib: '$command' exited with $rc: $(cat err.txt)"
		[ "$(grep -c . err.txt)" = 1 ] && grep -q "ulimit -v $kib'" err.txt || fail "ulimit -v $kib: '$command' said: $(cat err.txt)"
	done
done

# A container's limit: refused before the kernel kills somebody.
group=/sys/fs/cgroup/memory/kolm-test-$$
if mkdir "$group" 2>/dev/null && echo 200000000 >"$group/memory.limit_in_bytes"; then
	trap 'rmdir "$group"; cleanup' EXIT
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$group" "$KOLM" train --dim 2048 --depth 8 --dp 2 --steps 2 --quiet --run-dir caged 2>err.txt
	[ $? = 1 ] || fail "a cgroup that is too small: $(cat err.txt)"
	grep -q "^kolm: out of memory: 2 ranks here need .*, but $group/memory.limit_in_bytes allows 190.7 MiB" err.txt || fail "cgroup: $(cat err.txt)"
fi

[ -n "${MPIEXEC:-}" ] || exit 0
for hosts in 1 2; do
	export KOLM_MPI_HOSTS=$hosts
	"$MPIEXEC" -n 4 bash -c "ulimit -v 4000000; exec '$KOLM' train ${small[*]} --dp 4 --run-dir joined$hosts" || fail "4 ranks of a job do not fit, $hosts hosts"
done
unset KOLM_MPI_HOSTS
"$MPIEXEC" -n 4 bash -c "ulimit -f 100000; exec '$KOLM' train ${large[*]}" >/dev/null 2>err.txt
[ $? != 0 ] || fail "a job beyond its limit ends well"
[ "$(grep -c '^kolm: ' err.txt)" = 1 ] || fail "not one message: $(cat err.txt)"
grep -q "^kolm: rank .* of 4 .*: out of memory: the ranks share .* but 'ulimit -f 100000' allows 97.7 MiB" err.txt || fail "a job said: $(cat err.txt)"
# The plan of a job takes no groups of ranks: there are 24.
"$MPIEXEC" -n 16 "$KOLM" train --dim 64 --depth 2 --dp 4 --mp 4 --steps 1 --warmup 0 --threads 1 --quiet --run-dir sixteen || fail "16 ranks of a job"
exit 0
