#!/usr/bin/env python3
"""Write data/pointwise_dtypes.txt: the dtype that each pointwise operator of two or three operands gives, over all pairs of
operands, and what PyTorch refuses.

    python tools/gen_pointwise_dtypes.py [--out data/pointwise_dtypes.txt] [--check]

An operand is a tensor with a dimension, one without, or a Python number: the KINDS, 28 in all. A block is a square of
results, the first operand down and the second across, a character a pair: a dtype (CODES), `-` where PyTorch raises on CPU,
`.` where nothing is asked: the overload takes no such operand, PyTorch takes no number in that tensor's
place, or no tensor were left. Equal blocks are written once. An `op` line names an overload
and its block; of three operands one block for each kind of the third in THIRD. All values are one.
tests/aten/pointwise_dtypes_test.cpp asks the lowerings the same. Needs the pinned torch (tools/requirements/torch.txt); --check
compares instead of writing.
"""
import sys

import torch

from generated import write_or_check

CODES = {"bool": "b", "uint8": "u", "int8": "c", "int16": "h", "int32": "i", "int64": "l", "float16": "e", "bfloat16": "B",
         "float32": "f", "float64": "d", "complex64": "F", "complex128": "D", "complex32": "E"}
NUMBERS = {"bool_number": True, "int_number": 1, "float_number": 1.0, "complex_number": 1 + 0j}
DTYPES = [d for d in CODES if d != "complex32"]  # of operands
KINDS = [f"{d}[1]" for d in DTYPES] + [f"{d}[]" for d in DTYPES] + list(NUMBERS)
THIRD = ["bool[1]", "uint8[1]", "int64[1]", "float16[1]", "float32[1]", "complex64[1]", "float64[]", "int32[]", "int_number", "float_number"]
# Tagged as pointwise but no operators of two operands, or named twice.
LEFT_OUT = {"equal", "clip", "true_divide", "native_dropout_backward"}
# Pointwise, though they carry no tag.
ADDED = ["floor_divide.default", "floor_divide.Scalar", "rsub.Tensor", "isclose.default", "where.ScalarSelf", "where.ScalarOther",
         "where.Scalar", "__and__.Tensor", "__and__.Scalar", "__or__.Tensor", "__or__.Scalar", "masked_fill.Tensor", "_prelu_kernel.default"]
TENSORS, SCALARS = ("Tensor", "Optional[Tensor]"), ("number", "Optional[number]")


def operand(kind):
    if kind in NUMBERS:
        return NUMBERS[kind]
    dtype, _, shape = kind.partition("[")
    return torch.ones([1] if shape == "1]" else [], dtype=getattr(torch, dtype))


OPERANDS = {kind: operand(kind) for kind in KINDS}


def operands_of(schema):
    """The operands of an overload, if it is pointwise over two or three: [whether it takes tensors]."""
    out = []
    for a in schema.arguments:
        kind = str(a.type)
        if kind in TENSORS or kind in SCALARS and (not a.has_default_value() or kind == "Optional[number]"):
            out.append(kind in TENSORS)
        elif not a.has_default_value() and kind != "Optional[str]":
            return []
    return out if len(out) in (2, 3) else []


def overloads():
    """(name, operator, operands) sorted by name."""
    named = {f"{s.name[6:]}.{s.overload_name or 'default'}" for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
    for name in sorted(named):
        base, _, overload = name.partition(".")
        try:
            operator = getattr(getattr(torch.ops.aten, base), overload)
        except AttributeError:
            continue
        if operator._schema.is_mutable or base in LEFT_OUT or torch.Tag.pointwise not in operator.tags and name not in ADDED:
            continue
        if operands := operands_of(operator._schema):
            yield name, operator, operands


def answer(operator, takes, kinds):
    numbers = [k in NUMBERS for k in kinds]
    if all(numbers) or any(not number and not tensor for number, tensor in zip(numbers, takes)):
        return "."
    arguments = [OPERANDS[k] for k in kinds]
    modes = {"rounding_mode": "trunc"} if any(a.name == "rounding_mode" for a in operator._schema.arguments) else {}
    try:
        return CODES[str(operator(*arguments, **modes).dtype).removeprefix("torch.")]
    except (RuntimeError, TypeError, ValueError, IndexError):
        return "." if any(number and tensor for number, tensor in zip(numbers, takes)) else "-"


def lines():
    yield f"# Made by tools/gen_pointwise_dtypes.py from torch {torch.__version__.split('+')[0]}; do not edit. The form: see there."
    yield "codes " + " ".join(f"{d}={c}" for d, c in CODES.items())
    yield "kinds " + " ".join(KINDS)
    yield "third " + " ".join(THIRD)
    blocks = {}
    for name, operator, takes in overloads():
        numbers = []
        for third in THIRD if len(takes) == 3 else [None]:
            block = "\n".join("".join(answer(operator, takes, [a, b, third][:len(takes)]) for b in KINDS) for a in KINDS)
            if block not in blocks:
                blocks[block] = len(blocks)
                yield f"block {blocks[block]}"
                yield block
            numbers.append(blocks[block])
        yield " ".join(["op", name, *map(str, numbers)])


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, "pointwise_dtypes.txt", lines()))
