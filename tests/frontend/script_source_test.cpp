// TorchScript code as instructions: small sources with the text of the program that they give, and what is refused.
#include <gtest/gtest.h>

#include "archive/pickle_writer.hpp"
#include "base/kinds.hpp"
#include "frontend/script/compile.hpp"
#include "frontend/script/syntax.hpp"
#include "torch/parse.hpp"
#include "torch/print.hpp"
#include "torch/verify.hpp"

namespace torchlift::frontend::script {
namespace {

using torch::Operand;

torch::Program compiled(const std::string& text, int64_t version = 10) {
  torch::Program program;
  torch::Weight& weight = program.weights.emplace_back();
  weight.name = "c0";
  weight.record = torch::RecordId(0);
  weight.record_elements = 1;
  weight.is_constant = true;
  Constants constants{{Operand{torch::WeightId(0)}, Operand{std::string("h\xc3\xa9")}}};
  Status status = compile({"__torch__.a", text}, constants, version, program);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : to_text(status.error()));
  if (!status.ok()) return {};
  status = link(program);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : to_text(status.error()));
  status = torch::verify(program);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : to_text(status.error()));
  std::string printed = torch::print(program);
  Result<torch::Program> again = torch::parse_program(printed, "test");
  EXPECT_TRUE(again.ok()) << (again.ok() ? "" : to_text(again.error()));
  EXPECT_EQ(again.ok() ? torch::print(*again) : "", printed);
  return program;
}

// Everything that `print` writes of the blocks, without what every line has.
std::string blocks(const torch::Program& program) {
  std::string text = torch::print(program);
  size_t begin = text.find("\nblock 1 ");
  size_t end = text.find("\nlocation 0");
  if (begin == std::string::npos) return "";
  text = text.substr(begin + 1, (end == std::string::npos ? text.size() : end) - begin - 1);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    std::string line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    for (std::string_view noise : {": any", "overloaded "})
      for (size_t found = line.find(noise); found != std::string::npos; found = line.find(noise))
        line.erase(found, noise.size());
    if (size_t place = line.rfind(" @"); place != std::string::npos) line.erase(place);
    if (!line.empty()) out += line + "\n";
  }
  return out;
}

// The instructions of a function `f(x, y)` with this body.
std::string body(const std::string& text, int64_t version = 10) {
  std::string out = blocks(compiled("def f(x: Tensor,\n    y: Tensor) -> Tensor:\n" + text, version));
  constexpr std::string_view kHead = "block 1 \"__torch__.a.f\"\n  input %x\n  input %y\n";
  EXPECT_TRUE(out.starts_with(kHead)) << out;
  return out.substr(std::min(out.size(), kHead.size()));
}

// "id: message" of the first problem of a file, or of linking it.
std::string problem(const std::string& text) {
  torch::Program program;
  Status status = compile({"__torch__.a", text}, Constants{{Operand{int64_t{1}}}}, 10, program);
  if (status.ok()) status = link(program);
  if (status.ok()) return "none";
  EXPECT_TRUE(status.error().place.member.empty() || status.error().place.member == "code/__torch__/a.py");
  return std::string(info(status.error().kind).id) + ": " + status.error().message();
}

std::string body_problem(const std::string& text) {
  return problem("def f(x: Tensor,\n    y: int) -> Tensor:\n" + text);
}

TEST(ScriptSource, operators_are_called_by_their_base_names) {
  EXPECT_EQ(body(R"(  _0 = torch.add(torch.mul(x, 2), y, alpha=3)
  _1 = ops.quantized.linear(_0, None)
  print("a\"b\n\101\001", _1)
  return torch.autograd.grad(int(_1))
)"),
            R"(  %0 = aten::mul(%x, 2)
  %_0 = aten::add(%0, %y, alpha=3)
  %_1 = quantized::linear(%_0, none)
  prim::Print("a\"b\nA\x01", %_1)
  %1 = aten::Int(%_1)
  %2 = aten::grad(%1)
  return %2
)");
}

