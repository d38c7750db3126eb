"""Case files: what goes into a torch program and what comes out, as .safetensors (tools/corpus/README.md).

    case = read("NAME.safetensors")           # case.tensors, case.values, case.meta
    problems = compare(case, read("answer.safetensors"))      # [] if the answer is right
    write("NAME.safetensors", case)

Needs numpy only.  A tensor is a T: PyTorch's dtype name and a numpy array; bfloat16 and the 8-bit floats, which numpy
lacks, are kept as their raw bits (uint16, uint8).
"""
import json
import math
import os
import re
import struct

import numpy as np

RESULTS = ("out.", "mut.", "mutin.")
MODES = ("values", "abs", "shape", "ties")
FEATURES = ("control_flow", "data_dependent", "quantized", "random", "state", "dynamic_shape", "complex", "custom_op")

# safetensors code, PyTorch's name, how numpy holds it
_DTYPES = [("F64", "float64", np.float64), ("F32", "float32", np.float32), ("F16", "float16", np.float16),
           ("BF16", "bfloat16", np.uint16), ("I64", "int64", np.int64), ("I32", "int32", np.int32),
           ("I16", "int16", np.int16), ("I8", "int8", np.int8), ("U64", "uint64", np.uint64), ("U32", "uint32", np.uint32),
           ("U16", "uint16", np.uint16), ("U8", "uint8", np.uint8), ("BOOL", "bool", np.bool_),
           ("C64", "complex64", np.complex64), ("F8_E4M3", "float8_e4m3fn", np.uint8), ("F8_E5M2", "float8_e5m2", np.uint8),
           ("F8_E4M3FNUZ", "float8_e4m3fnuz", np.uint8), ("F8_E5M2FNUZ", "float8_e5m2fnuz", np.uint8),
           ("F8_E8M0", "float8_e8m0fnu", np.uint8)]
_BY_CODE = {c: (n, k) for c, n, k in _DTYPES}
_BY_NAME = {n: (c, k) for c, n, k in _DTYPES}
_PAIR = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}

# (rtol, atol) where a case says nothing; integers and bool are always exact.
TOLERANCE = {"float64": (1e-9, 1e-9), "complex128": (1e-9, 1e-9), "float32": (1e-4, 1e-5), "complex64": (1e-4, 1e-5),
             "float16": (2e-3, 2e-3), "complex32": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "float8_e4m3fn": (0.13, 0.01),
             "float8_e4m3fnuz": (0.13, 0.01), "float8_e5m2": (0.26, 0.01), "float8_e5m2fnuz": (0.26, 0.01),
             "float8_e8m0fnu": (0.0, 0.0)}


def _float8_table(exponent, mantissa, bias, kind):
    t = np.empty(256)
    for b in range(256):
        e, m = (b >> mantissa) & ((1 << exponent) - 1), b & ((1 << mantissa) - 1)
        v = math.ldexp(m, 1 - bias - mantissa) if e == 0 else math.ldexp((1 << mantissa) + m, e - bias - mantissa)
        if kind == "fn" and b & 0x7F == 0x7F or kind == "fnuz" and b == 0x80:
            v = math.nan
        elif kind == "ieee" and e == (1 << exponent) - 1:
            v = math.nan if m else math.inf
        t[b] = -v if b & 0x80 else v
    return t


_FLOAT8 = {"float8_e4m3fn": _float8_table(4, 3, 7, "fn"), "float8_e5m2": _float8_table(5, 2, 15, "ieee"),
           "float8_e4m3fnuz": _float8_table(4, 3, 8, "fnuz"), "float8_e5m2fnuz": _float8_table(5, 2, 16, "fnuz"),
           "float8_e8m0fnu": np.array([2.0 ** (b - 127) for b in range(255)] + [math.nan])}


