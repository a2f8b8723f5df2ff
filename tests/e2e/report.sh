#!/usr/bin/env bash
# kolm report: studies and runs become a page and a PDF file that can be read, searched and
# checked; what is wrong is one line.
. "$(dirname "$0")/lib.bash"

samples=${SOURCE:?}/tests/data/report
"$KOLM" train --dp 2 --dim 32 --depth 2 --steps 8 --warmup 2 --precision fp16 --quiet --run-dir runs/two >/dev/null ||
	fail "train"
"$KOLM" report "$samples" runs/two --out out --title 'Scaling & <more>' >said.txt 2>warned.txt || fail "report: $(cat warned.txt)"
grep -q "^out/report.html$" said.txt || fail "it does not say what it wrote: $(cat said.txt)"
[ -z "$(find out -name '*tmp*')" ] || fail "temporary files are left: $(ls out)"

html=out/report.html
grep -q "<title>Scaling &amp; &lt;more&gt;</title>" $html || fail "the title is not escaped"
for id in 1.2.1 2.1 3.1.1 P.2; do
	grep -q "<td><a href=\"#[a-z0-9-]*\">$id</a></td>" $html || fail "no $id in the index"
done
grep -q "1.90 ± 0.08" $html || fail "no value with its spread"
grep -q "colspan=\"[0-9]*\">failed: rank 1 of 2 .* ran out of memory" $html || fail "no reason of a failed case"
grep -q -- "--dp 2 --dim 32 --depth 2 --steps 8" $html || fail "no command of the run"
grep -qE "It made [0-9.]+ GFLOP/s, [0-9.]+ % of the [0-9.]+ GFLOP/s of fp32 multiply-adds" $html || fail "no peak of the run"
if grep -qE "(src|href)=\"(https?:)?//" $html; then fail "it wants something from the network"; fi
if command -v xmllint >/dev/null; then
	xmllint --noout --nonet $html 2>problems.txt || fail "not well-formed: $(head -n 3 problems.txt)"
fi
if command -v tidy >/dev/null; then
	tidy -q -e $html 2>problems.txt || fail "not valid: $(head -n 3 problems.txt)"
fi

# Each run is held against the peak of the type that it is multiplied in.
for type in fp32 bf16; do
	"$KOLM" train --precision $type --device virtual:gflops=50,gflops16=80 --dim 32 --depth 2 --steps 4 --warmup 1 --quiet --run-dir roofs/$type || fail "$type"
done
"$KOLM" report roofs --out roofs >/dev/null 2>&1 || fail "report of two types"
grep -q "% of the 50.0 GFLOP/s of fp32 multiply-adds" roofs/report.html || fail "no peak of fp32"
grep -q "% of the 80.0 GFLOP/s of bf16 multiply-adds" roofs/report.html || fail "no peak of bf16"

# A sleep is seen in the timeline of the run, and the key names it.
"$KOLM" train --dp 2 --dim 32 --depth 2 --steps 8 --warmup 2 --inject rank=0,at=forward,sleep=5ms --quiet --run-dir runs/slow >/dev/null ||
	fail "train with a sleep"
"$KOLM" report runs/slow --out slow >/dev/null 2>&1 || fail "report of the slow run"
grep -q "<text[^>]*>sleep</text>" slow/report.html || fail "no sleep in the key"
grep -qE "rank 0: sleep, .* \(([5-9]|[0-9]{2,})[0-9.]* ms\)" slow/report.html || fail "no sleep in the timeline"
if grep -q "rank 1: sleep" slow/report.html || grep -q ">sleep</text>" $html; then fail "a sleep that nobody asked for"; fi
grep -q "<title>Hybrid parallel training</title>" slow/report.html || fail "the title"

