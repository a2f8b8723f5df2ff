#!/usr/bin/env bash
# Wrong input: one line with the values and a hint, exit code 2, nothing written.
. "$(dirname "$0")/lib.bash"

refused() { expect_error 2 "$1" "$KOLM" train "${@:2}"; }

refused "unknown option '--dimm'; did you mean --dim" --dimm 4
refused "'--help' lists|'kolm train --help' lists" --zzzzzzzzzz 4
refused "--dim 0 is out of range; it takes 1 to" --dim 0
refused "--batch 10 does not divide into 3 micro-batches; --batch 9 or 12" --batch 10 --micro-batches 3
refused "contradicts" --batch 10 --micro-batches 2 --micro-batch-size 4
refused "can't read none.json" --config none.json
echo '{"dim": 4' >broken.json
refused "broken.json is not valid JSON: line" --config broken.json
echo '{"dmi": 4}' >unknown.json
refused "unknown.json: unknown option '--dmi'; did you mean --dim" --config unknown.json
refused "can't read none.csv" --data csv:none.csv
printf '1,2\n3,nan\n' >nan.csv
refused "nan.csv line 2, column 2: 'nan' is a value that is missing" --data csv:nan.csv
printf '1,2\n3,4,5\n' >ragged.csv
refused "ragged.csv line 2 has 3 columns" --data csv:ragged.csv
refused "does not name two files" --data idx:images
refused "unknown; use synthetic" --data random
printf '\0\0\10\3' >short.idx
refused "header is cut" --data idx:short.idx,short.idx
refused "unknown device 'tpu'; there are cpu, gpu, gpu:0, cuda:0, opencl:0, virtual:gflops" --device tpu
refused "exists and is not a folder" --dim 4 --run-dir nan.csv
refused "at most 20 steps" --dump-check d --steps 30
refused "unexpected argument 'now'" now
expect_error 2 "unknown command 'trian'; did you mean 'kolm train'" "$KOLM" trian
expect_error 2 "choose one of peak, gemm, kernels, comm" "$KOLM" bench
expect_error 2 "unknown benchmark 'fast'" "$KOLM" bench fast
expect_error 1 "out of device memory: rank 0 needs .* of 1.0 MiB: params" "$KOLM" train --device-memory 1MiB
expect_error 2 "KOLM_CPU=mmx" env KOLM_CPU=mmx "$KOLM" train --dim 4

if [ "$(id -u)" != 0 ]; then
	mkdir locked && chmod 555 locked
	refused "can't (create|write)" --dim 4 --run-dir locked/run
else
	refused "can't create the folder /proc/kolm" --dim 4 --run-dir /proc/kolm/run
fi
mkfifo pipe
refused "not a regular file" --data csv:pipe
refused "can't create the folder /proc/kolm" --dim 4 --run-dir run --dump-check /proc/kolm --steps 2
refused "not a folder|Not a directory" --dim 4 --run-dir new/../nan.csv/x
[ ! -e run ] && [ ! -e new ] || fail "a refused command left a folder behind"
expect_error 2 "it takes 2 to 4096" "$KOLM" bench comm --ranks 0
expect_error 2 "only for bench comm" "$KOLM" bench gemm --ranks 4
expect_error 2 "make a shape only with --rows" "$KOLM" bench gemm --out 512
[ ! -e runs ] || fail "a refused command left runs/ behind: $(ls runs)"
"$KOLM" train --help | grep -q "Examples:" || fail "--help has no examples"
"$KOLM" --version | grep -q "^kolm [0-9]" || fail "--version"
