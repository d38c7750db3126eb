// TorchScript's own operators on tensors, called as a program calls them; results are looked up where they follow from
// constants.
#include <gtest/gtest.h>

#include "aten/script_calls.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

using lower::describe;

class ScriptTensorOps : public testing::Test {
 protected:
  std::string call(std::string_view name, std::vector<NamedValue> arguments) {
    IValues results = call_overloaded(l, name, std::move(arguments));
    std::string out;
    for (const IValue& r : results) out += (out.empty() ? "" : ", ") + text(r);
    auto refusals = l.take_refusals();
    if (!refusals.empty()) return "refused: " + diagnose(refusals[0].kind, refusals[0].arguments).message();
    return out;
  }
  std::string text(const IValue& v) {
    auto* t = v.get<Tensor>();
    if (!t || t->is_poison()) return describe(v);
    std::string out = describe(*t);
    if (auto elements = l.known_elements(*t)) {
      out += " =";
      for (const Scalar& s : *elements) out += " " + s.text();
    }
    return out;
  }
  Tensor constant(DType dtype, const Ints& values) { return l.make(l.hlo.constant_ints(dtype, values)); }
  Tensor scalar(DType dtype, Scalar s) { return l.make(l.constant(dtype, s)); }
  Tensor input(DType dtype, Dims dims) { return l.make(l.hlo.argument({dtype, std::move(dims)})); }
  IValue list(std::string type, std::vector<IValue> items) {
    auto out = std::make_shared<lower::ScriptList>();
    out->element_type = std::move(type);
    out->items = std::move(items);
    return lower::ListRef(out);
  }
  IValue ints(const Ints& values) {
    std::vector<IValue> items;
    for (int64_t v : values) items.emplace_back(Dim(v));
    return list("int", std::move(items));
  }

  stablehlo::Module module;
  Lower l{module, stablehlo::Precision::Highest};
};

TEST_F(ScriptTensorOps, tensors_are_asked) {
  Tensor x = input(DType::Float16, {Dim(2), Dim(3)});
  EXPECT_EQ(call("aten::size", {{"", x}}), "[2, 3]");
  EXPECT_EQ(call("aten::size", {{"", x}, {"", Dim(-1)}}), "3");
  EXPECT_EQ(call("aten::size", {{"", x}, {"", Dim(2)}}), "refused: dim 2 of a tensor with 2 dimensions");
  EXPECT_EQ(call("aten::stride", {{"", x}, {"dim", Dim(0)}}), "3");
  EXPECT_EQ(call("aten::dim", {{"", x}}), "2");
  EXPECT_EQ(call("aten::len", {{"", x}}), "2");
  EXPECT_EQ(call("aten::numel", {{"", x}}), "6");
  EXPECT_EQ(call("prim::dtype", {{"", x}}), "5");
  EXPECT_EQ(call("prim::device", {{"", x}}), "cpu");
  EXPECT_EQ(call("prim::layout", {{"", x}}), "0");
  EXPECT_EQ(call("prim::requires_grad", {{"", x}}), "False");
  EXPECT_EQ(call("prim::itemsize", {{"", x}}), "2");
  EXPECT_EQ(call("aten::is_floating_point", {{"", x}}), "True");
  EXPECT_EQ(call("aten::is_contiguous", {{"", x}}), "True");
  EXPECT_EQ(call("aten::is_contiguous", {{"", x}, {"memory_format", Dim(2)}}), "False");
  EXPECT_EQ(call("aten::device", {{"", std::string("cuda:1")}}), "cuda");
}

TEST_F(ScriptTensorOps, tensors_become_numbers) {
  EXPECT_EQ(call("aten::item", {{"", scalar(DType::Float32, 2.5)}}), "2.5");
  EXPECT_EQ(call("aten::Int", {{"", scalar(DType::Float32, -2.5)}}), "-2");
  EXPECT_EQ(call("aten::Bool", {{"", scalar(DType::Float32, 0.5)}}), "True");
  EXPECT_EQ(call("aten::Float", {{"", constant(DType::Int8, {3})}}), "3.0");
  EXPECT_EQ(call("aten::item", {{"", input(DType::Float32, {})}}), "float64 that depends on tensors");
  EXPECT_EQ(call("aten::Bool", {{"", input(DType::Int32, {Dim(1)})}}), "bool that depends on tensors");
  EXPECT_EQ(call("aten::item", {{"", input(DType::Float32, {Dim(2)})}}),
            "refused: a tensor of 2 elements cannot become a Python number");
  EXPECT_EQ(call("aten::IntImplicit", {{"", scalar(DType::Float32, 1.0)}}),
            "refused: a tensor of float32 stands in the place of an int");
  EXPECT_EQ(call("aten::FloatImplicit", {{"", constant(DType::Int64, {1})}}),
            "refused: a tensor of 1 dimensions stands in the place of a number, only one of no dimensions can");
  EXPECT_EQ(call("aten::equal", {{"", constant(DType::Int64, {1, 2})}, {"", constant(DType::Int64, {1, 2})}}), "True");
  EXPECT_EQ(call("aten::equal", {{"", constant(DType::Int64, {1, 2})}, {"", constant(DType::Int64, {1})}}), "False");
}

