#!/usr/bin/env bash
# What may include what, and how long a file may be:
# - includes never point upward in the order of the folders;
# - a header that says "Only for comm/." in the comment at its head is included by files below
#   that folder only, one that says "Only for report/layout*." by files of such names; every
#   *impl.h says one of the two;
# - nobody but the CPU device looks into device/cpu;
# - no file has more than 400 lines.
# Tests may look into everything.
set -u
src=${1:?usage: layering.sh SRC TESTS}
tests=${2:?usage: layering.sh SRC TESTS}
lines_max=400

# The order of the folders: a file may include its own folder and those of lower rank.
declare -A rank=(
	[base]=0
	[device]=1 [comm]=1 [grid]=1 [schedule]=1 [text]=1
	[model]=2 [optim]=2 [data]=2 [launch]=2 [checkpoint]=2
	[engine]=3 [hf]=3 [plan]=3
	[config]=4 [lib]=4
	[trace]=5
	[report]=6 [study]=6
	[cmd]=7
	[main.c]=8
)

# file:line:target of every include of ours
includes() { (cd "$1" && grep -rn --include='*.[ch]' '^#include "' . | sed 's|^\./||; s|:#include "|:|; s|".*$||'); }

check_ranks() {
	local file line target from to
	while IFS=: read -r file line target; do
		from=${file%%/*} to=${target%%/*}
		if [ -z "${rank[$from]-}" ] || [ -z "${rank[$to]-}" ]; then
			echo "$file:$line: $from or $to has no rank: give it one in layering.sh"
		elif [ ! -f "$1/$target" ]; then
			echo "$file:$line: $target: write the path from src/"
		elif [ "$from" != "$to" ] && [ "${rank[$to]}" -ge "${rank[$from]}" ]; then
			echo "$file:$line: $from must not include $target"
		fi
		case $target:$file in
		device/cpu/*:device/cpu/*) ;;
		device/cpu/*) echo "$file:$line: device/cpu is private to the CPU device" ;;
		esac
	done < <(includes "$1")
}

# header:pattern of every header that is only for some; a line without a pattern is a mistake.
restrictions() {
	(cd "$1" && find . -name '*.h' | sed 's|^\./||' | sort | xargs awk '
		function finish() {
			gsub(/[ \t]+/, " ", head)
			if (match(head, /Only for [a-z_\/]+[\/*]\./))
				print header ":" substr(head, RSTART + 9, RLENGTH - 10)
			else if (head ~ /Only for/ || header ~ /impl\.h$/)
				print header ":"
		}
		FNR == 1 { if (NR > 1) finish(); header = FILENAME; head = ""; open = 1 }
		open { text = $0; sub(/^ \*/, "", text); head = head " " text }
		/\*\// { open = 0 }
		END { finish() }')
}

check_restrictions() {
	local header pattern file line target
	local -A only=()
	while IFS=: read -r header pattern; do
		[ -n "$pattern" ] || echo "$header: who is it for? Write \"Only for FOLDER/.\" or \"Only for FOLDER/NAME*.\" in its head"
		only[$header]=${pattern%\*}
	done < <(restrictions "$1")
	while IFS=: read -r file line target; do
		case $file in
		"${only[$target]-}"*) ;;
		*) echo "$file:$line: $target is only for ${only[$target]}" ;;
		esac
	done < <(includes "$1")
}

check_lengths() {
	find "$@" -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.bash' -o -name '*.py' -o -name '*.css' -o -name '*.js' \) \
		-exec awk -v most=$lines_max 'FNR == most + 1 { print FILENAME ": more than " most " lines" }' {} +
}

# One that is filled keeps what it says (base/error.h), so none may begin with what is on the stack.
check_errors() {
	grep -rnE --include='*.c' '^[[:space:]]+struct error [a-z_]+;$' "$@" | sed 's/:\([0-9]*\):.*/:\1: an error begins as {0}/'
}

check_tree() {
	check_errors "$1" "$2"
	check_ranks "$1"
	check_restrictions "$1"
	check_lengths "$1" "$2"
}

# ---- the checks themselves: a small tree that breaks every rule once ----

made_up=$(mktemp -d) || exit 1
trap 'rm -rf "$made_up"' EXIT

put() { mkdir -p "$(dirname "$made_up/$1")" && cat >"$made_up/$1"; }
wanted() {
	found=$(check_tree "$made_up/src" "$made_up/tests")
	grep -qF -- "$1" <<<"$found" || { echo "self-check: '$1' is not among: $found"; exit 1; }
}
clean() {
	found=$(check_tree "$made_up/src" "$made_up/tests")
	[ -z "$found" ] || { echo "self-check: found without a reason: $found"; exit 1; }
}

mkdir -p "$made_up/src" "$made_up/tests"
put src/base/text.h </dev/null
put src/comm/impl.h <<<'/* impl.h - what is shared. Only for comm/. */'
put src/report/layout_impl.h <<'END'
/*
 * layout_impl.h - on paper. Only
 * for report/layout*.
 */
END
put src/comm/shm/shm.c <<<'#include "comm/impl.h"'
put src/report/layout_text.c <<<'#include "report/layout_impl.h"'
put src/device/cpu/pool.h </dev/null
put tests/test_long.c < <(seq 400)
clean
put src/base/text.c <<<'#include "comm/impl.h"'
wanted "base/text.c:1: base must not include comm/impl.h"
wanted "base/text.c:1: comm/impl.h is only for comm/"
put src/base/text.c <<<'#include "text.h"'
wanted "base/text.c:1: base or text.h has no rank"
put src/base/text.c <<<'#include "base/none.h"'
wanted "base/text.c:1: base/none.h: write the path from src/"
rm "$made_up/src/base/text.c"
put src/report/page.c <<<'#include "report/layout_impl.h"'
wanted "report/page.c:1: report/layout_impl.h is only for report/layout"
put src/report/page.c <<<'#include "device/cpu/pool.h"'
wanted "report/page.c:1: device/cpu is private"
rm "$made_up/src/report/page.c"
put src/schedule/impl.h <<<'/* impl.h - between some files. */'
wanted "schedule/impl.h: who is it for?"
put src/schedule/impl.h <<<'/* impl.h - shared. Only for friends. */'
wanted "schedule/impl.h: who is it for?"
rm "$made_up/src/schedule/impl.h"
put tests/test_error.c <<<'	struct error err;'
wanted "test_error.c:1: an error begins as {0}"
rm "$made_up/tests/test_error.c"
put tests/test_long.c < <(seq 401)
wanted "test_long.c: more than 400 lines"
put tests/test_long.c </dev/null
clean

# ---- the tree ----

found=$(check_tree "$src" "$tests")
seen=$(includes "$src" | wc -l)
[ "$seen" -gt 50 ] || found+="only $seen includes found: is $src right?"
[ -z "$found" ] || { echo "$found"; exit 1; }
