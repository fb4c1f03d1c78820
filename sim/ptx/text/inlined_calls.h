// InlinedCalls: what .loc and the section .debug_str say of functions whose code stands in others.

#ifndef TWINMMU_SIM_PTX_TEXT_INLINED_CALLS_H_
#define TWINMMU_SIM_PTX_TEXT_INLINED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

// A line and column of a file.
using SourcePlace = std::tuple<int, int, int>;

// While a module is parsed, of which this fills inlined_calls and inlined_functions.
class InlinedCalls {
 public:
  // Its names are bytes behind labels of .debug_str. No more than `most_bytes` of them are kept.
  InlinedCalls(Module* module, size_t most_bytes) : module_(*module), most_bytes_(most_bytes) {}

  // Another function begins: what was inlined in the last one was not inlined in this one.
  void BeginFunction() { places_.clear(); }
  // A .loc that says nothing of a call.
  void AddPlace(const SourcePlace& place) { places_[place] = -1; }
  // A .loc with `function_name label+offset, inlined_at call`: what SourceLine::inlined is there.
  // `call` is inlined itself if an earlier .loc of the function says so.
  int Add(const SourcePlace& place, absl::string_view label, uint64_t offset,
          const SourcePlace& call);

  // Of .debug_str.
  void AddLabel(absl::string_view label) { labels_.emplace(std::string(label), bytes_.size()); }
  void AddByte(uint64_t byte) { bytes_ += static_cast<char>(byte); }
  // The module ends: its functions get their names.
  void Finish();

 private:
  Module& module_;
  const size_t most_bytes_;
  std::map<SourcePlace, int> places_;                       // what is inlined there
  std::map<std::tuple<SourcePlace, int, int>, int> calls_;  // with function and outer call: known
  std::map<std::pair<std::string, uint64_t>, int> functions_;  // by label and offset
  std::map<std::string, size_t> labels_;
  std::string bytes_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_INLINED_CALLS_H_
