#include "sim/ptx/text/inlined_calls.h"

namespace twinmmu::ptx {

int InlinedCalls::Add(const SourcePlace& place, absl::string_view label, uint64_t offset,
                      const SourcePlace& call) {
  const auto [function, new_function] =
      functions_.emplace(std::make_pair(std::string(label), offset),
                         static_cast<int>(module_.inlined_functions.size()));
  if (new_function) module_.inlined_functions.emplace_back();
  const auto outer = places_.find(call);
  const int inlined = outer == places_.end() ? -1 : outer->second;
  const auto [known, new_call] = calls_.emplace(std::make_tuple(call, function->second, inlined),
                                                static_cast<int>(module_.inlined_calls.size()));
  if (new_call) {
    const auto [file, line, column] = call;
    module_.inlined_calls.push_back({function->second, {file, line, inlined}});
  }
  places_[place] = known->second;
  return known->second;
}

void InlinedCalls::Finish() {
  size_t kept = 0;
  for (const auto& [name, index] : functions_) {
    const auto label = labels_.find(name.first);
    if (label == labels_.end() || name.second >= bytes_.size() - label->second) continue;
    const size_t begin = label->second + static_cast<size_t>(name.second);
    const size_t end = bytes_.find('\0', begin);
    const size_t size = (end == std::string::npos ? bytes_.size() : end) - begin;
    if (size > most_bytes_ - kept) continue;
    kept += size;
    module_.inlined_functions[static_cast<size_t>(index)] = bytes_.substr(begin, size);
  }
}

}  // namespace twinmmu::ptx
