#!/usr/bin/env bash
# Help, manual page and completion come from one table: none misses an option.
. "$(dirname "$0")/lib.bash"

# All that have options: those that --help lists, but for what prints these pages.
commands=$("$KOLM" --help | sed -n 's/^  \([a-z-]*\)  *[a-z].*/\1/p' | grep -vx 'kolm\|man\|completion')
[ "$(wc -w <<<"$commands")" -ge 12 ] || fail "--help lists too few commands: $commands"
"$KOLM" man | sed 's/\\-/-/g' >man.txt
"$KOLM" completion >kolm.bash
bash -n kolm.bash || fail "the completion is no script"
. ./kolm.bash

# complete WORD...: what bash would offer for the last of them, sorted, on one line.
complete_words() {
	COMP_WORDS=(kolm "$@") COMP_CWORD=$# COMPREPLY=()
	_kolm
	printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}
offers() { # WANTED WORD...
	local wanted=$1 got
	shift
	got=$(complete_words "$@")
	[ "$got" = "$wanted" ] || fail "completing '$*' gave '$got' instead of '$wanted'"
}

for command in $commands; do
	"$KOLM" $command --help >help.txt || fail "$command --help"
	"$KOLM" help $command | cmp -s - help.txt || fail "help $command is not $command --help"
	awk 'length > 80 { print; bad = 1 } END { exit bad }' help.txt || fail "$command --help is wider than 80 columns"
	names=$(grep -o '^  --[a-z0-9-]*' help.txt) || fail "$command has no options"
	offered=" $(complete_words $command --) "
	for name in $names; do
		grep -q -- "fB$name\\\\fR" man.txt || fail "the manual page has no $name of $command"
		[[ $offered == *" $name "* ]] || fail "no completion for $name of $command"
	done
done
"$KOLM" --help | awk 'length > 80 { bad = 1 } END { exit bad }' || fail "--help is wider than 80 columns"
for key in gflops= gflops16= bandwidth= mem= link= latency= slow= slow-link=; do
	"$KOLM" train --help | sed -n '/--device /,/--device-memory/p' | grep -q -- "$key" || fail "--device is not explained: $key"
done

# Commands, and their words.
offers "schedule" sch
offers "trace train" help tr
for command in $commands; do
	offers "$command" help $command
done
offers "gemm" bench g
offers "comm gemm kernels peak" bench ""
studies=$("$KOLM" study list | cut -d' ' -f1 | sort | xargs)
offers "$studies" study show ""
mkdir empty && cd empty || exit 1 # files are offered as well
offers "$(echo $studies all list show | xargs -n1 | sort | xargs)" study ""
cd .. || exit 1
offers "delay" study show del
offers "delay" study --quick del

# What follows an option: choices, a word instead of a number, yes or no; or nothing to guess.
offers "adamw" train --optimizer a
offers "zb-h1" schedule --schedule z
offers "auto" train --threads ""
offers "auto" train --tp ""
offers "0 1" train --zero ""
offers "" train --lr ""
offers "false true" train --residual = ""
offers "--residual --restarts --resume" train --quiet --res
offers "fp16 fp32" bench --dtype fp
offers "auto shm" bench --transport ""

# Those of train for those who pass them on, and their own.
for command in verify max-batch; do
	offers "adamw" $command --optimizer a
	offers "--json" $command --js
	offers "--schedule" $command --sched
done
offers "--compare" max-batch --comp

# Behind =, whether bash cuts words there, as it does by default, or not.
offers "zb-h1" train --schedule = zb
offers "gpipe" verify --schedule = gp
offers "1f1b gpipe interleaved naive zb-h1" train --schedule =
offers "--schedule=zb-h1" train --schedule=zb
offers "--grad_sync=flat" verify --grad_sync=fl
offers "--amp=true" train --amp=t

# Files and folders where they are expected, and nowhere else.
mkdir -p here/runs
touch here/run.json "here/with space.csv"
cd here || exit 1
offers "runs" train --run-dir r
offers "run.json runs" train --config r
offers "--config=run.json --config=runs" train --config=r
offers "run.json runs" train --config = r
offers "run.json runs" grid --svg r
offers "runs" top r
offers "runs" report r
offers "runs" info --json r
offers "runs" export r
offers "runs" generate --pp 2 r
offers "run.json runs" generate --prompt-file r
offers "bf16" generate --precision b
offers "runs" export --hf r
offers "runs" import --out r
offers "runs" trace --step 3 r
offers "auto runs" train --resume ""
offers "with space.csv" train --data csv : with
offers "csv:" train --data c
offers "" train --steps r
cd .. || exit 1

# Every variable that is read is in the manual page, and no other. Where the name is not at the
# call, every word of capitals in that file counts (MPICH is the name of a library).
section() { sed -n "/^\.SH $1\$/,/^\.SH/p" man.txt; }
{
	grep -rhoE 'getenv\("[A-Z_]+"\)' "$SOURCE/src" | grep -oE '[A-Z_]{2,}'
	grep -rlE 'getenv\([^")]' "$SOURCE/src" | xargs grep -hoE '"[A-Z][A-Z_]{2,}"' | tr -d '"' | grep -vx MPICH
} | sort -u >read.txt
section ENVIRONMENT | sed -n 's/^\\fB\(.*\)\\fR$/\1/p' | tr -d ' ' | tr , '\n' | sort -u >said.txt
cmp read.txt said.txt || fail "the manual page and the sources: $(diff said.txt read.txt)"

# And every file of a run, also one that is under way.
"$KOLM" train --dim 16 --depth 2 --steps 200000 --save-every 20 --optimizer adamw --quiet --run-dir run &
run=$!
for i in $(seq 600); do
	[ -e run/checkpoints/latest ] && break
	sleep 0.1
done
(cd run && find . -mindepth 1 -maxdepth 1) >files.txt
kill -INT $run
wait $run
(cd run && find . -mindepth 1 -maxdepth 1 && find checkpoints -name '*.safetensors' -o -name '*.json') >>files.txt
[ "$(wc -l <files.txt)" -gt 12 ] || fail "the run left too little: $(cat files.txt)"
section FILES >section.txt
sort -u files.txt | while read -r file; do
	grep -qF -- "$(basename "$file")" section.txt || fail "the manual page has no $file"
done || exit 1