TEST_F(ScriptTensorOps, numbers_become_tensors_that_are_known) {
  EXPECT_EQ(call("prim::NumToTensor", {{"", Dim(7)}}), "i64[] = 7");
  EXPECT_EQ(call("prim::NumToTensor", {{"", 0.5}}), "f64[] = 0.5");
  EXPECT_EQ(call("prim::NumToTensor", {{"", true}}), "bool[] = True");
  Tensor seven = *call_overloaded(l, "prim::NumToTensor", {{"", Dim(7)}})[0].get<Tensor>();
  EXPECT_FALSE(seven.is_wrapped_number());
  EXPECT_EQ(call("aten::floor_divide", {{"", seven}, {"", scalar(DType::Int64, 2)}}), "i64[] = 3");
  EXPECT_EQ(call("aten::floor_divide", {{"", seven}, {"", scalar(DType::Int64, -2)}}), "i64[] = -4");
  EXPECT_EQ(call("aten::mul", {{"", seven}, {"", Dim(3)}}), "i64[] = 21");
}

TEST_F(ScriptTensorOps, lists_become_tensors_and_tensors_lists) {
  EXPECT_EQ(call("aten::tensor", {{"", ints({1, 2})}}), "i64[2] = 1 2");
  EXPECT_EQ(call("aten::tensor", {{"", 0.5}}), "f32[] = 0.5");
  EXPECT_EQ(call("aten::tensor", {{"", true}, {"dtype", Dim(6)}}), "f32[] = 1.0");
  EXPECT_EQ(call("aten::tensor", {{"", list("List[int]", {ints({1, 2}), ints({3, 4})})}, {"dtype", Dim(0)}}),
            "u8[2,2] = 1 2 3 4");
  EXPECT_EQ(call("aten::tensor", {{"", list("List[int]", {ints({1, 2}), ints({3})})}}),
            "refused: expected nested lists of equal lengths");
  EXPECT_EQ(call("aten::tensor", {{"", list("bool", {})}}), "bool[0] =");
  EXPECT_EQ(call("aten::tensor", {{"", Dim(1)}, {"dtype", Dim(13)}}), "refused: `dtype`=13 has no lowering");
  IValue asked = call_overloaded(l, "aten::item", {{"", input(DType::Int32, {})}})[0];
  EXPECT_EQ(call("aten::tensor", {{"", list("int", {asked, Dim(2)})}}), "i64[2]");
  EXPECT_EQ(call("prim::tolist", {{"", std::string("List[int]")}, {"", constant(DType::Int64, {1, 2})}}), "[1, 2]");
  EXPECT_EQ(call("prim::tolist", {{"", std::string("List[int]")}, {"", input(DType::Float32, {Dim(2)})}}),
            "[float64 that depends on tensors, float64 that depends on tensors]");
  EXPECT_EQ(call("prim::tolist", {{"", std::string("List[int]")}, {"", input(DType::Float32, {Dim(65)})}}),
            "refused: a list of the elements of f32[65] depends on values of tensors");
  Tensor x = input(DType::Float32, {Dim(2)});
  EXPECT_EQ(call_overloaded(l, "aten::as_tensor", {{"", x}})[0].get<Tensor>()->node(), x.node());
}

TEST_F(ScriptTensorOps, conversions_of_torchscript_alone) {
  Tensor x = input(DType::Float32, {Dim(2)});
  auto to = [&](std::vector<NamedValue> arguments) {
    arguments.insert(arguments.begin(), {"", x});
    return *call_overloaded(l, "aten::to", std::move(arguments))[0].get<Tensor>();
  };
  EXPECT_EQ(to({{"", torch::Device{"cuda", -1}}}), x);
  EXPECT_EQ(to({{"", IValue()}, {"", Dim(6)}}), x);
  EXPECT_EQ(to({{"", IValue()}, {"", Dim(7)}}).dtype(), DType::Float64);
  EXPECT_EQ(to({{"", false}, {"", false}}), x);
  EXPECT_FALSE(to({{"", false}, {"", true}}).shares_storage_with(x));
  EXPECT_EQ(to({{"", Dim(5)}}).dtype(), DType::Float16);
  EXPECT_EQ(*call_overloaded(l, "aten::cuda", {{"", x}})[0].get<Tensor>(), x);
  EXPECT_EQ(call("aten::promote_types", {{"", Dim(3)}, {"", Dim(5)}}), "5");
  EXPECT_EQ(call("aten::result_type", {{"", x}, {"", Dim(1)}}), "6");
}

