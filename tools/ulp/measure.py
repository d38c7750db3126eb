#!/usr/bin/env python3
"""Measure every function that torchlift computes by a formula: the greatest error in units in the last place (ulp), beside
PyTorch's own, against mpmath. Writes docs/ulp.tsv.

    python tools/ulp/measure.py [--only REGEX] [--torchlift build/release/bin/torchlift] [--out docs/ulp.tsv] [--jobs 2]

The programs are exported here and run by `torchlift run-cases` on the plugin that TORCHLIFT_PJRT_PLUGIN names, or on the one
that tools/setup fetched. The functions and their points stand in functions.py. Truths are kept in build/ulp/truth; where a truth's own function is
changed, remove its files.

An ulp is that of the result's dtype at the true value, and no less than the ulp of the least normal number: subnormal
results may be zero (docs/differences.md). Arguments are normal. A row may be above the bound (4 ulp of float32, 8 of float64)
where PyTorch's own error times 1.5 is; else it is printed, and the exit code is 1. Needs the pinned torch
(tools/requirements/torch.txt) and mpmath, which it brings.
"""
import argparse
import hashlib
import multiprocessing
import pathlib
import re
import subprocess
import sys

import mpmath
import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "corpus"))
import casefile  # noqa: E402
import functions  # noqa: E402

POINTS, SLOW_POINTS = 10000, 2000
BOUND = {"float32": 4.0, "float64": 8.0}
SLACK = 1.5  # times PyTorch's own error
BUILD = ROOT / "build" / "ulp"
ROWS = {f.name: f for f in functions.rows()}


# ---------------------------------------------------------------- truth
def evaluate(task):
    """Truths as pairs of float64 whose sum has 32 digits."""
    name, rows = task
    mpmath.mp.dps = functions.DIGITS
    truth, out = ROWS[name].truth, []
    for row in rows:
        value = truth(*[mpmath.mpf(float(x)) for x in row])
        high = float(value)
        out.append((high, float(value - high) if np.isfinite(high) else 0.0))
    return out


def truth_of(function, kind, arguments, pool):
    key = hashlib.sha256(b"".join(a.tobytes() for a in arguments)).hexdigest()[:16]
    path = BUILD / "truth" / f"{function.name}.{kind.name}.{key}.npy"
    if not path.exists():
        rows = list(zip(*arguments))
        parts = [(function.name, rows[i:i + 100]) for i in range(0, len(rows), 100)]
        pairs = np.array([p for part in pool.imap(evaluate, parts) for p in part])
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, pairs)
    return np.load(path)


# ---------------------------------------------------------------- the two sides
class Call(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *arguments):
        return self.call(*arguments)


def by_torchlift(tool, work):
    """work: [(function, kind, arguments)] -> {(name, dtype): result or the text of what went wrong}"""
    folder = BUILD / "programs"
    folder.mkdir(parents=True, exist_ok=True)
    lines, names = [], {}
    for i, (function, kind, arguments) in enumerate(work):
        base = f"{i:03d}_{re.sub('[^a-z0-9]+', '_', function.name)}_{kind.name}"
        tensors = tuple(torch.from_numpy(a) for a in arguments)
        torch.export.save(torch.export.export(Call(function.call), tensors, strict=False), folder / f"{base}.pt2")
        casefile.write(folder / f"{base}.safetensors", casefile.Case(
            tensors={f"in.{k}": casefile.T(kind.name, a) for k, a in enumerate(arguments)}))
        lines.append(f"{folder / base}.pt2\t{folder / base}.safetensors\n")
        names[base] = (function.name, kind.name)
    (BUILD / "list.tsv").write_text("".join(lines))
    subprocess.run([tool, "run-cases", BUILD / "list.tsv", "-o", BUILD / "out", "--jobs", "1"], check=False)
    out = {}
    for base, key in names.items():
        answer = BUILD / "out" / f"{base}.safetensors"
        out[key] = casefile.read(answer).tensors["out.0"].raw if answer.exists() else None
    return out


def greatest_error(result, truth, floor, kind):
    """(in ulp, the index of the worst). Infinite where one is NaN or infinite and the other is not."""
    high, low = truth[:, 0], truth[:, 1]
    with np.errstate(all="ignore"):
        rounded = high.astype(kind.name)
        size = np.maximum(np.maximum(np.abs(high), floor), kind.least)
        ulp = np.spacing(np.minimum(size, float(np.finfo(kind.name).max)).astype(kind.name)).astype(np.float64)
        y = result.astype(np.float64)
        error = np.abs((y - high) - low) / ulp
        error[~np.isfinite(rounded) & (y == rounded)] = 0
        error[np.isnan(high) & np.isnan(y)] = 0
        error[(np.abs(high) < kind.least) & (np.abs(y) <= kind.least)] = 0
    error[np.isnan(error)] = np.inf
    worst = int(np.argmax(error))
    return float(error[worst]), worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="functions whose name this regex finds")
    parser.add_argument("--torchlift", default=str(ROOT / "build" / "release" / "bin" / "torchlift"))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "ulp.tsv", help="written if --only is not given")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--truth-only", action="store_true", help="fill the store of truths and stop")
    options = parser.parse_args()
    work = [(f, functions.Kind(dtype)) for f in ROWS.values() if re.search(options.only, f.name) for dtype in BOUND]
    work = [(f, kind, functions.points(f, kind, SLOW_POINTS if f.slow else POINTS)) for f, kind in work]
    with multiprocessing.Pool(options.jobs) as pool:
        truths = {(f.name, kind.name): truth_of(f, kind, arguments, pool) for f, kind, arguments in work}
    if options.truth_only:
        return 0
    answers = by_torchlift(options.torchlift, work)
    lines, above = ["function\tdtype\tmax_ulp\tpytorch_ulp\tpoints\tdomain\tnote"], 0
    for function, kind, arguments in work:
        truth, ours = truths[function.name, kind.name], answers[function.name, kind.name]
        floor = function.floor(*arguments) if function.floor else 0.0
        eager = function.call(*[torch.from_numpy(a) for a in arguments]).numpy()
        theirs, _ = greatest_error(eager, truth, floor, kind)
        mine, worst = (np.inf, 0) if ours is None else greatest_error(ours, truth, floor, kind)
        notes = [n for n in (function.note, function.floor_text and f"ulp {function.floor_text}", "core operator" if function.core else "") if n]
        lines.append(f"{function.name}\t{kind.name}\t{mine:.2f}\t{theirs:.2f}\t{len(truth)}\t{functions.domain_text(function, kind)}\t{'; '.join(notes)}")
        bad = mine > max(BOUND[kind.name], SLACK * theirs)
        above += bad and not function.core
        if bad or options.only:
            at = ", ".join(repr(float(a[worst])) for a in arguments)
            said = "no answer" if ours is None else f"{float(ours[worst])!r}, truth {truth[worst, 0]!r}, PyTorch {float(eager[worst])!r}"
            print(f"{'ABOVE ' if bad else ''}{function.name} {kind.name}: {mine:.2f} ulp, PyTorch {theirs:.2f}; at {at}: {said}", flush=True)
    if not options.only:
        options.out.write_text("\n".join(lines) + "\n")
    print(f"{len(work)} rows, {above} above the bound")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
