#!/usr/bin/env bash
# Four ranks on two machines, both made here: network namespaces with names of their own,
# joined by a cable. The run must be that of four ranks on one machine, bit for bit.
# Needs root, iproute2 and Open MPI or MPICH; exit code 77 says what is missing.
. "$(dirname "$0")/../e2e/lib.bash"
[ -n "${MPIEXEC:-}" ] || skip "built without MPI"
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "there is no 'ip' (iproute2)"
a=kolm-a-$$ b=kolm-b-$$ cable=kolm$$

end() {
	ip netns pids "$a" 2>/dev/null | xargs -r kill -9 2>/dev/null
	ip netns pids "$b" 2>/dev/null | xargs -r kill -9 2>/dev/null
	ip netns del "$a" 2>/dev/null
	ip netns del "$b" 2>/dev/null
	cleanup
}
trap end EXIT
ip netns add "$a" 2>err.txt && ip netns add "$b" || skip "no network namespaces here: $(cat err.txt)"
ip link add "${cable}a" type veth peer name "${cable}b" 2>err.txt || skip "no veth here: $(cat err.txt)"
for end in a:10.77.0.1 b:10.77.0.2; do
	host=kolm-${end%%:*}-$$ link=$cable${end%%:*}
	ip link set "$link" netns "$host"
	ip -n "$host" addr add "${end#*:}/24" dev "$link"
	ip -n "$host" link set "$link" up
	ip -n "$host" link set lo up
done

# Runs a command on the other machine, as ssh would: HOST COMMAND...
cat >agent <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
shift
exec ip netns exec $b unshare -u sh -c 'hostname kolm-b; exec sh -c "\$*"' sh "\$@"
END
chmod +x agent
on_a() { ip netns exec "$a" unshare -u sh -c 'hostname kolm-a; exec "$@"' sh "$@"; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if "$MPIEXEC" --version 2>&1 | grep -qiE "open ?(mpi|rte)"; then
	options=(--mca plm_rsh_agent "$dir/agent" --mca btl_tcp_if_include 10.77.0.0/24
		--mca oob_tcp_if_include 10.77.0.0/24 --host 10.77.0.1:2,10.77.0.2:2 --oversubscribe)
else
	options=(-launcher rsh -launcher-exec "$dir/agent" -hosts 10.77.0.1:2,10.77.0.2:2 -localhost 10.77.0.1)
fi

# It is two machines indeed.
names=$(on_a "$MPIEXEC" "${options[@]}" -n 4 hostname 2>err.txt | sort | uniq -c | tr -s ' ')
[ "$names" = " 2 kolm-a
 2 kolm-b" ] || fail "the ranks are on: $names; $(cat err.txt)"

common=(--dim 200 --depth 5 --batch 64 --steps 10 --optimizer adamw --clip-grad 1 --threads 1 --quiet)
for grid in ${GRIDS:---dp=4}; do
	"$KOLM" train "${common[@]}" ${grid//+/ } --dump-check one --run-dir one-run --overwrite || fail "$grid on one machine"
	on_a "$MPIEXEC" "${options[@]}" -n 4 "$KOLM" train "${common[@]}" ${grid//+/ } --transport mpi --dump-check two --run-dir two-run --overwrite ||
		fail "$grid on two machines"
	grep -q '"ranks_per_machine": 2' two-run/summary.json || fail "kolm saw another number of ranks per machine"
	[ "$(losses one-run/metrics.jsonl)" = "$(losses two-run/metrics.jsonl)" ] || fail "$grid: losses differ"
	cmp one/final.safetensors two/final.safetensors || fail "$grid: weights differ"
	echo "$grid: 4 ranks on two machines, bit for bit as on one"
done

# A rank of the other machine that hangs is named with its machine.
on_a "$MPIEXEC" "${options[@]}" -n 4 "$KOLM" train --dim 32 --dp 4 --timeout 1 --inject rank=3,step=2,hang --run-dir hung >/dev/null 2>err.txt
[ $? != 0 ] || fail "a hang ends well"
grep -q "^kolm: rank 3 of 4 (dp3 pp0 mp0) on kolm-b hangs" err.txt || fail "hang: $(cat err.txt)"

start() { # NAME OPTIONS...: a run that goes on for long, and has done some steps
	on_a "$MPIEXEC" "${options[@]}" -n 4 "$KOLM" train --dim 32 --dp 4 --steps 1000000 --quiet --run-dir "$@" 2>err.txt &
	for _ in $(seq 200); do
		[ -s "$1/metrics.jsonl" ] && [ "$(wc -l <"$1/metrics.jsonl")" -ge 3 ] && return
		sleep 0.1
	done
	fail "no steps in $1: $(cat err.txt)"
}
ranks_of() { # NAMESPACE: processes of kolm there
	local p
	for p in $(ip netns pids "$1"); do [ "$(cat "/proc/$p/comm")" = kolm ] && echo "$p"; done
}
# A machine that falls silent is noticed by the other.
start silent --timeout 2
kill -STOP $(ranks_of "$b")
wait $! && fail "a silent machine ends well"
grep -q "^kolm: rank 2 of 4 (dp2 pp0 mp0) on kolm-b hangs: nothing was heard from it" err.txt || fail "silence: $(cat err.txt)"
# A signal to mpirun leaves a summary.
start signalled
kill -TERM $(ip netns pids "$a" | head -n 1)
wait $! && fail "a signal ends well"
grep -q '"interrupted": true' signalled/summary.json || fail "no summary: $(cat err.txt)"
grep -q "^kolm: stopped by SIGTERM after .* steps; what was measured is in signalled" err.txt || fail "signal: $(cat err.txt)"
exit 0
