#include "api/address.h"

#include "absl/strings/str_cat.h"

namespace twinmmu {

std::string ToString(Bytes bytes) {
  struct Unit {
    int shift;
    const char* name;
  };
  for (const Unit unit : {Unit{40, "TiB"}, Unit{30, "GiB"}, Unit{20, "MiB"}, Unit{10, "KiB"}}) {
    const uint64_t mask = (uint64_t{1} << unit.shift) - 1;
    if (bytes.value() != 0 && (bytes.value() & mask) == 0) {
      return absl::StrCat(bytes.value() >> unit.shift, " ", unit.name);
    }
  }
  return absl::StrCat(bytes.value(), " B");
}

std::string ToString(DeviceAddress address) {
  return absl::StrCat("0x", absl::Hex(address.value()));
}

std::string ToString(const AddressRange& range) {
  return absl::StrCat("[", ToString(range.base), ", +", ToString(range.size), ", alignment ",
                      range.alignment == Bytes(0) ? "default" : ToString(range.alignment), "]");
}

std::ostream& operator<<(std::ostream& out, Bytes bytes) { return out << ToString(bytes); }

std::ostream& operator<<(std::ostream& out, DeviceAddress address) {
  return out << ToString(address);
}

std::ostream& operator<<(std::ostream& out, const AddressRange& range) {
  return out << ToString(range);
}

}  // namespace twinmmu
