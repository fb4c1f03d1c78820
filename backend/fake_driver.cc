#include "backend/fake_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu {
namespace {

using cuda_abi::CUcontext;
using cuda_abi::CUdevice;
using cuda_abi::CUmemAccessDesc;
using cuda_abi::CUmemAllocationProp;
using cuda_abi::CUmemLocation;

FakeDriver* current = nullptr;

// --- Arguments as text ---------------------------------------------------------------------------

// Pointers that are passed for their value: what the driver calls a stream is a number to us.
template <typename T>
constexpr bool kOpaque =
    std::is_same_v<T, CUcontext> || std::is_same_v<T, cuda_abi::CUstream> ||
    std::is_same_v<T, cuda_abi::CUevent> || std::is_same_v<T, cuda_abi::CUmodule> ||
    std::is_same_v<T, cuda_abi::CUfunction> || std::is_same_v<T, cuda_abi::CUarray> ||
    std::is_same_v<T, cuda_abi::CUmipmappedArray> || std::is_same_v<T, void*> ||
    std::is_same_v<T, const void*>;

std::string Text(const CUmemLocation& location) {
  return absl::StrCat("{", location.type, " ", location.id, "}");
}
std::string Text(const CUmemLocation* location) { return Text(*location); }
std::string Text(const CUmemAccessDesc* first) {
  return absl::StrCat("{", Text(first->location), " ", first->flags, "}");
}
std::string Text(const CUmemAllocationProp* prop) {
  return absl::StrCat("{", prop->type, " ", prop->requestedHandleTypes, " ", Text(prop->location),
                      " ", prop->allocFlags.compressionType, " ",
                      prop->allocFlags.gpuDirectRDMACapable, " ", prop->allocFlags.usage, "}");
}
std::string Text(const cuda_abi::CUmulticastObjectProp* prop) {
  return absl::StrCat("{", prop->numDevices, " ", prop->size, " ", prop->handleTypes, " ",
                      prop->flags, "}");
}
std::string Text(const cuda_abi::CUDA_ARRAY3D_DESCRIPTOR* d) {
  return absl::StrCat("{", d->Width, " ", d->Height, " ", d->Depth, " ", d->Format, " ",
                      d->NumChannels, " ", d->Flags, "}");
}
std::string Text(const cuda_abi::CUDA_MEMCPY3D* c) {
  return absl::StrCat("{from ", c->srcMemoryType, " at ", c->srcXInBytes, " ", c->srcY, " ",
                      c->srcZ, " to ", c->dstMemoryType, " at ", c->dstXInBytes, " ", c->dstY, " ",
                      c->dstZ, " of ", c->WidthInBytes, " ", c->Height, " ", c->Depth, "}");
}
std::string Text(cuda_abi::CUarrayMapInfo* i) {
  const auto& tiles = i->subresource.sparseLevel;
  const auto& tail = i->subresource.miptail;
  const std::string what =
      i->subresourceType == cuda_abi::CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL
          ? absl::StrCat(tail.layer, " ", tail.offset, " ", tail.size)
          : absl::StrCat(tiles.level, " ", tiles.layer, " ", tiles.offsetX, " ", tiles.offsetY, " ",
                         tiles.offsetZ, " ", tiles.extentWidth, " ", tiles.extentHeight, " ",
                         tiles.extentDepth);
  return absl::StrCat("{", i->resourceType, " ", i->subresourceType, " [", what, "] ",
                      i->memOperationType, " ", i->memHandle.memHandle, " ", i->offset, " ",
                      i->deviceBitMask, " ", i->flags, "}");
}
std::string Text(const char* text) { return absl::StrCat("\"", text, "\""); }
template <typename T>
std::string Text(T value) {
  if constexpr (kOpaque<T>) {
    return absl::StrCat("0x", absl::Hex(reinterpret_cast<uintptr_t>(value)));
  } else if constexpr (std::is_pointer_v<T>) {
    return "out";
  } else {
    return absl::StrCat("0x", absl::Hex(value));
  }
}

std::string Text(const cuda_abi::CUlaunchConfig* config) {
  const cuda_abi::CUlaunchConfig& launch = *config;
  const std::vector<unsigned int> numbers = {
      launch.gridDimX,  launch.gridDimY,  launch.gridDimZ,       launch.blockDimX,
      launch.blockDimY, launch.blockDimZ, launch.sharedMemBytes, launch.numAttrs};
  return absl::StrCat("{", absl::StrJoin(numbers, " "), " ", Text(launch.hStream), " ",
                      launch.attrs[0].id, "=",
                      launch.attrs[0].value.programmaticStreamSerializationAllowed, "}");
}

template <Symbol kSymbol, typename... P>
std::string ArgumentsText(P... arguments) {
  return absl::StrJoin(std::vector<std::string>{Text(arguments)...}, ", ");
}
// The one array whose length is another argument.
template <>
std::string ArgumentsText<Symbol::cuMemSetAccess>(cuda_abi::CUdeviceptr ptr, size_t size,
                                                  const CUmemAccessDesc* desc, size_t count) {
  std::vector<std::string> grants;
  for (size_t i = 0; i < count; ++i) grants.push_back(Text(desc + i));
  return absl::StrCat(Text(ptr), ", ", Text(size), ", [", absl::StrJoin(grants, " "), "], ",
                      Text(count));
}

// --- Effects -------------------------------------------------------------------------------------

// Writes `value` if the argument is an output.
template <typename T>
void Write(T argument, uintptr_t value) {
  if constexpr (std::is_pointer_v<T> && !kOpaque<T>) {
    using Output = std::remove_pointer_t<T>;
    if constexpr (!std::is_const_v<Output> && std::is_integral_v<Output>) {
      *argument = static_cast<Output>(value);
    } else if constexpr (kOpaque<Output> && !std::is_same_v<Output, void*>) {
      *argument = reinterpret_cast<Output>(value);
    }
  }
}

template <Symbol kSymbol>
struct Effect {
  template <typename... P>
  static void Do(P... arguments) {
    [[maybe_unused]] uintptr_t value = 0xa0;  // there are calls that write nothing
    (Write(arguments, ++value), ...);
  }
};
template <>
struct Effect<Symbol::cuDeviceGet> {
  static void Do(CUdevice* device, int ordinal) { *device = ordinal + 100; }
};
template <>
struct Effect<Symbol::cuDeviceGetName> {
  static void Do(char* name, int len, CUdevice device) {
    std::snprintf(name, static_cast<size_t>(len), "Fake GPU %d", device);
  }
};
template <>
struct Effect<Symbol::cuDevicePrimaryCtxRetain> {
  static void Do(CUcontext* context, CUdevice device) {
    FakeDriver::Current().AddRetain(device, 1);
    *context = FakeDriver::PrimaryContext(device);
  }
};
template <>
struct Effect<Symbol::cuDevicePrimaryCtxRelease> {
  static void Do(CUdevice device) { FakeDriver::Current().AddRetain(device, -1); }
};
template <>
struct Effect<Symbol::cuCtxGetCurrent> {
  static void Do(CUcontext* context) {
    const std::vector<CUcontext>& stack = FakeDriver::ContextStack();
    *context = stack.empty() ? nullptr : stack.back();
  }
};
template <>
struct Effect<Symbol::cuCtxPushCurrent> {
  static void Do(CUcontext context) { FakeDriver::ContextStack().push_back(context); }
};
template <>
struct Effect<Symbol::cuCtxPopCurrent> {
  static void Do(CUcontext* context) {
    *context = FakeDriver::ContextStack().back();
    FakeDriver::ContextStack().pop_back();
  }
};
template <>
struct Effect<Symbol::cuArray3DGetDescriptor> {
  static void Do(cuda_abi::CUDA_ARRAY3D_DESCRIPTOR* descriptor, cuda_abi::CUarray) {
    *descriptor = {0, 0, 0, 0x20, 2, 0};  // elements of 8 bytes
  }
};
template <>
struct Effect<Symbol::cuMemGetAllocationPropertiesFromHandle> {
  static void Do(CUmemAllocationProp* prop, cuda_abi::CUmemGenericAllocationHandle) {
    *prop = {1, 2, {3, 4}, nullptr, {5, 6, 7, {}}};
  }
};
void WriteBytes(void* output) {
  const std::vector<uint8_t>& bytes = FakeDriver::Current().output_bytes;
  if (!bytes.empty()) std::memcpy(output, bytes.data(), bytes.size());
}
template <>
struct Effect<Symbol::cuMemExportToShareableHandle> {
  template <typename... P>
  static void Do(void* output, P...) {
    WriteBytes(output);
  }
};
template <>
struct Effect<Symbol::cuPointerGetAttribute> {
  template <typename... P>
  static void Do(void* output, P...) {
    WriteBytes(output);
  }
};
template <>
struct Effect<Symbol::cuModuleLoadDataEx> {
  static void Do(cuda_abi::CUmodule* module, const void* image, unsigned int count,
                 cuda_abi::CUjit_option* options, void** values) {
    FakeDriver& driver = FakeDriver::Current();
    driver.jit_image = static_cast<const char*>(image);
    char* log = nullptr;
    size_t size = 0;
    for (unsigned int i = 0; i < count; ++i) {
      if (options[i] == cuda_abi::CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
      if (options[i] == cuda_abi::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
        size = reinterpret_cast<uintptr_t>(values[i]);
      }
    }
    // As the driver does it: as much as fits, with or without a NUL.
    if (log != nullptr)
      std::memcpy(log, driver.jit_log.data(), std::min(size, driver.jit_log.size()));
    *module = reinterpret_cast<cuda_abi::CUmodule>(0xa1);
  }
};

// --- The table -----------------------------------------------------------------------------------

template <Symbol kSymbol, typename F>
struct Fake;
template <Symbol kSymbol, typename... P>
struct Fake<kSymbol, cuda_abi::CUresult(P...)> {
  static cuda_abi::CUresult Function(P... arguments) {
    const cuda_abi::CUresult result = FakeDriver::Current().Record(
        kSymbol, absl::StrCat(Info(kSymbol).name, "(", ArgumentsText<kSymbol>(arguments...), ")"));
    constexpr bool kWritesOnFailure = kSymbol == Symbol::cuModuleLoadDataEx;
    if (result == cuda_abi::CUDA_SUCCESS || kWritesOnFailure) Effect<kSymbol>::Do(arguments...);
    return result;
  }
};

}  // namespace

FakeDriver::FakeDriver() {
  current = this;
  ContextStack().clear();
}
FakeDriver::~FakeDriver() { current = nullptr; }

FakeDriver& FakeDriver::Current() { return *current; }

DriverTable FakeDriver::Table() {
  DriverTable table;
  table.library = "libfake.so";
  table.driver_version = 13000;
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  table.name = &Fake<Symbol::name, cuda_abi::name##_t>::Function;
#include "third_party/cuda_abi/functions.inc"
  return table;
}

DriverTable FakeDriver::TableWithout(Symbol symbol) {
  DriverTable table = Table();
  ForEachSymbol([&](auto field, Symbol each) {
    if (each == symbol) table.*decltype(field)::kMember = nullptr;
  });
  return table;
}

void FakeDriver::SetResult(Symbol symbol, cuda_abi::CUresult result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  results_[symbol] = result;
}

std::vector<std::string> FakeDriver::TakeCalls() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(calls_, {});
}

std::vector<CUcontext>& FakeDriver::ContextStack() {
  thread_local std::vector<CUcontext> stack;
  return stack;
}

CUcontext FakeDriver::PrimaryContext(CUdevice device) {
  return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(0xc000 + device));
}

int FakeDriver::RetainCount(CUdevice device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return retains_[device];
}

void FakeDriver::AddRetain(CUdevice device, int change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  retains_[device] += change;
}

cuda_abi::CUresult FakeDriver::Record(Symbol symbol, std::string call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.push_back(std::move(call));
  const auto found = results_.find(symbol);
  return found == results_.end() ? cuda_abi::CUDA_SUCCESS : found->second;
}

}  // namespace twinmmu
