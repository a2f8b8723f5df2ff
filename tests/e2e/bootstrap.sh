#!/usr/bin/env bash
# What is optional never stops a build, what is required says so; and suites have names.
. "$(dirname "$0")/lib.bash"
. "$SOURCE/tests/bare.bash"
command -v dpkg-query >/dev/null || skip "no Debian packages here"

bootstrap() { # PACKAGES ARGUMENT...: those are missing
	local missing=$1
	shift
	bare_machine bin "$missing" ""
	PATH=$PWD/bin "$SOURCE/scripts/bootstrap" "$@" >out.txt 2>err.txt
}
everything="build --optional tests pdf zip zlib"

for package in gcc libjansson-dev libhwloc-dev libssl-dev; do
	bootstrap $package $everything && fail "bootstrap did not miss $package"
	grep -q "apt-get install $package$" err.txt || fail "bootstrap said: $(cat err.txt)"
done
bootstrap libcairo2-dev $everything || fail "bootstrap failed for want of cairo: $(cat err.txt)"
[ "$(wc -l <err.txt)" = 1 ] && grep -q "without.*reports as PDF (libcairo2-dev)$" err.txt || fail "it said: $(cat err.txt)"
bootstrap "libzip-dev libcmocka-dev fonts-dejavu-core" $everything || fail "bootstrap failed: $(cat err.txt)"
grep -q "tests (libcmocka-dev), reports as PDF (fonts-dejavu-core), bundles as .zip (libzip-dev)$" err.txt ||
	fail "it said: $(cat err.txt)"
# What is missing of both kinds: only what is required is asked for.
bootstrap "libjansson-dev libzip-dev" $everything && fail "bootstrap did not miss libjansson-dev"
grep -q "kolm needs these Debian packages: libjansson-dev$" err.txt || fail "it said: $(cat err.txt)"
bootstrap "" nonsense
[ $? = 2 ] || fail "bootstrap took a purpose that there is not"

# CMake goes on without them too, and says what is off.
bare_machine bin "" "cmocka cairo-pdf libzip zlib"
PATH=$PWD/bin cmake -S "$SOURCE" -B off >cmake.txt 2>&1 || fail "cmake: $(tail -n 20 cmake.txt)"
for word in "tests: no" "reports as PDF: no" "bundles as .zip: no" "compressed data files: no"; do
	grep -q "$word" cmake.txt || fail "cmake does not say '$word'"
done
[ ! -e off/tests/CTestTestfile.cmake ] || fail "there are tests without cmocka"
PATH=$PWD/bin cmake -S "$SOURCE" -B on -DKOLM_TESTS=ON >cmake.txt 2>&1 && fail "KOLM_TESTS=ON goes without cmocka"

# A suite that does not exist runs nothing.
for only in typo mpi,typo; do
	ONLY=$only "$SOURCE/scripts/check-all" >out.txt 2>err.txt
	[ $? = 2 ] || fail "ONLY=$only is no error"
	grep -q "no suite 'typo'.* mpi .*fuzz-csv" err.txt || fail "ONLY=$only said: $(cat err.txt)"
	[ ! -s out.txt ] || fail "ONLY=$only ran something: $(cat out.txt)"
done
