#!/usr/bin/env bash
# The page of a report in Debian's Chromium: it draws, its comforts work, and it can be read
# without scripts.
. "$(dirname "$0")/../e2e/lib.bash"
command -v chromium >/dev/null || skip "there is no chromium"

"$KOLM" report "${SOURCE:?}/tests/data/report" --out . >/dev/null || fail "report"
browse() { timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$dir/profile" "$@" 2>console.txt; }

# What a user would do: sort a table twice, switch to dark, zoom, point at a bar.
cat >act.js <<'JS'
const out = [];
const table = document.querySelector("table.sortable"), heads = table.querySelectorAll("th");
const cells = () => [...table.tBodies[0].rows].map((r) => Number(r.cells[2].textContent)).join(",");
heads[2].click(); out.push("up " + cells());
heads[2].click(); out.push("down " + cells());
document.getElementById("theme").click(); out.push("theme " + document.documentElement.dataset.theme);
const svg = document.querySelector("svg.zoom"), before = svg.getAttribute("viewBox");
svg.parentNode.querySelector(".tools button").click();
out.push("zoom " + (svg.getAttribute("viewBox") !== before));
const bar = document.querySelector("[data-tip]");
bar.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 50, clientY: 50 }));
out.push("tip " + (document.getElementById("tip").textContent === bar.dataset.tip));
const wide = [...document.querySelectorAll("main > *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1);
out.push("wide " + wide.length);
document.title = out.join("; ");
JS
awk '/<\/body>/ {print "<script>"; while ((getline line < "act.js") > 0) print line; print "</script>"} {print}' report.html >acted.html
browse --window-size=1280,900 --dump-dom "file://$dir/acted.html" >dom.html || fail "chromium: $(cat console.txt)"
title=$(grep -o "<title>[^<]*</title>" dom.html)
for want in "up 5,6,7,10" "down 10,7,6,5" "theme dark" "zoom true" "tip true" "wide 0"; do
	case $title in
	*"$want"*) ;;
	*) fail "not '$want' but $title" ;;
	esac
done
if grep -qiE "Uncaught|SyntaxError" console.txt; then fail "the script fails: $(cat console.txt)"; fi

# Narrow, and without scripts: nothing sticks out, the tables are there.
browse --window-size=500,900 --dump-dom "file://$dir/acted.html" >dom.html || fail "chromium: $(cat console.txt)"
grep -q "wide 0" dom.html || fail "narrow: $(grep -o '<title>[^<]*</title>' dom.html)"
sed '/<script>/,/<\/script>/d' report.html >plain.html
browse --screenshot=plain.png --window-size=1200,2000 "file://$dir/plain.html" >/dev/null ||
	fail "chromium: $(cat console.txt)"
[ "$(stat -c %s plain.png)" -gt 50000 ] || fail "the picture without scripts is empty"
exit 0
