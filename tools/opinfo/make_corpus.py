#!/usr/bin/env python3
"""Make the op-coverage corpus from PyTorch's own OpInfo database.

  python make_corpus.py OUT_DIR --profile small|medium|full [--ops REGEX] [--dtypes A,B] [--samples-from K | --reference] [--seed N]

small   one float32 sample of every OpInfo (of the first supported dtype where there is no float32)
medium  small + one sample of every other dtype, but for int16, int8 and complex128
full    medium + one sample of those + float32 samples 2 and 3 + in-place and method variant (float32, first sample)

--samples-from K starts at the K-th eligible sample instead of the first: with 3 or more no sample of the corpus made
without it occurs.  An op with too few samples then has no case.  --reference takes OpInfo's reference inputs instead, which
250 operators have: those with infinities and NaN first.  --seed N gives other values.

OUT_DIR/cases/NAME__VARIANT__DTYPE__I.pt2          torch.export.export(strict=False), no decomposition
OUT_DIR/cases/NAME__VARIANT__DTYPE__I.safetensors  tools/corpus/README.md; labels op, variant, dtype, profile
OUT_DIR/index.json                                 every case, also the failed ones
OUT_DIR/log.jsonl                                  the restart log: run the same command again to go on

All inputs of these programs are tensors; OpInfo's other arguments are constants in them, so that a program of an operator
that creates tensors (arange, randn, the windows) has no input.  Judge an importer with
tools/corpus/score.py.  Needs torch, numpy, expecttest. OUT_DIR is no part of any repository.
"""
import argparse
import hashlib
import itertools
import json
import os
import random
import re
import signal
import sys
import time
import traceback

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "corpus")]
import casefile  # noqa: E402
from casefile import Case  # noqa: E402
from pool import Pool, worker_loop  # noqa: E402

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64"]
RARE_DTYPES = ["int16", "int8", "complex128"]  # profile full
# Outputs unique only up to sign/phase: compared by absolute value.
ABS = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "linalg.qr", "qr"}
MAX_ELEMENTS = 1 << 20  # samples with more are passed over
# Values are uninitialised memory.
EMPTY = {"empty", "empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty_permuted"}
# Which index is returned among equal values is not specified.
TIES = {"topk", "kthvalue", "mode", "median", "nanmedian", "sort", "argsort", "msort", "unique", "max", "min"}


def seed(*key):
    import torch
    s = int.from_bytes(hashlib.sha256("|".join(map(str, key)).encode()).digest()[:4], "little")
    torch.manual_seed(s)
    random.seed(s)
    np.random.seed(s)


