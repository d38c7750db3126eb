#!/usr/bin/env python3
"""Record what PyTorch computes for every line of tests/ops/*.ops.

    python tools/record_ops.py [tests/ops/FAMILY.ops ...]       default: all of tests/ops but torchvision.ops,
                                                                which wants the environment of tools/requirements/zoo.txt
    python tools/record_ops.py --try 'addmm(f32[3], f32[2,4], f32[4,3], beta=0.5)'      one line: what PyTorch answers

Each line becomes a case file (tools/corpus/README.md): a program of one operator, its inputs, PyTorch's results. They are
written to build/corpora/ops/FAMILY/ and packed into tests/data/ops/FAMILY.tar.xz. What is recorded already is kept, so a
new line costs a tenth of a second. Needs the pinned torch (tools/requirements/torch.txt).

A line (`#` starts a comment):

    [error WORD:] CALL [~ RTOL ATOL]

    addmm(f32[3], f32[2,4], f32[4,3], beta=0.5, alpha=2)
    max.dim(nan f32[3,4], dim=1)                      an overload; without one PyTorch chooses by the arguments
    cat([f32[2,3], i64[1,3]], dim=0)
    lgamma(pos f32[40]) ~ 1e-3 1e-4                   a tolerance other than the dtype's; say why in a comment
    error rank: addmm(f32[3], f32[2,4,1], f32[4,3])   a refusal; nothing is recorded

Arguments are positional or by the names of the ATen schema: numbers (2, -0.5, inf, -inf, nan, 1+2j), true, false, None,
"text", [lists], dtypes (dtype=f16), other words of torch (memory_format=channels_last), and tensors:

    [WORDS] DTYPE[SIZES][.t][.cl]

    DTYPE   f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool c64 c128 u64 u32 u16
    WORDS   (none)     -3 to 3; integers -10 to 10, unsigned 0 to 20
            pos        0.1 to 3; integers 1 to 9              prob      0.01 to 0.99
            unit       -0.99 to 0.99; integers -1, 0, 1       small     0, 1, 2, 3
            index(N)   integers -N to N-1                     below(N)  integers 0 to N-1
            nan        NaN, inf and -inf among the values     sorted    ascending along the last dimension
            spd        A A^T / n + 1: symmetric, positive definite in the last two dimensions
    .t      the last two dimensions are then transposed, as a view; .cl: then copied to channels_last

The values (read `values` below, it is short): splitmix64 over a state that starts at crc32(CALL) * 2^32 + k for the k-th
tensor of the line, one draw a number (two for complex: real, imaginary), u = draw / 2^64 from the upper 53 bits.
"""
import argparse
import importlib
import logging
import pathlib
import re
import sys
import warnings
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "corpus"))
import casefile  # noqa: E402
import pack  # noqa: E402

DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
          "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool", "c64": "complex64", "c128": "complex128",
          "u64": "uint64", "u32": "uint32", "u16": "uint16"}
MAKER = "record_ops 1"  # raised when values or files change for equal lines: all cases are then made again
WORDS = ("pos", "prob", "unit", "small", "index", "below", "nan", "sorted", "spd")
REGISTERED_BY = {"torch_nn": "torch.nn.modules.linear_cross_entropy", "torchvision": "torchvision"}  # on import
COUNTED = ("index", "below")  # words with a number: index(5)
# How results are compared where values alone would judge wrongly, by ATen base name (tools/corpus/README.md, `compare`).
COMPARE = {name: "abs" for name in ("svd", "linalg_svd", "_linalg_svd", "linalg_eigh", "_linalg_eigh", "linalg_eig", "linalg_qr", "qr")}
COMPARE |= {name: "ties" for name in ("topk", "kthvalue", "mode", "median", "nanmedian", "sort", "argsort", "msort", "max", "min")}
COMPARE |= {name: "shape" for name in ("empty", "empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty_permuted")}


# ---------------------------------------------------------------- the lines
class Tensor:
    """A tensor of a line: what to make, not the values. `number` counts the line's tensors."""

    def __init__(self, number, dtype, sizes, words, suffixes):
        self.number, self.dtype, self.sizes, self.words, self.suffixes = number, dtype, sizes, words, suffixes


class Word(str):
    """A bare word: a dtype, or another constant of torch."""


class Problem(Exception):
    """What is wrong with a line."""


