// Any text as a profile: what is taken makes the same again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "sim/profile/profile_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = twinmmu::ParseProfile(text);
  if (profile.ok() && !twinmmu::ParseProfile(ToJson(*profile)).ok()) std::abort();
  return 0;
}
