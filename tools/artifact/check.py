#!/usr/bin/env python3
"""Compares portable artifacts that torchlift wrote with the reference implementation (jaxlib's StableHLO).

  check.py FOLDER...          folders that hold pairs NAME.mlir and NAME.mlirbc of one module
  check.py --summary FOLDER   one line for all files

For each pair the reference
  reads the artifact and verifies the module;
  reads the text, writes it as an artifact of the same version and reads that: both modules print the same
    (locations aside: a text has line numbers where the artifact has none);
  writes the module of our artifact, with its locations, once more: ours has at most 1.05 of those bytes.
Needs jax and jaxlib; no part of `make test`.
"""
import argparse
import pathlib
import re
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

LIMIT = 1.05


def number(version):
    return tuple(int(part) for part in version.split("."))


def version_of(data):
    found = re.match(rb"ML\xefR.StableHLO_v(\d+\.\d+\.\d+)\0", data, re.S)
    if not found:
        raise ValueError("no producer of StableHLO")
    return found.group(1).decode()


def check(path):
    """Our size and the reference's; an exception if something differs."""
    data = path.read_bytes()
    version = min(version_of(data), stablehlo.get_current_version(), key=number)
    with mlir.make_ir_context() as context:
        ours = stablehlo.deserialize_portable_artifact(context, data)
        ours.operation.verify()
        text = ir.Module.parse(path.with_suffix(".mlir").read_text())
        reference = stablehlo.deserialize_portable_artifact(
            context, stablehlo.serialize_portable_artifact(text, version))
        ours_text, reference_text = str(ours), str(reference)
        if ours_text != reference_text:
            for a, b in zip(ours_text.splitlines(), reference_text.splitlines()):
                if a != b:
                    raise ValueError(f"differs from its text:\n    {a[:300]}\n    {b[:300]}")
            raise ValueError("differs from its text in length")
        return len(data), len(stablehlo.serialize_portable_artifact(ours, version))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    failures, checked, ours_all, reference_all, worst = 0, 0, 0, 0, (0, "")
    versions = {}
    for folder in options.folders:
        for path in sorted(folder.rglob("*.mlirbc")):
            checked += 1
            try:
                ours, reference = check(path)
            except Exception as error:  # whatever the reference says
                failures += 1
                print(f"{path}: {str(error)[:800]}")
                continue
            version = version_of(path.read_bytes())
            versions[version] = versions.get(version, 0) + 1
            ratio = ours / reference
            ours_all, reference_all = ours_all + ours, reference_all + reference
            worst = max(worst, (ratio, path.name))
            if ratio > LIMIT:
                failures += 1
            if ratio > LIMIT or not options.summary:
                print(f"{path}: {ours} bytes, reference {reference}, {ratio:.3f}{' TOO LARGE' if ratio > LIMIT else ''}")
    if not checked:
        sys.exit("no artifact is there")
    ratio = ours_all / reference_all if reference_all else 0
    found = ", ".join(f"{n} of {v}" for v, n in sorted(versions.items(), key=lambda item: number(item[0])))
    print(f"{checked} artifacts ({found}), {failures} failures; {ours_all} bytes, reference {reference_all}, "
          f"{ratio:.3f}; largest ratio {worst[0]:.3f} ({worst[1]})")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
