// Bus ids as NVML reads and writes them.

#ifndef TWINMMU_SIM_LIBNVML_BUS_IDS_H_
#define TWINMMU_SIM_LIBNVML_BUS_IDS_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sim/libcuda/device_identity.h"

namespace twinmmu::nvml {

// Reads "domain:bus:device.function", without the domain or the function, too; all in base 16.
// False: it is none.
bool ReadBusId(absl::string_view text, std::array<uint32_t, 4>* numbers);

// "0000:1B:00.0", and with a domain of 8 digits.
std::string ShortBusId(const libcuda::PciAddress& at);
std::string LongBusId(const libcuda::PciAddress& at);

// Into a field that is large enough; what is behind it stays.
template <size_t size>
void WriteBusId(const std::string& text, char (&to)[size]) {
  to[text.copy(to, size - 1)] = '\0';
}

}  // namespace twinmmu::nvml

#endif  // TWINMMU_SIM_LIBNVML_BUS_IDS_H_
