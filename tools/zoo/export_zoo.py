"""export_zoo.py OUT [name ...] : torch.export every model of the zoo (strict=False, nothing else).
export_zoo.py OUT --torchscript DIR [--scripted DIR] [name ...] : the same models as TorchScript (torchscript.py), after that.

For each model, its name with / as __: OUT/NAME.pt2, OUT/NAME.safetensors (tools/corpus/README.md) and OUT/NAME.json.
Expected values are eager's; a float32 result is right within 2e-4 of its largest magnitude (bfloat16, float16: 2e-2).
Times are CPU seconds of the process. OUT/export.jsonl collects the metas; without names, models that it holds are left out. Each
model runs in a forked process with a limit of ZOO_LIMIT CPU seconds (default 120).
"""
import json, os, sys, time, traceback, collections, resource

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))

RELATIVE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-8, "complex128": 1e-8, "bfloat16": 2e-2, "float16": 2e-2}


def near(t):
    """[rtol, atol] relative to the largest finite magnitude of a tensor."""
    import numpy as np
    v = np.abs(t.wide())
    v = v[np.isfinite(v)]
    return [0.0, RELATIVE[t.dtype] * (float(v.max()) if v.size else 0.0)]


def one(name, out):
    import torch, copy
    import torch.utils._pytree as pt
    import casefile, casetorch
    import zoo
    r = {"name": name, "group": zoo.REG[name].group, "ok": False}
    t = time.process_time()
    stage = "build"
    try:
        m, args, kwargs = zoo.build(name)
        r["build_s"] = round(time.process_time() - t, 2)
        r["params"] = sum(p.numel() for p in m.parameters())
        r["buffers"] = sum(b.numel() for b in m.buffers())
        stage = "eager"
        held = [(o, k, v, v.clone()) for o in m.modules() for k, v in o._buffers.items() if v is not None]
        named = dict(m.named_buffers())
        assigned = set()  # buffers that the call replaced by another tensor, maybe of another shape

        def eager():
            """One call from the state the model was built with, and back to it."""
            c = casetorch.record(m, args, kwargs)
            assigned.update(k for k, v in m.named_buffers() if v is not named.get(k))
            with torch.no_grad():
                for o, k, v, values in held:
                    o._buffers[k] = v.copy_(values)
            return c
        case = eager()
        t = time.process_time()
        again = eager()
        r["eager_s"] = round(time.process_time() - t, 4)
        exact = casefile.Case(case.tensors, case.values, {"tolerance": '{"*": [0, 0]}'})
        r["deterministic"] = not casefile.compare(exact, again)
        case.set(labels={"group": r["group"]}, compare=None if r["deterministic"] else "shape",
                 tolerance={k: near(x) for k, x in case.tensors.items() if not k.startswith("in.") and x.dtype in RELATIVE})
        outs = [x for x in case.leaves("out") if isinstance(x, casefile.T)]
        r["outputs"] = [[x.dtype, list(x.shape)] for x in outs]
        r["out_std"] = [float(f"{x.wide().std():.3g}") if x.raw.size > 1 else 0 for x in outs[:4]]
        r["finite"] = all(bool((abs(x.wide()) < float("inf")).all()) for x in outs if x.dtype in RELATIVE)
        r["changed"] = case.keys("mut.", "mutin.")
        ins = pt.tree_leaves((args, kwargs))
        r["inputs"] = [[str(a.dtype)[6:], list(a.shape)] if isinstance(a, torch.Tensor) else a for a in ins]
        stage = "export"
        t = time.process_time()
        ep = torch.export.export(m, copy.deepcopy(args), copy.deepcopy(kwargs), strict=False)
        r["export_s"] = round(time.process_time() - t, 2)
        c = collections.Counter()
        nn_ = 0
        for gm in ep.graph_module.modules():
            if hasattr(gm, "graph"):
                for n in gm.graph.nodes:
                    nn_ += 1
                    if n.op == "call_function":
                        c[str(n.target)] += 1
        r["nodes"] = nn_
        r["targets"] = dict(sorted(c.items()))
        sig = ep.graph_signature
        r["buffer_mutations"] = len(sig.buffers_to_mutate)
        r["input_mutations"] = len(sig.user_inputs_to_mutate)
        r["lifted_constants"] = len(sig.lifted_tensor_constants)
        r["symbols"] = len(ep.range_constraints)
        for k in assigned - set(sig.buffers_to_mutate.values()):  # torch.export does not keep the assignment
            case.tensors.pop("mut." + k, None)
        stage = "save"
        case.set(features=casetorch.features(ep, case, not r["deterministic"]))
        d = os.path.join(out, name.replace("/", "__"))
        t = time.process_time()
        torch.export.save(ep, d + ".pt2")
        r["save_s"] = round(time.process_time() - t, 2)
        r["pt2_bytes"] = os.path.getsize(d + ".pt2")
        casefile.write(d + ".safetensors", case)
        r["ok"] = True
        r["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        json.dump(r, open(d + ".json", "w"))
    except BaseException as e:
        r["stage"] = stage
        r["error"] = f"{type(e).__name__}: {e}"[:1500]
        r["where"] = [f"{os.path.basename(f.filename)}:{f.lineno}:{f.name}" for f in traceback.extract_tb(e.__traceback__)][-4:]
    return r


def forked(fn, limit):
    """Runs fn() in a forked child, returns its JSON result or a timeout/crash record."""
    rd, wr = os.pipe()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        try:
            dn = os.open(os.devnull, os.O_WRONLY)
            if not os.environ.get("ZOO_VERBOSE"):
                os.dup2(dn, 1)
                os.dup2(dn, 2)
            os.close(rd)
            with os.fdopen(wr, "w") as f:
                f.write(json.dumps(fn()))
                f.flush()
        finally:
            os._exit(0)
    os.close(wr)
    import select
    buf = b""
    end = time.time() + 4 * limit  # the machine is shared: CPU seconds are limited above, this is the backstop
    timed_out = False
    while True:
        left = end - time.time()
        if left <= 0:
            timed_out = True
            os.kill(pid, 9)
            break
        if select.select([rd], [], [], left)[0]:
            x = os.read(rd, 1 << 16)
            if not x:
                break
            buf += x
    os.close(rd)
    _, st = os.waitpid(pid, 0)
    if timed_out:
        return {"ok": False, "error": f"timeout {4 * limit} s of wall time"}
    try:
        return json.loads(buf)
    except ValueError:
        sig = st & 127
        return {"ok": False, "error": f"timeout {limit} CPU s" if sig in (9, 24) else f"process died, signal {sig} exit {st >> 8}"}


def preload():
    import warnings
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(1)
    import torchvision, timm, transformers, casetorch  # noqa: F401
    transformers.logging.set_verbosity_error()
    import zoo  # noqa: F401
    # what every export needs is imported once, before the forks
    import io
    from transformers import LlamaForCausalLM, T5Model, BertModel, CLIPModel, ViTModel  # noqa: F401
    ep = torch.export.export(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()), (torch.ones(2, 3),), strict=False)
    torch.export.save(ep, io.BytesIO())


