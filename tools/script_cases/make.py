"""Writes small TorchScript files that are hard to read, with what PyTorch gives for them (tools/corpus/README.md).

    python tools/script_cases/make.py OUT [--only NAME ...]

OUT/NAME.pt, OUT/NAME.safetensors; NAME.altK.safetensors: other arguments, on a freshly loaded program; NAME.stepS.safetensors:
calls in a row on one loaded program. Expected values are those of the saved file, loaded again. The table is in case.py, the
cases in language.py (control flow, numbers, strings), objects.py (containers, classes, state), operators.py (functional calls,
tensors), traced.py and versions.py (archives of older formats).
"""
import argparse
import copy
import io
import json
import os
import pathlib
import sys
import traceback
import warnings

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))
import casefile  # noqa: E402
import casetorch  # noqa: E402
from case import CASES  # noqa: E402


def archive(case, built):
    """The bytes of the program."""
    if case.how == "bytes":
        return built.module
    module = built.module if case.how == "done" else built.module.eval()
    if case.how == "trace":
        before = {k: v.clone() for k, v in module.named_buffers()}
        example = built.args if built.example is None else built.example
        how = {"example_kwarg_inputs": copy.deepcopy(example)} if isinstance(example, dict) else {"example_inputs": copy.deepcopy(example)}
        with torch.no_grad():
            module = torch.jit.trace(module, strict=False, check_trace=False, **how)
            for k, v in module.named_buffers():                    # tracing called the module
                v.copy_(before[k])
    elif case.how in ("script", "freeze"):
        module = torch.jit.script(module)
        if case.how == "freeze":
            module = torch.jit.freeze(module)
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return buffer.getvalue()


def calls(built):
    """(tag, arguments, keyword arguments, on a fresh program)"""
    if built.steps:
        return [(f".step{s}", args, {}, s == 0) for s, args in enumerate([built.args, *built.steps])]
    return [("", built.args, built.kwargs, True)] + [(f".alt{k}", args, {}, True) for k, args in enumerate(built.alts)]


def export(case, out):
    torch.manual_seed(0)
    built = case.build()
    blob = archive(case, built)
    (out / f"{case.name}.pt").write_bytes(blob)
    for tag, args, kwargs, fresh in calls(built):
        if fresh:
            module = torch.jit.load(io.BytesIO(blob))
        called = module._c._get_method(case.method)
        torch.manual_seed(0)
        call = module if case.method == "forward" else getattr(module, case.method)  # the root's hooks run around forward
        c = casetorch.record(call, args, kwargs, lambda: casetorch.state_of(module))
        found = {*case.features, *casetorch.script_features(called)} | ({"state"} if c.keys("mut.", "mutin.") or built.steps else set())
        if any(t.dtype.startswith("complex") for t in c.tensors.values()):
            found.add("complex")
        c.set(features=[f for f in casefile.FEATURES if f in found], compare=case.compare, tolerance=case.tolerance,
              arguments=casetorch.layout(args, kwargs), method=None if case.method == "forward" else case.method)
        casefile.write(str(out / f"{case.name}{tag}.safetensors"), c)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--only", nargs="*")
    a = p.parse_args()
    import language, objects, operators, traced, versions  # noqa: F401,E401  each fills the table
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    a.out.mkdir(parents=True, exist_ok=True)
    failed = []
    for case in CASES.values():
        if a.only and case.name not in a.only:
            continue
        try:
            export(case, a.out)
        except Exception:
            failed.append(case.name)
            print(f"FAILED {case.name}\n{traceback.format_exc(limit=3)}", file=sys.stderr)
    print(json.dumps({"cases": len(CASES), "failed": failed}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
