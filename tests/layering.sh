#!/usr/bin/env bash
# Includes never point upward, impl.h stays inside its folder, and an error is empty at first.
set -u
src=${1:?usage: layering.sh SRC}
status=0

# The order of the folders: a file may include its own folder and those of lower rank.
rank() {
	case $1 in
	base) echo 0 ;;
	config | device | comm | grid | schedule) echo 1 ;;
	model | optim | data | launch) echo 2 ;;
	engine) echo 3 ;;
	trace) echo 4 ;;
	report | study) echo 5 ;;
	cmd) echo 6 ;;
	main.c) echo 7 ;;
	*) echo none ;;
	esac
}

while IFS=: read -r file line text; do
	from=${file#"$src"/}
	from=${from%%/*}
	target=${text#*\"}
	target=${target%\"*}
	to=${target%%/*}
	for folder in "$from" "$to"; do
		[ "$(rank "$folder")" != none ] || { echo "$folder has no rank: give it one in $0"; exit 1; }
	done
	if [ "$from" != "$to" ] && [ "$(rank "$to")" -ge "$(rank "$from")" ]; then
		echo "$file:$line: $from must not include $target"
		status=1
	fi
	case $target in
	*/impl.h)
		case $file in
		"$src/${target%impl.h}"*) ;;
		*) echo "$file:$line: $target is private to its folder"; status=1 ;;
		esac ;;
	*) [ -f "$src/$target" ] || { echo "$file:$line: $target: write the path from src/"; status=1; } ;;
	esac
done < <(grep -rn --include='*.[ch]' '^#include "' "$src" | sed 's/:#include /:/')

# The test must be able to fail: it has to have seen a good number of includes.
seen=$(grep -rn --include='*.[ch]' '^#include "' "$src" | wc -l)
[ "$seen" -gt 50 ] || { echo "only $seen includes found: is $src right?"; status=1; }
# Only the CPU device itself and the tests may look into device/cpu.
if grep -rln --include='*.[ch]' '^#include "device/cpu/' "$src" | grep -v '/device/cpu/'; then
	echo "device/cpu is private to the device"
	status=1
fi
# One that is filled keeps what it says (base/error.h), so none may begin with what is on the stack.
# Members of a struct have a comment.
if grep -rnE --include='*.c' '^[[:space:]]+struct error [a-z_]+;$' "$src" "$src/../tests"; then
	echo "an error begins as {0}"
	status=1
fi
exit $status
