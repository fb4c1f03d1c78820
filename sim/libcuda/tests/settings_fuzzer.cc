// Any text as the environment, a variable in each line, for the driver and for NVML; and as rules
// for calls that fail.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sim/libcuda/injector.h"
#include "sim/libcuda/settings.h"
#include "sim/libcuda/symbols.h"

using twinmmu::libcuda::Injector;
using twinmmu::libcuda::kNamesOfCalls;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  std::vector<const char*> environment;
  for (const std::string& line : lines) environment.push_back(line.c_str());
  environment.push_back(nullptr);
  const auto settings = twinmmu::libcuda::ReadSettings(environment.data());
  if (settings.ok() && !settings->profile.Validate().ok()) std::abort();

  Injector injector(kNamesOfCalls);
  if (!injector.SetRules(settings.ok() ? settings->failures : lines.front()).ok()) return 0;
  for (size_t call = 0; call < kNamesOfCalls.size(); ++call) {
    static_cast<void>(injector.Fails(call));
    static_cast<void>(injector.Fails(call));
  }
  return 0;
}