TEST(ScriptSource, literals_of_every_kind) {
  EXPECT_EQ(
      body(R"(  _0 = (1, -2, 9223372036854775807, -9223372036854775808, 2., -0.5, 1e+20, inf, -inf, nan)
  _1 = (0.+3.j, -1.-2.j, 3.j, inf-infj, True, False, None, "", CONSTANTS.c0, CONSTANTS.c1, ())
  return (_0, torch.device("cuda:0"))
)"),
      R"(  %_0 = prim::TupleConstruct(1, -2, 9223372036854775807, -9223372036854775808, 2.0, -0.5, 1e+20, inf, -inf, nan)
  %0 = prim::TupleConstruct()
  %_1 = prim::TupleConstruct(complex(0.0, 3.0), complex(-1.0, -2.0), complex(0.0, 3.0), complex(inf, -inf), true, false, none, "", weight 0, "h\xc3\xa9", %0)
  %1 = aten::device("cuda:0")
  %2 = prim::TupleConstruct(%_0, %1)
  return %2
)");
}

TEST(ScriptSource, containers_types_and_subscripts) {
  EXPECT_EQ(body(R"(  l = annotate(List[int], [])
  d = annotate(Dict[str, List[int]], {"a": l})
  o = annotate(Optional[List[int]], [1])
  n = annotate(number, x)
  t : Tuple[int, Tensor] = (1, x)
  i = unchecked_cast(int, y)
  u = uninitialized(Tuple[()])
  b = isinstance(x, (int, List[float]))
  e = annotate(List[float], x.tolist())
  return ((t)[0], (t)[1:], l[i], d["a"], sorted(l), str(b), {}, {1: 2})
)"),
            R"(  %l = prim::ListConstruct("List[int]")
  %d = prim::DictConstruct("Dict[str, List[int]]", "a", %l)
  %0 = prim::ListConstruct("", 1)
  %o = prim::annotate("Optional[List[int]]", %0)
  %n = prim::annotate("number", %x)
  %1 = prim::TupleConstruct(1, %x)
  %t = prim::annotate("Tuple[int, Tensor]", %1)
  %i = prim::unchecked_cast("int", %y)
  %u = prim::Uninitialized("Tuple[()]")
  %b = prim::isinstance(%x, ["int", "List[float]"])
  %e = prim::tolist("List[float]", %x)
  %2 = aten::__getitem__(%t, 0)
  %3 = prim::TupleSlice(%t, 1, 9223372036854775807)
  %4 = aten::__getitem__(%l, %i)
  %5 = aten::__getitem__(%d, "a")
  %6 = aten::sorted(%l)
  %7 = aten::str(%b)
  %8 = prim::DictConstruct("")
  %9 = prim::DictConstruct("", 1, 2)
  %10 = prim::TupleConstruct(%2, %3, %4, %5, %6, %7, %8, %9)
  return %10
)");
}

TEST(ScriptSource, assignments_to_several_names) {
  EXPECT_EQ(body(R"(  x, y = y, x
  a, b = torch.max(x, 0)
  c, d, = torch.split(y)
  e, = (a, )
  a, b = b, torch.neg(a)
  x.grad = a
  return (x, b, c, d, e)
)"),
            R"(  %a, %b = aten::max(%y, 0)
  %0 = aten::split(%x)
  %c, %d = prim::Unpack(%0, 2)
  %1 = prim::TupleConstruct(%a)
  %e = prim::Unpack(%1, 1)
  %b.1 = aten::neg(%a)
  prim::SetAttr(%y, "grad", %b)
  %2 = prim::TupleConstruct(%y, %b.1, %c, %d, %e)
  return %2
)");
}

