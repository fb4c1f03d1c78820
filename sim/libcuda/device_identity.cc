#include "sim/libcuda/device_identity.h"

#include "absl/strings/str_cat.h"
#include "api/attributes.h"

namespace twinmmu::libcuda {
namespace {

constexpr auto kPciBusId = static_cast<DeviceAttribute>(33);
constexpr auto kPciDeviceId = static_cast<DeviceAttribute>(34);
constexpr auto kPciDomainId = static_cast<DeviceAttribute>(50);

int AttributeOf(const Profile& profile, int device, DeviceAttribute attribute) {
  const auto& attributes = profile.devices[static_cast<size_t>(device)].attributes;
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? 0 : found->second;
}

}  // namespace

PciAddress PciAddressOf(const Profile& profile, int device) {
  return {AttributeOf(profile, device, kPciDomainId),
          BusOf(AttributeOf(profile, device, kPciBusId), device),
          AttributeOf(profile, device, kPciDeviceId)};
}

// The bus stays the device's own where CUDA_VISIBLE_DEVICES changes ordinals.
std::array<char, 16> UuidOf(const Profile& profile, int device) {
  std::array<char, 16> uuid = {'T', 'w', 'i', 'n', 'M', 'M', 'U', ' ', 's', 'i', 'm'};
  uuid[15] = static_cast<char>(PciAddressOf(profile, device).bus);
  return uuid;
}

std::string NameOf(const std::string& name_in_profile) {
  return absl::StrCat("TwinMMU simulated ", name_in_profile);
}

}  // namespace twinmmu::libcuda
