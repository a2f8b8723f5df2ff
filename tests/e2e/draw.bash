# draw.bash - for scripts beside it: options of a random training, from RANDOM. draw leaves them in
# $options.
pick() { local i=$((RANDOM % $#)); shift $i; picked=$1; }

# Grids of up to 8 ranks, with a batch of 32.
draw() {
	local dp pp mp
	while :; do
		pick 1 2 2 4; dp=$picked
		pick 1 2 2 3; pp=$picked
		pick 1 2 2 4; mp=$picked
		[ $((dp * pp * mp)) -gt 1 ] && [ $((dp * pp * mp)) -le 8 ] && break
	done
	options="--dp $dp --pp $pp --mp $mp"
	pick 1 2 4; options="$options --micro-batches $picked"
	pick mlp mlp gpt llama; draw_${picked/#[gl]*/language} $picked
	pick 0 0 0.2; options="$options --dropout $picked"
	pick naive gpipe 1f1b interleaved zb-h1; options="$options --schedule $picked"
	pick fp32 fp16 bf16; options="$options --precision $picked"
	pick sgd momentum adamw; options="$options --optimizer $picked"
	pick "" "--clip-grad 0.5" "--bucket-mb 0.001"; options="$options $picked"
	pick "" "--zero 1" "--grad-sync flat"; options="$options $picked"
	[ $((pp * mp)) = 1 ] && options="${options/--zero 1/--grad-sync master}"
}

draw_mlp() {
	pick "--dim 24 --depth 6" "--dim 16 --depth 7 --residual" "--widths 10,24,20,12,12,8,8"; options="$options $picked"
	pick none layer rms; options="$options --norm $picked"
	pick none relu gelu tanh silu gelu-tanh; options="$options --activation $picked"
}
draw_language() { # MODEL
	options="$options --model $1 --layers 4"
	pick "--heads 4 --dim 8" "--heads 8 --dim 48"; options="$options $picked"
	pick 4 5 29; options="$options --vocab $picked"
	pick 4 8; options="$options --context $picked"
	pick none attention block; options="$options --recompute $picked"
	pick "" "--sequence-parallel"; [ $mp = 1 ] || options="$options $picked"
}
