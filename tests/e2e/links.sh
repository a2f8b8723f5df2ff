#!/usr/bin/env bash
# What README, docs and examples link to is there, and its headings too; in a clone, that is what git has.
. "$(dirname "$0")/lib.bash"
top=$(cd "$OLDPWD" && cd "$(dirname "$0")/../.." && pwd)
cd "$top" || fail "no sources"
known() {
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git ls-files --error-unmatch -- "$1" >/dev/null 2>&1
	else
		[ -e "$1" ]
	fi
}
# As a heading is called in a link: small letters and dashes.
headings() { sed -n 's/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }

seen=0
for page in README.md docs/*.md examples/*.md; do
	while read -r link; do
		file=${link%%#*} heading=
		[[ $link != *#* ]] || heading=${link#*#}
		path=$(realpath -m --relative-to=. "$(dirname "$page")/$file")
		[ -n "$file" ] || path=$page
		known "$path" || fail "$page links to $link, which is not there"
		[ -z "$heading" ] || headings "$path" | grep -qxF -- "$heading" || fail "$page links to $link: there is no such heading"
		seen=$((seen + 1))
	done < <(grep -o '\](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:')
done
[ "$seen" -gt 50 ] || fail "only $seen links were found"
echo "$seen links lead somewhere"
exit 0
