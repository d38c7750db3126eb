#!/usr/bin/env python3
"""Write data/promotion.txt: what PyTorch promotes pairs of dtypes to.

    python tools/gen_promotion.py [--out data/promotion.txt] [--check]

Four columns, separated by tabs: a, b, torch.promote_types(a, b), torch.result_type(a[1], b[]) of a tensor with a dimension and one
without. Where b is a Python number (`bool_number` and so on) the third column is that of a[] and the number, the fourth of a[1] and
the number. What PyTorch refuses is `-`.
src/lower/promotion.cpp is written by rule; a test compares it with this table.
Needs the pinned torch (tools/requirements/torch.txt); --check compares instead of writing.
"""
import sys

from generated import write_or_check

# Every dtype that has values of its own: no quantized, no bit and no sub-byte shell types.
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
          "float64", "complex32", "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
          "float8_e5m2fnuz", "float8_e8m0fnu"]


NUMBERS = {"bool_number": True, "int_number": 1, "float_number": 1.0, "complex_number": 1j}


def name(dtype):
    return str(dtype).removeprefix("torch.")


def answer(call):
    try:
        return name(call())
    except RuntimeError:
        return "-"


def lines():
    import torch
    tensor = lambda dtype, shape: torch.empty(shape, dtype=getattr(torch, dtype))
    yield f"# Made by tools/gen_promotion.py from torch {torch.__version__.split('+')[0]}; do not edit. Columns: see there."
    for a in DTYPES:
        for b in DTYPES:
            yield "\t".join((a, b, answer(lambda: torch.promote_types(getattr(torch, a), getattr(torch, b))),
                             answer(lambda: torch.result_type(tensor(a, [1]), tensor(b, [])))))
        for b, number in NUMBERS.items():
            yield "\t".join((a, b, answer(lambda: torch.result_type(tensor(a, []), number)),
                             answer(lambda: torch.result_type(tensor(a, [1]), number))))


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, "promotion.txt", lines()))
