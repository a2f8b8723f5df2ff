#!/usr/bin/env bash
# What is printed: results that can't be written are a failure of every command; control
# characters and bytes that are no text are shown as such, and never break a line or JSON.
. "$(dirname "$0")/lib.bash"

# ---- standard output that is closed, or full ----
common=(--dim 8 --depth 2 --batch 8 --steps 3 --threads 1)
"$KOLM" train "${common[@]}" --quiet --run-dir run || fail "a run"
cat >one.json <<'JSON'
{"name": "one", "title": "One", "repetitions": 1, "base": {"dim": 8, "depth": 2, "batch": 8, "steps": 3, "threads": 1},
 "tables": [{"id": "all", "title": "All", "columns": ["step_ms"]}]}
JSON
"$KOLM" train "${common[@]}" --steps 1000000 --dp 2 --inject sleep=5ms --run-dir long >/dev/null 2>&1 &
long=$!
cleanup() { kill $long 2>/dev/null; wait $long 2>/dev/null; rm -rf "$dir"; }
for _ in $(seq 100); do [ -s long/metrics.jsonl ] && break; sleep 0.1; done

while read -r command; do
	for full in "/dev/full" "&-"; do
		rm -rf gone
		eval "$KOLM $command 2>err.txt >$full"
		rc=$?
		[ $rc = 1 ] || fail "'$command' with standard output to $full exited with $rc: $(cat err.txt)"
		[ "$(grep -c "can't write to standard output" err.txt)" = 1 ] || fail "'$command' >$full said: $(cat err.txt)"
	done
done <<EOF2
--help
--version
help train
train --help
man
completion
train ${common[*]} --run-dir gone
train ${common[*]} --dp 2 --log-format jsonl --run-dir gone
verify ${common[*]} --dp 2
verify ${common[*]} --dp 2 --json
max-batch --dim 8 --device-memory 2MB
max-batch --dim 8 --device-memory 2MB --json
grid --dp 2
grid --dp 2 --json
schedule --pp 2
schedule --pp 2 --json
trace run
trace run --json
top long
top long --json
study list
study show delay
study one.json --out out --only real
report out
bench comm --ranks 2 --transport shm --seconds 0.01
bench gemm --rows 8 --out 8 --in 8 --seconds 0.01
doctor
doctor --json
devices
devices --json
EOF2
# Nothing is printed, nothing is missed.
"$KOLM" train "${common[@]}" --quiet --run-dir silent >&- || fail "--quiet with a closed standard output"

# ---- what was given comes back, shown as it is ----
esc=$(printf '\033')
plain() { # FILE: printable lines of UTF-8, whatever was put in
	iconv -f UTF-8 -t UTF-8 "$1" >/dev/null || fail "not UTF-8: $(od -c "$1" | head)"
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" || fail "control characters: $(od -c "$1" | head)"
}
says() { # PATTERN COMMAND...: one printable line on standard error
	local pattern=$1
	shift
	"$@" >/dev/null 2>said.txt
	plain said.txt
	[ "$(wc -l <said.txt)" = 1 ] || fail "'$*' said more than one line: $(cat said.txt)"
	grep -qF -- "$pattern" said.txt || fail "'$*' did not say '$pattern': $(cat said.txt)"
}
says "'--\\x1b[31m'" "$KOLM" train "--$esc[31m"
says "\\x1b]0;owned\\x07" "$KOLM" train --dim "$(printf '\033]0;owned\007')"
says 'unknown command '\''a\nkolm: all is well' "$KOLM" "$(printf 'a\nkolm: all is well')"
says 'can'\''t read a\rb' "$KOLM" train --config "$(printf 'a\rb')"
says '\xff\xfe' "$KOLM" "$(printf '\377\376')"
says '\u009b' "$KOLM" "$(printf 'x\302\233y')"
says 'größer' "$KOLM" größer
printf '1,2\n3,\033[2J\377\n' >bad.csv
says '\x1b[2J\xff' "$KOLM" train --data csv:bad.csv
says '\x1b[1m/run.json' "$KOLM" study "$esc[1m/run.json"
says '\x1b[1m' "$KOLM" report "$esc[1m"
says '\x1b[1m' "$KOLM" trace "$esc[1m"
says '\x1b[1m' "$KOLM" top "$esc[1m"
says '\x1b[1m' "$KOLM" study show "$esc[1m"
says '\x1b[1m' "$KOLM" bench "$esc[1m"
says '\x1b[1m' "$KOLM" train --device "virtual:$esc[1m"
says '\x1b[1m' "$KOLM" train --inject "$esc[1m"

# A folder's name in notes and in JSON.
name=$(printf 'a\033[7mb\nc')
"$KOLM" train "${common[@]}" --run-dir "$name" >/dev/null 2>said.txt || fail "a run in a strange folder: $(cat said.txt)"
plain said.txt
grep -qF 'run folder: a\x1b[7mb\nc' said.txt || fail "the folder is not shown: $(cat said.txt)"
for file in config.json summary.json metrics.jsonl timeline.json; do
	plain "$name/$file"
done
"$KOLM" train --config "$name/config.json" --quiet --run-dir again || fail "config.json of a strange folder"
# Bytes that are no text, where a folder is not an option's value.
odd=$(printf 'l\377\033')
mv long "$odd"
"$KOLM" top "$odd" >top.txt || fail "top of a strange folder"
plain top.txt
grep -qF 'l\xff\x1b: 2 ranks' top.txt || fail "top does not show the folder: $(cat top.txt)"
"$KOLM" top "$odd" --json >top.json || fail "top --json of a strange folder"
grep -qF '"run": "l\ufffd\u001b"' top.json || fail "top --json: $(cat top.json)"
kill $long
wait $long

# ---- a study with marks of Markdown and control characters in its names ----
cat >marks.json <<'JSON'
{"name": "marks", "title": "A | B `c` \u001b[31m <i>", "about": "x\u001b[2J", "repetitions": 1, "devices": "real",
 "base": {"dim": 8, "depth": 2, "batch": 8, "steps": 3, "threads": 1},
 "axes": [{"name": "kind", "label": "k|`l`\nm", "values": [
   {"name": "p|q"}, {"name": "`tick` *star* a_b _c_"}, {"name": "two\nlines"}, {"name": "<b>\\"},
   {"name": "bad|case", "set": {"inject": "rank=0,step=1,kill"}}]}],
 "tables": [{"id": "all", "title": "T | `u`", "note": "a | b\n# c", "columns": ["kind", "steps"]}]}
JSON
"$KOLM" study marks.json --out out >text.txt 2>said.txt || fail "marks: $(cat said.txt)"
plain text.txt
plain said.txt
plain out/marks/all.md
cat >want.md <<'MD'
## T \| \`u\`

| k\|\`l\`\\nm | steps | failed |
|---|---:|---|
| p\|q | 3 |  |
| \`tick\` \*star\* a_b \_c\_ | 3 |  |
| two\\nlines | 3 |  |
| \<b\>\\ | 3 |  |
MD
head -n 8 out/marks/all.md | cmp - want.md || fail "Markdown: $(cat out/marks/all.md)"
grep -q '^| bad\\|case |  | rank 0 of 1 .*signal 9' out/marks/all.md || fail "the case that failed: $(cat out/marks/all.md)"
[ "$(tail -n 1 out/marks/all.md)" = 'One run each: the spread is not known. a \| b\\n\# c' ] || fail "the note: $(tail -n 1 out/marks/all.md)"
grep -qF '"title": "A | B `c` \u001b[31m <i>"' out/marks/result.json || fail "result.json"
exit 0
