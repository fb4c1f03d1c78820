#include "sim/libnvml/bus_ids.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace twinmmu::nvml {
namespace {

std::string InWords(const libcuda::PciAddress& at, absl::PadSpec digits_of_domain) {
  return absl::AsciiStrToUpper(absl::StrCat(absl::Hex(at.domain, digits_of_domain), ":",
                                            absl::Hex(at.bus, absl::kZeroPad2), ":",
                                            absl::Hex(at.device, absl::kZeroPad2), ".0"));
}

}  // namespace

bool ReadBusId(absl::string_view text, std::array<uint32_t, 4>* numbers) {
  const std::vector<absl::string_view> halves = absl::StrSplit(text, '.');
  std::vector<absl::string_view> parts = absl::StrSplit(halves[0], ':');
  if (parts.size() == 2) parts.insert(parts.begin(), "0");
  parts.push_back(halves.size() == 2 ? halves[1] : "0");
  if (halves.size() > 2 || parts.size() != numbers->size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!absl::SimpleHexAtoi(parts[i], &(*numbers)[i])) return false;
  }
  return true;
}

std::string ShortBusId(const libcuda::PciAddress& at) { return InWords(at, absl::kZeroPad4); }
std::string LongBusId(const libcuda::PciAddress& at) { return InWords(at, absl::kZeroPad8); }

}  // namespace twinmmu::nvml
