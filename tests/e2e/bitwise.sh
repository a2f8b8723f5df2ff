#!/usr/bin/env bash
# kolm verify --bitwise: grids that have every bit of one rank; and a sum in another order, or anything else that changes one, is found and named.
. "$(dirname "$0")/lib.bash"
mlp=(--dim 24 --depth 4 --batch 32 --steps 4)
gpt=(--model gpt --layers 2 --heads 4 --dim 32 --context 6 --vocab 33 --batch 16 --steps 3)

same() {
	"$KOLM" verify --bitwise "$@" >out 2>&1 || fail "$*: $(cat out)"
	grep -qE '^dp [0-9] x pp [0-9] x mp [0-9] against one rank, as if dp=[0-9],mp=[0-9], [0-9]+ steps: the same bits; weights sha256 [0-9a-f]{64}$' out || fail "$*: $(cat out)"
}
# differs WHERE FROM OPTIONS: what is first, and what it comes from.
differs() {
	local where=$1 from=$2
	shift 2
	"$KOLM" verify --bitwise "$@" >out 2>err && fail "$*: not found: $(cat out)"
	grep -q 'NOT the same bits' out || fail "$*: $(cat out err)"
	grep -qE "^  first at $where" out || fail "$*: not $where: $(cat out)"
	grep -qE "^  from $from" out || fail "$*: not from $from: $(cat out)"
	grep -q 'has other bits than one rank' err || fail "$*: $(cat err)"
}

same "${mlp[@]}" --dp 4 --optimizer adamw --clip-grad 1
same "${mlp[@]}" --dp 2 --mp 2 --pp 2 --micro-batches 2 --as-if dp=4,mp=4 --precision bf16 --norm layer --residual --dropout 0.1
same "${gpt[@]}" --mp 2 --pp 3 --as-if dp=2,mp=4 --optimizer adamw --precision fp16
# Without --as-if a grid decides about its own bits.
grep -q 'as if dp=2,mp=1' <("$KOLM" verify --bitwise "${mlp[@]}" --dp 2) || fail "not as if on the grid itself"

value='-?[0-9.e+-]+ \(-?0x[0-9a-fp.+-]+\)'
differs "step 2, gradient of layers.0.weight\[[0-9]+\]: $value, on one rank $value\$" 'the sum over replicas of the gradient of layers.0.weight$' \
	"${mlp[@]}" --dp 4 --inject rank-order=replicas,step=2
differs 'step 1, loss: [0-9.]+, on one rank [0-9.]+$' 'the sum over slices in the output of layers.1, micro-batch 0$' \
	"${mlp[@]}" --mp 4 --inject rank-order=slices,step=1
grep -qE "^  and gradient of layers.0.weight\[[0-9]+\]: $value, on one rank $value\$" out || fail "no tensor is named: $(cat out)"
differs 'step 1, ' 'the sum over replicas of the gradient of ' "${gpt[@]}" --dp 4 --precision bf16 --inject rank-order=replicas,step=1
differs 'step 0, ' 'the gradient of the output of layers.3, micro-batch 1$' "${mlp[@]}" --dp 4 --inject rank=1,scale=1.0000001
differs 'step 3, layers.0.weight\[0\]: ' 'the update of layers.0.weight' "${mlp[@]}" --dp 2 --clip-grad 1 --inject step=3,stale
# Two are the same in any order.
same "${mlp[@]}" --dp 2 --mp 2 --inject 'rank-order=replicas;rank-order=slices'

"$KOLM" verify --bitwise --json "${mlp[@]}" --dp 4 --inject rank-order=replicas,step=2 >out 2>/dev/null
grep -q '"verdict": "different"' out && grep -q '"first_step": 2' out && grep -q '"sum": "the sum over replicas' out || fail "JSON: $(cat out)"
expect_error 2 'power of two' "$KOLM" verify --bitwise "${mlp[@]}" --batch 30 --dp 3
expect_error 2 'neither of replicas nor of slices' "$KOLM" train "${mlp[@]}" --inject rank-order=all
exit 0
