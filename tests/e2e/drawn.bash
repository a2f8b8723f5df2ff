# For tests that draw grids and hold what a run has measured against what was said of it; sourced before lib.bash, which changes the folder. KOLM_SEED
# repeats what was drawn.
seed=${KOLM_SEED:-$(($(date +%s) % 1000000))}
echo "random grids: KOLM_SEED=$seed"
RANDOM=$seed

value() { grep -o "\"$1\": [0-9.e+-]*" run/summary.json | head -n 1 | cut -d' ' -f2; }
holds() { awk "BEGIN { exit !($1) }"; }
# Into a variable: bash gives every subshell random numbers of its own.
between() { printf -v "$1" %d $(($2 + RANDOM % ($3 - $2 + 1))); }
one_of() { printf -v "$1" %s "${@:$((2 + RANDOM % ($# - 1))):1}"; }
often() { [ $((RANDOM % 10)) -lt "$1" ]; } # so many times out of ten
