#!/usr/bin/env bash
# What --dump-check says of dropout: the same on any grid, and nothing where nothing is dropped.
. "$(dirname "$0")/lib.bash"

dump() { # FOLDER OPTIONS...
	local folder=$1
	shift
	"$KOLM" train --widths 8,16,16,16,4 --batch 8 --steps 3 --quiet --overwrite --run-dir run --dump-check "$folder" "$@" || fail "$*"
}

numbers() { sed -n '/"losses"/,/]/p' "$1/check.json" | grep -o '[0-9][0-9.e-]*'; }

for model in "" "--norm rms --residual"; do
	# shellcheck disable=SC2086
	dump one --dropout 0.25 $model
	for name in masks.{0,1,2}.layers.{0,1,2}.dropout; do
		grep -q "\"$name\"" one/masks.safetensors || fail "$name is missing"
	done
	! grep -q "layers.3.dropout\|masks.3." one/masks.safetensors || fail "masks of what is not dropped"
	# A quarter of 3 steps, 3 layers, 8 x 16 elements is dropped, give or take five deviations.
	kept=$(tail -c 1152 one/masks.safetensors | od -An -v -tu1 -w1 | awk '$1 > 1 { exit 1 } { n += $1 } END { print n }')
	[ "$kept" -gt 790 ] && [ "$kept" -lt 938 ] || fail "$kept of 1152 are kept"
	for grid in "--dp 2 --micro-batches 2" "--mp 4" "--dp 2 --grad-sync master --micro-batches 2 --schedule gpipe" \
		"--dp 2 --pp 2 --mp 2 --micro-batches 4 --schedule zb-h1"; do
		# shellcheck disable=SC2086
		dump other --dropout 0.25 $model $grid
		cmp one/masks.safetensors other/masks.safetensors || fail "other masks with $model $grid"
		# The masks are those that were used: the losses are the same, but for rounding.
		paste <(numbers one) <(numbers other) | awk '{ d = $1 - $2; if (d * d > 1e-10 * $1 * $1) exit 1; n++ } END { exit n != 3 }' ||
			fail "other losses with $model $grid"
	done
done
dump other --dropout 0.25 --seed 1
! cmp -s one/masks.safetensors other/masks.safetensors || fail "the seed changes nothing"
dump one
[ ! -e one/masks.safetensors ] || fail "the masks of an earlier run are still there"
