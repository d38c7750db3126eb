#include "frontend/script/objects.hpp"

#include <algorithm>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "frontend/script/literals.hpp"

namespace torchlift::frontend::script {

using archive::PickleId;
using torch::ClassKind;
using torch::ObjectId;
using torch::ObjectKind;
using torch::Operand;
using torch::ScriptType;

namespace {

constexpr size_t kMaxProblems = 20;
constexpr int kShownDepth = 1;  // of a value in messages
constexpr size_t kShownText = 80;
constexpr std::string_view kCppClasses = "__torch__.torch.classes.";

// `Optional[T]` says as much about a value that is not None as `T`.
const ScriptType* required(const ScriptType* type) {
  while (type != nullptr && type->is("Optional")) type = &type->arguments[0];
  return type;
}

const ScriptType* part(const ScriptType* type, std::string_view container, size_t index) {
  type = required(type);
  return type != nullptr && type->is(container) && index < type->arguments.size() ? &type->arguments[index] : nullptr;
}

bool is_quantized_class(std::string_view name) { return name.find(".quantized.") != std::string_view::npos; }

bool is_literal(const Operand& operand) {
  return operand.get<bool>() || operand.get<int64_t>() || operand.get<double>() ||
         operand.get<std::complex<double>>() || operand.get<std::string>();
}

}  // namespace

// ---- names of values

int32_t ObjectReader::add_step(int32_t parent, std::string_view name, int64_t position) {
  steps_.push_back({parent, name, position});
  return static_cast<int32_t>(steps_.size() - 1);
}

// Longer than kMaxPathBytes at most by one name.
std::string ObjectReader::path_of(int32_t step) const {
  std::vector<const Step*> steps;
  for (; step >= 0; step = steps_[static_cast<size_t>(step)].parent)
    steps.push_back(&steps_[static_cast<size_t>(step)]);
  std::string out;
  for (auto each = steps.rbegin(); each != steps.rend() && out.size() <= kMaxPathBytes; ++each) {
    if (!out.empty()) out += '.';
    out += (*each)->position >= 0 ? std::to_string((*each)->position) : std::string((*each)->name);
  }
  return out;
}

std::string ObjectReader::shown_path(int32_t step) const {
  std::string path = path_of(step);
  return path.empty() ? "the module" : printable(path);
}

void ObjectReader::add_problem(Diagnostic problem) {
  if (problem.place.file.empty()) problem.place.file = harvest_.file;
  if (harvest_.problems.size() < kMaxProblems) harvest_.problems.push_back(std::move(problem));
  stopped_ = stopped_ || harvest_.problems.size() >= kMaxProblems;
}

void ObjectReader::wrong(int32_t step, std::string got, std::string expected) {
  add_problem(diagnose(Kind::ScriptValue,
                       {{"path", shown_path(step)}, {"got", std::move(got)}, {"expected", std::move(expected)}}));
}

bool ObjectReader::charge(size_t items) {
  harvest_.items += items;
  if (harvest_.items <= kMaxObjectItems) return true;
  add_problem(diagnose(Kind::PickleLimit, {{"what", std::string("objects of more attributes and items together")},
                                           {"limit", static_cast<int64_t>(kMaxObjectItems)}}));
  stopped_ = true;
  return false;
}

// ---- naming values

Operand ObjectReader::value(PickleId id, std::string_view path) { return named(id, nullptr, add_step(-1, path), 0); }

Operand ObjectReader::named(PickleId id, const ScriptType* declared, int32_t step, size_t depth) {
  const archive::PickleValue& value = pickle_[id];
  if (auto* b = std::get_if<bool>(&value)) return {*b};
  if (auto* i = std::get_if<int64_t>(&value)) return {*i};
  if (auto* d = std::get_if<double>(&value)) return {*d};
  if (auto* c = std::get_if<std::complex<double>>(&value)) return {*c};
  if (auto* s = std::get_if<std::string>(&value)) return {*s};
  if (auto* device = std::get_if<archive::PickleDevice>(&value)) return {device_of(device->text)};
  if (std::holds_alternative<archive::PickleNone>(value)) return {};
  if (std::holds_alternative<archive::PickleTensor>(value)) return weight(id, step);
  if (std::holds_alternative<archive::PickleQuantized>(value)) {
    add_problem(
        diagnose(Kind::ScriptQuantized, {{"path", shown_path(step)}, {"what", std::string("a quantised tensor")}}));
    return {};
  }
  bool held = std::holds_alternative<archive::PickleObject>(value) ||
              std::holds_alternative<archive::PickleList>(value) ||
              std::holds_alternative<archive::PickleDict>(value) || std::holds_alternative<archive::PickleTuple>(value);
  if (held) return object(id, declared, step, depth);
  wrong(step, "`" + printable(pickle_.text(id, kShownDepth).substr(0, kShownText)) + "`", "a value of TorchScript");
  return {};
}

Operand ObjectReader::object(PickleId id, const ScriptType* declared, int32_t step, size_t depth) {
  declared = required(declared);
  // A tuple does not know its type: a plain one and a NamedTuple are written alike.
  bool typed = pickle_.get_if<archive::PickleTuple>(id) != nullptr && declared != nullptr;
  auto [known, is_new] = objects_.try_emplace({id, typed ? print(*declared) : ""});
  if (is_new) {
    if (harvest_.program.objects.size() >= kMaxObjects) {
      add_problem(diagnose(Kind::PickleLimit,
                           {{"what", std::string("more objects")}, {"limit", static_cast<int64_t>(kMaxObjects)}}));
      stopped_ = true;
      return {};
    }
    known->second = ObjectId(harvest_.program.objects.size());
    harvest_.program.objects.emplace_back();
  }
  if (!filled_.contains(known->second)) pending_.push_back({id, known->second, declared, step, depth});
  return {known->second};
}

torch::RecordId ObjectReader::intern(const archive::Record& record) {
  auto [known, is_new] = harvest_.records_by_member.try_emplace(record.member, harvest_.records.size());
  if (is_new) harvest_.records.push_back(record);
  return known->second;
}

Operand ObjectReader::weight(PickleId id, int32_t step) {
  if (auto known = weights_.find(id); known != weights_.end()) return {known->second};
  std::string name = path_of(step);
  if (name.empty() || name.size() > kMaxPathBytes) {
    wrong(step, "a tensor with a name of " + std::to_string(name.size()) + " bytes",
          "a name of 1 to " + std::to_string(kMaxPathBytes));
    return {};
  }
  Result<archive::TensorRecord> tensor = saved_.tensor(id, printable(name));
  if (!tensor) {
    for (Diagnostic& problem : tensor.errors()) add_problem(std::move(problem));
    return {};
  }
  if (!harvest_.weight_names.insert(name).second) {
    wrong(step, "the name of two tensors", "a name for each");
    return {};
  }
  torch::WeightId weight(harvest_.program.weights.size());
  harvest_.program.weights.push_back(
      {.name = std::move(name),
       .dtype = tensor->dtype,
       .sizes = std::move(tensor->sizes),
       .strides = std::move(tensor->strides),
       .storage_offset = tensor->offset,
       .record = intern(tensor->record),
       .record_elements = static_cast<int64_t>(tensor->record.size) / info(tensor->dtype).bytes,
       .is_constant = constants_});
  weights_.emplace(id, weight);
  return {weight};
}

// ---- reading what objects hold

void ObjectReader::look_up_names() {
  for (const torch::Class& each : harvest_.program.classes) classes_.emplace(each.name, &each);
  for (const torch::Function& each : harvest_.program.functions) functions_.insert(each.name);
}

void ObjectReader::finish() {
  look_up_names();
  std::reverse(pending_.begin(), pending_.end());
  while (!pending_.empty() && !stopped_) {
    Pending next = pending_.back();
    pending_.pop_back();
    if (!filled_.insert(next.object).second) continue;
    if (next.depth >= kMaxObjectDepth) {
      add_problem(diagnose(Kind::PickleLimit, {{"what", std::string("objects in more levels")},
                                               {"limit", static_cast<int64_t>(kMaxObjectDepth)}}));
      return;
    }
    size_t first = pending_.size();
    fill(next);
    std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end());
  }
}

