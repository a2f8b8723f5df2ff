"use strict";
// All of this is comfort: the page can be read without it.

// ---- light and dark ----
(function () {
  const root = document.documentElement, button = document.createElement("button");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = isDark() ? "light" : "dark"; };
  button.id = "theme";
  button.type = "button";
  button.title = "switch between light and dark";
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  dark.addEventListener("change", label);
  label();
  document.getElementById("contents").prepend(button);
})();

// ---- tables that sort by a column ----
document.querySelectorAll("table.sortable").forEach((table) => {
  // The rows of a group stay below its name.
  const bodies = [...table.tBodies].map((body) => [body, [...body.rows].filter((r) => !r.classList.contains("group"))]);
  const heads = table.tHead.querySelectorAll("th");
  const cell = (row, i) => {
    const td = row.cells[i];
    if (!td || td.classList.contains("failed")) return null;
    if (td.dataset.v !== undefined) return Number(td.dataset.v);
    return td.textContent === "" ? null : td.textContent;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
  const sortBy = (head, i) => {
    const now = head.getAttribute("aria-sort");
    const next = now === "ascending" ? "descending" : now === "descending" ? null : "ascending";
    const sign = next === "descending" ? -1 : 1;
    // Rows without a value stay at the end, either way round.
    const order = (x, y) => {
      const a = cell(x, i), b = cell(y, i);
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * compare(a, b);
    };
    heads.forEach((th) => th.removeAttribute("aria-sort"));
    if (next) head.setAttribute("aria-sort", next);
    bodies.forEach(([body, rows]) => body.append(...(next ? [...rows].sort(order) : rows)));
  };
  heads.forEach((th, i) => {
    if (bodies.every(([, rows]) => rows.length < 2)) return;
    th.classList.add("sorts");
    th.tabIndex = 0;
    th.title = "sort by this column";
    th.addEventListener("click", () => sortBy(th, i));
    th.addEventListener("keydown", (e) => { if (e.key === "Enter") sortBy(th, i); });
  });
});

// ---- what a bar or a point tells, at once and near the pointer ----
(function () {
  const tip = document.createElement("div");
  tip.id = "tip";
  document.body.append(tip);
  document.querySelectorAll("figure svg title").forEach((title) => {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  });
  document.addEventListener("pointermove", (e) => {
    const shape = e.target.closest ? e.target.closest("[data-tip]") : null;
    tip.style.display = shape ? "block" : "none";
    if (!shape) return;
    tip.textContent = shape.dataset.tip;
    tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(e.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
  });
})();

// ---- timelines: buttons, wheel with Ctrl, drag ----
document.querySelectorAll("svg.zoom").forEach((svg) => {
  const whole = svg.getAttribute("viewBox").split(" ").map(Number);
  let [x, y, w, h] = whole, from = null;
  const show = () => {
    x = Math.max(0, Math.min(x, whole[2] - w));
    y = Math.max(0, Math.min(y, whole[3] - h));
    svg.setAttribute("viewBox", [x, y, w, h].join(" "));
    svg.classList.toggle("moved", w < whole[2]);
  };
  const zoom = (factor, fx, fy) => {
    const k = Math.min(1, Math.max(1 / 40, w * factor / whole[2]));
    x += fx * (w - whole[2] * k);
    y += fy * (h - whole[3] * k);
    w = whole[2] * k;
    h = whole[3] * k;
    show();
  };
  const tools = document.createElement("div");
  tools.className = "tools";
  const add = (text, name, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.title = name;
    button.addEventListener("click", act);
    tools.append(button);
  };
  add("+", "closer (also Ctrl and wheel; drag to move)", () => zoom(1 / 1.6, 0.5, 0.5));
  add("−", "farther", () => zoom(1.6, 0.5, 0.5));
  add("all", "the whole timeline", () => { [x, y, w, h] = whole; show(); });
  svg.closest(".scroll").before(tools);
  svg.addEventListener("wheel", (e) => {
    if (!e.ctrlKey) return;
    const box = svg.getBoundingClientRect();
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.25 : 0.8, (e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height);
  }, { passive: false });
  svg.addEventListener("pointerdown", (e) => { from = [e.clientX, e.clientY, x, y]; svg.setPointerCapture(e.pointerId); });
  svg.addEventListener("pointerup", () => { from = null; });
  svg.addEventListener("pointermove", (e) => {
    if (!from || w === whole[2]) return;
    const scale = w / svg.getBoundingClientRect().width;
    x = from[2] - (e.clientX - from[0]) * scale;
    y = from[3] - (e.clientY - from[1]) * scale;
    show();
  });
});

// ---- what is wider than the screen says so ----
(function () {
  const all = [...document.querySelectorAll(".scroll")];
  all.forEach((box) => {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = "\u2194 wider than the screen: scroll sideways";
    box.before(hint);
  });
  const look = () => all.forEach((box) => {
    box.parentNode.classList.toggle("scrolls", box.scrollWidth > box.clientWidth + 4);
  });
  addEventListener("resize", look);
  look();
})();

// ---- contents fold where they are in the way ----
(function () {
  const narrow = matchMedia("(max-width: 900px)"), fold = document.querySelector("#contents details");
  const set = () => { fold.open = !narrow.matches; };
  narrow.addEventListener("change", set);
  fold.addEventListener("click", (e) => { if (narrow.matches && e.target.closest("a")) fold.open = false; });
  set();
})();

// ---- where the reader is ----
(function () {
  const links = new Map([...document.querySelectorAll("#contents a")].map((a) => [a.getAttribute("href").slice(1), a]));
  const headings = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  const mark = () => {
    let here = headings[0];
    for (const h of headings) if (h.getBoundingClientRect().top < 120) here = h;
    links.forEach((a) => a.classList.remove("here"));
    if (here) links.get(here.id).classList.add("here");
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
})();