class T:
    """A tensor: PyTorch's dtype name, and its data (complex32 as numpy complex64)."""
    __slots__ = ("dtype", "raw")

    def __init__(self, dtype, raw):
        self.dtype, self.raw = dtype, np.asarray(raw)

    @property
    def shape(self):
        return tuple(self.raw.shape)

    @property
    def exact(self):
        return not self.dtype.startswith(("float", "bfloat", "complex"))

    def wide(self):
        """The values as float64 or complex128; integers and bool as they are."""
        if self.dtype == "bfloat16":
            return (self.raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        if self.dtype in _FLOAT8:
            return _FLOAT8[self.dtype][self.raw]
        if self.dtype.startswith("complex"):
            return self.raw.astype(np.complex128)
        return self.raw if self.exact else self.raw.astype(np.float64)

    def __repr__(self):
        return f"{self.dtype}{list(self.shape)}"


def _encode(v):
    if v is None or isinstance(v, (bool, int)):
        return v
    if isinstance(v, float):
        return v if math.isfinite(v) else repr(v)                       # "inf", "-inf", "nan"
    if isinstance(v, complex):
        return {"complex": [_encode(v.real), _encode(v.imag)]}
    if isinstance(v, str):
        return {"str": v} if v in ("inf", "-inf", "nan") else v
    if isinstance(v, dict) and set(v) == {"repr"}:
        return v
    raise TypeError(f"a leaf of type {type(v).__name__} has no form in a case file")


def _decode(v):
    if isinstance(v, str) and v in ("inf", "-inf", "nan"):
        return float(v)
    if isinstance(v, dict) and "complex" in v:
        return complex(*(float(_decode(x)) for x in v["complex"]))
    if isinstance(v, dict) and "str" in v:
        return v["str"]
    return v


class Case:
    """tensors {key: T}; values {key: Python value} for the leaves that are no tensors; meta {str: str}, the rest."""

    def __init__(self, tensors=None, values=None, meta=None):
        self.tensors, self.values, self.meta = dict(tensors or {}), dict(values or {}), dict(meta or {})

    def _json(self, key, default):
        return json.loads(self.meta[key]) if key in self.meta else default

    @property
    def compare(self):
        return self.meta.get("compare", "values")

    @property
    def method(self):
        return self.meta.get("method", "forward")

    @property
    def features(self):
        return self._json("features", [])

    @property
    def labels(self):
        return self._json("labels", {})

    @property
    def arguments(self):
        """How the leaves lie in the arguments; None: each is one."""
        return self._json("arguments", None)

    @property
    def programs(self):
        """Suffixes of the programs that this file is right for; None: all."""
        return self._json("programs", None)

    def set(self, **kw):
        """Metadata: text as it is, anything else as JSON; None or empty is left out."""
        for k, v in kw.items():
            if v is None or v == {} or v == [] or k == "compare" and v == "values":
                self.meta.pop(k, None)
            else:
                self.meta[k] = v if isinstance(v, str) else json.dumps(v)
        assert self.compare in MODES, self.compare
        assert set(self.features) <= set(FEATURES), self.features
        return self

    def tolerance(self, key, dtype):
        t = self._json("tolerance", {})
        return tuple(t.get(key) or t.get("*") or TOLERANCE.get(dtype, (0.0, 0.0)))

    def keys(self, *heads):
        return sorted((k for k in [*self.tensors, *self.values] if k.startswith(heads)), key=_order)

    def leaves(self, head):
        """All leaves of "in" or "out" in order, tensors as T."""
        keys = self.keys(head + ".")
        assert keys == [f"{head}.{i}" for i in range(len(keys))], f"leaves of {head} are not numbered 0, 1, ...: {keys}"
        return [self.tensors[k] if k in self.tensors else self.values[k] for k in keys]

    def inputs(self):
        """The same without anything expected: what an importer may see."""
        return Case({k: t for k, t in self.tensors.items() if k.startswith("in.")},
                    {k: v for k, v in self.values.items() if k.startswith("in.")},
                    {k: v for k, v in self.meta.items() if k in ("method", "arguments")})


def _order(key):
    head, _, tail = key.partition(".")
    return (head, int(tail), "") if tail.isdigit() else (head, -1, tail)


def read(path):
    with open(path, "rb") as f:
        blob = f.read()
    if len(blob) < 8:
        raise ValueError("no safetensors file: shorter than 8 bytes")
    n = struct.unpack("<Q", blob[:8])[0]
    if n > len(blob) - 8:
        raise ValueError("no safetensors file: the header is longer than the file")
    head = json.loads(blob[8:8 + n])
    meta = head.pop("__metadata__", None) or {}
    pairs = json.loads(meta.pop("complex", "{}"))
    values = {k: _decode(v) for k, v in json.loads(meta.pop("values", "{}")).items()}
    tensors = {}
    for key, h in head.items():
        a, b = h["data_offsets"]
        name, kind = _BY_CODE[h["dtype"]]
        raw = np.frombuffer(blob[8 + n + a:8 + n + b], kind).reshape(h["shape"])
        if key in pairs and not name.startswith("complex"):
            name = pairs[key]
            if _PAIR[name] != _BY_CODE[h["dtype"]][0] or raw.shape[-1:] != (2,):
                raise ValueError(f"{key}: {h['dtype']}{h['shape']} is no {name}")
            c = np.empty(raw.shape[:-1], np.complex128 if name == "complex128" else np.complex64)
            c.real, c.imag = raw[..., 0], raw[..., 1]
            raw = c
        tensors[key] = T(name, raw)
    return Case(tensors, values, meta)


def write(path, case):
    """Whole or not at all; the same case gives the same bytes.  Wide dtypes first, so that all data is aligned."""
    stored, pairs = [], {}
    for key, t in case.tensors.items():
        raw, name = t.raw, t.dtype
        if name.startswith("complex"):
            pairs[key], name = name, _PAIR[name]
            raw = np.stack([raw.real, raw.imag], -1)
        code, kind = _BY_NAME[name]
        raw = np.asarray(raw)
        if raw.dtype != kind:
            if name in _FLOAT8 or name == "bfloat16":
                raise TypeError(f"{key}: {name} wants its raw bits as {np.dtype(kind)}")
            raw = raw.astype(kind)
        stored.append((key, code, raw))
    stored.sort(key=lambda s: (-s[2].dtype.itemsize, _order(s[0])))
    meta = dict(case.meta)
    if pairs:
        meta["complex"] = json.dumps(dict(sorted(pairs.items())))
    if case.values:
        meta["values"] = json.dumps({k: _encode(case.values[k]) for k in sorted(case.values, key=_order)})
    head = {"__metadata__": dict(sorted(meta.items()))} if meta else {}
    data, at = [], 0
    for key, code, raw in stored:
        b = np.ascontiguousarray(raw).tobytes()
        head[key] = {"dtype": code, "shape": list(raw.shape), "data_offsets": [at, at + len(b)]}
        at += len(b)
        data.append(b)
    h = json.dumps(head, separators=(",", ":")).encode()
    h += b" " * (-len(h) % 8)
    tmp = f"{path}.{os.getpid()}.tmp"
    with open(tmp, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + b"".join(data))
    os.replace(tmp, path)


# ---------------------------------------------------------------- comparison
def close(want, got, rtol, atol):
    """(equal within the tolerance, the text that says how far off, smallest of 10, 100, 1000 times the tolerance that
    would do or None).  NaN equals NaN, an infinity only itself."""
    if want.size == 0:
        return True, "", None
    if want.dtype.kind in "biu" and got.dtype.kind in "biu":
        bad = want != got
        loose = None
    else:
        kind = np.complex128 if "c" in want.dtype.kind + got.dtype.kind else np.float64
        w, g = want.astype(kind), got.astype(kind)
        with np.errstate(all="ignore"):
            nan = np.isnan(w.real) & np.isnan(g.real) & (np.isnan(w.imag) == np.isnan(g.imag)) if kind is np.complex128 else np.isnan(w) & np.isnan(g)
            if kind is np.complex128:
                nan |= np.isnan(w.imag) & np.isnan(g.imag) & ((w.real == g.real) | np.isnan(w.real) & np.isnan(g.real))
            same = (w == g) | nan
            finite = np.isfinite(w) & np.isfinite(g)
            off = np.abs(np.where(finite, w - g, 0))
            limit = atol + rtol * np.abs(np.where(finite, w, 0))
            bad = ~(same | finite & (off <= limit))
            loose = next((k for k in (10, 100, 1000) if not (~(same | finite & (off <= k * limit))).any()), None)
    if not bad.any():
        return True, "", None
    i = tuple(int(x) for x in np.argwhere(bad)[0])
    text = f"{int(bad.sum())} of {bad.size} values, first at {list(i)}: {got[i].item()}, right is {want[i].item()}"
    if want.dtype.kind not in "biu" and bad.size > 1:
        text += f"; largest difference {off.max():.3g}"
    return False, text, loose


def _tied(want, got, sources):
    """Indices that differ, but pick equal elements: along some dimension of some input, and no element twice."""
    if want.dtype != got.dtype or want.dtype != "int64":
        return False
    for s in sources:
        x = s.wide()
        forms = [(x.reshape(-1), 0)] + [(x, d) for d in range(x.ndim)]
        for x_, d in forms:
            for form in ((lambda i: i), (lambda i: np.expand_dims(i, d))):
                try:
                    w, g = form(want.raw), form(got.raw)
                    if w.ndim != x_.ndim or any(w.shape[k] != x_.shape[k] for k in range(w.ndim) if k != d):
                        continue
                    n = x_.shape[d]
                    if g.size and (g.min() < 0 or g.max() >= n or w.min() < 0 or w.max() >= n):
                        continue
                    a, b = np.take_along_axis(x_, w, d), np.take_along_axis(x_, g, d)
                except (ValueError, IndexError):
                    continue
                twice = lambda i: bool((np.diff(np.sort(i, d), axis=d) == 0).any())
                if close(a, b, 0.0, 0.0)[0] and (twice(w) or not twice(g)):
                    return True
    return False


_PLAIN = {bool: "bool", int: "int64", float: "float64"}


def _value(key, want, got, case):
    if isinstance(got, T):
        if got.shape == () and _PLAIN.get(type(want)) == got.dtype:     # a number may come as a 0-dim tensor
            got = got.raw.item()
        else:
            return "type", f"{key}: {got}, right is the value {want!r}"
    if type(want) is not type(got):
        return "type", f"{key}: {type(got).__name__} {got!r}, right is {type(want).__name__} {want!r}"
    if case.compare == "shape" or want == got:
        return None
    if isinstance(want, (float, complex)):
        ok, text, _ = close(np.asarray(want), np.asarray(got), *case.tolerance(key, "float32"))
        return None if ok else ("values", f"{key}: {got!r}, right is {want!r}")
    return "values", f"{key}: {got!r}, right is {want!r}"


def _tensor(key, want, got, case, sources):
    if not isinstance(got, T):
        return [("type", f"{key}: the value {got!r}, right is a tensor {want}")]
    if want.shape != got.shape:
        return [("shape", f"{key}: {got}, right is {want}")]
    found = []
    if want.dtype != got.dtype:
        found.append(("dtype", f"{key}: {got.dtype}, right is {want.dtype}"))
    if case.compare != "shape":
        w, g = want.wide(), got.wide()
        if case.compare == "abs" and not want.exact:
            w, g = np.abs(w), np.abs(g)
        rtol, atol = (0.0, 0.0) if want.exact else case.tolerance(key, want.dtype)
        ok, text, loose = close(w, g, rtol, atol)
        if not ok and not (case.compare == "ties" and _tied(want, got, sources)):
            found.append(("values", f"{key}: {text}" + (f" (within {loose} times the tolerance)" if loose else "")))
    return found


def compare(want, got, heads=RESULTS):
    """What is wrong with the answer `got`: [(kind, text), ...], kind one of missing, extra, type, shape, values, dtype.
    Everything expected must be there and nothing else; dtype and shape exactly; values within the tolerance."""
    found = []
    sources = [t for k, t in want.tensors.items() if k.startswith("in.")]
    right, answer = want.keys(*heads), got.keys(*heads)
    for key in right:
        if key not in got.tensors and key not in got.values:
            found.append(("missing", f"{key} is missing" + ("" if key.startswith("out.") else ": a change of it is lost")))
            continue
        a = got.tensors[key] if key in got.tensors else got.values[key]
        if key in want.tensors:
            found += _tensor(key, want.tensors[key], a, want, sources)
        else:
            p = _value(key, want.values[key], a, want)
            found += [p] if p else []
    for key in answer:
        if key in right or key.startswith("mut."):                       # a write may leave a buffer as it was
            continue
        before = want.tensors.get("in." + key[6:]) if key.startswith("mutin.") else None
        if before is not None and not _tensor(key, before, got.tensors.get(key), Case(meta={"tolerance": '{"*": [0, 0]}'}), []):
            continue                                                   # said to be written, and unchanged: true
        found.append(("extra", f"{key} is not expected"))
    rank = ("missing", "extra", "type", "shape", "values", "dtype")
    return sorted(found, key=lambda p: rank.index(p[0]))


_PATH = re.compile(r"(/[\w.+\-@]+){2,}")


def clean(text, n=300):
    """One line, without machine paths and addresses."""
    text = _PATH.sub(lambda m: "<path>/" + m.group(0).rsplit("/", 1)[1], str(text))
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]{6,}", "0x..", text)).strip()[:n]