void ObjectReader::fill(const Pending& pending) {
  const archive::PickleValue& value = pickle_[pending.id];
  if (const auto* list = std::get_if<archive::PickleList>(&value)) return fill_list(*list, pending);
  if (const auto* dict = std::get_if<archive::PickleDict>(&value)) return fill_dict(*dict, pending);
  if (const auto* tuple = std::get_if<archive::PickleTuple>(&value)) return fill_tuple(*tuple, pending);
  fill_instance(std::get<archive::PickleObject>(value), pending);
}

// Types that cannot be read say nothing; each is reported once.
const ScriptType* ObjectReader::type_of(const std::string& text, int32_t step) {
  auto [known, is_new] = types_.try_emplace(text);
  if (is_new) {
    Result<ScriptType> type = torch::parse_script_type(text);
    if (type) {
      known->second = std::move(type).value();
    } else {
      Diagnostic problem = type.error();
      problem.place.member = shown_path(step);
      add_problem(std::move(problem));
    }
  }
  return known->second.name.empty() ? nullptr : &known->second;
}

// The type of a list or a dict: its own tag, or what is declared of it (files before the tags have none).
const ScriptType* ObjectReader::tagged(PickleId type, std::string_view container, const Pending& pending) {
  const ScriptType* found = pending.declared;
  if (const auto* tag = pickle_.get_if<std::string>(type)) {
    found = required(type_of(*tag, pending.step));
    if (found != nullptr && !found->is(container))
      wrong(pending.step, "a " + std::string(container) + " of type `" + print(*found) + "`",
            "a type `" + std::string(container) + "[...]`");
  }
  return found != nullptr && found->is(container) ? found : nullptr;
}

