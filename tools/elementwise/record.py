#!/usr/bin/env python3
"""Record what PyTorch computes for elementwise operators over 4,096 and more elements in every dtype, with signed zeros,
infinities, NaN and the ends of the dtype among them, and pack it into tests/data/elementwise.tar.xz.

    python tools/elementwise/record.py [--names CASE]       --names: which operator gave which result of a case

A compiler vectorises long loops by other code than short ones, and a plugin has been wrong in one of them only. Each case is
one program of many operators over one dtype: `unary_float32`, `binary_int8`. Its values repeat with a period that no vector
divides (unary), or are all pairs of a list (binary), so the pack is small. `make test` runs the cases on the plugin of tools/setup,
`make check-plugins` on two. Needs the pinned torch (tools/requirements/torch.txt).

What PyTorch refuses for a dtype is left out, as is what has no result to compare: numbers that do not fit an integer type,
division of integers by zero, subnormal numbers (docs/differences.md).
"""
import argparse
import math
import pathlib
import sys

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "corpus"))
import casefile  # noqa: E402
import casetorch  # noqa: E402
import pack  # noqa: E402

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
PERIOD, UNARY_ELEMENTS = 509, 4600
SIDE, BINARY_ELEMENTS = 48, 4608  # all pairs of 48 values, twice
F, S = torch.nn.functional, torch.special

UNARY = {name: getattr(torch, name) for name in (
    "abs acos acosh angle asin asinh atan atanh bitwise_not ceil conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 "
    "floor frac i0 isfinite isinf isnan isneginf isposinf lgamma log log10 log1p log2 logical_not logit nan_to_num neg rad2deg "
    "reciprocal relu round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc").split()}
UNARY |= {name: getattr(S, name) for name in ("entr erfcx i0e i1 i1e log_ndtr ndtr ndtri spherical_bessel_j0").split()}
UNARY |= {name: getattr(F, name) for name in ("celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 "
                                              "selu silu softplus softshrink softsign tanhshrink").split()}
UNARY |= {"clamp": lambda x: torch.clamp(x, -2, 3), "pow_2": lambda x: x ** 2, "pow_half": lambda x: x ** 0.5, "pow_3": lambda x: x ** 3,
          "add_1": lambda x: x + 1, "mul_3": lambda x: x * 3, "rsub_2": lambda x: 2 - x, "div_3": lambda x: x / 3,
          "round_1": lambda x: torch.round(x, decimals=1), "threshold": lambda x: F.threshold(x, 0.5, 7),
          "real": lambda x: torch.real(x) + 0, "imag": lambda x: torch.imag(x) + 0}
# Two complex numbers with an infinite part are compared as a whole, without a tolerance for the other part.
UNARY |= {name: lambda x, call=getattr(torch, name): call(torch.where(x == 0, torch.ones_like(x), x) if x.is_complex() else x)
          for name in ("log10", "log2")}
UNARY |= {f"to_{d}": lambda x, d=d: x.to(getattr(torch, d)) for d in DTYPES}

BINARY = {name: getattr(torch, name) for name in (
    "add atan2 bitwise_and bitwise_or bitwise_xor copysign div eq fmax fmin fmod ge gt heaviside hypot le logaddexp logaddexp2 "
    "logical_and logical_or logical_xor lt maximum minimum mul ne nextafter pow remainder sub xlogy").split()}
BINARY |= {"xlog1py": S.xlog1py, "floor_divide": torch.floor_divide, "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
           "gcd": lambda x, y: torch.gcd(x.remainder(100), y), "lcm": lambda x, y: torch.lcm(x.remainder(100), y), "left_shift": torch.bitwise_left_shift, "right_shift": torch.bitwise_right_shift,
           "where": lambda x, y: torch.where(x > y, x, y), "addcmul": lambda x, y: torch.addcmul(x, x, y, value=2),
           "addcdiv": lambda x, y: torch.addcdiv(x, y, y, value=2), "lerp": lambda x, y: torch.lerp(x, y, 0.25),
           # Powers of a complex zero are NaN in PyTorch, or not, as the length of the tensor has it.
           "pow": lambda x, y: torch.pow(torch.where(x == 0, torch.ones_like(x), x) if x.is_complex() else x, y)}
# Integers are made float32 for these, and are then as float32 is: in full for int32 only.
IN_FLOAT32 = set("acos acosh asin asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp2 expm1 i0 lgamma log10 log1p log2 logit "
                 "rad2deg rsqrt sinc sinh tan tanh entr erfcx i0e i1 i1e log_ndtr ndtr ndtri spherical_bessel_j0".split())
# Operators whose second operand must be small and positive where it is an integer.
SMALL_POSITIVE = {"fmod", "remainder", "floor_divide", "div_trunc", "pow", "left_shift", "right_shift", "gcd", "lcm"}


def special(dtype):
    """The values that each list begins with."""
    if dtype == "bool":
        return [False, True]
    if not dtype.startswith(("float", "bfloat", "complex")):
        ends = torch.iinfo(getattr(torch, dtype))
        return [0, 1, 2, 3, 7, ends.max, ends.max - 1, ends.min, ends.min + 1] + ([-1, -2, -3, -7] if ends.min < 0 else [])
    if dtype.startswith("complex"):
        return [complex(a, b) for a in (0.0, -0.0, 1.0, -1.0, 0.5) for b in (0.0, -0.0, 1.0, -2.0)]
    ends = torch.finfo(getattr(torch, dtype))
    return [s * v for v in (0.0, math.inf, ends.max, ends.tiny, ends.eps, 1.0, 0.5, 1.5, 2.0, math.pi / 2, math.pi, 10.0) for s in (1.0, -1.0)] + [math.nan]


