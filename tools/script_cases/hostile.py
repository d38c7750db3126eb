"""Writes TorchScript files that must be refused: each by a diagnostic, soon, without a crash and without much memory.

    python tools/script_cases/hostile.py OUT [--only NAME ...]

OUT/NAME.pt, and OUT/NAME.safetensors with an input for it. `control` alone is right: out.0 is in.0 + w. Needs numpy only: the
archives are written by hand.
"""
import argparse
import io
import os
import pathlib
import struct
import sys
import zipfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))
import casefile  # noqa: E402

FILES = {}
X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.ones((2, 3), np.float32)


# ---------------------------------------------------------------- pickles by hand
def text(s):
    b = s.encode()
    return b"X" + struct.pack("<I", len(b)) + b


def integer(n):
    if 0 <= n < 256:
        return b"K" + bytes([n])
    if -2**31 <= n < 2**31:
        return b"J" + struct.pack("<i", n)
    size = (n.bit_length() + 8) // 8
    return b"\x8a" + bytes([size]) + n.to_bytes(size, "little", signed=True)


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def tup(*parts):
    return b"(" + b"".join(parts) + b"t"


def lst(*parts):
    return b"](" + b"".join(parts) + b"e"


def dct(pairs):
    return b"}(" + b"".join(text(k) + v for k, v in pairs) + b"u"


def call(function, *args):
    return function + tup(*args) + b"R"


def storage(key="0", kind="FloatStorage", numel=6, location="cpu"):
    return tup(text("storage"), name("torch", kind), text(key), text(location), integer(numel)) + b"Q"


EMPTY_DICT = call(name("collections", "OrderedDict"))


def tensor(size=(2, 3), stride=(3, 1), offset=0, held=None, hooks=EMPTY_DICT):
    return call(name("torch._utils", "_rebuild_tensor_v2"), held or storage(), integer(offset), tup(*map(integer, size)), tup(*map(integer, stride)), b"\x89", hooks)


def instance(state, module="__torch__", kind="M"):
    return name(module, kind) + b")\x81" + state + b"b"


def root(*more, w=None, training=b"\x89"):
    return instance(dct([("w", tensor() if w is None else w), ("training", training), *more]))


def pickle(body):
    return b"\x80\x02" + body + b"."


# ---------------------------------------------------------------- archives by hand
HEAD = '''class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  w : Tensor
  training : bool
'''
FORWARD = '''  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
'''


def code(*body, head=HEAD):
    """A class M whose forward has these lines."""
    return (head + FORWARD + "".join(f"    {line}\n" for line in body)).encode()


def members(data=None, source=None, constants=b")", **other):
    m = {"data.pkl": data if data is not None else pickle(root()), "code/__torch__.py": source or code("return torch.add(x, self.w)"),
         "constants.pkl": pickle(constants), "data/0": W.tobytes(), "version": b"3\n", "byteorder": b"little"}
    m.update(other)
    return m


def archive(m, deflate=(), folder="archive", raw=()):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for k, v in [*m.items(), *raw]:
            if v is not None:
                info = zipfile.ZipInfo(k if k.startswith("/") or not folder else f"{folder}/{k}")
                z.writestr(info, v, compress_type=zipfile.ZIP_DEFLATED if k in deflate else zipfile.ZIP_STORED)
    return out.getvalue()


def add(label, blob):
    assert label not in FILES, label
    FILES[label] = blob


def data(label, body, bare=False, **kw):
    """bare: the pickle as it is; else the frame is added, where it is not there."""
    add("pickle_" + label, archive(members(data=body if bare or body[:1] == b"\x80" else pickle(body), **kw)))


def program(label, *body, **kw):
    other = {k: kw.pop(k) for k in ("data", "constants") if k in kw}
    add("code_" + label, archive(members(source=code(*body, **kw), **other)))


def whole(label, source, **kw):
    add("code_" + label, archive(members(source=source if isinstance(source, bytes) else source.encode(), **kw)))


add("control", archive(members()))