void ObjectReader::fill_list(const archive::PickleList& list, const Pending& pending) {
  if (!charge(list.items.size())) return;
  const ScriptType* type = tagged(list.type, "List", pending);
  std::vector<std::pair<Operand, Operand>> items;
  items.reserve(list.items.size());
  for (size_t i = 0; i < list.items.size() && !stopped_; ++i) {
    int32_t step = add_step(pending.step, "", static_cast<int64_t>(i));
    items.emplace_back(Operand(), named(list.items[i], part(type, "List", 0), step, pending.depth + 1));
  }
  torch::Object& object = harvest_.program.objects[pending.object.at()];
  object = {.kind = ObjectKind::List, .type = type == nullptr ? "" : print(*type), .items = std::move(items)};
}

void ObjectReader::fill_dict(const archive::PickleDict& dict, const Pending& pending) {
  if (!charge(dict.items.size())) return;
  const ScriptType* type = tagged(dict.type, "Dict", pending);
  std::vector<std::pair<Operand, Operand>> items;
  std::map<std::string, size_t> positions;  // of keys, by their text: the last of equal keys counts, in the first place
  for (size_t i = 0; i < dict.items.size() && !stopped_; ++i) {
    auto [key_id, value_id] = dict.items[i];
    const auto* name = pickle_.get_if<std::string>(key_id);
    const auto* number = pickle_.get_if<int64_t>(key_id);
    int64_t position = number != nullptr && *number >= 0 ? *number : static_cast<int64_t>(i);
    int32_t step = name == nullptr ? add_step(pending.step, "", position) : add_step(pending.step, *name);
    Operand key;
    if (pickle_.get_if<archive::PickleTensor>(key_id) == nullptr)
      key = named(key_id, part(type, "Dict", 0), step, pending.depth + 1);
    if (!is_literal(key)) {
      wrong(step, "a value of a dict whose key is no number and no text", "a key of type int, float, bool or str");
      return;
    }
    Operand value = named(value_id, part(type, "Dict", 1), step, pending.depth + 1);
    auto [known, is_new] = positions.try_emplace(pickle_.text(key_id, 0), items.size());
    if (is_new) {
      items.emplace_back(std::move(key), std::move(value));
    } else {
      items[known->second].second = std::move(value);
    }
  }
  torch::Object& object = harvest_.program.objects[pending.object.at()];
  object = {.kind = ObjectKind::Dict, .type = type == nullptr ? "" : print(*type), .items = std::move(items)};
}

