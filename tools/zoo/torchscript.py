"""TorchScript of the zoo's models: traced, and scripted where torch.jit.script takes them.

Both come from the model and the inputs that export_zoo.py recorded, and are written only where the saved file, loaded again,
gives the recorded results. A file whose arguments or results TorchScript cannot hold as they are takes and gives the leaves
instead (Leaves), in the order of the case file, so that the case file is right for it as well.
"""
import copy
import json
import os
import warnings

import torch
import torch.utils._pytree as pt
from torch import nn

import casefile
import casetorch


class Leaves(nn.Module):
    """A model as a function from the leaves of its arguments to the leaves of its result."""

    def __init__(self, model, spec):
        super().__init__()
        self.model = model
        self.spec = spec

    def forward(self, *leaves):
        args, kwargs = pt.tree_unflatten(list(leaves), self.spec)
        out = pt.tree_leaves(self.model(*args, **kwargs))
        if not all(isinstance(x, torch.Tensor) for x in out):
            raise TypeError("a leaf of the result is no tensor: " + ", ".join(type(x).__name__ for x in out))
        return out[0] if len(out) == 1 else tuple(out)


def restored(module, before):
    """The module with the buffers it was built with: tracing calls it."""
    with torch.no_grad():
        for name, value in module.named_buffers():
            if name in before and value.shape == before[name].shape:
                value.copy_(before[name])
    return module


def under(case, prefix):
    """The case for a module that holds the recorded one as an attribute."""
    moved = {k: "mut." + prefix + k[4:] for k in case.tensors if k.startswith("mut.")}
    return casefile.Case({moved.get(k, k): t for k, t in case.tensors.items()}, case.values,
                         {k: json.dumps({moved.get(x, x): y for x, y in json.loads(v).items()}) if k == "tolerance" else v
                          for k, v in case.meta.items()})


def short(error):
    return casefile.clean(f"{type(error).__name__}: {error}", 400)


def checked(module, path, case, args, kwargs):
    """Writes the file; what it gives wrong, or None."""
    try:
        torch.jit.save(module, path)
        found = casefile.compare(case, casetorch.record(torch.jit.load(path), args, kwargs))
    except Exception as e:
        found = [("run", short(e))]
    if found:
        if os.path.exists(path):                         # save() leaves half a file where it fails
            os.remove(path)
        return f"{found[0][0]}: {casefile.clean(found[0][1])}"
    return None


def trace(build, path, case):
    """What was done: {"ok", "form", "why"}; the case file that fits."""
    first = None
    for form in ("plain", "leaves"):
        module, args, kwargs = build()
        fits = case
        if kwargs and form == "plain":
            first = first or "keyword arguments"
            continue
        if form == "leaves":
            leaves, spec = pt.tree_flatten((args, kwargs))
            module, args, kwargs, fits = Leaves(module, spec).eval(), tuple(leaves), {}, under(case, "model.")
        before = {k: v.clone() for k, v in module.named_buffers()}
        try:
            with torch.no_grad():
                traced = torch.jit.trace(module, copy.deepcopy(args), strict=False, check_trace=False)
            wrong = checked(restored(traced, before), path, fits, args, kwargs)
        except Exception as e:
            wrong = short(e)
        if wrong is None:
            return {"ok": True, "form": form, "why": first}, fits.set(arguments=casetorch.layout(args))
        first = first or wrong
        if form == "leaves":
            return {"ok": False, "why": first, "as_leaves": wrong}, None
    raise AssertionError("not reached")


def script(build, path, case):
    """As trace(). A model that the zoo wraps for its keyword arguments or results is taken from the wrapper."""
    module, args, kwargs = build()
    fits = case
    try:
        with torch.no_grad():
            scripted = torch.jit.script(module)
        wrong = checked(scripted, path, fits, args, kwargs)
    except Exception as e:
        wrong = short(e)
    return ({"ok": True}, fits.set(arguments=casetorch.layout(args, kwargs))) if wrong is None else ({"ok": False, "why": wrong}, None)


def detection(build):
    """A detector of torchvision without the zoo's wrapper: it takes a list of images, and scripted it gives
    (losses, detections), whose leaves are the recorded ones."""
    def unwrapped():
        wrapper, args, kwargs = build()
        return wrapper.m, ([*args],), kwargs
    return unwrapped


def one(name, recorded, traced, scripted, largest):
    """Writes NAME.ts.pt into the folder `traced` and NAME.pt into `scripted`, each with its case file."""
    import zoo
    warnings.filterwarnings("ignore")
    file = name.replace("/", "__")
    source = os.path.join(recorded, file + ".safetensors")
    r = {"name": name, "group": zoo.REG[name].group}

    def build():
        return zoo.build(name)

    if os.path.exists(source):
        case = casefile.read(source)
    else:                                                # torch.export did not take it: recorded here
        import export_zoo
        module, args, kwargs = build()
        try:
            case = casetorch.record(module, args, kwargs)
        except Exception as e:
            return r | {"trace": {"ok": False, "why": "eager: " + short(e)}, "script": {"ok": False, "why": "eager: " + short(e)}}
        case.set(labels={"group": r["group"]},
                 tolerance={k: export_zoo.near(x) for k, x in case.tensors.items() if not k.startswith("in.") and x.dtype in export_zoo.RELATIVE})
    module = build()[0]
    size = sum(t.numel() * t.element_size() for t in [*module.parameters(), *module.buffers()])
    r["bytes"] = size
    if size > largest:
        why = {"ok": False, "why": f"larger than {largest / 1e6:.0f} MB"}
        return r | {"trace": why, "script": why}
    del module
    for how, folder, make in (("trace", traced, trace), ("script", scripted, script)):
        if not folder:
            continue
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, file + (".ts.pt" if how == "trace" else ".pt"))
        builder = detection(build) if how == "script" and r["group"] == "tv-detection" else build
        r[how], fits = make(builder, path, case)
        if fits is None:
            continue
        features = [f for f in fits.features if f != "control_flow"] + casetorch.script_features(torch.jit.load(path))
        fits.set(features=[f for f in casefile.FEATURES if f in features])
        casefile.write(os.path.join(folder, file + ".safetensors"), fits)
    return r
