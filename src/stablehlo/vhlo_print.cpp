// StableHLO's text of an artifact, in MLIR's generic form.
#include <algorithm>
#include <set>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "stablehlo/print_attributes.hpp"
#include "stablehlo/vhlo_print_nodes.hpp"

namespace torchlift::stablehlo::vhlo {
namespace {

using bytecode::Operation;
using bytecode::Region;

// VHLO has taken some attributes of StableHLO apart; these are put together again.
struct Group {
  std::string_view operation;
  std::string_view attribute;  // StableHLO's
  std::string_view begin;      // of its text
  std::vector<std::string_view> parts;
};

const std::vector<Group>& groups() {
  static const std::vector<std::string_view> kGather = {"offset_dims",           "collapsed_slice_dims",
                                                        "operand_batching_dims", "start_indices_batching_dims",
                                                        "start_index_map",       "index_vector_dim"};
  static const std::vector<Group> kGroups = {
      {"gather", "dimension_numbers", "#stablehlo.gather<", kGather},
      {"dynamic_gather", "dimension_numbers", "#stablehlo.gather<", kGather},
      {"scatter",
       "scatter_dimension_numbers",
       "#stablehlo.scatter<",
       {"update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims", "index_vector_dim"}},
      {"dot_general",
       "dot_dimension_numbers",
       "#stablehlo.dot<",
       {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
        "rhs_contracting_dimensions"}},
      {"dot_general",
       "algorithm",
       "#stablehlo.dot_algorithm<",
       {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count", "rhs_component_count",
        "num_primitive_operations", "allow_imprecise_accumulation"}},
  };
  return kGroups;
}

// Attributes of StableHLO that are arrays; other lists of integers are tensors.
bool is_array(std::string_view name) {
  static const std::set<std::string_view> kArrays = {"base_dilations",
                                                     "broadcast_dimensions",
                                                     "broadcast_sizes",
                                                     "dimensions",
                                                     "edge_padding_high",
                                                     "edge_padding_low",
                                                     "fft_length",
                                                     "interior_padding",
                                                     "known_expanding_dimensions",
                                                     "lhs_dilation",
                                                     "known_nonexpanding_dimensions",
                                                     "limit_indices",
                                                     "permutation",
                                                     "rhs_dilation",
                                                     "slice_sizes",
                                                     "start_indices",
                                                     "strides",
                                                     "window_dilations",
                                                     "window_dimensions",
                                                     "window_reversal",
                                                     "window_strides"};
  return kArrays.contains(name);
}

class Printer {
 public:
  Printer(const Program& program, const std::string& path, bool locations)
      : program_(program), path_(path), locations_(locations), nodes_(program), names_(program.values) {
    limit_ = (uint64_t{1} << 20) + kMaxTextRatio * std::max(program.bytes, uint64_t{1} << 16);
  }

  Result<std::string> run() {
    const Operation& root = program_.root;
    out_ = "module";
    if (root.properties)
      if (const auto& list = program_.properties[*root.properties]; !list.empty() && (list[0] & 1) != 0)
        out_ += " " + symbol(program_.at(list[0] >> 1).bytes);
    if (root.attributes) out_ += " attributes " + nodes_.attribute(*root.attributes);
    out_ += " {\n";
    for (const Region& region : root.regions)
      for (const Operation& op : region.operations) {
        const bool is_function = program_.info(op)->name == "func" && op.regions.size() == 1;
        TRY_OK(is_function ? function(op) : operation(op, false));
      }
    out_ += "}" + location(root.location) + "\n";
    return std::move(out_);
  }

 private:
  Diagnostic wrong(const Operation& op, std::string problem) const {
    return diagnose(Kind::ArtifactOperation,
                    {{"operation", std::string(program_.info(op)->name)}, {"problem", std::move(problem)}}, path_);
  }

  // ---- names
  struct ValueName {
    uint32_t first = 0;
    uint32_t index = 0;
    uint32_t count = 0;  // of results; 0: an argument
  };

  void define(uint32_t first, size_t count, bool is_argument) {
    for (uint32_t i = 0; i < count; ++i) names_[first + i] = {first, i, is_argument ? 0 : static_cast<uint32_t>(count)};
  }

  std::string name(uint32_t value) const {
    const ValueName& n = names_[value];
    if (n.count == 0) return "%arg" + std::to_string(value);
    return "%" + std::to_string(n.first) + (n.count > 1 ? "#" + std::to_string(n.index) : "");
  }

  std::string location(AttributeNumber number) { return locations_ ? " " + nodes_.location(number) : ""; }
  std::string location(const bytecode::BlockArgument& argument) {
    if (argument.location) return location(*argument.location);
    return locations_ ? " loc(unknown)" : "";
  }
  void indent() { out_.append(2 * depth_, ' '); }