TEST(ScriptSource, branches_merge_what_both_assign_or_one_changes) {
  EXPECT_EQ(body(R"(  z = 1
  if torch.gt(x, y):
    a = torch.neg(x)
    only = 3
    x = a
  else:
    a = 2
    if z:
      pass
    else:
      z = torch.add(z, 1)
  return (a, x, z)
)"),
            R"(  %0 = aten::gt(%x, %y)
  %a.1, %x.1, %z.2 = prim::If(%0, ^2, ^3)
  %1 = prim::TupleConstruct(%a.1, %x.1, %z.2)
  return %1
block 2 "" branch
  %a = aten::neg(%x)
  return %a, %a, 1
block 3 "" branch
  %z.1 = prim::If(1, ^4, ^5)
  return 2, %x, %z.1
block 4 "" branch
  return 1
block 5 "" branch
  %z = aten::add(1, 1)
  return %z
)");
  EXPECT_EQ(body_problem("  if True:\n    only = 3\n  else:\n    pass\n  return only\n"),
            "script-name: line 7: `only` is not defined here");
}

TEST(ScriptSource, loops_carry_what_they_change) {
  EXPECT_EQ(body(R"(  go = True
  n = 0
  while go:
    go, n = torch.lt(n, 3), torch.add(n, 1)
    inner = n
  for i in range(torch.len(x)):
    y = torch.add(y, i)
    for j in range(i):
      x = torch.mul(x, y)
  for n in range(2):
    pass
  return (n, x, y)
)"),
            R"(  %go.2, %n.2 = prim::Loop(9223372036854775807, true, ^2, true, 0)
  %1 = aten::len(%x)
  %y.3, %x.5 = prim::Loop(%1, true, ^3, %y, %x)
  %n.5 = prim::Loop(2, true, ^5, %n.2)
  %2 = prim::TupleConstruct(%n.5, %x.5, %y.3)
  return %2
block 2 "" branch
  input %0
  input %go
  input %n
  %go.1 = aten::lt(%n, 3)
  %n.1 = aten::add(%n, 1)
  return %go.1, %go.1, %n.1
block 3 "" branch
  input %i
  input %y.1
  input %x.1
  %y.2 = aten::add(%y.1, %i)
  %x.4 = prim::Loop(%i, true, ^4, %x.1)
  return true, %y.2, %x.4
block 4 "" branch
  input %j
  input %x.2
  %x.3 = aten::mul(%x.2, %y.2)
  return true, %x.3
block 5 "" branch
  input %n.3
  input %n.4
  return true, %n.3
)");
}

