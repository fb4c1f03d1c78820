// Any bytes as an object file, and as a library of them: what is found lies in what was given.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/ptx/text/object_file.h"

namespace twinmmu::ptx {
namespace {

void Check(absl::string_view file, const absl::StatusOr<std::vector<absl::string_view>>& found) {
  if (!found.ok()) return;
  size_t total = 0;
  for (const absl::string_view part : *found) {
    if (part.data() < file.data() || part.data() + part.size() > file.data() + file.size()) {
      std::abort();
    }
    total += part.size();
  }
  if (total > file.size()) std::abort();
}

}  // namespace
}  // namespace twinmmu::ptx

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view file(reinterpret_cast<const char*>(data), size);
  twinmmu::ptx::Check(file, twinmmu::ptx::FatBinariesInObject(file));
  twinmmu::ptx::Check(file, twinmmu::ptx::FatBinariesInLibrary(file));
  return 0;
}