  // ---- functions
  Status function(const Operation& op) {
    auto text = [&](std::string_view attribute) { return program_.at(*program_.attribute(op, attribute)); };
    const Attribute type = text("function_type");
    if (type.code != AttributeCode::VhloType ||
        program_.type(static_cast<TypeNumber>(type.fields[0])).code != TypeCode::VhloFunction)
      return wrong(op, "has no type of a function");
    const Type& signature = program_.type(static_cast<TypeNumber>(type.fields[0]));
    const auto inputs = static_cast<size_t>(signature.fields[0]);
    const Region& body = op.regions[0];
    if (!body.empty && body.arguments.size() != inputs) return wrong(op, "has other arguments than its type");
    TRY(auto arguments, decorations(op, "arg_attrs", inputs));
    const size_t outputs = signature.fields.size() - inputs - 2;
    TRY(auto results, decorations(op, "res_attrs", outputs));
    indent();
    const std::string visibility = text("sym_visibility").bytes;
    if (!visibility.empty() && visibility != "public" && visibility != "private" && visibility != "nested")
      return wrong(op, "has the visibility " + quoted(visibility));
    out_ += "func.func " + (visibility.empty() ? "" : visibility + " ") + symbol(text("sym_name").bytes) + "(";
    define(body.first_argument, body.arguments.size(), true);
    for (size_t i = 0; i < inputs; ++i) {
      if (i > 0) out_ += ", ";
      if (!body.empty) out_ += name(body.first_argument + static_cast<uint32_t>(i)) + ": ";
      out_ += nodes_.type(static_cast<TypeNumber>(signature.fields[1 + i])) + arguments[i];
      if (!body.empty) out_ += location(body.arguments[i]);
    }
    out_ += ") -> (";
    for (size_t i = 0; i < outputs; ++i) {
      if (i > 0) out_ += ", ";
      out_ += nodes_.type(static_cast<TypeNumber>(signature.fields[inputs + 2 + i])) + results[i];
    }
    out_ += ")";
    if (op.attributes) out_ += " attributes " + nodes_.attribute(*op.attributes);
    if (!body.empty) {
      out_ += " {\n";
      TRY_OK(operations(body, true));
      indent();
      out_ += "}";
    }
    out_ += location(op.location) + "\n";
    return finished(op);
  }

  // " {key = value}" for each argument or result.
  Result<std::vector<std::string>> decorations(const Operation& op, std::string_view attribute, size_t count) {
    const Attribute& list = program_.at(*program_.attribute(op, attribute));
    std::vector<std::string> out(count);
    if (list.code != AttributeCode::VhloArray) return wrong(op, "has attributes of arguments that are no list");
    const auto items = program_.items(list);
    if (!items.empty() && items.size() != count) return wrong(op, "has other attributes than arguments or results");
    for (size_t i = 0; i < items.size(); ++i) {
      const Attribute& one = program_.at(static_cast<AttributeNumber>(items[i]));
      if (one.code != AttributeCode::VhloDictionary) return wrong(op, "has attributes of arguments that are no list");
      if (std::string entries = nodes_.entries(one); !entries.empty()) out[i] = " {" + entries + "}";
    }
    return out;
  }

  // ---- operations
  Status operations(const Region& region, bool of_function) {
    ++depth_;
    for (const Operation& op : region.operations) TRY_OK(operation(op, of_function));
    --depth_;
    return Unit{};
  }

  Status operation(const Operation& op, bool in_function) {
    const OperationInfo& row = *program_.info(op);
    indent();
    define(op.first_result, op.result_types.size(), false);
    if (!op.result_types.empty()) {
      out_ += "%" + std::to_string(op.first_result);
      if (op.result_types.size() > 1) out_ += ":" + std::to_string(op.result_types.size());
      out_ += " = ";
    }
    const bool of_func = row.name == "call" || row.name == "func" || (row.name == "return" && in_function);
    out_ += '"' + std::string(of_func ? "func." : "stablehlo.") + std::string(row.name) + "\"(";
    for (size_t i = 0; i < op.operands.size(); ++i) out_ += (i > 0 ? ", " : "") + name(op.operands[i]);
    out_ += ')';
    for (size_t i = 0; i < op.regions.size(); ++i) {
      out_ += i == 0 ? " (" : ", ";
      TRY_OK(region(op.regions[i]));
    }
    if (!op.regions.empty()) out_ += ')';
    if (std::string attributes = this->attributes(op); !attributes.empty()) out_ += " {" + attributes + "}";
    out_ += " : (";
    for (size_t i = 0; i < op.operands.size(); ++i) out_ += (i > 0 ? ", " : "") + nodes_.type(type_of(op.operands[i]));
    out_ += ") -> (" + nodes_.types(op.result_types) + ")" + location(op.location) + "\n";
    return finished(op);
  }

