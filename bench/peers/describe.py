#!/usr/bin/env python3
"""Say which PyTorch this Python has and what it computes with, as one JSON object."""
import json
import platform
import re

import numpy
import torch


def loaded_blas():
    """The libraries that a product has loaded: where BLAS is an alternative of the system, the
    build does not know which one it is."""
    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps") as f:
        paths = {line.split()[-1] for line in f}
    names = {re.sub(r".*/", "", p) for p in paths if "numpy" not in p}
    names = sorted(n for n in names if re.match(r"lib(openblas|blas|blis|atlas|mkl)", n))
    # Debian's libblas.so.3 may do nothing but call another one.
    return [n for n in names if not n.startswith("libblas.")] or names


def blas(config):
    mkl = re.search(r"Math Kernel Library Version ([\d.]+)", config)
    if mkl:
        return f"MKL {mkl[1]}"
    built = re.search(r"BLAS_INFO=(\w+)", config)
    return ", ".join(loaded_blas()) or (built[1] if built else "unknown")


def onednn_has_bf16():
    """Whether oneDNN multiplies bf16 on this CPU; None if PyTorch does not say. Without, PyTorch
    has its own loops."""
    try:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    except (AttributeError, RuntimeError):
        return None


def found(pattern, text):
    match = re.search(pattern, text)
    return match[1] if match else None


def describe():
    config = torch.__config__.show()
    return {"version": torch.__version__, "python": platform.python_version(),
            "numpy": numpy.__version__, "blas": blas(config), "onednn": found(r"MKL-DNN v([\d.]+)", config),
            "onednn_bf16": onednn_has_bf16(),
            "instructions": found(r"CPU capability usage: (\S+)", config),
            "default_threads": torch.get_num_threads()}


if __name__ == "__main__":
    print(json.dumps(describe()))