TEST_F(ScriptTensorOps, numbers_are_copied_into_tensors) {
  Tensor x = l.make(l.full({Dim(2)}, DType::Int32, Scalar(1)));
  EXPECT_EQ(call("aten::copy_", {{"", x}, {"", Dim(3)}}), "i32[2] = 3 3");
  EXPECT_EQ(text(x), "i32[2] = 3 3");
  EXPECT_EQ(call("aten::_no_grad_fill_", {{"", x}, {"", Dim(4)}}), "i32[2] = 4 4");
  EXPECT_EQ(call("aten::_no_grad_zero_", {{"", x}}), "i32[2] = 0 0");
  EXPECT_EQ(text(x), "i32[2] = 0 0");
}

TEST_F(ScriptTensorOps, gradients_are_refused) {
  EXPECT_EQ(call("aten::backward", {{"", input(DType::Float32, {})}}),
            "refused: `torch.autograd` cannot be expressed: gradients are not computed: the model runs for inference");
  EXPECT_EQ(call("prim::AutogradZero", {}), "refused: `prim::AutogradZero` has no lowering");
}

TEST_F(ScriptTensorOps, resizing_of_old_files) {
  Tensor x = input(DType::Float32, {Dim(1), Dim(2), Dim(4), Dim(6)});
  EXPECT_EQ(call("aten::__interpolate", {{"", x}, {"", ints({8, 9})}, {"", IValue()}, {"", std::string("nearest")}}),
            "f32[1,2,8,9]");
  EXPECT_EQ(
      call("aten::__interpolate", {{"", x}, {"", IValue()}, {"", 1.5}, {"", std::string("bilinear")}, {"", true}}),
      "f32[1,2,6,9]");
  EXPECT_EQ(call("aten::__interpolate",
                 {{"", x}, {"", IValue()}, {"", list("float", {2.0, 0.5})}, {"", std::string("area")}}),
            "f32[1,2,8,3]");
  EXPECT_EQ(call("aten::__upsample_bilinear", {{"", x}, {"", Dim(5)}}), "f32[1,2,5,5]");
  EXPECT_EQ(call("aten::__upsample_nearest", {{"", x}, {"scale_factor", Dim(2)}}), "f32[1,2,8,12]");
  EXPECT_EQ(call("aten::__interpolate", {{"", x}, {"", Dim(5)}, {"", 2.0}}).substr(0, 30),
            "refused: expected one size or ");
  EXPECT_EQ(call("aten::__interpolate", {{"", x}, {"", Dim(5)}, {"", IValue()}, {"", std::string("cubic")}}),
            "refused: `mode`=cubic has no lowering");
}

TEST_F(ScriptTensorOps, old_versions_mean_something_else) {
  Tensor a = constant(DType::Int64, {7, -7, 5}), b = constant(DType::Int64, {2, 2, -2});
  EXPECT_EQ(call("upgrader::div", {{"", a}, {"", b}}), "i64[3] = 3 -3 -2");
  EXPECT_EQ(call("upgrader::div", {{"", a}, {"", Dim(2)}}), "i64[3] = 3 -3 2");
  EXPECT_EQ(call("upgrader::div", {{"", a}, {"", 2.0}}), "f32[3] = 3.5 -3.5 2.5");
  EXPECT_EQ(call("upgrader::div", {{"", a}, {"", b}, {"rounding_mode", std::string("floor")}}), "i64[3] = 3 -4 -3");
  EXPECT_EQ(call("upgrader::div_", {{"", a}, {"", b}}), "i64[3] = 3 -3 -2");
  EXPECT_EQ(text(a), "i64[3] = 3 -3 -2");
  EXPECT_EQ(call("upgrader::full", {{"", ints({2})}, {"", Dim(3)}}), "f32[2] = 3.0 3.0");
  EXPECT_EQ(call("upgrader::full", {{"", ints({2})}, {"", Dim(3)}, {"dtype", Dim(4)}}), "i64[2] = 3 3");
  EXPECT_EQ(call("upgrader::linspace", {{"", 0.0}, {"", 1.0}}), "f32[100]");
  EXPECT_EQ(call("upgrader::linspace", {{"", 0.0}, {"", 1.0}, {"steps", IValue()}}), "f32[100]");
  EXPECT_EQ(call("upgrader::logspace", {{"", 0.0}, {"", 1.0}, {"", IValue()}}), "f32[100]");
  EXPECT_EQ(call("upgrader::gelu", {{"", input(DType::Float32, {Dim(2)})}}), "f32[2]");
}

}  // namespace
}  // namespace torchlift::aten
