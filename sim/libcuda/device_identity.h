// By what programs tell devices apart: the same here and in NVML.

#ifndef TWINMMU_SIM_LIBCUDA_DEVICE_IDENTITY_H_
#define TWINMMU_SIM_LIBCUDA_DEVICE_IDENTITY_H_

#include <array>
#include <string>

#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// Where a device is, beside its function, which is always 0.
struct PciAddress {
  int domain = 0;
  int bus = 0;
  int device = 0;

  friend bool operator==(const PciAddress& a, const PciAddress& b) {
    return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
  }
};

// The devices of a profile are copies of one: the ordinal is added to the bus of the profile, which
// makes the bus theirs.
constexpr int BusOf(int bus_of_profile, int device) { return (bus_of_profile + device) & 0xff; }

// Of a device that the profile has.
PciAddress PciAddressOf(const Profile& profile, int device);
std::array<char, 16> UuidOf(const Profile& profile, int device);
// Says that it is simulated, so that nobody takes it for a GPU.
std::string NameOf(const std::string& name_in_profile);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_DEVICE_IDENTITY_H_
