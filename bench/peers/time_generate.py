#!/usr/bin/env python3
"""Time how transformers writes text, as kolm generate times itself.

A model that kolm export has written, one sequence, always the likeliest token, keys and values
remembered; with --compile by torch.compile and a cache of fixed size. Prints one JSON object with the ms
from the first new token to the last, for every repetition, and the tokens.
"""
import argparse
import json
import sys
import time

import torch
import transformers


class Clock:
    """Is handed every token as it comes, as a streamer that prints would be."""

    def __init__(self):
        self.times = []

    def put(self, tokens):
        self.times.append(time.perf_counter())

    def end(self):
        pass

    def ms(self):
        """The prompt is put first, then every token; the first one comes with the prompt."""
        return (self.times[-1] - self.times[1]) * 1e3


def write(model, prompt, a):
    clock = Clock()
    options = {"cache_implementation": "static"} if a.compile else {}
    with torch.inference_mode():
        out = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=a.tokens, do_sample=False,
                             streamer=clock, **options)
    return clock.ms(), out[0, prompt.shape[1]:].tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a folder of kolm export --hf")
    parser.add_argument("--prompt-ids", default="1,2,3")
    for name, default in {"tokens": 200, "repetitions": 3, "threads": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="of weights and all else")
    parser.add_argument("--compile", action="store_true", help="torch.compile; its time is not measured")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    transformers.logging.set_verbosity_error()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        a.model, torch_dtype={"fp32": torch.float32, "bf16": torch.bfloat16}[a.precision]).eval()
    model.generation_config.eos_token_id = None  # all tokens are wanted
    model.generation_config.pad_token_id = 0
    if a.compile:
        model.forward = torch.compile(model.forward)
    prompt = torch.tensor([[int(i) for i in a.prompt_ids.split(",")]])
    write(model, prompt, a)
    runs = [write(model, prompt, a) for _ in range(a.repetitions)]
    print(json.dumps({"ms": [ms for ms, _ in runs], "ids": runs[-1][1]}))


if __name__ == "__main__":
    sys.exit(main())
