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
svg.closest("figure").querySelector(".tools button").click();
out.push("zoom " + (svg.getAttribute("viewBox") !== before));
const bar = document.querySelector("[data-tip]");
bar.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 50, clientY: 50 }));
out.push("tip " + (document.getElementById("tip").textContent === bar.dataset.tip));
const wide = [...document.querySelectorAll("main > *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1);
out.push("wide " + wide.length);
out.push("contents " + (document.querySelector("#contents details").open ? "open" : "folded"));
// Rows are sorted within their group.
const groups = [...document.querySelectorAll("tr.group")];
groups.forEach((row) => row.closest("table").tHead.rows[0].cells[1].click());
out.push("groups " + (groups.length > 1 && groups.every((row) => row === row.parentNode.rows[0])));
// What does not fit scrolls, and says so.
const cut = [...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth + 4);
const told = cut.filter((e) => e.previousElementSibling.offsetHeight || e.parentNode.querySelector(".hint").offsetHeight);
out.push("cut " + (cut.length > 0) + " told " + (cut.length === told.length));
// Labels of timelines as they are on the screen, in pixels.
const labels = [...document.querySelectorAll("svg.zoom text")].map((e) => e.getBoundingClientRect().height);
out.push("labels " + (Math.min(...labels) >= 11));
document.title = out.join("; ");
parent.postMessage(document.title, "*");
JS
awk '/<\/body>/ {print "<script>"; while ((getline line < "act.js") > 0) print line; print "</script>"} {print}' report.html >acted.html
browse --window-size=1280,900 --dump-dom "file://$dir/acted.html" >dom.html || fail "chromium: $(cat console.txt)"
title=$(grep -o "<title>[^<]*</title>" dom.html)
for want in "up 5,6,7,10" "down 10,7,6,5" "theme dark" "zoom true" "tip true" "wide 0" "contents open" \
	"groups true" "cut false" "labels true"; do
	case $title in
	*"$want"*) ;;
	*) fail "not '$want' but $title" ;;
	esac
done
if grep -qiE "Uncaught|SyntaxError" console.txt; then fail "the script fails: $(cat console.txt)"; fi

# As narrow as a telephone: nothing sticks out, what is wider scrolls and says so, contents fold. The
# browser's own window is never that narrow, a frame in it is.
cat >narrow.html <<'HTML'
<!DOCTYPE html><title></title><script>addEventListener("message", (e) => { document.title = e.data; });</script>
<iframe src="acted.html" style="width:390px;height:800px;border:0"></iframe>
HTML
browse --window-size=800,900 --virtual-time-budget=5000 --dump-dom "file://$dir/narrow.html" >dom.html ||
	fail "chromium: $(cat console.txt)"
title=$(grep -o "<title>[^<]*</title>" dom.html)
for want in "wide 0" "contents folded" "cut true told true" "labels true"; do
	case $title in
	*"$want"*) ;;
	*) fail "narrow: not '$want' but $title" ;;
	esac
done

# Without scripts the tables are there.
sed '/<script>/,/<\/script>/d' report.html >plain.html
browse --screenshot=plain.png --window-size=1200,2000 "file://$dir/plain.html" >/dev/null ||
	fail "chromium: $(cat console.txt)"
[ "$(stat -c %s plain.png)" -gt 50000 ] || fail "the picture without scripts is empty"
exit 0
