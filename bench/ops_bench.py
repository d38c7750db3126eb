#!/usr/bin/env python3
"""Run time of torchlift's StableHLO beside PyTorch eager and beside the StableHLO that JAX lowers for the same function.

    python bench/ops_bench.py [NAME ...] [--torchlift build/release/bin/torchlift] [--page docs/performance.md]

`make bench-ops` installs the environment (tools/requirements/bench.txt) and calls it. Each function of op_functions.py is exported
and imported; both StableHLO texts are compiled by the same client (the CPU of jaxlib), run on the same buffers, and compared
with PyTorch. Then the three take turns, ROUNDS times; medians are reported. A round of a quick function is several calls.
Exit code 1 if a function is more than BOUND times slower than JAX's StableHLO and has no reason in EXCEPTIONS.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # PyTorch's threads spin after a call, at the cost of the next one
ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import jax  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from jax._src import xla_bridge  # noqa: E402
from jaxlib import _jax  # noqa: E402

from op_functions import CASES  # noqa: E402

ROUNDS, BOUND, ROUND_S = 20, 1.2, 0.02
BEGIN, END = "<!-- ops: begin, by `make bench-ops` -->", "<!-- ops: end -->"
# Functions that may be slower than JAX's, and why.
EXCEPTIONS = {
    "argmax": "NaN wins, and the first of equal values: JAX's is told neither",
    "max_pool2d": "NaN wins",
    "cross_entropy": "targets of -100 are left out, of the sum and of the count",
}


class Program:
    """StableHLO text, compiled; a call returns when the results are there."""

    def __init__(self, text):
        client = xla_bridge.get_backend("cpu")
        devices = _jax.DeviceList(tuple(client.local_devices()[:1]))
        self.executable = client.compile_and_load(text, devices, _jax.CompileOptions())

    def __call__(self, arrays):
        results = self.executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
        out = [per_device[0] for per_device in results]
        for array in out:
            array.block_until_ready()
        return out


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


def imported(torchlift, function, tensors):
    with tempfile.TemporaryDirectory() as folder:
        torch.export.save(torch.export.export(Function(function), tensors), f"{folder}/model.pt2")
        # JAX's default precision of products is the plugin's own; so that both say the same, ours asks for that, too.
        subprocess.run([torchlift, "import", f"{folder}/model.pt2", "-o", f"{folder}/bundle", "--precision", "default"],
                       check=True, stdout=subprocess.DEVNULL)
        return next(pathlib.Path(folder, "bundle").glob("**/*.mlir")).read_text()


def seconds(call, count):
    call()  # not counted: the caches are another's
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def measure(torchlift, case, count_of_rounds):
    torch.manual_seed(0)
    tensors = case.inputs()
    narrow = [t.int() if t.dtype == torch.int64 else t for t in tensors]  # JAX counts in int32
    ours = Program(imported(torchlift, case.torch, tensors))
    theirs = Program(jax.jit(case.jax).lower(*[np.asarray(t) for t in narrow]).as_text())
    with jax.enable_x64(True):
        wide_arrays = [jax.device_put(np.asarray(t)) for t in tensors]
    arrays = [jax.device_put(np.asarray(t)) for t in narrow]
    want = case.torch(*tensors)
    for name, got in (("ours", ours(wide_arrays)), ("JAX's", theirs(arrays))):
        np.testing.assert_allclose(np.asarray(got[0]), want.numpy(), rtol=2e-3, atol=2e-3, err_msg=name)
    calls = [lambda: ours(wide_arrays), lambda: theirs(arrays), lambda: case.torch(*tensors)]
    with torch.no_grad():
        counts = [max(1, int(ROUND_S / seconds(call, 2))) for call in calls]
        times = [[] for _ in calls]
        for i in range(count_of_rounds):
            for k in range(len(calls)):  # each follows each as often
                which = (k * (1 + i % 2) + i) % len(calls)
                times[which].append(seconds(calls[which], counts[which]))
    return [statistics.median(column) for column in times]


def row(name, times):
    ours, theirs, eager = (1e3 * t for t in times)
    note = EXCEPTIONS.get(name, "") if ours > BOUND * theirs else ""
    return f"| {name} | {ours:.3f} | {theirs:.3f} | {eager:.3f} | {ours / theirs:.2f} | {note} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--torchlift", default=str(ROOT / "build/release/bin/torchlift"))
    parser.add_argument("--page")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    lines = ["| function | torchlift, ms | JAX, ms | PyTorch, ms | torchlift / JAX | |", "|---|---|---|---|---|---|"]
    slow = []
    print("\n".join(lines), flush=True)
    for name in args.names or CASES:
        times = measure(args.torchlift, CASES[name], args.rounds)
        lines.append(row(name, times))
        print(lines[-1], flush=True)
        if times[0] > BOUND * times[1] and name not in EXCEPTIONS:
            slow.append(name)
    if args.page:
        page = pathlib.Path(args.page)
        head, _, rest = page.read_text().partition(BEGIN)
        page.write_text(head + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + rest.partition(END)[2])
    if slow:
        sys.exit(f"ops_bench: more than {BOUND} times JAX's time: {', '.join(slow)}")


if __name__ == "__main__":
    main()
