#!/usr/bin/env bash
# Nothing is written outside of the folders that were named: not through links that others have
# put into them, and not because the file of a study says so.
. "$(dirname "$0")/lib.bash"

echo precious >victim
untouched() { [ "$(cat victim)" = precious ] || fail "$*: the victim is now: $(head -c 200 victim)"; }

# ---- links in the folder of a run ----
for file in metrics.jsonl config.json command.txt summary.json timeline.json job.json; do
	for link in "ln -s ../victim" "ln victim"; do
		rm -rf run
		mkdir run
		(cd run && ${link/ victim/ ../victim} $file) || fail "$link"
		"$KOLM" train --dim 8 --depth 2 --steps 2 --quiet --run-dir run >/dev/null 2>&1
		untouched "$link run/$file"
		"$KOLM" train --dim 8 --depth 2 --steps 2 --quiet --overwrite --run-dir run || fail "$link run/$file with --overwrite"
		untouched "$link run/$file, --overwrite"
		[ ! -L run/$file ] && [ "$(stat -c %h run/$file 2>/dev/null || echo 1)" = 1 ] || fail "run/$file is a link still"
	done
done
for file in initial.safetensors batches.safetensors masks.safetensors final.safetensors check.json; do
	rm -rf dump
	mkdir dump
	ln -s ../victim dump/$file
	"$KOLM" train --dim 8 --depth 2 --dropout 0.1 --steps 2 --quiet --overwrite --run-dir run --dump-check dump || fail "dump/$file"
	untouched "dump/$file"
done
# Names of temporary files can't be foreseen: here, all of the next processes' are taken.
rm -rf run
mkdir run
bash -c '
	for i in $(seq 200); do
		for file in config.json command.txt summary.json; do ln -s ../victim "run/$file.tmp.$(($$ + i))"; done
	done
	exec "$0" train --dim 8 --depth 2 --steps 2 --quiet --run-dir run' "$KOLM" || fail "taken names"
untouched "temporary names"
# A lock is no way out either.
rm -rf run
mkdir run
ln -s ../victim run/.lock
"$KOLM" train --dim 8 --depth 2 --steps 2 --quiet --run-dir run >/dev/null 2>&1
untouched "run/.lock"

# ---- what a study's file may say ----
# study NAME JSON: a file of a study with these members.
study() {
	printf '{"name": "%s", "title": "T", "repetitions": 1, "devices": "real",
	 "tables": [{"id": "t", "title": "T", "columns": ["case"]}], %s}\n' "$1" "$2" >"$1.json"
}
base='"base": {"dim": 8, "depth": 2, "steps": 2, "warmup": 0}'
mkdir outside
before=$(ls -AR . | md5sum)
n=0
for path in "$PWD/outside/x" ../outside/x outside/x; do
	for members in \
		"\"base\": {\"steps\": 2, \"dump-check\": \"$path\"}" \
		"\"base\": {\"steps\": 2, \"dump_check\": \"$path\"}" \
		"\"base\": {\"run-dir\": \"$path\"}" \
		"\"base\": {\"run_dir\": \"$path\"}" \
		"\"base\": {\"overwrite\": true}" \
		"\"base\": {\"config\": \"$path\"}" \
		"$base, \"axes\": [{\"name\": \"a\", \"option\": \"dump-check\", \"values\": [\"$path\"]}]" \
		"$base, \"axes\": [{\"name\": \"a\", \"option\": \"run-dir\", \"values\": [\"$path\"]}]" \
		"$base, \"axes\": [{\"name\": \"a\", \"values\": [{\"name\": \"b\", \"set\": {\"dump-check\": \"$path\"}}]}]" \
		"$base, \"axes\": [{\"name\": \"a\", \"option\": \"amp\", \"values\": [\"--dump-check=$path\"]}]" \
		"$base, \"quick\": {\"base\": {\"dump-check\": \"$path\"}}" \
		"\"command\": \"schedule\", \"set\": {\"svg\": \"$path\"}" \
		"\"command\": \"schedule\", \"set\": {\"svg=$path\": true}" \
		"\"command\": \"schedule\", \"set\": {\"json\": \"--svg=$path\"}" \
		"\"command\": \"schedule\", \"axes\": [{\"name\": \"a\", \"option\": \"svg\", \"values\": [\"$path\"]}]" \
		"\"command\": \"schedule\", \"axes\": [{\"name\": \"a\", \"option\": \"svg=$path\", \"values\": [true]}]" \
		"\"command\": \"max-batch\", \"set\": {\"device-memory\": \"1MB\", \"dump-check\": \"$path\"}" \
		"\"groups\": [{\"name\": \"g\", \"command\": \"schedule\", \"set\": {\"svg\": \"$path\"}}]" \
		"\"groups\": [{\"name\": \"g\", \"set\": {\"dump-check\": \"$path\"}}]"; do
		n=$((n + 1))
		study wicked "$members"
		"$KOLM" study wicked.json --out out >/dev/null 2>err.txt
		rc=$?
		rm wicked.json
		[ "$before" = "$(ls -AR . | sed '/^err.txt$/d' | md5sum)" ] || fail "$members: exit code $rc, there is: $(ls -AR outside out)"
		[ $rc = 2 ] || fail "$members gave exit code $rc: $(cat err.txt)"
		[ "$(wc -l <err.txt)" = 1 ] || fail "$members said: $(cat err.txt)"
		rm err.txt
	done
done
[ $n = 57 ] || fail "$n cases"
# Names that would lead elsewhere are no names, or lose what is not a letter.
for name in .. ../up a/b; do
	study wicked "$base"
	sed -i "s|\"name\": \"wicked\"|\"name\": \"$name\"|" wicked.json
	expect_error 2 "can't be a name" "$KOLM" study wicked.json --out out
done
study names "$base, \"axes\": [{\"name\": \"a\", \"option\": \"dp\", \"values\": [{\"name\": \"..\", \"set\": {}}, {\"name\": \"../../up\", \"set\": {}}, {\"name\": \"/abs\", \"set\": {}}]}]"
"$KOLM" study names.json --out out --quiet >/dev/null || fail "names of cases"
[ "$(find . -name summary.json -path '*/out/names/runs/*/*' ! -path '*/../*' | wc -l)" = 3 ] || fail "the runs are: $(find . -name summary.json)"

# ---- links in the folder of a study ----
good='"base": {"dim": 8, "depth": 2, "steps": 2, "warmup": 0}, "axes": [{"name": "ranks", "option": "dp", "values": [1]}]'
study good "$good"
for link in out/good out/good/runs out/good/runs/ranks1-real-1; do
	rm -rf out
	mkdir -p "$(dirname $link)"
	ln -s "$PWD/outside" $link
	expect_error 2 "$link is a symbolic link" "$KOLM" study good.json --out out --quiet
	[ -z "$(ls -A outside)" ] || fail "$link leads outside: $(ls -AR outside)"
done
rm -rf out
"$KOLM" study good.json --out out --quiet >/dev/null || fail "a study without links"
# The folder that the user has named may be anything.
mkdir elsewhere
ln -s elsewhere linked
"$KOLM" study good.json --out linked --quiet >/dev/null || fail "--out is a link"
[ -s elsewhere/good/result.json ] || fail "no result where --out leads"
exit 0
