#!/usr/bin/env python3
"""Parses and verifies StableHLO text with the reference implementation (jaxlib's MLIR bindings).

The reference infers every result type again and refuses a module whose types differ. Needs jax and jaxlib; no part of
`make test`. The tests of tests/stablehlo leave files in the build folder:

  check_stablehlo.py FILE...             parse, verify, serialize
  check_stablehlo.py --compile FILE...   compile for the CPU, too
  check_stablehlo.py --same FILE FILE    both parse to the same module (locations aside)
"""
import argparse
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def parse(path):
    with open(path) as text:
        module = ir.Module.parse(text.read())
    module.operation.verify()
    return str(module)


def compile_for_cpu(text):
    import jax
    from jaxlib import _jax as xla

    backend = jax.devices("cpu")[0].client
    backend.compile_and_load(text, xla.DeviceList((jax.devices("cpu")[0],)), xla.CompileOptions())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--same", action="store_true")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    texts = []
    with mlir.make_ir_context():
        for path in options.files:
            text = parse(path)
            stablehlo.serialize_portable_artifact_str(text, stablehlo.get_current_version())
            if options.compile:
                compile_for_cpu(text)
            texts.append(text)
            print(f"{path}: ok")
    if options.same and len(set(texts)) != 1:
        sys.exit("the files differ")


if __name__ == "__main__":
    main()
