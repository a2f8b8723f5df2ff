#!/usr/bin/env bash
# Help, manual page and completion come from one table: none misses an option.
. "$(dirname "$0")/lib.bash"

"$KOLM" man | sed 's/\\-/-/g' >man.txt
"$KOLM" completion >kolm.bash
for command in train top verify max-batch bench grid schedule trace study report doctor devices; do
	"$KOLM" $command --help >help.txt || fail "$command --help"
	names=$(grep -o '^  --[a-z0-9-]*' help.txt) || fail "$command has no options"
	for name in $names; do
		grep -q -- "fB$name\\\\fR" man.txt || fail "the manual page has no $name of $command"
		grep -q -- "$command:\*) .*$name " kolm.bash || fail "no completion for $name of $command"
	done
done
# The completion works in a shell.
reply=$(bash -c '. ./kolm.bash; COMP_WORDS=(kolm train --optimizer a); COMP_CWORD=3; _kolm; echo "${COMPREPLY[@]}"')
[ "$reply" = adamw ] || fail "completing --optimizer a gave '$reply'"