def arguments():
    import argparse
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", help="where the cases are")
    p.add_argument("names", nargs="*", help="models; all that the log does not hold, if none")
    p.add_argument("--torchscript", metavar="DIR", help="trace the models recorded in OUT into DIR")
    p.add_argument("--scripted", metavar="DIR", help="with --torchscript: script them into DIR as well")
    p.add_argument("--largest", type=float, default=200, help="skip models of more than so many MB (default 200)")
    return p.parse_intermixed_args()


def smallest_first(names, out):
    def size(name):
        path = os.path.join(out, name.replace("/", "__") + ".pt2")
        return os.path.getsize(path) if os.path.exists(path) else 1 << 24
    return sorted(names, key=size)


def main():
    a = arguments()
    os.makedirs(a.torchscript or a.out, exist_ok=True)
    preload()
    import zoo
    log = os.path.join(a.torchscript, "torchscript.jsonl") if a.torchscript else os.path.join(a.out, "export.jsonl")
    done = {json.loads(line)["name"] for line in open(log)} if os.path.exists(log) else set()
    names = a.names or [n for n in zoo.REG if n not in done]
    limit = int(os.environ.get("ZOO_LIMIT", "120"))
    if a.torchscript:
        import torchscript
        names = smallest_first(names, a.out)
    for n in names:
        if a.torchscript:
            r = forked(lambda: torchscript.one(n, a.out, a.torchscript, a.scripted, a.largest * 1e6), limit)
        else:
            r = forked(lambda: one(n, a.out), limit)
        r["name"] = n
        with open(log, "a") as f:
            f.write(json.dumps(r) + "\n")
        if a.torchscript:
            print(n, *[f"{how}: " + ("ok" if r[how]["ok"] else r[how]["why"][:160]) for how in ("trace", "script") if how in r],
                  r.get("error", "")[:160], flush=True)
        else:
            print(n, "ok" if r["ok"] else "FAIL " + r.get("stage", "") + " " + r.get("error", "")[:160], r.get("build_s"),
                  r.get("eager_s"), r.get("export_s"), r.get("nodes"), flush=True)
    if a.torchscript:
        rows = {r["name"]: r for r in map(json.loads, open(log))}
        json.dump(list(rows.values()), open(os.path.join(a.torchscript, "torchscript.json"), "w"), indent=1)


if __name__ == "__main__":
    main()
