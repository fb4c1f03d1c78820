#include "api/testing/recording/call_line.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "api/driver_error.h"
#include "api/testing/recording/array_codec.h"
#include "api/testing/recording/call_names.h"

namespace twinmmu {
namespace {

// Parameters that stand behind the device or stream.
constexpr absl::string_view kLast[] = {"peer",    "destination", "source", "size",
                                       "pattern", "count",       "config"};

absl::Span<const uint8_t> BytesAt(const void* data, Bytes size) {
  return absl::MakeSpan(static_cast<const uint8_t*>(data), static_cast<size_t>(size.value()));
}

// Nothing for 0, which is what is meant where the key is absent.
void PutNonzero(Json& json, const char* key, uint64_t value) {
  if (value != 0) json[key] = value;
}

Json EncodeSides(const Dim3& sides) { return Json{sides.x, sides.y, sides.z}; }

// Numbers of a driver's own: only which of them are alike can be told again.
bool IsOpaque(PointerAttribute attribute) {
  switch (attribute) {
    case PointerAttribute::kContext:
    case PointerAttribute::kBufferId:
    case PointerAttribute::kMempoolHandle:
    case PointerAttribute::kMemoryBlockId:
      return true;
    default:
      return false;
  }
}

bool IsAddress(PointerAttribute attribute) {
  switch (attribute) {
    case PointerAttribute::kDevicePointer:
    case PointerAttribute::kHostPointer:
    case PointerAttribute::kRangeStartAddress:
    case PointerAttribute::kMappingBaseAddress:
      return true;
    default:
      return false;
  }
}

}  // namespace

void CallLine::Open() {
  json_ = Json{{"call", RecordedName(call_)}};
  log_.Open(json_);
}

CallLine::Place CallLine::PlaceOf(absl::string_view name) const {
  if (!stream_.has_value() && !device_.has_value()) return Place::kFirst;
  if (name == "stream" || name == "device") return Place::kWhere;
  const bool is_last = std::find(std::begin(kLast), std::end(kLast), name) != std::end(kLast);
  return is_last ? Place::kLast : Place::kFirst;
}

void CallLine::Put(const char* name, const AddressRange& value) {
  Put(name, value.base);
  json_["size"] = value.size.value();
}

void CallLine::Put(const char* name, Bytes value) {
  if (value != Bytes(0) || absl::string_view(name) == "size") json_[name] = value.value();
}

void CallLine::Put(const char* name, uint64_t value) {
  const bool left_out =
      absl::string_view(name) == "flags" && call_ != DriverCall::kGetHandleForAddressRange;
  if (value != 0 || !left_out) json_[name] = value;
}

void CallLine::Put(const char*, const ReserveOptions& value) {
  PutNonzero(json_, "alignment", value.alignment.value());
  if (value.hint != DeviceAddress()) Put("hint", value.hint);
  PutNonzero(json_, "flags", value.flags);
}

void CallLine::Put(const char*, const ShareableHandle& value) {
  Put("type", value.type);
  if (value.type == HandleType::kFabric) {
    json_["fabric"] = EncodeFabric(value.fabric);
  } else {
    json_["descriptor"] =
        names().Of(Names::kDescriptor, static_cast<uint64_t>(value.file_descriptor));
  }
}

// A stream that CreateStream gave has a name; any other is a number and its device.
void CallLine::Put(const char* name, Stream value) {
  PutName(name, Names::kStream, value);
  Put("device", value.device());
}

// "device" is that of the stream, where there is one.
void CallLine::Put(const char* name, Event value) {
  PutName(name, Names::kEvent, value);
  Put("device", value.device());
  if (stream_.has_value()) Put("event_device", value.device());
}

void CallLine::Put(const char* name, Array value) {
  PutName(name, Names::kArray, value);
  if (!stream_.has_value()) {
    Put("device", value.device());
  } else if (value.device() != stream_->device()) {
    Put("array_device", value.device());
  }
}

void CallLine::Put(const char*, const FillPattern& value) {
  json_["width"] = value.width.value();
  json_["value"] = value.value;
}

void CallLine::Put(const char*, const LaunchConfig& value) {
  json_["grid"] = EncodeSides(value.grid);
  json_["block"] = EncodeSides(value.block);
  PutNonzero(json_, "shared", value.dynamic_shared_bytes);
  PutNonzero(json_, "early", value.programmatic_stream_serialization ? 1 : 0);
}

// How much there is follows from the box, where it is of an array.
void CallLine::PutHostMemory(const void* host) {
  if (!array_.has_value()) return;
  if (host == nullptr) {
    json_["null"] = 1;
    return;
  }
  size_ = log_.arrays().SizeOf(*array_, extent_);
  if (!size_.has_value()) return;
  Put("size", *size_);
  if (size_ == Bytes(0)) size_.reset();
}

void CallLine::PutCode(const absl::Status& status) {
  json_["code"] = DriverCodeName(GetDriverCode(status));
}

void CallLine::PutDone() {
  // Where a copy was refused, there may not be as much in host memory.
  if (written_.has_value() && size_.has_value()) {
    json_["data"] = EncodeWritten(BytesAt(*written_, *size_), log_.known_content());
  }
  if (read_.has_value() && size_.has_value()) {
    if (!stream_.has_value()) {
      json_["data"] = EncodeRead(BytesAt(*read_, *size_), log_.known_content());
    } else if (size_ != Bytes(0)) {
      log_.Await(*stream_, *read_, *size_);
    }
  }
  if (call_ == DriverCall::kAddressFree) names().EndReservation(range_.base);
  if (call_ == DriverCall::kSynchronizeStream) log_.Arrived(json_, stream_->device(), &*stream_);
  if (call_ == DriverCall::kSynchronizeDevice) log_.Arrived(json_, *device_, nullptr);
}

void CallLine::PutResult(int value) {
  if (call_ == DriverCall::kGetHandleForAddressRange) return log_.AddDescriptor(json_, value);
  json_["value"] = value;
}

void CallLine::PutResult(uint64_t value) {
  if (IsAddress(attribute_)) {
    Put("value", DeviceAddress(value));
  } else if (IsOpaque(attribute_) && value != 0) {
    // Two attributes may use one number for different things.
    const uint64_t own = value ^ static_cast<uint64_t>(attribute_) << 56;
    const std::string known = names().Of(Names::kOpaque, own);
    json_["value"] = known[0] == Names::kOpaque ? known : names().Add(Names::kOpaque, own);
  } else {
    json_["value"] = value;
  }
}

void CallLine::PutResult(const AddressRange& value) {
  if (call_ != DriverCall::kAddressReserve) return Put("range", value);
  json_["reservation"] = names().AddReservation(value);
  json_["base"] = absl::StrCat("0x", absl::Hex(value.base.value()));
}

void CallLine::PutResult(AllocationHandle value) {
  if (call_ == DriverCall::kRetainAllocationHandle) return Put("handle", value);
  json_["handle"] = names().Add(Names::kHandle, value.value());
}

void CallLine::PutResult(const ShareableHandle& value) {
  if (value.type == HandleType::kPosixFileDescriptor) {
    log_.AddDescriptor(json_, value.file_descriptor);
  } else {
    json_["fabric"] = EncodeFabric(value.fabric);
  }
}

void CallLine::PutResult(Array value) {
  if (call_ == DriverCall::kGetLevel) {
    json_["array"] = log_.arrays().NameOfLevel(names(), mipmap_, level_, value);
    return;
  }
  log_.arrays().Add(value, ElementSize(descriptor_));
  PutNew("array", value);
}

void CallLine::PutResult(MipmappedArray value) {
  log_.arrays().Add(value, ElementSize(descriptor_));
  PutNew("mipmap", value);
}

}  // namespace twinmmu
