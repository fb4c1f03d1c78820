#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/commands.h"

namespace twinmmu {
namespace {

// A value, or in its place what the driver said instead.
template <typename T>
std::string Show(const absl::StatusOr<T>& value) {
  if (!value.ok()) return std::string(value.status().message());
  return absl::StrCat(*value);
}

std::string Show(const absl::StatusOr<Bytes>& bytes) {
  return bytes.ok() ? ToString(*bytes) : std::string(bytes.status().message());
}

std::string Version(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10, " (", version, ")");
}

void PrintGranularities(Vmm& vmm, const Location& location, std::ostream& out) {
  AllocationProperties properties;
  properties.location = location;
  out << absl::StreamFormat(
      "  granularity of %s: minimum %s, recommended %s\n", ToString(location),
      Show(vmm.GetAllocationGranularity(properties, Granularity::kMinimum)),
      Show(vmm.GetAllocationGranularity(properties, Granularity::kRecommended)));
}

void PrintDevice(Vmm& vmm, DeviceOrdinal device, int device_count, std::ostream& out) {
  out << "\n" << device << ": " << Show(vmm.GetDeviceName(device)) << "\n";
  const absl::StatusOr<MemoryInfo> memory = vmm.GetMemoryInfo(device);
  if (memory.ok()) {
    out << absl::StreamFormat("  memory: %.1f GiB, %.1f GiB of it free\n",
                              memory->total.value() / double{1 << 30},
                              memory->free.value() / double{1 << 30});
  } else {
    out << "  memory: " << memory.status().message() << "\n";
  }
  PrintGranularities(vmm, Location::Device(device), out);
  for (int peer = 0; peer < device_count; ++peer) {
    if (peer == device.value()) continue;
    const absl::StatusOr<bool> reaches = vmm.CanAccessPeer(device, DeviceOrdinal(peer));
    out << "  can access the memory of device " << peer << ": "
        << (reaches.ok() ? (*reaches ? "yes" : "no") : std::string(reaches.status().message()))
        << "\n";
  }
  for (const DeviceAttribute attribute : AllDeviceAttributes()) {
    out << absl::StreamFormat("  %-46s %s\n", ToString(attribute),
                              Show(vmm.GetDeviceAttribute(attribute, device)));
  }
}

const char* Describe(SymbolState state) {
  switch (state) {
    case SymbolState::kFound:
      return "found";
    case SymbolState::kTooOld:
      return "too old";
    case SymbolState::kMissing:
      return "missing";
  }
  return "?";
}

}  // namespace

void PrintDriver(Driver& driver, std::ostream& out) {
  const absl::StatusOr<Vmm*> found = driver.vmm();
  if (!found.ok()) {
    out << found.status().message() << "\n";
    return;
  }
  Vmm& vmm = **found;
  const absl::StatusOr<int> version = vmm.GetDriverVersion();
  out << "driver: CUDA "
      << (version.ok() ? Version(*version) : std::string(version.status().message())) << "\n";
  const absl::StatusOr<int> count = vmm.GetDeviceCount();
  out << "devices: " << Show(count) << "\n";
  if (!count.ok()) return;
  out << "host:\n";
  PrintGranularities(vmm, Location::HostNuma(0), out);
  for (int i = 0; i < *count; ++i) PrintDevice(vmm, DeviceOrdinal(i), *count, out);
}

void PrintSymbols(const DriverTable& table, std::ostream& out) {
  out << "\nfunctions of " << table.library << ":\n";
  ForEachSymbol([&](auto, Symbol symbol) {
    const SymbolInfo& info = Info(symbol);
    out << absl::StreamFormat("  %-40s since CUDA %-14s %s\n", info.name, Version(info.version),
                              Describe(StateOf(table, symbol)));
  });
}

}  // namespace twinmmu
