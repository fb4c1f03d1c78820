#include "backend/error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/driver_error.h"

namespace twinmmu {
namespace {

std::string Hex(uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); }

std::string LocationText(const cuda_abi::CUmemLocation& location) {
  return absl::StrCat("{type=", location.type, ", id=", location.id, "}");
}

// "(size_t* free, size_t* total)" -> {"free", "total"}.
std::vector<absl::string_view> ParameterNames(absl::string_view parameters) {
  absl::ConsumePrefix(&parameters, "(");
  absl::ConsumeSuffix(&parameters, ")");
  std::vector<absl::string_view> names;
  for (const absl::string_view parameter : absl::StrSplit(parameters, ',', absl::SkipEmpty())) {
    const size_t end_of_type = parameter.find_last_of(" *");
    names.push_back(parameter.substr(end_of_type + 1));
  }
  return names;
}

}  // namespace

absl::Status FailedCall(Symbol symbol, cuda_abi::CUresult result,
                        const std::vector<std::string>& arguments) {
  const SymbolInfo& info = Info(symbol);
  const std::vector<absl::string_view> names = ParameterNames(info.parameters);
  std::vector<std::string> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].empty()) inputs.push_back(absl::StrCat(names[i], "=", arguments[i]));
  }
  const auto code = static_cast<DriverCode>(result);
  return MakeDriverStatus({code, ErrorOrigin::kDriver, info.name},
                          absl::StrCat(info.name, "(", absl::StrJoin(inputs, ", "),
                                       ") failed: ", DriverCodeName(code), " (", result, ")"));
}

absl::Status MissingSymbol(const DriverTable& table, Symbol symbol) {
  const SymbolInfo& info = Info(symbol);
  const std::string driver =
      table.driver_version == 0
          ? table.library
          : absl::StrCat(table.library, " (driver version ", table.driver_version, ")");
  if (StateOf(table, symbol) == SymbolState::kTooOld) {
    return MakeDriverStatus({DriverCode::kCallRequiresNewerDriver, ErrorOrigin::kLoader, info.name},
                            absl::StrCat(driver, " is too old for ", info.name,
                                         ", which needs version ", info.version));
  }
  return MakeDriverStatus(
      {DriverCode::kSharedObjectSymbolNotFound, ErrorOrigin::kLoader, info.name},
      absl::StrCat(driver, " has no ", info.name, " (version ", info.version, ")"));
}

absl::Status Append(const absl::Status& status, absl::string_view text) {
  absl::Status appended(status.code(), absl::StrCat(status.message(), text));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { appended.SetPayload(url, payload); });
  return appended;
}

std::string ArgumentText(DeviceAddress address) { return Hex(address.value()); }
std::string ArgumentText(Bytes bytes) { return absl::StrCat(bytes.value()); }
std::string ArgumentText(AllocationHandle handle) { return Hex(handle.value()); }
std::string ArgumentText(Stream stream) { return Hex(stream.value()); }
std::string ArgumentText(Event event) { return Hex(event.value()); }
std::string ArgumentText(Module module) { return Hex(module.value()); }
std::string ArgumentText(Kernel kernel) { return Hex(kernel.value()); }
std::string ArgumentText(Array array) { return Hex(array.value()); }
std::string ArgumentText(MipmappedArray mipmap) { return Hex(mipmap.value()); }
std::string ArgumentText(const cuda_abi::CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return absl::StrCat("{", descriptor->Width, "x", descriptor->Height, "x", descriptor->Depth,
                      ", Format=", descriptor->Format, ", NumChannels=", descriptor->NumChannels,
                      ", Flags=", descriptor->Flags, "}");
}
std::string ArgumentText(const cuda_abi::CUDA_MEMCPY3D* copy) {
  return absl::StrCat("{WidthInBytes=", copy->WidthInBytes, ", Height=", copy->Height,
                      ", Depth=", copy->Depth, "}");
}
std::string ArgumentText(const void* pointer) { return Hex(reinterpret_cast<uintptr_t>(pointer)); }
std::string ArgumentText(const char* text) { return absl::StrCat("\"", text, "\""); }
std::string ArgumentText(cuda_abi::CUcontext context) {
  return Hex(reinterpret_cast<uintptr_t>(context));
}
std::string ArgumentText(const cuda_abi::CUmemLocation* location) {
  return LocationText(*location);
}

std::string ArgumentText(const cuda_abi::CUmemAllocationProp* prop) {
  return absl::StrCat("{type=", prop->type, ", requestedHandleTypes=", prop->requestedHandleTypes,
                      ", location=", LocationText(prop->location),
                      ", compressionType=", prop->allocFlags.compressionType,
                      ", gpuDirectRDMACapable=", prop->allocFlags.gpuDirectRDMACapable,
                      ", usage=", prop->allocFlags.usage, "}");
}

std::string ArgumentText(const cuda_abi::CUlaunchConfig* config) {
  const cuda_abi::CUlaunchConfig& launch = *config;
  std::string text =
      absl::StrCat("{gridDim=", launch.gridDimX, "x", launch.gridDimY, "x", launch.gridDimZ,
                   ", blockDim=", launch.blockDimX, "x", launch.blockDimY, "x", launch.blockDimZ,
                   ", sharedMemBytes=", launch.sharedMemBytes,
                   ", hStream=", Hex(reinterpret_cast<uintptr_t>(launch.hStream)), ", attrs=[");
  for (unsigned int i = 0; i < launch.numAttrs; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", launch.attrs[i].id);
  }
  return absl::StrCat(text, "]}");
}

std::string ArgumentText(const cuda_abi::CUmulticastObjectProp* prop) {
  return absl::StrCat("{numDevices=", prop->numDevices, ", size=", prop->size,
                      ", handleTypes=", prop->handleTypes, ", flags=", prop->flags, "}");
}

std::string ArgumentText(absl::Span<const cuda_abi::CUmemAccessDesc> array) {
  const auto append = [](std::string* out, const cuda_abi::CUmemAccessDesc& desc) {
    absl::StrAppend(out, "{location=", LocationText(desc.location), ", flags=", desc.flags, "}");
  };
  return absl::StrCat("[", absl::StrJoin(array, ", ", append), "]");
}

}  // namespace twinmmu