TOKEN = re.compile(r"""\s*(?:(?P<complex>[+-]?[\d.]+(?:e[+-]?\d+)?[+-][\d.]+(?:e[+-]?\d+)?j)
    |(?P<float>[+-]?(?:\d+\.\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf\b))
    |(?P<int>[+-]?\d+)
    |(?P<text>"[^"]*")
    |(?P<word>[A-Za-z_][\w:]*(?:\.[A-Za-z_]\w*)*)
    |(?P<mark>[\[\]()=,.]))""", re.VERBOSE)


class Parser:
    def __init__(self, text):
        self.tokens, at = [], 0
        while text[at:].strip():
            found = TOKEN.match(text, at)
            if not found:
                raise Problem(f"cannot read `{text[at:].strip()}`")
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self.at = 0
        self.tensors = []

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ("end", "")

    def take(self, mark=None):
        kind, text = self.peek()
        if mark is not None and text != mark:
            raise Problem(f"`{mark}` expected, `{text or 'the end'}` found")
        self.at += 1
        return kind, text

    def call(self):
        """-> (operator, positional, keyword)"""
        kind, operator = self.take()
        if kind != "word":
            raise Problem(f"an operator's name expected, `{operator}` found")
        positional, keyword = [], {}
        self.take("(")
        while self.peek()[1] != ")":
            if self.peek()[0] == "word" and self.peek(1)[1] == "=":
                name = self.take()[1]
                self.take("=")
                keyword[name] = self.value()
            elif keyword:
                raise Problem("a positional argument after a keyword")
            else:
                positional.append(self.value())
            if self.peek()[1] != ")":
                self.take(",")
        self.take(")")
        if self.peek()[0] != "end":
            raise Problem(f"`{self.peek()[1]}` after the call")
        return operator, positional, keyword

    def value(self):
        kind, text = self.peek()
        if text == "[":
            return self.list()
        if kind == "word" and (text in WORDS and self.peek(1)[0] == "word" or text in COUNTED or self.peek(1)[1] == "[" and text in DTYPES):
            return self.tensor()
        self.take()
        constants = {"None": None, "true": True, "false": False, "nan": float("nan")}
        if kind == "word":
            return constants[text] if text in constants else Word(text)
        if kind == "text":
            return text[1:-1]
        if kind in ("int", "float", "complex"):
            return {"int": int, "float": float, "complex": complex}[kind](text)
        raise Problem(f"a value expected, `{text or 'the end'}` found")

    def list(self):
        items = []
        self.take("[")
        while self.peek()[1] != "]":
            items.append(self.value())
            if self.peek()[1] != "]":
                self.take(",")
        self.take("]")
        return items

    def tensor(self):
        words = {}
        while self.peek()[1] in WORDS:
            word = self.take()[1]
            words[word] = True
            if word in COUNTED:
                self.take("(")
                words[word] = int(self.take()[1])
                self.take(")")
        dtype = self.take()[1]
        if dtype not in DTYPES:
            raise Problem(f"a dtype expected, `{dtype}` found")
        sizes, suffixes = self.list(), []
        while self.peek()[1] == "." and self.peek(1)[1] in ("t", "cl"):
            self.take(".")
            suffixes.append(self.take()[1])
        if not all(isinstance(s, int) and s >= 0 for s in sizes):
            raise Problem(f"sizes expected, {sizes} found")
        self.tensors.append(Tensor(len(self.tensors), DTYPES[dtype], sizes, words, suffixes))
        return self.tensors[-1]


class Line:
    def __init__(self, text):
        """`text`: a line without its comment, not empty."""
        self.text, self.refusal, self.tolerance = text, None, None
        refused = re.match(r"error\s+([\w-]+)\s*:\s*", text)
        if refused:
            self.refusal, text = refused[1], text[refused.end():]
        call, _, tolerance = text.partition("~")
        if tolerance:
            self.tolerance = [float(x) for x in tolerance.split()]
            if len(self.tolerance) != 2:
                raise Problem("`~` wants two numbers, rtol and atol")
        self.call = call.strip()
        self.seed = zlib.crc32(self.call.encode())
        parser = Parser(self.call)
        self.operator, self.positional, self.keyword = parser.call()
        self.tensors = parser.tensors
        self.name = f"{self.operator.replace('::', '.')}__{self.seed:08x}"


def strip_comment(text):
    """A line up to its `#` (no text in quotes holds one)."""
    return text.partition("#")[0].strip()


