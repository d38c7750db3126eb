#include "frontend/export/values.hpp"

#include <array>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::frontend {

using torch::SymExpr;

Result<DType> ValueReader::dtype(Element element) {
  TRY(int64_t number, json_.integer(element));
  switch (number) {
    case 1: return DType::UInt8;
    case 2: return DType::Int8;
    case 3: return DType::Int16;
    case 4: return DType::Int32;
    case 5: return DType::Int64;
    case 6: return DType::Float16;
    case 7: return DType::Float32;
    case 8: return DType::Float64;
    case 9: return DType::Complex32;
    case 10: return DType::Complex64;
    case 11: return DType::Complex128;
    case 12: return DType::Bool;
    case 13: return DType::BFloat16;
    case 28: return DType::UInt16;
    case 29: return DType::Float8E4M3FN;
    case 30: return DType::Float8E5M2;
    case 31: return DType::Float8E4M3FNUZ;
    case 32: return DType::Float8E5M2FNUZ;
    case 33: return DType::Float8E8M0FNU;
    case 34: return DType::UInt32;
    case 35: return DType::UInt64;
    default: return json_.wrong(element, "the number of an element type");
  }
}

Result<torch::Layout> ValueReader::layout(Element element) {
  using torch::Layout;
  constexpr std::array kLayouts{Layout::SparseCoo, Layout::SparseCsr, Layout::SparseCsc, Layout::SparseBsr,
                                Layout::SparseBsc, Layout::Mkldnn,    Layout::Strided};  // from 1
  TRY(int64_t number, json_.integer(element));
  if (number < 1 || number > static_cast<int64_t>(kLayouts.size()))
    return json_.wrong(element, "the number of a layout");
  return kLayouts[static_cast<size_t>(number - 1)];
}

Result<torch::MemoryFormat> ValueReader::memory_format(Element element) {
  using torch::MemoryFormat;
  constexpr std::array kFormats{MemoryFormat::Contiguous, MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d,
                                MemoryFormat::Preserve};  // from 1
  TRY(int64_t number, json_.integer(element));
  if (number < 1 || number > static_cast<int64_t>(kFormats.size()))
    return json_.wrong(element, "the number of a memory format");
  return kFormats[static_cast<size_t>(number - 1)];
}

std::string_view layout_name(torch::Layout layout) {
  switch (layout) {
    case torch::Layout::Strided: return "strided";
    case torch::Layout::SparseCoo: return "sparse_coo";
    case torch::Layout::SparseCsr: return "sparse_csr";
    case torch::Layout::SparseCsc: return "sparse_csc";
    case torch::Layout::SparseBsr: return "sparse_bsr";
    case torch::Layout::SparseBsc: return "sparse_bsc";
    case torch::Layout::Mkldnn: return "mkldnn";
  }
  return {};
}

Result<torch::Device> ValueReader::device(Element element) {
  TRY(Object object, json_.object(element));
  torch::Device out;
  TRY(out.type, json_.text_field(object, "type"));
  TRY_OK(json_.optional_field(object, "index", [&](Element index) -> Status {
    TRY(out.index, json_.integer(index));
    return Unit{};
  }));
  return out;
}

Result<SymExpr> ValueReader::parsed(std::string_view text) {
  auto known = expressions_.find(text);
  if (known != expressions_.end()) return known->second;
  Result<SymExpr> first = infix_ ? torch::parse_infix(text) : torch::parse_srepr(text);
  if (!first) {  // a program that was rewritten by another version may hold the other form
    Result<SymExpr> second = infix_ ? torch::parse_srepr(text) : torch::parse_infix(text);
    if (!second) return json_.error(Kind::SymbolicSyntax, first.error().arguments);
    first = std::move(second);
  }
  expressions_.emplace(text, first.value());
  return first;
}

Result<SymExpr> ValueReader::expression(Object object) {
  TRY(SymExpr expr, json_.field(object, "expr_str", [&](Element element) -> Result<SymExpr> {
    TRY(std::string_view text, json_.text(element));
    return parsed(text);
  }));
  if (hints_ == nullptr) return expr;
  TRY_OK(json_.optional_field(object, "hint", [&](Element element) -> Status {
    TRY(auto hint, json_.tagged(element));
    if (hint.first != "as_int") return Unit{};
    TRY(int64_t size, json_.integer(hint.second));
    hints_->emplace_back(expr, size);
    return Unit{};
  }));
  return expr;
}

Result<SymExpr> ValueReader::sym_number(Element element) {
  if (element.is_int64()) {
    TRY(int64_t value, json_.integer(element));
    return SymExpr::of(value);
  }
  TRY(auto tagged, json_.tagged(element));
  JsonReader::Scope scope = json_.in(tagged.first);
  if (tagged.first == "as_int") {
    TRY(int64_t value, json_.integer(tagged.second));
    return SymExpr::of(value);
  }
  if (tagged.first == "as_float") {
    TRY(double value, json_.number(tagged.second));
    return SymExpr::of_float(value);
  }
  if (tagged.first == "as_bool") {
    TRY(bool value, json_.boolean(tagged.second));
    return SymExpr::of_bool(value);
  }
  if (tagged.first != "as_expr") return json_.unknown_tag(tagged.first);
  TRY(Object object, json_.object(tagged.second));
  return expression(object);
}

Result<std::vector<SymExpr>> ValueReader::sym_numbers(Element element) {
  std::vector<SymExpr> out;
  TRY_OK(json_.each(element, [&](Element item) -> Status {
    TRY(out.emplace_back(), sym_number(item));
    return Unit{};
  }));
  return out;
}

Result<torch::TensorMeta> ValueReader::tensor_meta(Element element) {
  TRY(Object object, json_.object(element));
  torch::TensorMeta out;
  TRY(out.dtype, json_.field(object, "dtype", [&](Element e) { return dtype(e); }));
  TRY(out.sizes, json_.field(object, "sizes", [&](Element e) { return sym_numbers(e); }));
  std::vector<Hint>* hints = std::exchange(hints_, nullptr);  // of sizes only
  auto read = [&]() -> Status {
    TRY_OK(json_.optional_field(object, "strides", [&](Element e) -> Status {
      TRY(out.strides, sym_numbers(e));
      return Unit{};
    }));
    TRY_OK(json_.optional_field(object, "storage_offset", [&](Element e) -> Status {
      TRY(out.storage_offset, sym_number(e));
      return Unit{};
    }));
    return json_.optional_field(object, "layout", [&](Element e) -> Status {
      TRY(out.layout, layout(e));
      return Unit{};
    });
  };
  Status rest = read();
  hints_ = hints;
  TRY_OK(std::move(rest));
  TRY(out.requires_grad, json_.boolean_field(object, "requires_grad", false));
  if (!out.strides.empty() && out.strides.size() != out.sizes.size())
    return json_.wrong(
        std::to_string(out.strides.size()) + " strides for " + std::to_string(out.sizes.size()) + " sizes",
        "as many of both");
  return out;
}

}  // namespace torchlift::frontend
