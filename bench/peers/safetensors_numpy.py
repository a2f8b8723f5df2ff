"""Read safetensors with numpy alone: Debian has no package for the format."""
import json
import struct

import numpy

DTYPES = {"F32": numpy.float32, "F16": numpy.float16, "I32": numpy.int32,
          "U8": numpy.uint8}


def load(path):
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
        data = f.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = numpy.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"]).copy()
    return tensors