# ---------------------------------------------------------------- the values
def splitmix64(state, count):
    """The first `count` draws, as uint64."""
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def values(seed, tensor):
    """float64 or complex128 values of a line's tensor, before they are rounded to its dtype."""
    count = int(np.prod(tensor.sizes, dtype=np.int64))
    complex_ = tensor.dtype.startswith("complex")
    u = (splitmix64((seed << 32) + tensor.number, count * (2 if complex_ else 1)) >> np.uint64(11)).astype(np.float64) / 2.0**53
    words, integer = tensor.words, tensor.dtype.startswith(("int", "uint"))
    if tensor.dtype == "bool":
        v = np.floor(2 * u)
    elif "index" in words:
        v = np.floor(2 * words["index"] * u) - words["index"]
    elif "below" in words:
        v = np.floor(words["below"] * u)
    elif "prob" in words:
        v = 0.98 * u + 0.01
    elif "small" in words:
        v = np.floor(4 * u)
    elif "pos" in words:
        v = 1 + np.floor(9 * u) if integer else 0.1 + 2.9 * u
    elif "unit" in words:
        v = np.floor(3 * u) - (tensor.dtype[0] != "u") if integer else 1.98 * u - 0.99
    elif integer:
        v = np.floor(21 * u) - (10 if tensor.dtype[0] != "u" else 0)
    else:
        v = 6 * u - 3
    if complex_:
        v = v[0::2] + 1j * v[1::2]
    if "nan" in words:
        i = np.arange(count)
        v[(i % 7 == 1) | (count == 1)] = np.nan
        v[i % 7 == 3] = np.inf
        v[i % 7 == 5] = -np.inf
    v = v.reshape(tensor.sizes)
    if "spd" in words:
        v = v @ v.conj().swapaxes(-1, -2) / v.shape[-1] + np.eye(v.shape[-1])
    return np.sort(v, axis=-1) if "sorted" in words else v


# ---------------------------------------------------------------- PyTorch
def operator_of(name):
    """torch.ops' overload, or its packet where the line names no overload."""
    import torch
    namespace, _, rest = name.rpartition("::")
    base, _, overload = rest.partition(".")
    if namespace in REGISTERED_BY:
        importlib.import_module(REGISTERED_BY[namespace])
    try:
        packet = getattr(getattr(torch.ops, namespace or "aten"), base)
        return getattr(packet, overload) if overload else packet
    except AttributeError:
        raise Problem(f"PyTorch has no operator `{name}`") from None


def module_of(line):
    """The line as a module whose inputs are the line's tensors, in order."""
    import torch
    operator = operator_of(line.operator)

    def argument(value, tensors):
        if isinstance(value, Tensor):
            t = tensors[value.number]
            for suffix in value.suffixes:
                if suffix == "t":
                    t = t.transpose(-2, -1)
                else:
                    t = t.contiguous(memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d)
            return t
        if isinstance(value, list):
            return [argument(v, tensors) for v in value]
        if isinstance(value, Word):
            try:
                return getattr(torch, DTYPES.get(value, value))
            except AttributeError:
                raise Problem(f"`{value}` is no word of torch") from None
        return value

    class Operator(torch.nn.Module):
        def forward(self, *tensors):
            return operator(*[argument(v, tensors) for v in line.positional],
                            **{k: argument(v, tensors) for k, v in line.keyword.items()})

    return Operator()


def inputs_of(line):
    import torch
    return [torch.from_numpy(np.asarray(values(line.seed, t))).to(getattr(torch, t.dtype)) for t in line.tensors]


def aliases_of(module, line):
    """[[result, input], ...] whose storage is one in PyTorch."""
    import torch
    from torch.utils import _pytree as pytree
    tensors = inputs_of(line)
    with torch.no_grad():
        results = pytree.tree_leaves(module(*tensors))
    storage = lambda t: t.untyped_storage().data_ptr() if isinstance(t, torch.Tensor) and t.untyped_storage().nbytes() else None
    return [[i, k] for i, r in enumerate(results) for k, t in enumerate(tensors) if storage(r) is not None and storage(r) == storage(t)]