  Status region(const Region& region) {
    out_ += "{\n";
    if (!region.arguments.empty()) {
      define(region.first_argument, region.arguments.size(), true);
      indent();
      out_ += "^bb0(";
      for (size_t i = 0; i < region.arguments.size(); ++i) {
        const bytecode::BlockArgument& argument = region.arguments[i];
        out_ += (i > 0 ? ", " : "") + name(region.first_argument + static_cast<uint32_t>(i)) + ": " +
                nodes_.type(argument.type);
        out_ += location(argument);
      }
      out_ += "):\n";
    }
    TRY_OK(operations(region, false));
    indent();
    out_ += '}';
    return Unit{};
  }

  Status finished(const Operation& op) const {
    if (!nodes_.problem().empty()) return wrong(op, "has " + nodes_.problem());
    if (out_.size() <= limit_) return Unit{};
    return wrong(op, "makes the text longer than " + std::to_string(limit_) + " bytes");
  }

  // Types of values, which stand with their definitions. A use may come before it.
  TypeNumber type_of(uint32_t value) {
    if (types_.empty()) {
      types_.resize(program_.values);
      collect(program_.root);
    }
    return types_[value];
  }

  void collect(const Operation& op) {
    std::copy(op.result_types.begin(), op.result_types.end(), types_.begin() + op.first_result);
    for (const Region& region : op.regions) {
      for (size_t i = 0; i < region.arguments.size(); ++i) types_[region.first_argument + i] = region.arguments[i].type;
      for (const Operation& inner : region.operations) collect(inner);
    }
  }

  // ---- attributes
  std::string attributes(const Operation& op) {
    const OperationInfo& row = *program_.info(op);
    std::vector<std::string> out;
    std::set<std::string_view> done;
    for (const Group& group : groups())
      if (group.operation == row.name) this->group(op, group, out, done);
    if (row.name == "convolution" || row.name == "dynamic_conv") convolution(op, out, done);
    channel(op, out, done);
    for (std::string_view name : row.attributes)
      if (!done.contains(name))
        if (std::string text = attribute(op, name, *program_.attribute(op, name)); !text.empty())
          out.push_back(std::move(text));
    if (op.attributes)
      if (std::string text = nodes_.entries(program_.at(*op.attributes)); !text.empty()) out.push_back(std::move(text));
    return join(out, ", ", [](const std::string& s) { return s; });
  }

  void group(const Operation& op, const Group& group, std::vector<std::string>& out, std::set<std::string_view>& done) {
    std::string text;
    for (std::string_view part : group.parts) {
      const auto number = program_.attribute(op, part);
      if (!number) continue;  // an older version
      done.insert(part);
      const Attribute& a = program_.at(*number);
      if (a.code == AttributeCode::VhloType &&
          program_.type(static_cast<TypeNumber>(a.fields[0])).code == TypeCode::VhloNone)
        continue;
      std::string value;
      if (a.code == AttributeCode::VhloInteger) value = std::to_string(a.fields[1]);
      else if (a.code == AttributeCode::VhloTensor) value = nodes_.int_list(*number);
      else value = nodes_.attribute(*number);
      if (value == "[]") continue;
      text += (text.empty() ? "" : ", ") + std::string(part) + " = " + value;
    }
    if (text.empty() && group.attribute == "algorithm") return;
    out.push_back(std::string(group.attribute) + " = " + std::string(group.begin) + text + ">");
  }

  std::optional<int64_t> integer(const Operation& op, std::string_view name) {
    const auto number = program_.attribute(op, name);
    if (!number || program_.at(*number).code != AttributeCode::VhloInteger) return std::nullopt;
    return program_.at(*number).fields[1];
  }