# ---------------------------------------------------------------- pickles that call
TARGETS = [("os", "system"), ("posix", "system"), ("nt", "system"), ("builtins", "eval"), ("builtins", "exec"), ("builtins", "getattr"), ("__builtin__", "eval"),
           ("subprocess", "Popen"), ("runpy", "run_module"), ("torch", "load"), ("torch._utils", "_import_dotted_name"), ("torch.jit._pickle", "no_such_thing"),
           ("torch.jit", "load"), ("numpy.core.multiarray", "_reconstruct"), ("webbrowser", "open"), ("pickle", "loads"), ("__torch__", "os.system"), ("", ""), ("torch", "")]
for module, attribute in TARGETS:
    label = f"reduce_{module}_{attribute}".replace(".", "_")
    data(label, root(("n", call(name(module, attribute), text("echo harm")))))
data("reduce_at_root", call(name("os", "system"), text("echo harm")))
data("reduce_before_root", call(name("os", "system"), text("echo harm")) + b"0" + root())
data("global_never_called", name("os", "system") + b"0" + root())
data("newobj_of_popen", root(("n", name("subprocess", "Popen") + tup(text("echo")) + b"\x81")))
data("newobj_ex", root(("n", name("os", "system") + tup(text("echo")) + b"}" + b"\x92")))
data("stack_global", b"\x80\x04" + text("os") + text("system") + b"\x93" + tup(text("echo")) + b"R.")
data("inst", b"\x80\x02(" + text("echo") + b"ios\nsystem\n.")
data("obj", b"\x80\x02(" + name("os", "system") + text("echo") + b"o.")
data("extension", b"\x80\x02\x82\x01.")
data("text_persistent_id", b"\x80\x02P0\n.")
data("out_of_band_buffer", b"\x80\x05\x97.")
data("reduce_of_number", root(("n", integer(3) + tup(text("a")) + b"R")))
data("reduce_of_storage_class", root(("n", call(name("torch", "FloatStorage"), integer(1 << 40)))))
data("build_of_number", root(("n", integer(3) + dct([("a", integer(1))]) + b"b")))
data("newobj_of_text", root(("n", text("__torch__.M") + b")\x81")))

