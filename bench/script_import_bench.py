#!/usr/bin/env python3
"""Time of `torchlift import` of a traced TorchScript file beside the `.pt2` file of the same model.

    python3 bench/script_import_bench.py EXPORTED TRACED [NAME ...] [--rounds 5] [--page docs/performance.md]

EXPORTED and TRACED are folders that tools/zoo/export_zoo.py made (NAME.pt2; NAME.ts.pt and NAME.safetensors). Each model is imported
from both in turn, --weights none, and medians of processor seconds are compared. Models with inputs that are no tensors are
left out. Exit code 1 if one takes more than twice its `.pt2` and 50 ms more.
"""
import argparse
import json
import pathlib
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import import_bench  # noqa: E402

FACTOR, CONSTANT_S = 2.0, 0.05
BEGIN, END = "<!-- script import: begin, by bench/script_import_bench.py -->", "<!-- script import: end -->"
DTYPES = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8", "U8": "u8", "BOOL": "bool", "C64": "c64"}


def inputs_of(case):
    """The types of in.0, in.1, ...; None if an input is no tensor."""
    with open(case, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    metadata = header.pop("__metadata__", {})
    given = list(header) + list(json.loads(metadata.get("values", "{}")))
    count = sum(key.startswith("in.") for key in given)
    found = [header.get(f"in.{k}") for k in range(count)]
    if not all(t and t["dtype"] in DTYPES for t in found) or any(key in metadata.get("complex", "") for key in header if key.startswith("in.")):
        return None
    return [DTYPES[t["dtype"]] + "[" + ",".join(map(str, t["shape"])) + "]" for t in found]


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("exported", type=pathlib.Path)
    p.add_argument("traced", type=pathlib.Path)
    p.add_argument("names", nargs="*")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--torchlift", type=pathlib.Path, default=ROOT / "build/release/bin/torchlift")
    p.add_argument("--page", type=pathlib.Path)
    a = p.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp())
    rows, left_out = [], 0
    for traced in sorted(a.traced.glob("*.ts.pt")):
        name = traced.name[: -len(".ts.pt")]
        exported = a.exported / (name + ".pt2")
        if (a.names and name not in a.names) or not exported.exists():
            continue
        inputs = inputs_of(traced.with_name(name + ".safetensors"))
        if inputs is None:
            left_out += 1
            continue
        common = ["--weights", "none", "-o", scratch / "bundle"]
        commands = [[a.torchlift, "import", exported, *common], [a.torchlift, "import", traced, *common]]
        for t in inputs:
            commands[1] += ["--input", t]
        times = [[seconds(c) for c in commands] for _ in range(a.rounds)]
        if any(t is None for pair in times for t in pair):
            left_out += 1
            continue
        pt2, pt = (statistics.median(column) for column in zip(*times))
        rows.append((pt / pt2, name, pt2, pt))
    shutil.rmtree(scratch)
    if not rows:
        sys.exit("script_import_bench: no model in both folders")
    rows.sort(reverse=True)
    ratios = [r[0] for r in rows]
    beyond = [r for r in rows if r[3] > FACTOR * r[2] + CONSTANT_S]
    text = [f"{len(rows)} models of the zoo, {left_out} left out (an input that is no tensor, or one of the two refused); {import_bench.machine()}.",
            f"Traced over `.pt2`, processor seconds: median {statistics.median(ratios):.2f}, nine in ten within {ratios[len(ratios) // 10]:.2f}, "
            f"largest {ratios[0]:.2f}; more than {FACTOR:g} times and {1000 * CONSTANT_S:g} ms more: {len(beyond)}.", "",
            "| model | `.pt2`, ms | traced `.pt`, ms | ratio |", "|---|---|---|---|"]
    text += [f"| {name.replace('__', '/')} | {1000 * pt2:.0f} | {1000 * pt:.0f} | {ratio:.2f} |" for ratio, name, pt2, pt in rows[:5] + rows[-2:]]
    print("\n".join(text))
    if a.page:
        page = a.page.read_text()
        begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        a.page.write_text(page[:begin] + "\n" + "\n".join(text) + "\n" + page[end:])
    sys.exit(1 if beyond else 0)


if __name__ == "__main__":
    main()
