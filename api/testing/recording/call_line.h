// CallLine: writes a call as a line, with an overload for each type of argument and of result.

#ifndef TWINMMU_API_TESTING_RECORDING_CALL_LINE_H_
#define TWINMMU_API_TESTING_RECORDING_CALL_LINE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/driver_call.h"
#include "api/executor.h"
#include "api/multicast.h"
#include "api/sparse_arrays.h"
#include "api/testing/recording/log.h"
#include "api/vmm.h"

namespace twinmmu {

// For one call. Keeps of its arguments what its result is told with. Every function is called with
// the log locked.
class CallLine {
 public:
  CallLine(DriverCall call, RecordingLog& log) : call_(call), log_(log) {}

  const Json& json() const { return json_; }

  // Begins the line. Each argument stands under the name of its parameter; the device or stream
  // that the call is for comes after what it works with, and before what it does there.
  template <typename... T>
  void PutArguments([[maybe_unused]] std::initializer_list<const char*> names,
                    const T&... arguments) {
    Open();
    [[maybe_unused]] const char* const* name = names.begin();
    (Note(*name++, arguments), ...);
    for ([[maybe_unused]] const Place place : {Place::kFirst, Place::kWhere, Place::kLast}) {
      name = names.begin();
      (PutAt(place, *name++, arguments), ...);
    }
  }

  void PutAnswer(const absl::Status& status) {
    PutCode(status);
    if (status.ok()) PutDone();
  }
  template <typename T>
  void PutAnswer(const absl::StatusOr<T>& result) {
    PutCode(result.status());
    if (result.ok()) PutResult(*result);
  }

 private:
  enum class Place { kFirst, kWhere, kLast };

  void Open();
  template <typename T>
  void Note(const char*, const T&) {}
  void Note(const char*, Stream value) { stream_ = value; }
  void Note(const char*, DeviceOrdinal value) { device_ = value; }
  void Note(const char*, const AddressRange& value) { range_ = value; }
  void Note(const char*, PointerAttribute value) { attribute_ = value; }
  void Note(const char*, const ArrayDescriptor& value) { descriptor_ = value; }
  void Note(const char*, Array value) { array_ = value; }
  void Note(const char*, MipmappedArray value) { mipmap_ = value; }
  void Note(const char*, uint32_t value) { level_ = value; }
  void Note(const char*, const void* value) { written_ = value; }
  void Note(const char*, void* value) { read_ = value; }
  void Note(const char* name, const ArrayExtent& value) {
    if (name == absl::string_view("extent")) extent_ = value;
  }
  void Note(const char* name, Bytes value) {
    if (name == absl::string_view("size")) size_ = value;
  }
  Place PlaceOf(absl::string_view name) const;
  template <typename T>
  void PutAt(Place place, const char* name, const T& value) {
    if (PlaceOf(name) == place) Put(name, value);
  }

  // --- An argument. The key is the name of the parameter, but for those of more than one key.
  // Flags and offsets that are 0 are left out.

  void Put(const char* name, DeviceOrdinal value) { json_[name] = value.value(); }
  void Put(const char* name, DeviceAddress value) { json_[name] = names().Of(value); }
  void Put(const char* name, const AddressRange& value);
  void Put(const char* name, AllocationHandle value) { PutName(name, Names::kHandle, value); }
  void Put(const char* name, Bytes value);
  void Put(const char* name, uint64_t value);
  void Put(const char* name, uint32_t value) { json_[name] = value; }
  void Put(const char* name, absl::string_view value) { json_[name] = std::string(value); }
  void Put(const char* name, DeviceAttribute value) { json_[name] = EncodeAttribute(value); }
  void Put(const char* name, PointerAttribute value) { json_[name] = EncodeAttribute(value); }
  template <typename T>
  std::enable_if_t<std::is_enum_v<T>> Put(const char* name, T value) {
    json_[name] = static_cast<uint32_t>(value);
  }
  void Put(const char* name, const AllocationProperties& value) {
    json_[name] = EncodeProperties(value);
  }
  void Put(const char* name, const MulticastProperties& value) {
    json_[name] = EncodeProperties(value);
  }
  void Put(const char* name, const ReserveOptions& value);
  void Put(const char* name, const Location& value) { json_[name] = EncodeLocation(value); }
  void Put(const char* name, absl::Span<const AccessGrant> value) {
    json_[name] = EncodeGrants(value);
  }
  void Put(const char* name, const ShareableHandle& value);
  void Put(const char* name, Stream value);
  void Put(const char* name, Event value);
  void Put(const char* name, Array value);
  template <typename Tag>
  void Put(const char* name, DeviceObject<Tag> value) {
    PutName(name, KindOf(value), value);
    Put("device", value.device());
  }
  void Put(const char*, const void* value) { PutHostMemory(value); }
  void Put(const char*, void* value) { PutHostMemory(value); }
  void Put(const char* name, const FillPattern& value);
  void Put(const char* name, const LaunchConfig& value);
  // Their types are not known here, and so not their sizes.
  void Put(const char*, absl::Span<const void* const>) {}
  void Put(const char* name, const ArrayDescriptor& value) {
    json_[name] = EncodeDescriptor(value);
  }
  void Put(const char* name, const ArrayExtent& value) { json_[name] = EncodeExtent(value); }
  void Put(const char* name, absl::Span<const TileOperation> value) {
    json_[name] = EncodeOperations(value, names());
  }
  void PutHostMemory(const void* host);

  // --- What came back of a call that succeeded.

  void PutCode(const absl::Status& status);
  // Of a call without a result: what it has read, or made true of what the log remembers.
  void PutDone();
  template <typename T>
  void PutResult(const T& value) {
    json_["value"] = value;
  }
  void PutResult(int value);
  void PutResult(uint64_t value);
  void PutResult(Bytes value) { json_["value"] = value.value(); }
  void PutResult(Access value) { json_["value"] = EncodeAccess(value); }
  void PutResult(const MemoryInfo& value) { log_.PutMemory(json_, *device_, value); }
  void PutResult(const AddressRange& value);
  void PutResult(AllocationHandle value);
  void PutResult(const AllocationProperties& value) { Put("properties", value); }
  void PutResult(const ShareableHandle& value);
  void PutResult(Stream value) { PutNew("stream", value); }
  void PutResult(Event value) { PutNew("event", value); }
  void PutResult(Module value) { PutNew("module", value); }
  void PutResult(Kernel value) { PutNew("kernel", value); }
  void PutResult(Array value);
  void PutResult(MipmappedArray value);
  void PutResult(const SparseProperties& value) {
    json_["properties"] = EncodeSparseProperties(value);
  }

  template <typename T>
  void PutName(const char* key, Names::Kind kind, const T& value) {
    json_[key] = names().Of(kind, value.value());
  }
  template <typename T>
  void PutNew(const char* key, const T& value) {
    json_[key] = names().Add(KindOf(value), value.value());
  }
  Names& names() { return log_.names(); }

  const DriverCall call_;
  RecordingLog& log_;
  Json json_;

  std::optional<Stream> stream_;
  std::optional<DeviceOrdinal> device_;
  AddressRange range_;
  PointerAttribute attribute_ = {};
  std::optional<Array> array_;
  ArrayExtent extent_;
  ArrayDescriptor descriptor_;
  MipmappedArray mipmap_;
  uint32_t level_ = 0;
  std::optional<const void*> written_;  // from host memory to the device
  std::optional<const void*> read_;     // and the other way
  std::optional<Bytes> size_;           // of that memory; nullopt: nobody can tell
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_CALL_LINE_H_
