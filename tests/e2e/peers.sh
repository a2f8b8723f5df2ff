#!/usr/bin/env bash
# bench/peers: its statistics and its messages; where PyTorch is, a comparison of next to nothing.
. "$(dirname "$0")/lib.bash"
python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3) || skip "no Python"
export PYTHONDONTWRITEBYTECODE=1 # nothing is left in the source
peers=$SOURCE/bench/peers
compare() { "$python" "$peers/compare.py" --kolm "$KOLM" "$@"; }

"$python" "$SOURCE/tests/e2e/peers.py" >said.txt 2>&1 || fail "$(cat said.txt)"
compare --help >said.txt || fail "--help"
grep -q -- --json said.txt || fail "--help: $(cat said.txt)"
expect_error 2 "'tiny' is none of small, .*DIMxDEPTHxBATCH" compare --cases tiny
expect_error 2 "'gpt-1x2x8' is none of .*gpt-LAYERSx" compare --cases gpt-1x2x8
expect_error 2 "'8x0x8' is none of" compare --cases small,8x0x8
expect_error 2 "--ranks: '0' is not" compare --ranks 1,0
expect_error 2 "--rounds: 'x' is not" compare --rounds x
expect_error 2 "--seconds: 'nan' is not" compare --seconds nan
expect_error 2 "nowhere/kolm can't be used: .*No such file.*build it" "$python" "$peers/compare.py" --kolm nowhere/kolm
expect_error 2 "can't be used: it is another program" "$python" "$peers/compare.py" --kolm /bin/echo
expect_error 2 "none.json: No such file" "$python" "$peers/table.py" none.json
echo '[]' >other.json
expect_error 2 "other.json is no file of compare.py" "$python" "$peers/table.py" other.json

generate() { "$python" "$peers/generate.py" --kolm "$KOLM" "$@"; }
generate --help >said.txt || fail "generate --help"
expect_error 2 "'tiny' is none of char, gpt2" generate --cases tiny
expect_error 2 "--tokens: '0' is not" generate --tokens 0

mkdir without
echo 'raise ImportError("there is none")' >without/torch.py
echo >without/numpy.py
PYTHONPATH=without expect_error 2 "no PyTorch with NumPy for .*there is none; install it" compare
PYTHONPATH=without expect_error 2 "no transformers with PyTorch for .*there is none; choose another" generate
echo 'raise ImportError("nor is there this")' >without/numpy.py
PYTHONPATH=without expect_error 2 "no PyTorch with NumPy for .*nor is there this; install it" compare

"$python" -c 'import torch, numpy' 2>/dev/null || { echo "no PyTorch: nothing was compared"; exit 0; }
expect_error 2 "nowhere/out.json can't be written" compare --json nowhere/out.json
compare --cases 24x2x4,gpt-1x2x8x6x17x4 --rounds 1 --ranks 1 --json out.json >said.txt 2>&1 || fail "$(cat said.txt)"
for line in '^CPU: ' '^kolm: .*cpu \(' '^PyTorch: .*BLAS' '^one-rank: .*: ok$' '^2x2x2: .*: ok$' '^gpt-2x2x2: .*: ok$' '^gpt-1x2x8x6x17x4: ' "kolm's share of peak" 'MB, kolm' 'PyTorch / kolm  .*\.\.'; do
	grep -qE "$line" said.txt || fail "no '$line': $(cat said.txt)"
done
"$python" "$peers/table.py" out.json out.json >table.txt || fail "table"
[ "$(grep -c '^| dim 24, depth 2, batch 4 ' table.txt)" = 3 ] || fail "rows: $(cat table.txt)"
"$KOLM" train --dim 8 --depth 2 --steps 2 --precision bf16 --quiet --run-dir run --dump-check dump || fail "training"
expect_error 2 "dump is a run in bf16; only runs in fp32" "$python" "$peers/check.py" dump
