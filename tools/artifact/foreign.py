#!/usr/bin/env python3
"""Artifacts that others make: records them with jaxlib, and compares what torchlift says of them with the reference.

  foreign.py --record            foreign/*.mlir become tests/data/artifacts/NAME.VERSION.mlirbc, the versions as their first
                                 lines list them; locations are those of the text
  foreign.py TORCHLIFT FILE...   the generic text that `TORCHLIFT inspect --generic --locations` prints parses to the module
                                 that the reference reads from the file; prints a line for each

Needs jax and jaxlib; no part of `make test`.
"""
import pathlib
import re
import subprocess
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent.parent / "tests/data/artifacts"


def make_context():
    """With all dialects that an artifact may need: reading one loads them."""
    context = mlir.make_ir_context()
    with context:
        empty = stablehlo.serialize_portable_artifact(ir.Module.parse("module {}"), "1.0.0")
        stablehlo.deserialize_portable_artifact(context, empty)
    return context


def record():
    DATA.mkdir(exist_ok=True)
    for path in sorted((HERE / "foreign").glob("*.mlir")):
        text = path.read_text()
        for version in re.search(r"versions: (.*)", text).group(1).split():
            with make_context():
                module = ir.Module.parse(text)
                (DATA / f"{path.stem}.{version}.mlirbc").write_bytes(
                    stablehlo.serialize_portable_artifact(module, version))


def text_of(module):
    return module.operation.get_asm(enable_debug_info=True)


def check(torchlift, path):
    printed = subprocess.run([torchlift, "inspect", "--generic", "--locations", path], capture_output=True, text=True)
    if printed.returncode != 0:
        return printed.stderr.strip()
    with make_context() as context:
        reference = stablehlo.deserialize_portable_artifact(context, pathlib.Path(path).read_bytes())
        # Through the reference's own writer: it leaves out what says nothing.
        ours = stablehlo.deserialize_portable_artifact(
            context, stablehlo.serialize_portable_artifact(ir.Module.parse(printed.stdout),
                                                           stablehlo.get_current_version()))
        ours_text, reference_text = text_of(ours), text_of(reference)
        if ours_text == reference_text:
            return "same"
        for a, b in zip(ours_text.splitlines(), reference_text.splitlines()):
            if a != b:
                return f"differs:\n    {a[:300]}\n    {b[:300]}"
        return "differs in length"


def main():
    if sys.argv[1:] == ["--record"]:
        return record()
    torchlift, failures = sys.argv[1], 0
    for path in sys.argv[2:]:
        try:
            answer = check(torchlift, path)
        except Exception as error:  # whatever the reference says
            answer = str(error)[:600]
        failures += answer != "same"
        print(f"{path}: {answer}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