  // "[b, f, 0, 1]": letters and spatial dimensions, each at its place.
  std::string dimension_numbers(const Operation& op, std::string prefix, std::string_view first_name, char first,
                                std::string_view second_name, char second, std::set<std::string_view>& done) {
    std::vector<std::string> places;
    const OperationInfo& row = *program_.info(op);
    auto take = [&](std::string_view suffix) {
      for (std::string_view name : row.attributes)
        if (name == prefix + std::string(suffix)) {
          done.insert(name);
          return name;
        }
      return std::string_view();
    };
    const std::string_view spatial_name = take("_spatial_dimensions");
    const auto number = program_.attribute(op, spatial_name);
    const auto spatial = number ? nodes_.ints(*number) : std::nullopt;
    if (spatial) places.resize(spatial->size() + 2);
    auto put = [&](std::optional<int64_t> at, std::string text) {
      if (!at || *at < 0 || static_cast<size_t>(*at) >= places.size() || !places[static_cast<size_t>(*at)].empty())
        return nodes_.fail("dimension numbers that do not fit");
      places[static_cast<size_t>(*at)] = std::move(text);
    };
    put(integer(op, take(first_name)), std::string(1, first));
    put(integer(op, take(second_name)), std::string(1, second));
    for (size_t i = 0; spatial && i < spatial->size(); ++i) put((*spatial)[i], std::to_string(i));
    return "[" + join(places, ", ", [](const std::string& s) { return s; }) + "]";
  }

  void convolution(const Operation& op, std::vector<std::string>& out, std::set<std::string_view>& done) {
    constexpr std::string_view kBatch = "_batch_dimension";
    constexpr std::string_view kFeature = "_feature_dimension";
    out.push_back(
        "dimension_numbers = #stablehlo.conv<" + dimension_numbers(op, "input", kBatch, 'b', kFeature, 'f', done) +
        "x" + dimension_numbers(op, "kernel", "_output_feature_dimension", 'o', "_input_feature_dimension", 'i', done) +
        "->" + dimension_numbers(op, "output", kBatch, 'b', kFeature, 'f', done) + ">");
    // The first version had padding as an attribute besides the operand.
    if (program_.info(op)->name == "dynamic_conv") done.insert("padding");
  }

  void channel(const Operation& op, std::vector<std::string>& out, std::set<std::string_view>& done) {
    const auto id = integer(op, "channel_id");
    if (!id) return;
    done.insert("channel_id");
    done.insert("channel_type");
    const auto type = integer(op, "channel_type");
    if (!type && *id == 0) return;
    out.push_back("channel_handle = #stablehlo.channel_handle<handle = " + std::to_string(*id) +
                  ", type = " + std::to_string(type.value_or(0)) + ">");
  }

  // Empty where the text has nothing for it.
  std::string attribute(const Operation& op, std::string_view name, AttributeNumber number) {
    const Attribute& a = program_.at(number);
    const std::string head = std::string(name) + " = ";
    const bool is_empty_array = a.code == AttributeCode::VhloArray && a.fields[0] == 0;
    if (name == "callee" || name == "decomposition") return head + symbol(a.bytes);
    if (name == "use_global_device_ids" || name == "has_dynamic_root")
      return a.code == AttributeCode::VhloBoolean && a.fields[0] == 0 ? "" : std::string(name);
    if (name == "called_computations" && a.code == AttributeCode::VhloArray)
      return head + "[" +
             join(program_.items(a), ", ",
                  [&](int64_t n) { return symbol(program_.at(static_cast<AttributeNumber>(n)).bytes); }) +
             "]";
    if ((name == "operand_layouts" || name == "result_layouts") && is_empty_array) {
      const auto other = program_.attribute(op, name == "result_layouts" ? "operand_layouts" : "result_layouts");
      if (other && program_.at(*other) == a) return "";
    }
    if (name == "source_target_pairs" && a.code == AttributeCode::VhloTensor && a.bytes.empty() &&
        program_.info(op)->name != "collective_permute")
      return "";
    if (name == "backend_config" && a.code == AttributeCode::VhloString && a.bytes.empty()) return "";
    if ((name == "result_tilings" || name == "layout") && is_empty_array) return "";
    if (name == "version" && a.code == AttributeCode::VhloInteger && a.fields[1] == 0) return "";  // of any width
    if (name == "result_accuracy" && a.code == AttributeCode::VhloResultAccuracy && a.fields[0] == 0 &&
        a.fields[1] == 0 && a.fields[2] == 0 && program_.at(static_cast<AttributeNumber>(a.fields[3])).fields[0] == 0)
      return "";
    if (is_array(name) && a.code == AttributeCode::VhloTensor) return head + nodes_.dense_array(number);
    return head + nodes_.attribute(number);
  }

  const Program& program_;
  const std::string& path_;
  bool locations_;
  NodePrinter nodes_;
  std::vector<ValueName> names_;
  std::vector<TypeNumber> types_;
  std::string out_;
  uint64_t limit_ = 0;
  size_t depth_ = 1;
};

}  // namespace

Result<std::string> to_text(const Program& program, const std::string& path, bool locations) {
  return Printer(program, path, locations).run();
}

}  // namespace torchlift::stablehlo::vhlo