def numbers(dtype, count, seed):
    """`count` values: the special ones, then others of all sizes."""
    rng = np.random.default_rng(seed)
    first = special(dtype)[:count]
    rest = count - len(first)
    if dtype == "bool":
        more = list(rng.random(rest) < 0.5)
    elif dtype.startswith("complex"):
        more = list(rng.normal(0, 2, rest) + 1j * rng.normal(0, 2, rest))
    elif dtype.startswith(("float", "bfloat")):
        low = -3 if dtype == "float16" else -6
        sizes = 10.0 ** rng.uniform(low, -low, rest) * rng.choice([-1, 1], rest)
        more = list(np.where(rng.random(rest) < 0.3, sizes, rng.normal(0, 3, rest)))
    else:
        ends = torch.iinfo(getattr(torch, dtype))
        wide = rng.integers(ends.min, ends.max, rest, dtype=np.int64, endpoint=True)
        narrow = rng.integers(max(ends.min, -20), 20, rest)
        more = [int(v) for v in np.where(rng.random(rest) < 0.5, wide, narrow)]
    return torch.tensor(first + more, dtype=getattr(torch, dtype))


def small_positive(dtype):
    """Floats of at least 1, zeros among them: PyTorch's remainder is NaN where the quotient overflows."""
    if dtype.startswith(("float", "bfloat", "complex")):
        z = numbers(dtype, SIDE, 2)
        return torch.where((z.abs() < 1) & (z != 0), torch.ones_like(z), z)
    return torch.arange(SIDE).remainder(6).add(1).to(getattr(torch, dtype))


def inputs(arity, dtype):
    """Of a binary case: x, y, and y for those that take no other integers."""
    if arity == "unary":
        return [numbers(dtype, PERIOD, 1).repeat(UNARY_ELEMENTS // PERIOD + 1)[:UNARY_ELEMENTS].contiguous()]
    x, y = numbers(dtype, SIDE, 2), numbers(dtype, SIDE, 3)
    twice = BINARY_ELEMENTS // SIDE ** 2
    return [x.repeat_interleave(SIDE).repeat(twice), y.repeat(SIDE * twice), small_positive(dtype).repeat(SIDE * twice)]


def fits(values, dtype):
    """Whether floats are whole numbers of an integer type: what else conversion gives is left open."""
    kind = getattr(torch, dtype)
    if kind.is_floating_point or kind.is_complex or kind == torch.bool:
        return True
    return not (values.dtype.is_floating_point or values.dtype.is_complex)


def operators(arity, dtype, tensors):
    """{name: a function of the inputs}, those that PyTorch takes."""
    out = {}
    for name, call in (UNARY if arity == "unary" else BINARY).items():
        if arity == "unary":
            use = call
            if name in IN_FLOAT32 and dtype in ("bool", "uint8", "int8", "int16", "int64"):
                continue
            if name.startswith("to_") and (name == f"to_{dtype}" or not fits(tensors[0], name[3:])):
                continue
        else:
            use = (lambda x, y, z, call=call: call(x, z)) if name in SMALL_POSITIVE else lambda x, y, z, call=call: call(x, y)
        try:
            if use(*tensors).untyped_storage().data_ptr() != tensors[0].untyped_storage().data_ptr():  # not the input itself
                out[name] = use
        except (RuntimeError, TypeError, NotImplementedError):
            pass
    return out


class Program(torch.nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def forward(self, *tensors):
        return tuple(call(*tensors) for call in self.calls)


def record(name, arity, dtype, folder):
    tensors = inputs(arity, dtype)
    calls = operators(arity, dtype, tensors)
    program = torch.export.export(Program(list(calls.values())), tuple(tensors), strict=False)
    names = list(calls)
    for node in program.graph.nodes:
        if node.op == "call_function" and node.meta.get("stack_trace"):  # no path of this machine
            node.meta["stack_trace"] = f'  File "elementwise", line 1, in {name}\n    {node.target}\n'
    case = casetorch.record(Program(list(calls.values())), tensors)
    case.set(labels={"results": " ".join(names)}, features=casetorch.features(program, case))
    torch.export.save(program, folder / f"{name}.pt2")
    casefile.write(folder / f"{name}.safetensors", case)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", help="print the operators of a case in the order of its results")
    options = parser.parse_args()
    folder = ROOT / "build" / "corpora" / "elementwise"
    folder.mkdir(parents=True, exist_ok=True)
    if not options.names:
        for old in folder.iterdir():
            old.unlink()
    for arity in ("unary", "binary"):
        for dtype in DTYPES:
            name = f"{arity}_{dtype}"
            if options.names == name:
                print("\n".join(f"out.{i}  {n}" for i, n in enumerate(operators(arity, dtype, inputs(arity, dtype)))))
            elif not options.names:
                print(name, len(record(name, arity, dtype, folder)), "operators")
    if not options.names:
        _, plain, packed = pack.pack(folder, ROOT / "tests" / "data" / "elementwise.tar.xz")
        print(f"{plain} bytes, packed {packed}")


if __name__ == "__main__":
    sys.exit(main())