void ObjectReader::fill_tuple(const archive::PickleTuple& tuple, const Pending& pending) {
  if (!charge(tuple.items.size())) return;
  const ScriptType* type = pending.declared;
  const torch::Class* named_tuple = nullptr;
  if (type != nullptr && type->is_class()) {
    auto found = classes_.find(type->name);
    if (found != classes_.end() && found->second->kind == ClassKind::NamedTuple) named_tuple = found->second;
    if (named_tuple == nullptr || named_tuple->attributes.size() != tuple.items.size())
      return wrong(pending.step, "a tuple of " + std::to_string(tuple.items.size()) + " values",
                   "a value of type `" + printable(type->name) + "`");
  }
  std::vector<std::pair<Operand, Operand>> items;
  items.reserve(tuple.items.size());
  for (size_t i = 0; i < tuple.items.size() && !stopped_; ++i) {
    bool is_field = named_tuple != nullptr;
    int32_t step = add_step(pending.step, is_field ? std::string_view(named_tuple->attributes[i].first) : "",
                            is_field ? -1 : static_cast<int64_t>(i));
    const ScriptType* declared = is_field ? type_of(named_tuple->attributes[i].second, step) : part(type, "Tuple", i);
    items.emplace_back(Operand(), named(tuple.items[i], declared, step, pending.depth + 1));
  }
  torch::Object& object = harvest_.program.objects[pending.object.at()];
  object = {
      .kind = ObjectKind::Tuple, .type = named_tuple == nullptr ? "" : named_tuple->name, .items = std::move(items)};
}

// The class of an object whose attributes can be read.
const torch::Class* ObjectReader::expect_class(const archive::PickleObject& object, const Pending& pending) {
  std::string name = pickle_.class_name(object.type);
  auto refuse = [&](Kind kind) {
    add_problem(diagnose(kind, {{"path", shown_path(pending.step)}, {"class", printable(name)}}));
    return nullptr;
  };
  auto found = classes_.find(name);
  bool has_state_code = functions_.contains(name + ".__setstate__");
  bool is_cpp = name.starts_with(kCppClasses);
  if (is_quantized_class(name) && (is_cpp || has_state_code)) {
    add_problem(diagnose(Kind::ScriptQuantized,
                         {{"path", shown_path(pending.step)}, {"what", "quantised (`" + printable(name) + "`)"}}));
    return nullptr;
  }
  if (is_cpp) return refuse(Kind::ScriptCppClass);
  if (found == classes_.end()) return refuse(Kind::ScriptClassMissing);
  if (has_state_code) return refuse(Kind::ScriptSetState);
  ClassKind kind = found->second->kind;
  if (kind != ClassKind::NamedTuple && kind != ClassKind::Interface) return found->second;
  wrong(pending.step, "an object of `" + printable(name) + "`", "one of a class that has objects");
  return nullptr;
}

