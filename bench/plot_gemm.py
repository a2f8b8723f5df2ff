#!/usr/bin/env python3
"""Draw `kolm bench gemm --json` as SVG, and print the README's table.

    build/kolm bench gemm --json | bench/plot_gemm.py docs/gemm.svg
"""
import json
import sys

SHAPES = [(64, 1024), (16, 1024), (64, 8192), (32, 8192), (16, 8192), (8, 8192)]
OPS = [("forward", "forward"), ("dinput", "input gradient"), ("dweight", "weight gradient")]
WIDTH, ROW, LEFT, BAR, GAP = 860, 15, 150, 560, 16
KOLM, BLAS, TEXT, GRID = "#2166ac", "#b8b8b8", "#222222", "#dddddd"


def share(rows, op, shape, key):
    for r in rows:
        if r["op"] == op and (r["rows"], r["out"]) == shape and r["in"] == shape[1]:
            return r.get(key)
    return None


def draw(document):
    rows = document["rows"]
    dtype, of = rows[0]["dtype"], document["peak_dtype"]
    height = 70 + len(SHAPES) * (len(OPS) * ROW + GAP) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           f'font-family="sans-serif" font-size="12" fill="{TEXT}">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
           f'<text x="20" y="24" font-size="15">Matrix products of a linear layer in {dtype}, one thread: '
           f'share of the {of} peak ({document["peak_gflops"]:.0f} GFLOP/s)</text>',
           f'<rect x="20" y="36" width="12" height="10" fill="{KOLM}"/>'
           '<text x="38" y="45">kolm</text>'
           f'<rect x="90" y="36" width="12" height="10" fill="{BLAS}"/>'
           '<text x="108" y="45">OpenBLAS</text>']
    bottom = height - 30
    for tick in range(0, 11, 2):
        x = LEFT + 100 + BAR * tick / 10
        out.append(f'<line x1="{x}" x2="{x}" y1="58" y2="{bottom}" stroke="{GRID}"/>'
                   f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{tick / 10:.1f}</text>')
    y = 66
    for shape in SHAPES:
        out.append(f'<text x="20" y="{y + len(OPS) * ROW / 2 + 4}">'
                   f'{shape[0]} × {shape[1]} × {shape[1]}</text>')
        for op, name in OPS:
            ours = share(rows, op, shape, "share")
            theirs = share(rows, op, shape, "openblas_share")
            out.append(f'<text x="{LEFT + 94}" y="{y + 11}" text-anchor="end">{name}</text>')
            out.append(f'<rect x="{LEFT + 100}" y="{y + 2}" width="{BAR * ours:.1f}" height="6.5" '
                       f'fill="{KOLM}"/>')
            if theirs is not None:
                out.append(f'<rect x="{LEFT + 100}" y="{y + 8.5}" width="{BAR * theirs:.1f}" '
                           f'height="4" fill="{BLAS}"/>')
            y += ROW
        y += GAP
    out.append("</svg>")
    return "\n".join(out) + "\n"


def table(rows):
    def cell(op, shape):
        theirs = share(rows, op, shape, "openblas_share")
        other = f" ({theirs:.2f})" if theirs is not None else ""
        return f"{share(rows, op, shape, 'share'):.2f}{other}"
    for shape in SHAPES:
        cells = " | ".join(cell(op, shape) for op, _ in OPS)
        print(f"| {shape[0]} × {shape[1]} × {shape[1]} | {cells} |")


def main():
    document = json.load(sys.stdin)
    with open(sys.argv[1], "w") as f:
        f.write(draw(document))
    table(document["rows"])


if __name__ == "__main__":
    main()
