// ArgumentReader: reads the arguments of a call from its line, with an overload for each type. What
// CallLine has written.

#ifndef TWINMMU_API_TESTING_RECORDING_ARGUMENTS_H_
#define TWINMMU_API_TESTING_RECORDING_ARGUMENTS_H_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/executor.h"
#include "api/multicast.h"
#include "api/sparse_arrays.h"
#include "api/testing/recording/array_codec.h"
#include "api/testing/recording/codec.h"
#include "api/testing/recording/names.h"
#include "api/vmm.h"

namespace twinmmu {

inline uint64_t Number(const Json& line, const char* key) {
  return line.contains(key) ? Whole(line.at(key)).get<uint64_t>() : 0;
}

// An absent result is not an error of the one who asks.
template <typename T>
T OrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::invalid_argument(std::string(result.status().message()));
  return *std::move(result);
}

class ArgumentReader {
 public:
  // `host`: the memory of the host that the call works with.
  ArgumentReader(const Json& line, const Names& names, uint8_t* host)
      : line_(line), names_(names), host_(host) {}

  // The argument of type T under the name of its parameter, or what converts to it. Throws a
  // std::exception where there is none.
  template <typename T>
  auto Get(const char* name) const {
    return Read(As<T>(), name);
  }

 private:
  template <typename T>
  struct As {};

  const Json& At(const char* name) const { return line_.at(name); }
  std::string Text(const char* name) const { return At(name).get<std::string>(); }
  uint64_t Value(Names::Kind kind, const char* name) const {
    return OrThrow(names_.Value(kind, Text(name)));
  }

  DeviceOrdinal Read(As<DeviceOrdinal>, const char* name) const {
    return DeviceOrdinal(Whole(At(name)).get<int>());
  }
  DeviceAddress Read(As<DeviceAddress>, const char* name) const {
    return OrThrow(names_.Address(Text(name)));
  }
  AddressRange Read(As<AddressRange>, const char* name) const {
    return {Get<DeviceAddress>(name), Get<Bytes>("size"), Bytes(0)};
  }
  AllocationHandle Read(As<AllocationHandle>, const char* name) const {
    return AllocationHandle(Value(Names::kHandle, name));
  }
  Bytes Read(As<Bytes>, const char* name) const { return Bytes(Number(line_, name)); }
  uint64_t Read(As<uint64_t>, const char* name) const { return Number(line_, name); }
  uint32_t Read(As<uint32_t>, const char* name) const {
    return static_cast<uint32_t>(Number(line_, name));
  }
  std::string Read(As<absl::string_view>, const char* name) const { return Text(name); }
  DeviceAttribute Read(As<DeviceAttribute>, const char* name) const {
    return DecodeDeviceAttribute(At(name));
  }
  PointerAttribute Read(As<PointerAttribute>, const char* name) const {
    return DecodePointerAttribute(At(name));
  }
  template <typename T, typename = std::enable_if_t<std::is_enum_v<T>>>
  T Read(As<T>, const char* name) const {
    return static_cast<T>(Whole(At(name)).template get<uint32_t>());
  }
  AllocationProperties Read(As<AllocationProperties>, const char* name) const {
    return DecodeProperties(At(name));
  }
  MulticastProperties Read(As<MulticastProperties>, const char* name) const {
    return DecodeMulticastProperties(At(name));
  }
  ReserveOptions Read(As<ReserveOptions>, const char*) const {
    return {Get<Bytes>("alignment"),
            line_.contains("hint") ? Get<DeviceAddress>("hint") : DeviceAddress(),
            Get<uint64_t>("flags")};
  }
  Location Read(As<Location>, const char* name) const { return DecodeLocation(Text(name)); }
  std::vector<AccessGrant> Read(As<absl::Span<const AccessGrant>>, const char* name) const {
    return DecodeGrants(At(name));
  }
  ShareableHandle Read(As<ShareableHandle>, const char*) const {
    ShareableHandle shareable;
    shareable.type = Get<HandleType>("type");
    if (line_.contains("fabric")) {
      shareable.fabric = DecodeFabric(Text("fabric"));
    } else {
      shareable.file_descriptor = static_cast<int>(Value(Names::kDescriptor, "descriptor"));
    }
    return shareable;
  }
  Stream Read(As<Stream>, const char* name) const {
    return Stream(Get<DeviceOrdinal>("device"), Value(Names::kStream, name));
  }
  // "device" is that of the stream, where there is one.
  template <typename Tag>
  DeviceObject<Tag> Read(As<DeviceObject<Tag>>, const char* name) const {
    const std::string own = std::string(name) + "_device";
    return {Get<DeviceOrdinal>(line_.contains(own) ? own.c_str() : "device"),
            Value(KindOf(DeviceObject<Tag>()), name)};
  }
  uint8_t* Read(As<void*>, const char*) const { return host_; }
  const uint8_t* Read(As<const void*>, const char*) const { return host_; }
  FillPattern Read(As<FillPattern>, const char*) const {
    return {Whole(At("value")).get<uint32_t>(), Get<Bytes>("width")};
  }
  ArrayDescriptor Read(As<ArrayDescriptor>, const char* name) const {
    return DecodeDescriptor(At(name));
  }
  ArrayExtent Read(As<ArrayExtent>, const char* name) const { return DecodeExtent(At(name)); }
  std::vector<TileOperation> Read(As<absl::Span<const TileOperation>>, const char* name) const {
    return DecodeOperations(At(name), names_, Get<DeviceOrdinal>("device"));
  }

  const Json& line_;
  const Names& names_;
  uint8_t* const host_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_ARGUMENTS_H_