def full_name(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def base_name(op):
    return re.sub(r"\W", "_", full_name(op))


def case_name(op, variant, dtype, i):
    return f"{base_name(op)}__{variant}__{dtype}__{i}"


def units(ops, profile):
    """(level, op index, variant, dtype, samples), cheap levels first."""
    import torch
    out = []
    for i, op in enumerate(ops):
        sup = op.supported_dtypes("cpu")
        dts = [d for d in DTYPES + RARE_DTYPES if getattr(torch, d) in sup]
        if not dts:
            continue
        out.append(("small", i, "function", dts[0], [0]))
        if profile != "small":
            out += [("medium", i, "function", d, [0]) for d in dts[1:] if d not in RARE_DTYPES]
        if profile == "full":
            out += [("full", i, "function", d, [0]) for d in dts[1:] if d in RARE_DTYPES]
            if dts[0] == "float32":
                out.append(("full", i, "function", "float32", [1, 2]))
            if op.get_inplace() is not None:
                out.append(("full", i, "inplace", dts[0], [0]))
            if op.get_method() is not None:
                out.append(("full", i, "method", dts[0], [0]))
    rank = {"small": 0, "medium": 1, "full": 2}
    dr = {d: k for k, d in enumerate(DTYPES)}
    out.sort(key=lambda u: (rank[u[0]], dr[u[3]] if u[0] == "medium" else 0, u[1]))
    return out


class Alarm(BaseException):
    pass


class Worker:
    def __init__(self, args):
        import torch
        from torch.testing._internal.common_methods_invocations import op_db
        torch.set_num_threads(1)
        import casetorch
        self.torch, self.ops, self.args, self.ct = torch, list(op_db), args, casetorch
        self.key = (args.seed,) if args.seed else ()
        self.cases = os.path.join(args.out, "cases")
        from torch.testing._comparison import _DTYPE_PRECISIONS
        self.prec = _DTYPE_PRECISIONS

        def ring(*_):
            raise Alarm()
        signal.signal(signal.SIGALRM, ring)

    # -- tolerance: torch.testing's default of the widest of (input dtype, output dtype), and what OpInfo's
    #    own decorators allow for this dtype in TestCommon (values against another back end or variant).
    def tol(self, op, dtype, out_dtype):
        torch = self.torch
        from torch.testing._internal.common_device_type import precisionOverride, toleranceOverride
        rtol, atol = self.prec.get(out_dtype, (0.0, 0.0))
        if out_dtype.is_floating_point or out_dtype.is_complex:
            a, b = self.prec.get(dtype, (0.0, 0.0))
            rtol, atol = max(rtol, a), max(atol, b)
            for d in op.decorators or ():
                if getattr(d, "cls_name", None) not in (None, "TestCommon", "TestUnaryUfuncs", "TestBinaryUfuncs",
                                                        "TestReductions", "TestDecomp"):
                    continue
                if "grad" in (getattr(d, "test_name", None) or ""):
                    continue
                if getattr(d, "dtypes", None) is not None and dtype not in d.dtypes:
                    continue
                for x in getattr(d, "decorators", ()):
                    if isinstance(x, toleranceOverride) and dtype in x.d:
                        rtol, atol = max(rtol, x.d[dtype].rtol), max(atol, x.d[dtype].atol)
                    elif isinstance(x, precisionOverride) and dtype in x.d:
                        atol = max(atol, x.d[dtype])
        return [float(rtol), float(atol)]

    def tensors(self, tree):
        from torch.utils import _pytree as pytree
        return [x for x in pytree.tree_leaves(tree) if isinstance(x, self.torch.Tensor)]

    def results(self, op, sample):
        """The tensors an operator creates; none where the sample is one it refuses. The generator of samples sees no difference."""
        with self.torch.random.fork_rng():
            try:
                return self.tensors(op.op(sample.input, *sample.args, **sample.kwargs))
            except Exception:
                return []

    def samples(self, op, dtype, want):
        """{rank: (sample, its number in OpInfo)}, deterministic. Eligible are the samples with a tensor input, or all where
        none has one. The order: the first two that are not trivial (trivial: an empty tensor among the inputs, or, without
        inputs, among the results, or 0-dimensional tensors only), the first trivial one, so that edge cases stay covered,
        then the others that are not trivial, then the trivial ones. Ranks count from the --samples-from-th in this order."""
        torch = self.torch
        seed(*self.key, "sample", full_name(op), dtype)
        start = self.args.samples_from
        big, small, enough, head = [], [], 3 + start, None
        inputs = False
        gen = iter(op.sample_inputs("cpu", dtype, requires_grad=False))
        try:
            for n, s in enumerate(itertools.islice(gen, 60 if start == 0 else 400)):
                ts = self.tensors((s.input, s.args, s.kwargs))
                if ts and not inputs:
                    inputs, big, small = True, [], []
                if not inputs:
                    ts = self.results(op, s)
                if ts and sum(x.numel() for x in ts) <= MAX_ELEMENTS:
                    trivial = any(x.numel() == 0 for x in ts) or all(x.dim() == 0 for x in ts)
                    (small if trivial else big).append((s, n))
                if head is None and (inputs and len(big) > 2 and (small or n > 30) or n == 59):
                    head = big[:2] + small[:1] + big[2:] + small[1:]
                if head is not None and (start == 0 or len(big) + len(small) >= enough + 3):
                    break
        finally:
            if hasattr(gen, "close"):
                gen.close()
            torch.set_grad_enabled(True)
        pick = (head or big[:2] + small[:1] + big[2:] + small[1:])[:3]
        taken = {n for _, n in pick}
        pick += [x for x in big + small if x[1] not in taken]
        return {k: pick[start + k] for k in want if start + k < len(pick)}

    def reference(self, op, dtype, want):
        """The same of OpInfo's reference inputs: those with a value that is not finite first, then from the last one on, where
        numbers in a tensor's place and mixed dtypes are."""
        torch = self.torch
        seed(*self.key, "reference", full_name(op), dtype)
        pick = []
        if op.reference_inputs_func is not None:
            for n, s in enumerate(itertools.islice(op.reference_inputs("cpu", dtype, requires_grad=False), 400)):
                ts = self.tensors((s.input, s.args, s.kwargs))
                if ts and sum(x.numel() for x in ts) <= MAX_ELEMENTS >> 6:
                    pick.append((all(bool(torch.isfinite(x).all()) for x in ts), -n, s))
            pick.sort(key=lambda x: x[:2])
        return {k: (pick[k][2], -pick[k][1]) for k in want if k < len(pick)}

    def handle(self, u, emit):
        torch = self.torch
        op = self.ops[u["op"]]
        dtype = getattr(torch, u["dtype"])
        common = {"op": full_name(op), "variant": u["variant"], "dtype": u["dtype"], "profile": u["level"]}
        emit({"begin": [u["want"][0], base_name(op)]})
        signal.alarm(self.args.timeout)
        try:
            ss = (self.reference if self.args.reference else self.samples)(op, dtype, u["want"])
        except (Exception, Alarm) as e:
            ss, err = {}, e
            emit({"case": dict(common, sample=u["want"][0], status="sample_fail",
                               error=casefile.clean(f"{type(e).__name__}: {e}"))})
            return
        finally:
            signal.alarm(0)
        for i in u["want"]:
            name = case_name(op, u["variant"], u["dtype"], self.args.samples_from + i)
            emit({"begin": [i, name]})
            c = dict(common, name=name, sample=self.args.samples_from + i)
            if i in ss:
                c["opinfo_sample"] = ss[i][1]
            else:
                if i == 0:
                    emit({"case": dict(c, status="no_such_sample" if self.args.samples_from or self.args.reference else "no_tensor")})
                continue
            t0 = time.time()
            self.stage = "prepare"
            signal.alarm(self.args.timeout)
            try:
                c.update(self.one(op, dtype, u["variant"], ss[i][0], name, common))
            except Alarm:
                c.update(status=self.stage + "_timeout")
            except Exception as e:
                tb = traceback.extract_tb(e.__traceback__)
                c.update(status=self.stage + "_fail", error=casefile.clean(f"{type(e).__name__}: {e}"))
            finally:
                signal.alarm(0)
                torch.set_grad_enabled(True)
            c["seconds"] = round(time.time() - t0, 3)
            emit({"case": c})

    def one(self, op, dtype, variant, s, name, common):
        torch = self.torch
        from torch.utils import _pytree as pytree
        fn = {"function": op.op, "method": op.get_method(), "inplace": op.get_inplace()}[variant]
        leaves, spec = pytree.tree_flatten((s.input, tuple(s.args), dict(s.kwargs)))
        pos = [k for k, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        tens = []
        for k in pos:
            x = leaves[k]
            if x.layout is not torch.strided or x.is_quantized or type(x) not in (torch.Tensor, torch.nn.Parameter):
                return {"status": "unsupported_input", "error": str(x.layout)}
            x = x.detach().resolve_conj().resolve_neg()
            tens.append(x.clone(memory_format=torch.contiguous_format))
        consts = list(leaves)
        for k in pos:
            consts[k] = None
        inplace = variant == "inplace"
        if inplace:
            if not isinstance(s.input, torch.Tensor):
                return {"status": "no_inplace", "error": "input is not one tensor"}
            if s.broadcasts_input:
                return {"status": "no_inplace", "error": "sample broadcasts the input"}

        class OpModule(torch.nn.Module):
            def forward(self, *ts):
                lv = list(consts)
                for k, t in zip(pos, ts):
                    lv[k] = t
                a, args, kw = pytree.tree_unflatten(lv, spec)
                if inplace:
                    a = a.clone()
                r = fn(a, *args, **kw)
                return tuple(x for x in pytree.tree_leaves(r) if isinstance(x, torch.Tensor))

        m = OpModule().eval()

        def call(f, k):
            seed(*self.key, "run", name, k)
            return self.ct.record(f, tens, state=dict)

        def equal(a, b):
            exact = Case(a.tensors, a.values, {"tolerance": '{"*": [0, 0]}'})
            return not casefile.compare(exact, b)

        self.stage = "eager"
        seed(*self.key, "run", name, 0)
        with torch.no_grad():
            out = m(*[t.clone() for t in tens])
        if not out:
            return {"status": "no_tensor_output"}
        for x in out:
            if x.layout is not torch.strided or x.is_quantized or type(x) is not torch.Tensor:
                return {"status": "unsupported_output", "error": f"{x.layout} {type(x).__name__}"}
        case = call(m, 0)
        nondet = op.name in EMPTY or not all(equal(case, call(m, k)) for k in (1, 2))
        self.stage = "export"
        torch.set_grad_enabled(True)
        ep = torch.export.export(m, tuple(t.clone() for t in tens), strict=False)
        targets = {}
        dyn = seeded = False
        for gm in ep.graph_module.modules():
            if isinstance(gm, torch.fx.GraphModule):
                for n in gm.graph.nodes:
                    if n.op == "call_function":
                        t = n.target
                        tn = str(t) if isinstance(t, torch._ops.OpOverload) else (
                            "higher_order." + t.name() if isinstance(t, torch._ops.HigherOrderOperator)
                            else f"{getattr(t, '__module__', '')}.{getattr(t, '__name__', t)}")
                        targets[tn] = targets.get(tn, 0) + 1
                        seeded |= torch.Tag.nondeterministic_seeded in getattr(t, "tags", ())
                    v = n.meta.get("val")
                    if isinstance(v, (torch.SymInt, torch.SymFloat, torch.SymBool)) or (
                            isinstance(v, torch.Tensor) and any(isinstance(d, torch.SymInt) for d in v.shape)):
                        dyn = True
        case.set(tolerance={k: self.tol(op, dtype, getattr(torch, t.dtype)) for k, t in case.tensors.items()
                            if not k.startswith("in.") and not t.exact},
                 compare="shape" if nondet else "abs" if op.name in ABS else "ties" if op.name in TIES else "values")
        r = {"targets": targets, "dynamic_in_graph": dyn,
             "inputs": [[str(t.dtype)[6:], list(t.shape)] for t in tens],
             "outputs": [[str(t.dtype)[6:], list(t.shape)] for t in out]}
        self.stage = "check"
        mod = ep.module()
        again = call(mod, 0)
        # OpInfo wraps random ops to seed themselves, so eager always agrees with itself: ask the exported program.
        if not nondet and not equal(again, call(mod, 1)):
            nondet = True
        if not nondet and seeded and casefile.compare(case, again):
            nondet = True
        if nondet:
            case.set(compare="shape")
        wrong = casefile.compare(case, again)
        r.update(nondeterministic=nondet, compare=case.compare)
        if wrong:                                     # no program of what eager computes: nobody can be judged by it
            return dict(r, status="export_differs", error=casefile.clean(wrong[0][1]))
        self.stage = "save"
        case.set(features=self.ct.features(ep, case, nondet), labels={k: common[k] for k in ("op", "variant", "dtype", "profile")})
        r.update(features=case.features, changed=case.keys("mutin."))
        p = os.path.join(self.cases, name)
        torch.export.save(ep, p + ".tmp.pt2")
        casefile.write(p + ".safetensors", case)
        os.replace(p + ".tmp.pt2", p + ".pt2")
        r["bytes"] = os.path.getsize(p + ".pt2") + os.path.getsize(p + ".safetensors")
        r["status"] = "ok"
        return r


def write_index(args, n_ops, version):
    cases, seen = [], set()
    for ln in open(os.path.join(args.out, "log.jsonl")):
        e = json.loads(ln)
        if "case" in e:
            c = e["case"]
            key = (c["op"], c["variant"], c["dtype"], c["sample"])
            if key not in seen:
                seen.add(key)
                cases.append(c)
    cases.sort(key=lambda c: (c["op"], c["variant"], (DTYPES + RARE_DTYPES).index(c["dtype"]), c["sample"]))
    idx = {"torch": version, "op_infos": n_ops, "samples_from": args.samples_from, "reference": args.reference, "seed": args.seed, "cases": cases}
    tmp = os.path.join(args.out, "index.json.tmp")
    json.dump(idx, open(tmp, "w"), separators=(",", ":"))
    os.replace(tmp, os.path.join(args.out, "index.json"))
    return cases


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out")
    ap.add_argument("--profile", default="small", choices=["small", "medium", "full"])
    ap.add_argument("--ops", help="regular expression on the op's name")
    ap.add_argument("--dtypes", type=lambda s: s.split(","), metavar="A,B", help="these dtypes only")
    ap.add_argument("--samples-from", type=int, default=0, metavar="K", help="start at the K-th eligible sample (default 0)")
    ap.add_argument("--reference", action="store_true", help="OpInfo's reference inputs in the samples' place")
    ap.add_argument("--seed", type=int, default=0, metavar="N", help="other values with another N (default 0)")
    ap.add_argument("--timeout", type=int, default=60, help="seconds a case")
    ap.add_argument("--index-only", action="store_true", help="only rewrite index.json from the log")
    ap.add_argument("--targets", help="also write a .tsv: target, number of exported cases it occurs in")
    ap.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    args = ap.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if args.worker is not None:
        import warnings
        warnings.filterwarnings("ignore")
        w = Worker(args)
        return worker_loop(args.worker, w.handle)
    os.makedirs(os.path.join(args.out, "cases"), exist_ok=True)
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    ops = list(op_db)
    names = {}
    for op in ops:
        assert names.setdefault(base_name(op), full_name(op)) == full_name(op), op
    logp = os.path.join(args.out, "log.jsonl")
    done = set()
    if os.path.exists(logp):
        for ln in open(logp):
            e = json.loads(ln)
            if "unit" in e:
                done.add(tuple(e["unit"]))
    t0 = time.time()
    if not args.index_only:
        todo = [u for u in units(ops, args.profile) if (full_name(ops[u[1]]), u[2], u[3], u[4][0]) not in done
                and (not args.ops or re.search(args.ops, full_name(ops[u[1]])))
                and (not args.dtypes or u[3] in args.dtypes)]
        print(f"{len(ops)} OpInfos, {len(todo)} units to do", flush=True)
        log = open(logp, "a", buffering=1)
        pool = Pool([sys.executable, os.path.abspath(__file__), args.out, "--timeout", str(args.timeout),
                         "--samples-from", str(args.samples_from), "--seed", str(args.seed)] + ["--reference"] * args.reference,
                    args.timeout * 2)
        for k, (level, i, var, dt, want) in enumerate(todo):
            unit = {"level": level, "op": i, "variant": var, "dtype": dt, "want": want}

            def on_event(ev):
                log.write(json.dumps(ev) + "\n")

            def on_dead(u, key, why):
                j = key[0] if key else u["want"][0]
                on_event({"case": {"op": full_name(ops[i]), "variant": var, "dtype": dt, "profile": level, "sample": args.samples_from + j,
                                   "name": case_name(ops[i], var, dt, args.samples_from + j),
                                   "status": "export_" + why.split()[0], "error": why}})
                rest = [x for x in u["want"] if x > j]
                return dict(u, want=rest) if rest else None
            pool.run(unit, on_event, on_dead)
            on_event({"unit": [full_name(ops[i]), var, dt, want[0]]})
            if k % 200 == 199:
                print(f"{k + 1}/{len(todo)} units, {time.time() - t0:.0f} s", flush=True)
        pool.close()
        log.write(json.dumps({"time": round(time.time() - t0, 1), "profile": args.profile, "units": len(todo)}) + "\n")
        log.close()
    cases = write_index(args, len(ops), torch.__version__.split("+")[0])
    if args.targets:
        cnt = {}
        for c in cases:
            for t in c.get("targets", {}) if c["status"] == "ok" else ():
                cnt[t] = cnt.get(t, 0) + 1
        with open(args.targets, "w") as f:
            f.write("target\tcases\n")
            for t, n in sorted(cnt.items(), key=lambda x: (-x[1], x[0])):
                f.write(f"{t}\t{n}\n")
        print(f"{len(cnt)} targets")
    st = {}
    for c in cases:
        st[c["status"]] = st.get(c["status"], 0) + 1
    print(f"{len(cases)} cases {st}; {sum(c.get('bytes', 0) for c in cases) / 1e6:.1f} MB; {time.time() - t0:.0f} s")


if __name__ == "__main__":
    main()
