// Equal instructions become one. A table of what is visible follows the walk through the regions.
#include <functional>
#include <string_view>
#include <unordered_map>

#include "stablehlo/infer.hpp"
#include "stablehlo/passes.hpp"

namespace torchlift::stablehlo {
namespace {

size_t mix(size_t seed, size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); }

size_t hash_of(const Ints& values) {
  size_t out = values.size();
  for (int64_t v : values) out = mix(out, static_cast<size_t>(v));
  return out;
}

size_t hash_of(const Dims& values) {
  size_t out = values.size();
  for (const Dim& v : values) out = mix(out, static_cast<size_t>(v.concrete()));
  return out;
}

// Of the attributes that often tell apart instructions on equal operands; the others are compared only.
struct AttributesHash {
  template <typename T>
  size_t operator()(const T&) const {
    return 0;
  }
  size_t operator()(const Constant& a) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()});
  }
  size_t operator()(const Slice& a) const {
    return mix(mix(hash_of(a.start_indices), hash_of(a.limit_indices)), hash_of(a.strides));
  }
  size_t operator()(const Pad& a) const { return mix(hash_of(a.edge_padding_low), hash_of(a.edge_padding_high)); }
  size_t operator()(const DynamicSlice& a) const { return hash_of(a.slice_sizes); }
  size_t operator()(const Transpose& a) const { return hash_of(a.permutation); }
  size_t operator()(const BroadcastInDim& a) const { return hash_of(a.broadcast_dimensions); }
  size_t operator()(const Dimensions& a) const { return hash_of(a.dimensions); }
  size_t operator()(const Dimension& a) const { return static_cast<size_t>(a.dimension); }
};

class Merger {
 public:
  explicit Merger(Module& module) : module_(module), replaced_(module.values.size()) {}

  void run() {
    for (const Function& f : module_.functions) region(f.body, true);
  }

 private:
  struct Entry {
    InstId inst;
    size_t depth;
  };

  static bool may_merge(const Inst& inst) {
    if (!inst.regions.empty() || inst.results.empty()) return false;
    // What a custom call does is not known.
    return inst.opcode != Opcode::Undefined && inst.opcode != Opcode::OptimizationBarrier &&
           inst.opcode != Opcode::CustomCall;
  }

  void rewrite(Values& values) {
    for (Value& v : values)
      if (replaced_[v.at()].has_value()) v = replaced_[v.at()];
  }

  size_t hash_of_inst(const Inst& inst) const {
    size_t out = static_cast<size_t>(inst.opcode);
    for (Value v : inst.operands) out = mix(out, v.at());
    for (Value v : inst.results) {
      out = mix(out, static_cast<size_t>(module_.type(v).dtype));
      out = mix(out, hash_of(module_.type(v).dims));
    }
    if (inst.attributes.has_value())
      out = mix(out, std::visit(AttributesHash{}, module_.attributes[inst.attributes.at()]));
    return out;
  }

  bool are_equal(const Inst& a, const Inst& b) const {
    if (a.opcode != b.opcode || a.operands != b.operands || a.results.size() != b.results.size()) return false;
    for (size_t i = 0; i < a.results.size(); ++i)
      if (module_.type(a.results[i]) != module_.type(b.results[i])) return false;
    if (!a.attributes.has_value() || !b.attributes.has_value()) return a.attributes == b.attributes;
    return module_.attributes[a.attributes.at()] == module_.attributes[b.attributes.at()];
  }

  // The visible instruction that is equal, if there is one. A constant is not taken from outside a region: it would
  // become a carried value there.
  InstId find(const std::vector<Entry>& bucket, const Inst& inst) const {
    const size_t floor = inst.opcode == Opcode::Constant ? depth_ : floor_;
    for (const Entry& e : bucket)
      if (e.depth >= floor && are_equal(module_.at(e.inst), inst)) return e.inst;
    return {};
  }

  void replace(const Inst& inst, const Inst& by) {
    for (size_t i = 0; i < inst.results.size(); ++i) {
      replaced_[inst.results[i].at()] = by.results[i];
      Type& kept = module_.values[by.results[i].at()].type;
      kept.dims = richer(kept.dims, module_.type(inst.results[i]).dims);
    }
  }

  void region(RegionId id, bool walls) {
    ++depth_;
    const size_t outer = floor_;
    if (walls) floor_ = depth_;
    std::vector<size_t> added;
    std::vector<InstId> kept;
    for (InstId inst_id : module_.at(id).insts) {
      Inst& inst = module_.at(inst_id);
      rewrite(inst.operands);
      for (RegionId r : inst.regions) region(r, has_isolated_regions(inst.opcode));
      if (may_merge(inst)) {
        const size_t hash = hash_of_inst(inst);
        std::vector<Entry>& bucket = table_[hash];
        if (InstId equal = find(bucket, inst); equal.has_value()) {
          replace(inst, module_.at(equal));
          continue;
        }
        bucket.push_back({inst_id, depth_});
        added.push_back(hash);
      }
      kept.push_back(inst_id);
    }
    rewrite(module_.at(id).results);
    module_.at(id).insts = std::move(kept);
    for (size_t hash : added) table_[hash].pop_back();  // nothing deeper is left: the last is ours
    floor_ = outer;
    --depth_;
  }

  Module& module_;
  Values replaced_;
  std::unordered_map<size_t, std::vector<Entry>> table_;  // by hash; the order of entries is that of the program
  size_t depth_ = 0;
  size_t floor_ = 0;
};

}  // namespace

void merge_common(Module& module) { Merger(module).run(); }

}  // namespace torchlift::stablehlo