# ---------------------------------------------------------------- pickles out of shape
NUMBER = code("return torch.add(x, self.n)", head=HEAD + "  n : int\n")
GOOD = pickle(root())
data("empty", b"", bare=True)
data("no_stop", GOOD[:-1], bare=True)
data("nothing_on_stack", b"\x80\x02.")
for part in (10, 50, 90):
    data(f"cut_at_{part}", GOOD[:len(GOOD) * part // 100], bare=True)
data("unknown_opcode", b"\x80\x02\xff.")
data("underflow", b"\x80\x02\x85\x86\x87.")
data("setitem_underflow", b"\x80\x02}s.")
data("no_mark", b"\x80\x02]e.")
data("memo_unknown", b"\x80\x02h\x07.")
data("memo_unknown_long", b"\x80\x02j\xff\xff\xff\xff.")
data("memo_far", b"\x80\x02Nr\xff\xff\xff\xff.")
data("text_of_4_gb", b"\x80\x02X\xff\xff\xff\xffabc.")
data("text_of_exabytes", b"\x80\x04\x8d" + b"\xff" * 8 + b"abc.")
data("bytes_of_exabytes", b"\x80\x04\x8e" + b"\xff" * 8 + b"abc.")
data("frame_of_exabytes", b"\x80\x04\x95" + b"\xff" * 8 + b"N.")
data("text_not_utf8", root(("n", b"X\x02\x00\x00\x00\xff\xfe")))
data("long_of_255_bytes", root(("n", b"\x8a\xff" + b"\x7f" * 255)))
data("long_of_4_gb", b"\x80\x02\x8b\xff\xff\xff\x7f\x01.")
data("long_of_negative_size", b"\x80\x02\x8b\xff\xff\xff\xff\x01.")
data("float_cut", b"\x80\x02G\x00\x00.")
data("nested_lists", b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".")
data("nested_tuples", b"\x80\x02" + b")" + b"\x85" * 200_000 + b".")
data("nested_marks", b"\x80\x02" + b"(" * 200_000 + b"t" * 200_000 + b".")
data("nested_dicts", b"\x80\x02" + (b"}" + text("a")) * 100_000 + b"N" + b"s" * 100_000 + b".")
data("nested_instances", b"\x80\x02" + (name("__torch__", "M") + b")\x81}" + text("w")) * 20_000 + b"N" + b"sb" * 20_000 + b".")
data("doubled_tuples", root(("n", b")" + b"".join(b"q\x01h\x01\x86" for _ in range(64)))), source=NUMBER)
data("doubled_lists", root(("n", b"]" + b"".join(b"q\x01]h\x01ah\x01a" for _ in range(64)))), source=NUMBER)
data("list_holds_itself", root(("n", b"]q\x01h\x01a")), source=code("return torch.add(x, torch.len(self.n))", head=HEAD + "  n : List[int]\n"))
data("tuple_holds_itself", root(("n", b"]q\x01h\x01\x85a")), source=code("return x", head=HEAD + "  n : List[Tuple[int]]\n"))
data("dict_holds_itself", root(("n", b"}q\x01" + text("a") + b"h\x01s")), source=code("return x", head=HEAD + "  n : Dict[str, int]\n"))
data("object_holds_itself", name("__torch__", "M") + b")\x81q\x05" + dct([("w", tensor()), ("training", b"\x89"), ("n", b"h\x05")]) + b"b",
     source=code("return (self.n).forward(x, )", head=HEAD + "  n : __torch__.M\n"))
data("key_is_a_list", root(("n", b"}](K\x01eK\x02s")))
data("root_is_number", integer(3))
data("root_is_dict", dct([("a", integer(1))]))
data("root_is_tensor", tensor())
data("root_is_class", name("__torch__", "M"))
data("root_without_state", name("__torch__", "M") + b")\x81")
data("state_is_a_list", instance(lst(integer(1))))
data("state_twice", root() + dct([("w", integer(1)), ("training", b"\x89")]) + b"b")
data("attribute_missing", instance(dct([("training", b"\x89")])))
data("attribute_of_other_type", root(w=integer(3)))
data("class_not_in_code", instance(dct([]), "__torch__", "Other"))
data("class_in_missing_file", instance(dct([]), "__torch__.a.b", "M"))
data("class_leaves_folder", instance(dct([]), "__torch__......etc", "passwd"))
data("class_with_nul", instance(dct([]), "__torch__.\0", "M"))
data("class_of_torchbind", root(("n", instance(dct([]), "__torch__.torch.classes.quantized", "LinearPackedParamsBase"))))
data("trailing_bytes", GOOD + b"cos\nsystem\n", bare=True, source=code("return torch.nothing(x)"))

# ---------------------------------------------------------------- tensors
BIG = 1 << 40
TENSORS = {
    "beyond_storage": dict(size=(2, 4), stride=(4, 1)), "offset_beyond_storage": dict(offset=3), "offset_negative": dict(offset=-1), "offset_huge": dict(offset=2**62),
    "size_negative": dict(size=(2, -3)), "size_huge": dict(size=(BIG, 3)), "sizes_overflow": dict(size=(2**32, 2**32), stride=(0, 0)), "sizes_overflow_thrice": dict(size=(2**22, 2**22, 2**22), stride=(0, 0, 0)),
    "expanded_huge": dict(size=(BIG,), stride=(0,)), "stride_negative": dict(stride=(-3, 1), offset=3), "stride_huge": dict(stride=(2**62, 1)), "strides_overflow": dict(size=(3, 2), stride=(2**62, 2**62)),
    "ranks_differ": dict(size=(2, 3), stride=(1,)), "rank_5000": dict(size=(1,) * 5000, stride=(1,) * 5000),
}
for label, kw in TENSORS.items():
    data("tensor_" + label, root(w=tensor(**kw)))
data("tensor_size_is_a_number", root(w=call(name("torch._utils", "_rebuild_tensor_v2"), storage(), integer(0), integer(6), tup(integer(1)), b"\x89", EMPTY_DICT)))
data("tensor_size_of_text", root(w=call(name("torch._utils", "_rebuild_tensor_v2"), storage(), integer(0), tup(text("2")), tup(integer(1)), b"\x89", EMPTY_DICT)))
data("tensor_without_arguments", root(w=call(name("torch._utils", "_rebuild_tensor_v2"))))
data("tensor_of_no_storage", root(w=tensor(held=integer(3))))
data("tensor_with_hooks", root(w=tensor(hooks=dct([("a", name("os", "system"))]))))
data("tensor_sparse", root(w=call(name("torch._utils", "_rebuild_sparse_tensor"), integer(0), tup())))
STORAGES = {"numel_huge": dict(numel=2**61), "numel_negative": dict(numel=-6), "numel_beyond_record": dict(numel=7), "key_missing": dict(key="77"), "key_leaves_folder": dict(key="../version"),
            "key_absolute": dict(key="/etc/passwd"), "key_empty": dict(key=""), "key_with_nul": dict(key="0\0"), "kind_unknown": dict(kind="StringStorage"), "kind_wide": dict(kind="DoubleStorage"),
            "key_of_code": dict(key="../code/__torch__.py")}
for label, kw in STORAGES.items():
    data("storage_" + label, root(w=tensor(held=storage(**kw))))
data("storage_id_short", root(w=tensor(held=tup(text("storage"), name("torch", "FloatStorage"), text("0")) + b"Q")))
data("storage_id_of_numbers", root(w=tensor(held=tup(*[integer(1)] * 5) + b"Q")))
data("storage_id_no_tuple", root(w=tensor(held=text("storage") + b"Q")))
data("storage_id_module", root(w=tensor(held=tup(text("module"), name("torch", "FloatStorage"), text("0"), text("cpu"), integer(6)) + b"Q")))
AFFINE = name("torch", "per_tensor_affine")
data("quantized_scale_zero", root(w=call(name("torch._utils", "_rebuild_qtensor"), storage(kind="QInt8Storage"), integer(0), tup(integer(6)), tup(integer(1)), tup(AFFINE, b"G" + struct.pack(">d", 0.0), integer(0)), b"\x89", EMPTY_DICT)))
data("quantized_axis_far", root(w=call(name("torch._utils", "_rebuild_qtensor"), storage(kind="QInt8Storage"), integer(0), tup(integer(6)), tup(integer(1)),
                                       tup(name("torch", "per_channel_affine"), tensor(), tensor(), integer(99)), b"\x89", EMPTY_DICT)))

# ---------------------------------------------------------------- constants
ONE = "return torch.add(x, CONSTANTS.c0)"
program("constant_missing", ONE)
program("constant_far", "return torch.add(x, CONSTANTS.c99999999999999999999)", constants=tup(integer(1)))
program("constant_no_number", "return torch.add(x, CONSTANTS.cx)", constants=tup(integer(1)))
program("constants_no_tuple", ONE, constants=integer(1))
program("constants_call", ONE, constants=tup(call(name("os", "system"), text("echo"))))
program("constants_storage_of_data", ONE, constants=tup(tensor()))
add("constants_absent", archive(members(source=code(ONE), **{"constants.pkl": None})))

# ---------------------------------------------------------------- code: depth and size
N = 10_000
program("nested_parentheses", "return " + "(" * N + "x" + ")" * N)
program("nested_lists", "_0 = " + "[" * N + "1" + "]" * N, "return x")
program("nested_calls", "return " + "torch.neg(" * N + "x" + ")" * N)
program("nested_subscripts", "return " + "x" + "[x" * N + "]" * N)
program("nested_attributes", "return " + "x" + ".a" * 100_000)
program("nested_types", "_0 = annotate(" + "List[" * N + "int" + "]" * N + ", [])", "return x")
program("nested_attribute_type", "return x", head=HEAD + "  n : " + "Optional[" * N + "int" + "]" * N + "\n")
program("nested_ifs", *[line for i in range(2000) for line in ("  " * i + "if True:", "  " * (i + 1) + f"_{i} = {i}")], "return x")
program("nested_loops", "n = 0", *["  " * i + f"for i{i} in range(2):" for i in range(200)], "  " * 200 + "n = torch.add(n, 1)", "return torch.add(x, n)")
whole("nested_functions", HEAD + FORWARD + "".join("  " * i + f"    def __forked_function{i}():\n" for i in range(2000)) + "    return x\n")
program("unclosed_parentheses", "return " + "(" * 100_000 + "x")
program("long_name", "return " + "y" * 5_000_000)
program("long_string", '_0 = "' + "y" * 5_000_000, "return x")
program("long_number", "return torch.add(x, " + "9" * 1_000_000 + ")")
program("number_beyond_int64", "return torch.add(x, 9223372036854775808)")
program("many_parameters", "return torch.add(" + "x, " * 200_000 + "x)")

# ---------------------------------------------------------------- code: no end
program("calls_itself", "return (self).forward(x, )")
whole("functions_call_each_other", HEAD + FORWARD + "    return __torch__.f(x, )\ndef f(x: Tensor) -> Tensor:\n  return __torch__.g(x, )\ndef g(x: Tensor) -> Tensor:\n  return __torch__.f(x, )\n")
whole("calls_double", HEAD + FORWARD + "    return __torch__.f0(x, )\n" + "".join(f"def f{i}(x: Tensor) -> Tensor:\n  _0 = __torch__.f{i + 1}(x, )\n  return __torch__.f{i + 1}(_0, )\n" for i in range(64))
      + "def f64(x: Tensor) -> Tensor:\n  return torch.neg(x)\n")
program("while_true", "_0 = True", "n = 0", "while _0:", "  n = torch.add(n, 1)", "return torch.add(x, n)")
program("while_true_with_tensor", "_0 = True", "while _0:", "  x = torch.add(x, 1)", "return x")
program("while_true_with_list", "_0 = True", "l = [0]", "while _0:", "  l = torch.add(l, l)", "return x")
program("range_of_years", "n = 0", "for i in range(9223372036854775807):", "  n = torch.add(n, i)", "return torch.add(x, n)")
program("ranges_of_ranges", "n = 0", *["  " * i + f"for i{i} in range(1000):" for i in range(6)], "  " * 6 + "n = torch.add(n, 1)", "return torch.add(x, n)")
program("range_of_tensors", "for i in range(100000000):", "  x = torch.sin(x)", "return x")
program("append_for_ever", "l = [0]", "_0 = True", "while _0:", "  _1 = torch.append(l, 1)", "return torch.add(x, torch.len(l))")
program("string_doubles", 's = "ab"', "for i in range(62):", "  s = torch.add(s, s)", "return torch.add(x, torch.len(s))")
program("list_doubles", "s = [1, 2]", "for i in range(62):", "  s = torch.add(s, s)", "return torch.add(x, torch.len(s))")
program("tuple_doubles", "s = (1, 2)", *["s = (s, s)" for i in range(64)], "_0 = uninitialized(int)", "return torch.add(x, torch.hash(s))")
program("list_times_huge", "return torch.add(x, torch.len(torch.mul([0], 1099511627776)))")
program("join_huge", 's = "' + "a" * 1000 + '"', "for i in range(40):", "  s = torch.join(s, [s, s, s])", "return torch.add(x, torch.len(s))")

# ---------------------------------------------------------------- code: what cannot be
program("zeros_huge", "return torch.sum(torch.zeros([1099511627776, 1099511627776]))")
program("zeros_negative", "return torch.zeros([-1])")
program("expand_huge", "return torch.cumsum(torch.expand(torch.slice(x, 0, 0, 1), [4611686018427387904, 3]), 0)")
program("arange_huge", "return torch.arange(9223372036854775807)")
program("repeat_huge", "return torch.repeat(x, [1073741824, 1073741824])")
program("view_other_size", "return torch.view(x, [7])")
program("select_far", "return torch.select(x, 0, 5)")
program("dim_far", "return torch.sum(x, [9])")
program("divide_by_zero", "return torch.add(x, torch.floordiv(1, 0))")
program("remainder_by_zero", "return torch.add(x, torch.remainder(1, 0))")
program("shift_far", "return torch.add(x, torch.__lshift__(1, -1))")
program("index_far", "l = [1]", "return torch.add(x, l[5])")
program("index_of_tuple_far", "return torch.add(x, ((1, 2))[5])")
program("pop_of_empty", "l = annotate(List[int], [])", "return torch.add(x, torch.pop(l))")
program("key_missing", 'd = {"a": 1}', 'return torch.add(x, d["b"])')
program("unwrap_none", "return ops.prim.unchecked_unwrap_optional(None)")
program("add_none", "return torch.add(x, None)")
program("range_step_zero", "return torch.add(x, torch.__range_length(0, 5, 0))")
program("unpack_too_few", "a, b, c, = [1, 2]", "return torch.add(x, a)")
program("name_unknown", "return y")
program("name_of_branch", "if True:", "  y = x", "else:", "  pass", "return z")
program("uninitialized_read", "y = uninitialized(Tensor)", "return torch.neg(y)")
program("raise_always", 'ops.prim.RaiseException("no", "builtins.ValueError")', "return x")
program("assert_fails", "_0 = torch.eq(torch.dim(x), 9)", "if _0:", "  pass", "else:", '  ops.prim.RaiseException("no")', "return x")
program("no_return", "y = x")
program("operator_unknown", "return torch.no_such_operator(x)")
program("operator_of_os", 'return ops.os.system("echo")')
program("operator_builtin", 'return __import__("os")')
program("operator_eval", 'return eval("1")')
program("arguments_too_many", "return torch.neg(x, x, x)")
program("arguments_of_other_type", 'return torch.neg("a")')
program("keyword_twice", "return torch.sum(x, dtype=6, dtype=6)")
program("keyword_unknown", "return torch.sum(x, colour=6)")
program("dtype_unknown", "return torch.sum(x, dtype=999)")
program("method_unknown", "return (self).backward(x, )")
program("method_arguments", "return (self).forward(x, x, x, )")
program("attribute_unknown", "return self.nothing")
program("attribute_of_number", "y = 3", "return y.w")
program("function_unknown", "return __torch__.f(x, )")
program("function_in_missing_file", "return __torch__.a.b.c.f(x, )")
program("class_unknown", "y = __torch__.C.__new__(__torch__.C)", "return x")
program("fork_of_itself", "_0 = fork(self.forward, x)", "return torch.wait(_0)")
program("type_unknown", "y = annotate(Colour, x)", "return y")
program("file_outside", "return __torch__.....etc.passwd(x, )")

# ---------------------------------------------------------------- code: no such syntax
for label, line in {"import": "import os", "from_import": "from os import system", "lambda": "y = lambda: x", "try": "try:", "del": "del x", "global": "global x", "yield": "yield x",
                    "await": "await x", "walrus": "(y := x)", "star": "y = torch.cat(*x)", "f_string": 'y = f"{x}"', "bytes": 'y = b"a"', "backtick": "y = `x`", "dollar": "y = $x",
                    "assignment_to_number": "3 = x", "assignment_to_call": "torch.neg(x) = x", "unclosed_string": 'y = "abc', "escape": r'y = "\q"', "escape_octal": r'y = "\999"', "two_statements": "y = x z = x",
                    "keyword_as_name": "if = x", "matrix_operator": "y = x @@ x", "missing_value": "y =", "extra_bracket": "y = x)", "comma": "y = torch.add(x,, x)", "else_alone": "else:", "float": "y = 1.2.3", "exponent": "y = 1e",
                    "indent": "   y = x", "decorator": "@x", "class_in_function": "class Q:", "async": "async def f():"}.items():
    program("syntax_" + label, line, "return x")
whole("tab_indent", HEAD + "\tdef forward(self, x):\n\t\treturn x\n")
whole("no_newline_and_cut", HEAD + "  def forward(self: __torch__.M,\n    x: Ten")
whole("nul_bytes", HEAD.encode() + FORWARD.encode() + b"    return x\0\n")
whole("not_utf8", HEAD.encode() + FORWARD.encode() + b"    return \xff\xfe\n")
whole("empty", b"\n")
whole("method_twice", HEAD + FORWARD + "    return x\n" + FORWARD + "    return torch.neg(x)\n")
whole("parameter_twice", HEAD + "  def forward(self: __torch__.M,\n    x: Tensor,\n    x: Tensor) -> Tensor:\n    return x\n")
whole("attribute_twice", HEAD + "  w : int\n" + FORWARD + "    return x\n")
whole("without_forward", HEAD)
whole("forward_without_self", HEAD + "  def forward() -> int:\n    return 1\n")
whole("base_unknown", HEAD.replace("(Module)", "(os.System)") + FORWARD + "    return x\n")
whole("base_is_itself", HEAD.replace("(Module)", "(__torch__.M)") + FORWARD + "    return x\n")
whole("named_tuple_of_itself", HEAD + FORWARD + "    _0 = __torch__.P(1)\n    return torch.add(x, (_0).a)\nclass P(NamedTuple):\n  a : __torch__.P\n")
whole("constructor_of_itself", HEAD + FORWARD + "    _0 = __torch__.C.__new__(__torch__.C)\n    _1 = (_0).__init__()\n    return x\nclass C:\n  def __init__(self: __torch__.C) -> NoneType:\n    _0 = __torch__.C.__new__(__torch__.C)\n    _1 = (_0).__init__()\n    return None\n")
whole("hook_missing", HEAD.replace('  w : Tensor', '  __forward_hooks__ = ["nothing", ]\n  w : Tensor') + FORWARD + "    return x\n")
SETSTATE = "  def __setstate__(self: __torch__.M,\n    state: Tuple[Tensor, bool]) -> NoneType:\n"
STATE = pickle(instance(tup(tensor(), b"\x89")))
whole("setstate_for_ever", HEAD + FORWARD + "    return x\n" + SETSTATE + "    _0 = True\n    while _0:\n      _1 = 1\n    return None\n", data=STATE)
whole("setstate_calls_itself", HEAD + FORWARD + "    return x\n" + SETSTATE + "    return (self).__setstate__(state, )\n", data=STATE)
whole("setstate_sets_nothing", HEAD + FORWARD + "    return torch.add(x, self.w)\n" + SETSTATE + "    return None\n", data=STATE)
whole("parameters_for_ever", HEAD.replace('["w", ]', "[" + '"w", ' * 500_000 + "]") + "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return torch.nothing(x)\n")

# ---------------------------------------------------------------- the archive
GOOD_ARCHIVE = archive(members())
for part in (5, 40, 80, 99):
    add(f"archive_cut_at_{part}", GOOD_ARCHIVE[:len(GOOD_ARCHIVE) * part // 100])
for label, version in {"of_letters": b"abc\n", "0": b"0\n", "11": b"11\n", "huge": b"99999999999999999999999\n", "negative": b"-3\n", "empty": b"", "of_a_megabyte": b"3" * 1_000_000}.items():
    add("archive_version_" + label, archive(members(version=version)))
add("archive_version_absent", archive(members(version=None)))
add("archive_big_endian", archive(members(byteorder=b"big")))
add("archive_byteorder_unknown", archive(members(byteorder=b"middle")))
add("archive_without_code", archive(members(**{"code/__torch__.py": None})))
add("archive_without_data", archive(members(**{"data.pkl": None})))
add("archive_without_storage", archive(members(**{"data/0": None})))
add("archive_storage_short", archive(members(**{"data/0": W.tobytes()[:-1]})))
add("archive_old_layout", archive({"model.json": b"{}", "version": b"1\n", "tensors/0": W.tobytes(), "code/__torch__.py": code("return x")}))
add("archive_package", archive(members(**{".data/ts_code/0/data.pkl": GOOD, "data.pkl": None})))
add("archive_code_bomb", archive(members(source=b" " * 256_000_000), deflate=("code/__torch__.py",)))
add("archive_pickle_bomb", archive(members(data=b"\x80\x02" + b"N" * 256_000_000 + b"."), deflate=("data.pkl",)))


def with_crc_broken():
    at = GOOD_ARCHIVE.index(b"__torch__\nM\n")
    return GOOD_ARCHIVE[:at] + b"__torch__\nN\n" + GOOD_ARCHIVE[at + 12:]


def with_encrypted_flag():
    blob = bytearray(GOOD_ARCHIVE)
    at = -1
    while (at := blob.find(b"PK\x01\x02", at + 1)) >= 0:
        blob[at + 8] |= 1
    return bytes(blob)


add("archive_crc_broken", with_crc_broken())
add("archive_encrypted", with_encrypted_flag())


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--only", nargs="*")
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    for label, blob in FILES.items():
        if a.only and label not in a.only:
            continue
        case = casefile.Case({"in.0": casefile.T("float32", X)})
        if label == "control":
            case.tensors["out.0"] = casefile.T("float32", X + W)
        (a.out / f"{label}.pt").write_bytes(blob)
        casefile.write(str(a.out / f"{label}.safetensors"), case)
    print(f"{len(FILES)} files, {sum(map(len, FILES.values())) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