def record(line, family, folder):
    """Writes the case; -> the targets of the program's graph."""
    import torch
    import casetorch
    module, tensors = module_of(line), inputs_of(line)
    program = torch.export.export(module, tuple(tensors), strict=False)
    targets = []
    for graph in program.graph_module.modules():
        for node in getattr(getattr(graph, "graph", None), "nodes", ()):
            if node.op == "call_function":
                targets.append(str(node.target))
            if node.meta.get("stack_trace"):               # the line is the model's source; no path of this machine
                node.meta["stack_trace"] = f'  File "{family}.ops", line 1, in {line.name}\n    {line.call}\n'
    torch.manual_seed(0)
    case, again = casetorch.record(module, tensors), casetorch.record(module, tensors)
    base = line.operator.rpartition("::")[2].partition(".")[0]
    exact = casefile.Case(case.tensors, case.values, {"tolerance": '{"*": [0, 0]}'})
    random = bool(casefile.compare(exact, again)) and COMPARE.get(base) != "shape"
    for target in targets:
        random |= torch.Tag.nondeterministic_seeded in getattr(operator_if(target), "tags", ())
    again = casetorch.record(program.module(), tensors)
    case.set(line=line.text, maker=MAKER, labels={"op": line.operator, "family": family}, aliases=aliases_of(module, line),
             compare="shape" if random else COMPARE.get(base), tolerance={"*": line.tolerance} if line.tolerance else None,
             features=casetorch.features(program, case, random))
    if random or COMPARE.get(base) == "shape":             # other values every time: the packs would change with every run
        for key in case.keys("out."):
            if key in case.tensors:
                case.tensors[key].raw = np.zeros_like(case.tensors[key].raw)
    wrong = casefile.compare(case, again)
    if wrong:                                              # no program of what eager computes: nobody can be judged by it
        raise Problem(f"the exported program gives another result: {wrong[0][1]}")
    partial = folder / f"{line.name}.tmp.pt2"
    torch.export.save(program, partial)
    casefile.write(folder / f"{line.name}.safetensors", case)
    partial.replace(folder / f"{line.name}.pt2")
    return targets


def operator_if(target):
    """The overload of a target's text, or None."""
    import torch
    namespace, _, rest = target.partition(".")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace, None), base, None), overload or "default", None)


def recorded(line, folder):
    """Whether the folder holds the case of this very line."""
    try:
        meta = casefile.read(folder / f"{line.name}.safetensors").meta
    except FileNotFoundError:
        return False
    return (folder / f"{line.name}.pt2").exists() and meta.get("line") == line.text and meta.get("maker") == MAKER


def record_family(path, out, target):
    """-> number of lines that failed."""
    family, folder = path.stem, out / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    failed, names, new = 0, {}, 0
    for number, text in enumerate(path.read_text().splitlines(), 1):
        text = strip_comment(text)
        if not text:
            continue
        try:
            line = Line(text)
            if line.refusal:
                continue
            if names.setdefault(line.name, line.text) != line.text or list(names.values()).count(line.text) > 1:
                raise Problem(f"has the name of `{names[line.name]}`")
            if not recorded(line, folder):
                targets = record(line, family, folder)
                new += 1
                if not any(base_name(t) == base_name(line.operator.replace("::", ".")) for t in targets):
                    print(f"{path}:{number}: note: its program holds {', '.join(targets) or 'no operator'}", file=sys.stderr)
        except Problem as problem:
            print(f"{path}:{number}: {problem}: {text}", file=sys.stderr)
            failed += 1
        except Exception as error:  # whatever PyTorch says about the line
            print(f"{path}:{number}: {casefile.clean(f'{type(error).__name__}: {error}')}: {text}", file=sys.stderr)
            failed += 1
    for old in folder.iterdir():
        if not any(old.name == name + suffix for name in names for suffix in (".pt2", ".safetensors")):
            old.unlink()
    print(f"{path}: {len(names) - failed} cases, {new} new, {failed} failed", end="" if names else "\n")
    if names:
        _, plain, packed = pack.pack(folder, target / f"{family}.tar.xz")
        print(f"; {plain / 1e3:.0f} kB packed in {packed / 1e3:.0f} kB")
    return failed


def base_name(operator):
    """`aten.max.dim`, `max.dim` -> `max`."""
    parts = operator.split(".")
    return parts[1] if parts[0] in ("aten", "prims") else parts[0]


def try_line(text):
    import torch
    line = Line(strip_comment(text))
    for t, x in zip(line.tensors, inputs_of(line)):
        print(f"in.{t.number} = {x}")
    print("out =", module_of(line)(*inputs_of(line)))
    print(torch.export.export(module_of(line), tuple(inputs_of(line)), strict=False).graph)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "corpora" / "ops", help="case files, a folder a family")
    parser.add_argument("--packs", type=pathlib.Path, default=ROOT / "tests" / "data" / "ops", help="the packs")
    parser.add_argument("--try", dest="line", help="print what PyTorch answers for one line")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)                      # PyTorch logs a traceback of each refusal
    import torch
    torch.set_num_threads(1)
    if options.line:
        return try_line(options.line)
    files = options.files or [f for f in sorted((ROOT / "tests" / "ops").glob("*.ops")) if f.stem != "torchvision"]
    return 1 if sum(record_family(f, options.out, options.packs) for f in files) else 0


if __name__ == "__main__":
    sys.exit(main())
