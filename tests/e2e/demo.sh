#!/usr/bin/env bash
# The language model of make demo, cut to a few steps: it learns, writes, and eight ranks are no obstacle.
. "$(dirname "$0")/lib.bash"
export XDG_CACHE_HOME=$dir/cache
(cd "${SOURCE:?}" && DEMO_STEPS=24 DEMO_OUT="$dir/demo" scripts/demo "$(dirname "$KOLM")" language) >out.txt 2>&1 || fail "$(cat out.txt)"
grep -q "gpt: 2 layers, 4 heads, dim 128, context 32, 1024 tokens" out.txt || fail "no heading: $(cat out.txt)"
grep -q "^step   23 " out.txt || fail "the last step is not shown: $(cat out.txt)"
grep -q "^\$ .*kolm generate .* --prompt 'You may' --tokens 100" out.txt || fail "what is shown can't be typed: $(cat out.txt)"
grep -q "^You may" out.txt || fail "it writes nothing: $(cat out.txt)"
[ "$(wc -c <demo/one.txt)" -gt 100 ] || fail "it writes little: $(cat demo/one.txt)"
echo "the demo's GPT learns and writes"