if "$KOLM" doctor --json | grep -q "PDF with cairo"; then
	pdf=out/report.pdf
	grep -q "^$pdf$" said.txt || fail "no PDF: $(cat said.txt warned.txt)"
	if command -v pdfinfo >/dev/null; then
		pdfinfo $pdf >info.txt 2>&1 || fail "pdfinfo: $(cat info.txt)"
		grep -q "^Title: *Scaling & <more>$" info.txt || fail "no title: $(cat info.txt)"
		grep -q "(A4)" info.txt || fail "not A4: $(cat info.txt)"
	fi
	if command -v qpdf >/dev/null; then
		qpdf --check $pdf >info.txt 2>&1 || fail "qpdf: $(cat info.txt)"
	fi
	if command -v pdftotext >/dev/null; then
		pdftotext -layout $pdf text.txt
		grep -q "1.90 ± 0.08" text.txt || fail "the text can't be searched"
		grep -q "1.2.1 *Where does efficiency drop, and why?" text.txt || fail "no question"
		grep -qE "Strong scaling .*[0-9]+$" text.txt || fail "no page number in the contents"
		for id in 1.2.1 2.1 3.1.1 P.2; do
			grep -qE "^ *$id "  text.txt || fail "no $id in the index of the PDF"
		done
	fi
else
	grep -q "built without cairo" warned.txt || fail "it does not say what is missing: $(cat warned.txt)"
	[ ! -e out/report.pdf ] || fail "a PDF without cairo?"
fi

# All that is handed in: a folder, and the same as an archive.
"$KOLM" report "$samples" --bundle hand-in >/dev/null 2>&1 || fail "a bundle as a folder"
for file in report.html commands.txt; do [ -s hand-in/$file ] || fail "no $file in the bundle"; done
[ "$(find hand-in/tables -name 'table-*.csv' | wc -l)" -ge 3 ] || fail "tables: $(ls hand-in/tables)"
[ "$(find hand-in/figures -name 'figure-*.svg' | wc -l)" -ge 3 ] || fail "figures: $(ls hand-in/figures)"
if command -v xmllint >/dev/null; then
	xmllint --noout --nonet hand-in/figures/*.svg 2>problems.txt || fail "not well-formed: $(head -n 3 problems.txt)"
fi
expect_error 2 "hand-in is not empty; give a new folder, or a FILE.zip" "$KOLM" report "$samples" --bundle hand-in
if "$KOLM" doctor --json | grep -q "bundles with libzip"; then
	"$KOLM" report "$samples" --bundle hand-in.zip >said.txt 2>&1 || fail "a bundle: $(cat said.txt)"
	"$KOLM" report "$samples" --bundle hand-in.zip >said.txt 2>&1 || fail "a bundle is replaced: $(cat said.txt)"
	if command -v python3 >/dev/null; then
		python3 -m zipfile -t hand-in.zip >said.txt || fail "it does not open: $(cat said.txt)"
		python3 -m zipfile -e hand-in.zip opened
		diff -r -q -x report.pdf hand-in opened || fail "folder and archive differ"
	fi
else
	expect_error 1 "built without libzip" "$KOLM" report "$samples" --bundle hand-in.zip
fi
expect_error 1 "nowhere" "$KOLM" report "$samples" --bundle nowhere/at/all.zip

# A study alone, then one that is broken, cut, or not there.
"$KOLM" report "$samples/delay" >/dev/null 2>&1 && fail "a study that is not there"
mkdir -p broken empty
cp "$samples/placement/result.json" broken/
sed -i 's/"kind": "integer"/"kind": "intger"/' broken/result.json
expect_error 2 "broken/result.json: tables\[0\].columns\[0\].kind 'intger' is no kind of column" "$KOLM" report broken
head -c 500 "$samples/placement/result.json" >broken/result.json
expect_error 2 "broken/result.json is not valid JSON: line" "$KOLM" report broken
expect_error 2 "empty holds no study, no run and no plan" "$KOLM" report empty
expect_error 2 "nothing is not a folder" "$KOLM" report nothing
expect_error 2 "kolm report needs a folder" "$KOLM" report
: >afile
expect_error 2 "afile" "$KOLM" report runs/two --out afile
[ -z "$(find . -name 'report.*' -newer afile)" ] || fail "something was written"
exit 0
