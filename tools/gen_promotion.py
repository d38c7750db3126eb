#!/usr/bin/env python3
"""Write data/promotion.txt: torch.promote_types over all pairs of dtypes.

    python tools/gen_promotion.py [--out data/promotion.txt] [--check]

Three columns, separated by tabs: a, b, result. A pair that PyTorch refuses has the result `-`.
src/lower/promotion.cpp is written by rule; a test compares it with this table.
Needs the pinned torch (tools/requirements/torch.txt); --check compares instead of writing.
"""
import argparse
import pathlib
import sys

# Every dtype that has values of its own: no quantized, no bit and no sub-byte shell types.
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
          "float64", "complex32", "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
          "float8_e5m2fnuz", "float8_e8m0fnu"]


def promoted(a, b):
    import torch
    try:
        return str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")
    except RuntimeError:
        return "-"


def lines():
    import torch
    version = torch.__version__.split("+")[0]
    yield f"# Made by tools/gen_promotion.py from torch {version}; do not edit."
    yield "# a<TAB>b<TAB>torch.promote_types(a, b), or - where PyTorch refuses."
    for a in DTYPES:
        for b in DTYPES:
            yield f"{a}\t{b}\t{promoted(a, b)}"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=root / "data" / "promotion.txt")
    parser.add_argument("--check", action="store_true", help="exit 1 if the file is not what would be written")
    options = parser.parse_args()
    text = "\n".join(lines()) + "\n"
    if options.check:
        return 0 if options.out.read_text() == text else 1
    options.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
