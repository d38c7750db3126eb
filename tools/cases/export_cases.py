"""Write the cases as case files (tools/corpus/README.md).

    python export_cases.py OUT [--only NAME ...]

OUT/NAME.pt2             torch.export program (torch.export.save)
OUT/NAME.ts.pt           TorchScript (traced, or scripted where the case says so), where its result equals eager's
OUT/NAME.safetensors     inputs, and what eager PyTorch gives
OUT/NAME.altK.safetensors  the same at other sizes, for a program with dynamic shapes
OUT/index.json           what was written for each case, and why not where not
"""
import argparse
import copy
import io
import json
import os
import pathlib
import sys
import warnings

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))
import casefile  # noqa: E402
import casetorch  # noqa: E402


def program(case):
    """The exported program of a fresh build."""
    b = case.build()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(b.module, b.args, b.kwargs, dynamic_shapes=b.dynamic)


def script(case):
    b = case.build()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.ts == "script":
            return torch.jit.script(b.module)
        before = {k: v.clone() for k, v in b.module.named_buffers()}
        m = torch.jit.trace(b.module, copy.deepcopy(b.args), check_trace=False, strict=False)
        for k, v in m.named_buffers():                      # tracing called the module, which may have changed its state
            v.copy_(before[k])
        return m


def export(case, out):
    r = {"source": case.source, "kind": case.kind}
    b = case.build()
    calls = [("", b.args, b.kwargs)] + [(f".alt{k}", a, {}) for k, a in enumerate(b.alts)]
    right = {}
    for tag, args, kwargs in calls:
        c = right[tag] = casetorch.record(case.build().module, args, kwargs)
        c.set(about=case.right, source=case.source, labels={"kind": case.kind} | ({"group": case.group} if case.group else {}),
              tolerance={"*": list(case.tol)} if case.tol else None)
    main = right[""]
    r.update(inputs=len(main.keys("in.")), outputs=len(main.keys("out.")), changed=main.keys("mut.", "mutin."), alts=len(b.alts))
    fits = {tag: [] for tag in right}

    def check(suffix, load):
        """What a written program gets wrong; the cases that it gets right."""
        wrong = {}
        for tag, args, kwargs in calls:
            try:
                found = casefile.compare(right[tag], casetorch.record(load(), args, kwargs))
            except Exception as e:
                found = [("run", casefile.clean(f"{type(e).__name__}: {e}"))]
            if found:
                wrong[tag] = found[0][1]
            else:
                fits[tag].append(suffix)
        return wrong

    found = ["data_dependent"] if case.data_dependent else []
    try:
        path = str(out / f"{case.name}.pt2")
        torch.export.save(program(case), path)
        r["pt2"] = "ok"
        ep = torch.export.load(path)
        found += casetorch.features(ep, main)
        wrong = check("pt2", lambda: torch.export.load(path).module())
        if wrong:
            r["pt2_differs_from_eager"] = wrong
    except Exception as e:
        r["pt2"] = ("expected: " + case.no_export) if case.no_export else f"{type(e).__name__}: {str(e)[:300]}"
    if case.ts is None:
        r["ts"] = "not scriptable"
    else:
        try:
            buf = io.BytesIO()
            torch.jit.save(script(case), buf)
            wrong = check("ts.pt", lambda: torch.jit.load(io.BytesIO(buf.getvalue())))
            if "" not in wrong:
                (out / f"{case.name}.ts.pt").write_bytes(buf.getvalue())
            r["ts"] = (case.ts if "" not in wrong else f"differs from eager, not written: {wrong['']}")
            if case.ts == "script" and r["pt2"] != "ok":    # there is no exported program to ask
                found += casetorch.script_features(torch.jit.load(io.BytesIO(buf.getvalue())))
        except Exception as e:
            r["ts"] = f"{type(e).__name__}: {str(e)[:200]}"
    written = [s for s, how in (("pt2", r["pt2"] == "ok"), ("ts.pt", r["ts"] in ("trace", "script"))) if how]
    for tag, c in right.items():
        # eager is right: a program that differs at the sizes it was exported for is still to be judged by it
        good = [s for s in written if s in fits[tag] or s == "pt2"]
        c.set(features=[f for f in casefile.FEATURES if f in found], programs=good if set(good) != set(written) else None)
        casefile.write(str(out / f"{case.name}{tag}.safetensors"), c)
    return r


def main(cases, doc=__doc__, argv=None, extra=None, select=None):
    """extra(parser) adds options; select(case, options) says which cases are written."""
    p = argparse.ArgumentParser(description=doc.splitlines()[0])
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--only", nargs="*")
    if extra:
        extra(p)
    a = p.parse_args(argv)
    torch.set_num_threads(1)
    a.out.mkdir(parents=True, exist_ok=True)
    index = {}
    for c in cases.values():
        if a.only and c.name not in a.only or select and not select(c, a):
            continue
        line = index[c.name] = export(c, a.out)
        print(f"{c.name:34} pt2 {line['pt2'][:70]:12} ts {line['ts'][:90]} {line.get('pt2_differs_from_eager', '')}", flush=True)
    (a.out / "index.json").write_text(json.dumps(index, indent=1))
    bad = [n for n, r in index.items() if r["pt2"] != "ok" and not r["pt2"].startswith("expected")]
    print(f"{len(index)} cases, {sum(r['pt2'] == 'ok' for r in index.values())} pt2, "
          f"{sum(r['ts'] in ('trace', 'script') for r in index.values())} TorchScript, unexpected refusals: {bad or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    import cases
    raise SystemExit(main(cases.CASES))