// One of the class's members, by its value.
void ObjectReader::fill_enum(const archive::PickleObject& object, const torch::Class& type, const Pending& pending) {
  Operand value =
      object.arguments.has_value() ? named(object.arguments, nullptr, pending.step, pending.depth) : Operand();
  auto member = std::find_if(type.constants.begin(), type.constants.end(),
                             [&](const auto& constant) { return constant.second == value; });
  if (!is_literal(value) || member == type.constants.end())
    return wrong(pending.step, "a member of `" + printable(type.name) + "` with a value that none has",
                 "one of its " + std::to_string(type.constants.size()) + " members");
  harvest_.program.objects[pending.object.at()] = {
      .kind = ObjectKind::Enum,
      .type = type.name,
      .items = {{{std::string("name")}, {member->first}}, {{std::string("value")}, std::move(value)}}};
}

void ObjectReader::fill_instance(const archive::PickleObject& object, const Pending& pending) {
  const torch::Class* type = expect_class(object, pending);
  if (type == nullptr) return;
  if (type->kind == ClassKind::Enum) return fill_enum(object, *type, pending);
  const auto* state = pickle_.get_if<archive::PickleDict>(object.state);
  if (state == nullptr)
    return wrong(pending.step, "an object of `" + printable(type->name) + "` without attributes",
                 "a dict of its attributes");
  if (!charge(type->attributes.size())) return;
  std::unordered_map<std::string_view, PickleId> values;
  for (auto [key, value] : state->items)
    if (const auto* name = pickle_.get_if<std::string>(key)) values[*name] = value;

  std::vector<std::pair<Operand, Operand>> items;
  items.reserve(type->attributes.size());
  for (const auto& [name, declared] : type->attributes) {
    if (stopped_) return;
    int32_t step = add_step(pending.step, name);
    auto value = values.find(name);
    if (value == values.end()) {
      wrong(step, "missing", "an attribute that `" + printable(type->name) + "` declares");
      continue;
    }
    items.emplace_back(Operand{name}, named(value->second, type_of(declared, step), step, pending.depth + 1));
    const auto* weight = items.back().second.get<torch::WeightId>();
    bool is_parameter = std::find(type->parameters.begin(), type->parameters.end(), name) != type->parameters.end();
    if (weight != nullptr && is_parameter) harvest_.program.weights[weight->at()].is_parameter = true;
  }
  harvest_.program.objects[pending.object.at()] = {
      .kind = ObjectKind::Instance, .type = type->name, .items = std::move(items)};
}

// ---- the whole

Status check_object_tree(const torch::Program& program, const std::string& file) {
  constexpr int kNew = -1;
  constexpr int kOpen = -2;
  std::vector<int> height(program.objects.size(), kNew);  // levels below an object
  struct Frame {
    size_t object;
    size_t next = 0;  // of its items, keys aside: keys are literals
    int height = 0;
  };
  std::vector<Frame> stack;
  auto refuse = [&](std::string what) {
    return diagnose(Kind::PickleLimit, {{"what", std::move(what)}, {"limit", static_cast<int64_t>(kMaxObjectDepth)}},
                    file);
  };
  for (size_t start = 0; start < program.objects.size(); ++start) {
    if (height[start] != kNew) continue;
    stack.push_back({start});
    height[start] = kOpen;
    while (!stack.empty()) {
      Frame& top = stack.back();
      const auto& items = program.objects[top.object].items;
      if (top.next == items.size()) {
        int done = top.height;
        height[top.object] = done;
        stack.pop_back();
        if (!stack.empty()) stack.back().height = std::max(stack.back().height, done + 1);
        if (static_cast<size_t>(done) >= kMaxObjectDepth) return refuse("objects in more levels");
        continue;
      }
      const auto* held = items[top.next++].second.get<ObjectId>();
      if (held == nullptr) continue;
      int known = height[held->at()];
      if (known == kOpen) return diagnose(Kind::ScriptCycle, {{"class", printable(program.object(*held).type)}}, file);
      if (known != kNew) {
        top.height = std::max(top.height, known + 1);
      } else {
        height[held->at()] = kOpen;
        stack.push_back({held->at()});
      }
    }
  }
  return Unit{};
}

}  // namespace torchlift::frontend::script