TEST(ScriptSource, objects_methods_and_contexts) {
  EXPECT_EQ(blocks(compiled(R"(class Acc:
  n : int
  def __init__(self: __torch__.a.Acc) -> NoneType:
    self.n = 1
    return None
  def run(self: __torch__.a.Acc,
    k: int=3) -> int:
    acc = __torch__.a.Acc.__new__(__torch__.a.Acc)
    _0 = (acc).__init__()
    with acc:
      m = getattr(self, "0")
    with self as s:
      s.n = (m).value
    return (acc).run(k, k=torch.add(m, s.n), )
)")),
            R"(block 1 "__torch__.a.Acc.__init__"
  input %self
  prim::SetAttr(%self, "n", 1)
  return none
block 2 "__torch__.a.Acc.run"
  input %self
  input %k
  %acc = prim::CreateObject("__torch__.a.Acc")
  %_0 = prim::CallMethod(%acc, "__init__")
  %0 = prim::Enter(%acc)
  %m = prim::GetAttr(%self, "0")
  prim::Exit(%acc)
  %s = prim::Enter(%self)
  %1 = prim::GetAttr(%m, "value")
  prim::SetAttr(%s, "n", %1)
  prim::Exit(%self)
  %2 = prim::GetAttr(%s, "n")
  %3 = aten::add(%m, %2)
  %4 = prim::CallMethod(%acc, "run", %k, k=%3)
  return %4
)");
}

TEST(ScriptSource, names_of_the_archive_are_told_apart_by_link) {
  EXPECT_EQ(blocks(compiled(R"(class Pair(NamedTuple):
  a : Tensor
  b : int
class Mode(Enum):
  ADD = 1
  MUL = "m"
def f(m: __torch__.a.Mode=__torch__.a.Mode.MUL) -> __torch__.a.Pair:
  _0 = __torch__.a.g
  p = __torch__.a.Pair(_0(m, ), 2)
  if torch.eq(m, __torch__.a.Mode.ADD):
    r = __torch__.a.Mode.ADD
  else:
    r = __torch__.a.Mode.MUL
  return (p, r, (__torch__.a.Mode.MUL).name)
def g(x: __torch__.a.Mode) -> int:
  return 1
)")),
            R"(block 1 "__torch__.a.f"
  input %m
  %0 = prim::CallFunction("__torch__.a.g", %m)
  %p = prim::NamedTupleConstruct("__torch__.a.Pair", %0, 2)
  %1 = prim::EnumMember("__torch__.a.Mode", "ADD")
  %2 = aten::eq(%m, %1)
  %r = prim::If(%2, ^2, ^3)
  %5 = prim::EnumMember("__torch__.a.Mode", "MUL")
  %6 = prim::GetAttr(%5, "name")
  %7 = prim::TupleConstruct(%p, %r, %6)
  return %7
block 2 "" branch
  %3 = prim::EnumMember("__torch__.a.Mode", "ADD")
  return %3
block 3 "" branch
  %4 = prim::EnumMember("__torch__.a.Mode", "MUL")
  return %4
block 4 "__torch__.a.g"
  input %x
  return 1
)");
}

TEST(ScriptSource, a_forked_function_sees_the_names_around_it) {
  EXPECT_EQ(body(R"(  z = torch.neg(x)
  def __forked_function():
    w = torch.add(z, y)
    return (w, z)
  f = fork(__forked_function)
  g = fork(__torch__.a.f, x, y)
  return torch.wait(f)
)"),
            R"(  %z = aten::neg(%x)
  %f = prim::fork(^2)
  %g = prim::fork("__torch__.a.f", %x, %y)
  %1 = aten::wait(%f)
  return %1
block 2 "" branch
  %w = aten::add(%z, %y)
  %0 = prim::TupleConstruct(%w, %z)
  return %0
)");
}

TEST(ScriptSource, local_names_come_before_others) {
  EXPECT_EQ(blocks(compiled(R"(def f(torch: __torch__.a.M,
    inf: int,
    ops: Tensor) -> Tensor:
  return ((torch).add(inf, ), torch.add, ops.x)
)")),
            R"(block 1 "__torch__.a.f"
  input %torch
  input %inf
  input %ops
  %0 = prim::CallMethod(%torch, "add", %inf)
  %1 = prim::GetAttr(%torch, "add")
  %2 = prim::GetAttr(%ops, "x")
  %3 = prim::TupleConstruct(%0, %1, %2)
  return %3
)");
}

TEST(ScriptSource, operators_of_old_files_are_upgraded) {
  std::string text =
      "  return (torch.div(x, y), torch.div_(x, y), torch.full([1], 2), torch.linspace(0, 1), "
      "torch.logspace(0, 1), ops.aten.gelu(x))\n";
  std::string old = body(text, 3);
  for (std::string_view name : {"div", "div_", "full", "linspace", "logspace", "gelu"})
    EXPECT_NE(old.find("upgrader::" + std::string(name) + "("), std::string::npos) << old;
  EXPECT_EQ(body(text, 10).find("upgrader"), std::string::npos);
  EXPECT_NE(body(text, 4).find("= aten::div("), std::string::npos);
  EXPECT_NE(body(text, 9).find("upgrader::gelu"), std::string::npos);
}

TEST(ScriptSource, classes_say_what_they_declare) {
  torch::Program program = compiled(R"(op_version_set = 1
import __torch__.b
class M(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["running", ]
  __annotations__ = []
  __forward_pre_hooks__ = ["before", ]
  __forward_hooks__ = ["after", ]
  weight : Tensor
  __annotations__["0"] = __torch__.b.___torch_mangle_1.N
  n : Final[List[int]] = [1, 2]
  p : Final[float] = inf
class Empty:
class I(ModuleInterface):
  def forward(self, x: Tensor) -> Tensor:
    pass
class E(Enum):
  ADD = 1
def f(a: Tuple[int, str]=(1, "x"),
    b: Dict[str, int]=annotate(Dict[str, int], {"k": 1}),
    c: Device=torch.device("cuda:1"),
    d: __torch__.a.E=__torch__.a.E.ADD,
    e: Tensor=CONSTANTS.c0) -> NoneType:
  pass
)");
  std::string text = torch::print(program);
  EXPECT_EQ(text.substr(text.find("class 0"), text.find("\nblock 0") - text.find("class 0")),
            R"(class 0 module "__torch__.a.M"
  attribute "weight" "Tensor"
  attribute "0" "__torch__.b.___torch_mangle_1.N"
  constant "n" = object 0
  constant "p" = inf
  parameter "weight"
  buffer "running"
  forward_pre_hook "before"
  forward_hook "after"
class 1 plain "__torch__.a.Empty"
class 2 interface "__torch__.a.I"
class 3 enum "__torch__.a.E"
  constant "ADD" = 1
function 0 "__torch__.a.f" ^1 -> "NoneType"
  takes "a" "Tuple[int, str]" = object 1
  takes "b" "Dict[str, int]" = object 2
  takes "c" "Device" = device("cuda", 1)
  takes "d" "__torch__.a.E" = object 3
  takes "e" "Tensor" = weight 0
object 0 list "List[int]"
  item none = 1
  item none = 2
object 1 tuple ""
  item none = 1
  item none = "x"
object 2 dict "Dict[str, int]"
  item "k" = 1
object 3 enum "__torch__.a.E"
  item "name" = "ADD"
  item "value" = 1
)");
}

TEST(ScriptSource, a_hook_is_a_method_and_a_function) {
  torch::Program program;
  Constants constants;
  ASSERT_TRUE(compile({"__torch__.a", R"(class M(Module):
  def hook(self: __torch__.a.M,
    i: Tuple[Tensor]) -> Tensor:
    return 1
def f(m: __torch__.a.M) -> Tensor:
  return __torch__.a.M.hook(m, (1,), )
)"},
                      constants, 10, program));
  ASSERT_TRUE(
      compile({"__torch__.a.M", "def hook(self: __torch__.a.M,\n    i: Tuple[Tensor]) -> Tensor:\n  return 1\n"},
              constants, 10, program));
  ASSERT_TRUE(link(program));
  std::string text = torch::print(program);
  EXPECT_NE(text.find("CallFunction(\"__torch__.a.M.hook.<function>\", %m, %0)"), std::string::npos) << text;
  EXPECT_NE(text.find("method 0 \"__torch__.a.M.hook\""), std::string::npos);
  EXPECT_NE(text.find("function 2 \"__torch__.a.M.hook.<function>\""), std::string::npos);
}

TEST(ScriptSource, an_instruction_stands_in_the_code_or_where_the_author_wrote_it) {
  torch::Program program = compiled("def f(x: Tensor) -> Tensor:\n  return torch.neg(x)\n");
  ASSERT_EQ(program.locations.size(), 1U);
  ASSERT_EQ(program.locations[0].frames.size(), 1U);
  EXPECT_EQ(program.locations[0].frames[0].file, "code/__torch__/a.py");
  EXPECT_EQ(program.locations[0].frames[0].line, 2);
  EXPECT_EQ(program.locations[0].frames[0].function, "__torch__.a.f");
}

// ("FORMAT_WITH_STRING_TABLE", strings, entries) and the old entries alone
TEST(ScriptSource, debug_ranges_of_both_formats) {
  namespace p = archive::pickled;
  const std::string kAuthor = "def forward(self, x):\n    return -x\n";
  std::string source = p::tuple("](" + p::integer(1) + p::integer(2) + "e" + p::integer(3) + p::integer(7));
  std::string traced = p::tuple("](" + p::integer(4) + p::integer(0) + "e" + p::integer(0) + p::integer(9));
  std::string none = p::tuple("]" + p::integer(0) + p::integer(0));
  auto entry = [](int offset, const std::string& of, int start) {
    return p::tuple(p::integer(offset) + p::tuple(of + p::integer(start) + p::integer(start + 1)) + p::integer(0));
  };
  std::string strings =
      p::tuple(p::text("") + p::text("def forward(self, x):\n") + p::text("    return -x\n") + p::text("m.py") +
               p::text("/site-packages/torch/nn/a.py(3): relu\nmain.py(12): run\n"));
  std::string table = p::whole(p::tuple(p::text("FORMAT_WITH_STRING_TABLE") + strings +
                                        p::tuple(entry(30, source, 33) + entry(0, none, 0) + entry(50, traced, 0))));
  Result<DebugRanges> ranges = DebugRanges::read(bytes_of(table), "m.pt", "a.py.debug_pkl");
  ASSERT_TRUE(ranges.ok()) << to_text(ranges.error());
  EXPECT_TRUE(ranges->at(29).empty());
  ASSERT_EQ(ranges->at(49).size(), 1U);
  EXPECT_EQ(ranges->at(49)[0].file, "m.py");
  EXPECT_EQ(ranges->at(49)[0].line, 8);
  EXPECT_EQ(ranges->at(49)[0].function, "forward");
  EXPECT_EQ(ranges->at(49)[0].text, "return -x");
  ASSERT_EQ(ranges->at(1000).size(), 1U);
  EXPECT_EQ(ranges->at(1000)[0].file, "main.py");
  EXPECT_EQ(ranges->at(1000)[0].line, 12);
  EXPECT_EQ(ranges->at(1000)[0].function, "run");

  torch::Program program;
  ASSERT_TRUE(
      compile({"__torch__.a", "def f(x: Tensor) -> Tensor:\n  return torch.neg(x)\n", &*ranges}, {}, 10, program));
  EXPECT_EQ(program.locations.at(0).frames.at(0).text, "return -x");

  std::string old = p::whole(p::tuple(p::tuple(
      p::integer(5) + p::tuple(p::text(kAuthor) + p::text("m.py") + p::integer(7)) + p::integer(0) + p::integer(3))));
  ranges = DebugRanges::read(bytes_of(old), "m.pt", "a.py.debug_pkl");
  ASSERT_TRUE(ranges.ok()) << to_text(ranges.error());
  ASSERT_EQ(ranges->at(5).size(), 1U);
  EXPECT_EQ(ranges->at(5)[0].line, 7);

  for (std::string odd :
       {p::integer(3), p::tuple(p::integer(3)), p::tuple(p::text("FORMAT_NEW") + strings + strings)}) {
    ranges = DebugRanges::read(bytes_of(p::whole(odd)), "m.pt", "a.py.debug_pkl");
    ASSERT_FALSE(ranges.ok());
    EXPECT_EQ(ranges.error().kind, Kind::ScriptDebugRanges);
  }
}

TEST(ScriptSource, what_python_has_and_the_printer_not_is_refused_by_name) {
  for (std::string_view word :
       {"break", "continue", "raise x", "assert x", "del x", "import x", "elif x:", "return x"}) {
    std::string name(word.substr(0, word.find(' ')));
    EXPECT_EQ(body_problem("  while y:\n    " + std::string(word) + "\n  return x\n"),
              "script-statement: line 4 has a `" + name + "` that PyTorch does not write into an archive");
  }
  EXPECT_EQ(body_problem("  return x\n  return x\n"),
            "script-statement: line 3 has a `return` that PyTorch does not write into an archive");
  EXPECT_EQ(body_problem("  return x + y\n"), "script-syntax: line 3 has `+`, expected the end of the line");
  EXPECT_EQ(body_problem("  x += y\n"), "script-syntax: line 3 has `+=`, expected the end of the line");
  EXPECT_EQ(body_problem("  return -x\n"), "script-syntax: line 3 has `x`, expected a number after `-`");
  EXPECT_EQ(body_problem("  for i in x:\n    pass\n"),
            "script-syntax: line 3 has another loop, expected `range` of one number after `in`");
  EXPECT_EQ(body_problem("  for i in range(1, 2):\n    pass\n"),
            "script-syntax: line 3 has another loop, expected `range` of one number after `in`");
  EXPECT_EQ(body_problem("  x[0] = y\n"),
            "script-syntax: line 3 has an assignment to an expression, expected a name or an attribute before `=`");
  EXPECT_EQ(body_problem("  return x[1, 2]\n"),
            "script-syntax: line 3 has a subscript of several indices, expected one index");
  EXPECT_EQ(problem("x = 1\n"), "script-syntax: line 1 has `x`, expected `class` or `def`");
}

TEST(ScriptSource, broken_lines_are_refused) {
  EXPECT_EQ(body_problem("  return (x\n"), "script-syntax: line 4 has the end of the file, expected `,` or `)`");
  EXPECT_EQ(body_problem("  return \"x\n"),
            "script-syntax: line 3 has a text that does not end in its line, expected a closing quote");
  EXPECT_EQ(body_problem("  return \"\\400\"\n"),
            "script-syntax: line 3 has a text, expected a text whose escapes are C's");
  EXPECT_EQ(body_problem("\treturn x\n"), "script-syntax: line 3 has a tab, expected blanks before a statement");
  EXPECT_EQ(body_problem("    x = y\n  return x\n"),
            "script-syntax: line 4 has 2 blanks before a statement, expected 0");
  EXPECT_EQ(body_problem("  return \xc3\xa9\n"),
            "script-syntax: line 3 has the byte \"\\xc3\", expected printable ASCII");
  EXPECT_EQ(body_problem("  return 9223372036854775808\n"),
            "script-syntax: line 3 has `9223372036854775808`, expected an integer of 64 bits");
  EXPECT_EQ(body_problem("  return 1e999\n"), "script-syntax: line 3 has `1e999`, expected a number of 64 bits");
  EXPECT_EQ(body_problem("  return annotate(1, x)\n"), "script-syntax: line 3 has an expression, expected a type");
  EXPECT_EQ(body_problem("  return annotate(x)\n"), "script-syntax: line 3 has 1 arguments of `annotate`, expected 2");
  EXPECT_EQ(body_problem("  return getattr(x, y)\n"),
            "script-syntax: line 3 has another expression, expected an attribute's name in quotes");
  EXPECT_EQ(body_problem("  return torch.add(x, alpha=1, y)\n"),
            "script-syntax: line 3 has `y`, expected a keyword argument after another");
  EXPECT_EQ(body_problem("  a, b = x, y, x\n"),
            "script-syntax: line 3 has 3 values for 2 names, expected as many of both");
  EXPECT_EQ(body_problem("  return fork(x)\n"),
            "script-syntax: line 3 has `fork` of something else, expected a function that is forked once");
  EXPECT_EQ(body_problem("  return __torch__.A.__new__(x)\n"),
            "script-syntax: line 3 has other arguments of `__new__`, expected the class itself");
  EXPECT_EQ(body_problem("  def g(z):\n    return z\n  return x\n"),
            "script-syntax: line 3 has a function with parameters inside of another, expected one without");
  EXPECT_EQ(problem("def f(x: int=torch.neg(1)) -> int:\n  return x\n"),
            "script-syntax: line 1 has an expression, expected a constant");
  EXPECT_EQ(
      problem("class A(Base):\n  pass\n"),
      "script-syntax: line 1 has base class `Base`, expected Module, NamedTuple, Enum, Interface or ModuleInterface");
  EXPECT_EQ(problem("class A:\n  x : int = 3\n"), "script-syntax: line 2 has `x` with a value, expected `Final[...]`");
  EXPECT_EQ(problem("class A(Module):\n  __parameters__ = [x]\n"),
            "script-syntax: line 2 has an expression, expected a list of names in quotes");
  EXPECT_EQ(problem("class A:\n  def f() -> int:\n    return 1\n"),
            "script-syntax: line 2 has a method without parameters, expected `self`");
}

TEST(ScriptSource, unknown_names_are_refused) {
  EXPECT_EQ(body_problem("  return z\n"), "script-name: line 3: `z` is not defined here");
  EXPECT_EQ(body_problem("  return z(x)\n"), "script-name: line 3: `z` is called and is not defined here");
  EXPECT_EQ(body_problem("  return x(y)\n"), "script-name: line 3: `x` is called and is no function");
  EXPECT_EQ(body_problem("  return torch.nn.relu(y)\n"), "script-name: line 3: `torch.nn.relu` is no operator");
  EXPECT_EQ(body_problem("  return CONSTANTS.c1\n"),
            "script-name: line 3: `CONSTANTS.c1` is none of the 1 constants of the archive");
  // The language's own instructions are no operators: a file cannot write them by hand.
  EXPECT_EQ(body_problem("  return ops.prim.If(x, y)\n"),
            "script-name: line 3: `prim::If` is no operator of PyTorch's code");
  EXPECT_EQ(body_problem("  return ops.upgrader.div(x, y)\n"),
            "script-name: line 3: `upgrader::div` is no operator of PyTorch's code");
  EXPECT_EQ(body_problem("  def g():\n    return x\n  return g\n"),
            "script-name: line 5: `g` is a function and used as a value");
  EXPECT_EQ(problem("def f(x: int,\n    x: int) -> int:\n  return x\n"),
            "script-name: line 2: `x` is a parameter twice");
}

TEST(ScriptSource, what_the_archive_lacks_or_has_twice_is_refused) {
  EXPECT_EQ(body_problem("  return __torch__.g(x)\n"),
            "script-reference: `__torch__.g` is called, and no function or NamedTuple of the archive");
  EXPECT_EQ(body_problem("  return __torch__.Mode.ADD\n"),
            "script-reference: `__torch__.Mode.ADD` is no member of an enum of the archive");
  EXPECT_EQ(body_problem("  return __torch__.A.__new__(__torch__.A)\n"),
            "script-reference: `__torch__.A` is no class of the archive that code can make objects of");
  EXPECT_EQ(problem("class A:\nclass A:\n"), "script-reference: `__torch__.a.A` is defined a second time");
  EXPECT_EQ(problem("def f() -> int:\n  return 1\ndef f() -> int:\n  return 1\n"),
            "script-reference: `__torch__.a.f` is defined a second time");
}

TEST(ScriptSource, depth_and_size_are_bounded) {
  std::string deep(kMaxExpressionDepth + 1, '(');
  EXPECT_EQ(body_problem("  return " + deep + "\n"),
            "script-size: the code exceeds a limit: the depth of an expression is greater than 200");
  std::string chain = "x";
  for (size_t i = 0; i <= kMaxExpressionDepth; ++i) chain += ".a";
  EXPECT_EQ(body_problem("  return " + chain + "\n"),
            "script-size: the code exceeds a limit: the depth of an expression is greater than 200");
  std::string blocks;
  for (size_t i = 1; i <= kMaxStatementDepth + 1; ++i) blocks += std::string(i, ' ') + "if x:\n";
  EXPECT_EQ(body_problem(blocks), "script-size: the code exceeds a limit: the depth of its blocks is greater than 120");
  EXPECT_EQ(problem(std::string(kMaxSourceBytes + 1, '\n')),
            "script-size: the code exceeds a limit: its number of bytes is greater than 33554432");
  std::string words;
  words.reserve(2 * kMaxTokens + 2);
  for (size_t i = 0; i <= kMaxTokens; ++i) words += ", ";
  EXPECT_EQ(problem(words), "script-size: the code exceeds a limit: its number of words is greater than 4194304");
}

}  // namespace
}  // namespace torchlift::frontend::script
