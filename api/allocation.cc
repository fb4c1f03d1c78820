#include "api/allocation.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu {
namespace {

// Open enumerations print a number that has no name as "kind 17", never as a guess.
template <typename Enum>
std::string Unnamed(const char* kind, Enum value) {
  return absl::StrCat(kind, " ", static_cast<int64_t>(value));
}

}  // namespace

std::string ToString(DeviceOrdinal device) { return absl::StrCat("device ", device.value()); }

std::string ToString(LocationType type) {
  switch (type) {
    case LocationType::kInvalid:
      return "invalid location";
    case LocationType::kDevice:
      return "device";
    case LocationType::kHost:
      return "host";
    case LocationType::kHostNuma:
      return "host NUMA node";
    case LocationType::kHostNumaCurrent:
      return "current host NUMA node";
    case LocationType::kInvisible:
      return "device that is not visible";
    case LocationType::kLocalityDomain:
      return "locality domain";
  }
  return Unnamed("location type", type);
}

std::string ToString(const Location& location) {
  const bool id_is_ignored = location.type == LocationType::kHost ||
                             location.type == LocationType::kHostNumaCurrent ||
                             location.type == LocationType::kInvisible;
  if (id_is_ignored) return ToString(location.type);
  if (location.type == LocationType::kLocalityDomain) {
    return absl::StrCat(ToString(location.type), " ", location.domain(), " of device ",
                        location.whole().id);
  }
  return absl::StrCat(ToString(location.type), " ", location.id);
}

std::string ToString(Access access) {
  switch (access) {
    case Access::kNone:
      return "none";
    case Access::kRead:
      return "read";
    case Access::kReadWrite:
      return "read-write";
  }
  return Unnamed("access", access);
}

std::string ToString(const AccessGrant& grant) {
  return absl::StrCat(ToString(grant.access), " for ", ToString(grant.location));
}

std::string ToString(HandleType types) {
  if (types == HandleType::kNone) return "none";
  struct Bit {
    HandleType type;
    const char* name;
  };
  std::vector<std::string> names;
  uint32_t rest = static_cast<uint32_t>(types);
  for (const Bit bit : {Bit{HandleType::kPosixFileDescriptor, "POSIX file descriptor"},
                        Bit{HandleType::kWin32, "Win32"}, Bit{HandleType::kWin32Kmt, "Win32 KMT"},
                        Bit{HandleType::kFabric, "fabric"}}) {
    if ((types & bit.type) == HandleType::kNone) continue;
    names.push_back(bit.name);
    rest &= ~static_cast<uint32_t>(bit.type);
  }
  if (rest != 0) names.push_back(absl::StrCat("0x", absl::Hex(rest)));
  return absl::StrJoin(names, "|");
}

std::string ToString(Granularity option) {
  switch (option) {
    case Granularity::kMinimum:
      return "minimum";
    case Granularity::kRecommended:
      return "recommended";
  }
  return Unnamed("granularity option", option);
}

std::string ToString(AllocationHandle handle) {
  return absl::StrCat("0x", absl::Hex(handle.value()));
}

std::string ToString(const AllocationProperties& properties) {
  std::string text;
  switch (properties.type) {
    case AllocationType::kPinned:
      text = "pinned";
      break;
    case AllocationType::kManaged:
      text = "managed";
      break;
    default:
      text = Unnamed("allocation type", properties.type);
  }
  absl::StrAppend(&text, " on ", ToString(properties.location));
  if (properties.requested_handle_types != HandleType::kNone) {
    absl::StrAppend(&text, ", shareable by ", ToString(properties.requested_handle_types));
  }
  if (properties.compression != CompressionType::kNone) {
    absl::StrAppend(&text, ", compression ", static_cast<int>(properties.compression));
  }
  if (properties.gpu_direct_rdma != 0) {
    absl::StrAppend(&text, ", GPUDirect RDMA ", static_cast<int>(properties.gpu_direct_rdma));
  }
  if (properties.usage != 0) absl::StrAppend(&text, ", usage 0x", absl::Hex(properties.usage));
  return text;
}

std::string ToString(const PhysicalAllocation& allocation) {
  return absl::StrCat(ToString(allocation.size), " on ", ToString(allocation.location), ", handle ",
                      ToString(allocation.handle));
}

std::string ToString(const MappingInfo& mapping) {
  return absl::StrCat("+", ToString(mapping.offset), ": ", ToString(mapping.size), " of handle ",
                      ToString(mapping.allocation), ", access ", ToString(mapping.access));
}

std::string ToString(const ShareableHandle& shareable) {
  std::string text = absl::StrCat(ToString(shareable.type), " ");
  if (shareable.type != HandleType::kFabric) {
    return absl::StrCat(text, shareable.file_descriptor);
  }
  for (const uint8_t byte : shareable.fabric)
    absl::StrAppend(&text, absl::Hex(byte, absl::kZeroPad2));
  return text;
}

std::ostream& operator<<(std::ostream& out, DeviceOrdinal device) {
  return out << ToString(device);
}
std::ostream& operator<<(std::ostream& out, LocationType type) { return out << ToString(type); }
std::ostream& operator<<(std::ostream& out, const Location& location) {
  return out << ToString(location);
}
std::ostream& operator<<(std::ostream& out, Access access) { return out << ToString(access); }
std::ostream& operator<<(std::ostream& out, const AccessGrant& grant) {
  return out << ToString(grant);
}
std::ostream& operator<<(std::ostream& out, HandleType types) { return out << ToString(types); }
std::ostream& operator<<(std::ostream& out, Granularity option) { return out << ToString(option); }
std::ostream& operator<<(std::ostream& out, AllocationHandle handle) {
  return out << ToString(handle);
}
std::ostream& operator<<(std::ostream& out, const AllocationProperties& properties) {
  return out << ToString(properties);
}
std::ostream& operator<<(std::ostream& out, const PhysicalAllocation& allocation) {
  return out << ToString(allocation);
}
std::ostream& operator<<(std::ostream& out, const MappingInfo& mapping) {
  return out << ToString(mapping);
}
std::ostream& operator<<(std::ostream& out, const ShareableHandle& shareable) {
  return out << ToString(shareable);
}

}  // namespace twinmmu
