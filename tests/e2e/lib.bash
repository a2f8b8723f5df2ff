# lib.bash - for the scripts beside it: a folder that goes away, and plain checks.
set -u
KOLM=${KOLM:?set KOLM to the binary}
dir=$(mktemp -d)
cleanup() { rm -rf "$dir"; }
trap cleanup EXIT
cd "$dir" || exit 1

fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }

# expect_error CODE PATTERN COMMAND...: that exit code, and one line that matches.
expect_error() {
	local code=$1 pattern=$2 out rc
	shift 2
	out=$("$@" 2>&1 >/dev/null)
	rc=$?
	[ $rc -eq "$code" ] || fail "'$*' exited with $rc instead of $code: $out"
	[ "$(printf '%s\n' "$out" | wc -l)" -eq 1 ] || fail "'$*' said more than one line: $out"
	printf '%s' "$out" | grep -qE -- "$pattern" || fail "'$*' did not say '$pattern': $out"
}

losses() { grep -o '"loss": [^,]*' "$1"; }
