#!/usr/bin/env bash
# kolm tokenizer as a user has it: text to tokens and back, the files, and what is refused.
. "$(dirname "$0")/lib.bash"

kt() { "$KOLM" tokenizer "$@"; }
value() { grep -o "\"$1\": [^,]*" "$2" | head -n 1 | cut -d' ' -f2; }

# Text that every Debian has; else the sources are text too.
mkdir texts
cp /usr/share/common-licenses/* texts/ 2>/dev/null || cp "$SOURCE"/docs/*.md texts/
head -c 20000 /dev/urandom >any.bin

for kind in bpe char byte; do
	kt train texts --kind $kind --out $kind.json >said.txt || fail "train --kind $kind"
	grep -q "^$kind.json: kind $kind, [0-9]* tokens, from [0-9]* bytes in [0-9]* files, " said.txt || fail "train says: $(cat said.txt)"
	for text in texts/*; do
		kt encode $kind.json "$text" --out out.tokens >said.txt || fail "encode $text as $kind"
		kt decode $kind.json out.tokens | cmp - "$text" || fail "$text does not come back from $kind"
	done
done
kt train --kind byte --out alone.json >/dev/null || fail "byte needs no text"
cmp byte.json alone.json || fail "byte depends on the text"
for kind in bpe byte; do
	kt encode $kind.json any.bin --out any.tokens >/dev/null || fail "bytes as $kind"
	kt decode $kind.json any.tokens --out any.back || fail "bytes from $kind"
	cmp any.bin any.back || fail "bytes do not come back from $kind"
done

# The same text gives the same file, also when it is named file by file.
kt train texts/* --out again.json >/dev/null || fail "train texts/*"
cmp bpe.json again.json || fail "a folder is not its files in the order of their names"

# What a folder has besides text is left out.
mkdir mixed && cp texts/GPL-2 mixed/a 2>/dev/null || cp "$(ls texts/* | head -n 1)" mixed/a
cp mixed/a one.txt
printf 'a\0b' >mixed/b && echo hidden >mixed/.c && ln -s ../any.bin mixed/d
kt train mixed --vocab 300 --out mixed.json 2>said.txt >/dev/null || fail "train mixed"
grep -q "left out: 1 file with zero bytes" said.txt || fail "it does not say what it left out: $(cat said.txt)"
kt train one.txt --vocab 300 --out one.json >/dev/null
cmp mixed.json one.json || fail "something else than text was learned from"

# Special tokens, or not.
printf 'ab<|endoftext|>ab' >special.txt
kt info bpe.json --json >info.json || fail "info"
[ "$(value end_of_text info.json)" = 0 ] && [ "$(value vocabulary info.json)" = 4096 ] || fail "info: $(cat info.json)"
kt encode bpe.json special.txt | grep -qw 0 || fail "no special token: $(kt encode bpe.json special.txt)"
kt encode bpe.json special.txt --plain | grep -qw 0 && fail "--plain has a special token"
kt encode byte special.txt | tr '\n' ' ' | grep -q "^97 98 60 124 .* 97 98 $" || fail "bytes: $(kt encode byte special.txt)"
kt encode byte special.txt --json | grep -q '"ids": \[97, 98, 60, ' || fail "ids as JSON: $(kt encode byte special.txt --json)"
kt train special.txt --kind char --end-of-text '<|endoftext|>' --out char.json >/dev/null
[ "$(kt encode char.json special.txt)" = "2 3 12 2 3" ] || fail "char with an end: $(kt encode char.json special.txt)"

# Figures agree with each other.
kt info bpe.json one.txt --json >info.json
kt encode bpe.json one.txt --out one.tokens --json >encode.json || fail "encode --json"
for name in tokens bytes bytes_per_token; do
	[ "$(value $name info.json)" = "$(value $name encode.json)" ] || fail "$name: $(cat info.json encode.json)"
done
[ "$(value bytes info.json)" = "$(wc -c <one.txt)" ] || fail "bytes: $(cat info.json)"
[ "$(wc -w < <(kt encode bpe.json one.txt))" = "$(value tokens info.json)" ] || fail "tokens: $(cat info.json)"
kt info bpe.json one.txt | grep -q "^special token   0 <|endoftext|> (end of text)" || fail "info: $(kt info bpe.json one.txt)"
: >empty.txt
kt encode bpe.json empty.txt --out empty.tokens | grep -q "0 tokens" || fail "an empty text"
kt decode bpe.json empty.tokens | cmp - empty.txt || fail "an empty text does not come back"

# Refused in one line, and nothing is written.
refused() { expect_error 2 "$1" "$KOLM" tokenizer "${@:2}"; }
mkdir empty-folder out && cp special.txt one.tokens out/
refused "tokenizer needs to know what to do; choose one of train, encode, decode, info"
refused "can't 'encoed'; did you mean encode" encoed
refused "needs text to learn from" train
refused "can't read none.txt" train none.txt --out out/t.json
refused "a vocabulary of 200 tokens can't be; from 257 \(every byte and the end of a text\) to 1048576" train one.txt --vocab 200 --out out/t.json
refused "--vocab 300 is not for a tokenizer of kind char" train one.txt --vocab 300 --kind char --out out/t.json
refused "any.bin: byte 0x.. at offset [0-9]+ is no " train any.bin --kind char --out out/t.json
refused "'ab' for the end of a text is also a part of the text" train special.txt --end-of-text ab --out out/t.json
refused "has no files of text; hidden" train empty-folder --out out/t.json
refused "--vocab is not for kolm tokenizer encode; it is for train" encode byte one.txt --vocab 5
refused "--json is not for kolm tokenizer decode" decode byte one.tokens --json
refused "too few arguments; kolm tokenizer encode TOKENIZER FILE" encode byte
refused "too many arguments" info byte one.txt special.txt
refused "--out out/special.txt would replace out/special.txt, which is read" encode byte out/special.txt --out out/special.txt
refused "out/one.tokens was made with another tokenizer than byte; its SHA-256" decode byte out/one.tokens
refused "not a token file; remove it" decode byte one.txt
refused "is learned from a text; kolm tokenizer train FILE --kind bpe" encode bpe one.txt
refused "the folder texts has no tokenizer; it needs tokenizer.json, or vocab.json" info texts
refused "no tokenizer.json" info info.json
refused "one.txt: line 1" info one.txt
refused "the character .* is not among the 13" encode char.json one.txt --out out/x.tokens
dd if=/dev/zero of=out/one.tokens bs=1 seek=200 count=20 conv=notrunc 2>/dev/null
refused "ids 0 to [0-9]+ of the token file are damaged" decode bpe.json out/one.tokens --out out/x.txt
[ "$(ls -A out | xargs)" = "one.tokens special.txt" ] || fail "something was written: $(ls -A out)"

# Output that goes nowhere is an error, and nobody is left half-written when it is stopped.
expect_error 1 "standard output" bash -c '"$0" tokenizer decode bpe.json one.tokens >/dev/full' "$KOLM"
for i in $(seq 250); do cat texts/*; done >large.txt
mkdir stopped
"$KOLM" tokenizer encode bpe.json large.txt --out stopped/large.tokens >/dev/null 2>said.txt &
pid=$!
for i in $(seq 100); do [ -n "$(ls -A stopped)" ] && break; sleep 0.05; done
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "stopped with another code: $(cat said.txt)"
grep -q "stopped by SIGTERM; nothing was written" said.txt || fail "stopped: $(cat said.txt)"
[ -z "$(ls -A stopped)" ] || fail "left behind: $(ls -A stopped)"
