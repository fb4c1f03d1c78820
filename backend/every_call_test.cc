// What holds for every call of the interface: its arguments reach the driver as they came, a
// function that the driver lacks or that fails is reported by exactly the calls that use it, and
// the caller's current context is left alone. A new call needs one line in Cases().

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/driver.h"
#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "backend/cuda_driver.h"
#include "backend/driver_table.h"
#include "backend/fake_driver.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Every argument has a value of its own, so that two exchanged ones are seen.
constexpr DeviceOrdinal kDevice(1);  // the fake's CUdevice 101 (0x65), context 0xc065
constexpr DeviceOrdinal kPeer(2);    // 0x66
constexpr AddressRange kRange{DeviceAddress(0x1000), Bytes(0x2000), Bytes(0x3000)};
constexpr DeviceAddress kTo = kRange.base;
constexpr DeviceAddress kSource(0x4000);
constexpr Bytes kSize(3);
constexpr AllocationHandle kHandle(0x5000);
constexpr Stream kStream(kDevice, 0x6000);
constexpr Event kEvent(kDevice, 0x7000);
constexpr Module kModule(kDevice, 0x8000);
constexpr Kernel kKernel(kDevice, 0x9000);
const void* const kHostSource = reinterpret_cast<const void*>(0xb000);
void* const kHostDestination = reinterpret_cast<void*>(0xd000);

// No field has a legal value: the backend must not mind.
AllocationProperties Properties() {
  AllocationProperties properties;
  properties.type = static_cast<AllocationType>(11);
  properties.requested_handle_types = static_cast<HandleType>(12);
  properties.location = {static_cast<LocationType>(13), -14};
  properties.compression = static_cast<CompressionType>(15);
  properties.gpu_direct_rdma = 16;
  properties.usage = 17;
  return properties;
}

struct Case {
  std::string name;
  std::function<absl::Status(Vmm&, Executor&)> call;
  std::vector<std::string> driver_calls;  // as FakeDriver writes them
  // One of these in the place of `call`.
  std::function<absl::Status(Multicast&)> multicast = nullptr;
  std::function<absl::Status(SparseArrays&)> sparse_call = nullptr;

  absl::Status Make(Driver& driver) const {
    if (multicast != nullptr) return multicast(**driver.multicast());
    if (sparse_call != nullptr) return sparse_call(**driver.sparse_arrays());
    return call(**driver.vmm(), **driver.executor());
  }
};

// The driver's calls around one that needs a context.
std::vector<std::string> InContext(std::string call) {
  return {"cuDeviceGet(out, 0x1)", "cuDevicePrimaryCtxRetain(out, 0x65)",
          "cuCtxGetCurrent(out)",  "cuCtxPushCurrent(0xc065)",
          std::move(call),         "cuCtxPopCurrent(out)"};
}

std::vector<Case> VmmCases() {
  return {
      {"GetDriverVersion",
       [](Vmm& v, Executor&) { return v.GetDriverVersion().status(); },
       {"cuDriverGetVersion(out)"}},
      {"GetDeviceCount",
       [](Vmm& v, Executor&) { return v.GetDeviceCount().status(); },
       {"cuDeviceGetCount(out)"}},
      {"GetDeviceName",
       [](Vmm& v, Executor&) { return v.GetDeviceName(kDevice).status(); },
       {"cuDeviceGet(out, 0x1)", "cuDeviceGetName(out, 0x100, 0x65)"}},
      {"GetDeviceAttribute",
       [](Vmm& v, Executor&) {
         return v.GetDeviceAttribute(DeviceAttribute::kUnifiedAddressing, kDevice).status();
       },
       {"cuDeviceGet(out, 0x1)", "cuDeviceGetAttribute(out, 0x29, 0x65)"}},
      {"CanAccessPeer",
       [](Vmm& v, Executor&) { return v.CanAccessPeer(kDevice, kPeer).status(); },
       {"cuDeviceGet(out, 0x1)", "cuDeviceGet(out, 0x2)",
        "cuDeviceCanAccessPeer(out, 0x65, 0x66)"}},
      {"GetMemoryInfo", [](Vmm& v, Executor&) { return v.GetMemoryInfo(kDevice).status(); },
       InContext("cuMemGetInfo(out, out)")},
      {"AddressReserve",
       [](Vmm& v, Executor&) {
         return v.AddressReserve(Bytes(1), {Bytes(2), DeviceAddress(3), 4}).status();
       },
       {"cuMemAddressReserve(out, 0x1, 0x2, 0x3, 0x4)"}},
      {"AddressFree",
       [](Vmm& v, Executor&) { return v.AddressFree(kRange); },
       {"cuMemAddressFree(0x1000, 0x2000)"}},
      {"GetAllocationGranularity",
       [](Vmm& v, Executor&) {
         return v.GetAllocationGranularity(Properties(), static_cast<Granularity>(9)).status();
       },
       {"cuMemGetAllocationGranularity(out, {11 12 {13 -14} 15 16 17}, 0x9)"}},
      {"Create",
       [](Vmm& v, Executor&) { return v.Create(Bytes(1), Properties(), 2).status(); },
       {"cuMemCreate(out, 0x1, {11 12 {13 -14} 15 16 17}, 0x2)"}},
      {"Release", [](Vmm& v, Executor&) { return v.Release(kHandle); }, {"cuMemRelease(0x5000)"}},
      {"RetainAllocationHandle",
       [](Vmm& v, Executor&) { return v.RetainAllocationHandle(kSource).status(); },
       {"cuMemRetainAllocationHandle(out, 0x4000)"}},
      {"GetAllocationProperties",
       [](Vmm& v, Executor&) { return v.GetAllocationProperties(kHandle).status(); },
       {"cuMemGetAllocationPropertiesFromHandle(out, 0x5000)"}},
      {"Map",
       [](Vmm& v, Executor&) { return v.Map(kRange, kHandle, Bytes(7), 8); },
       {"cuMemMap(0x1000, 0x2000, 0x7, 0x5000, 0x8)"}},
      {"Unmap", [](Vmm& v, Executor&) { return v.Unmap(kRange); }, {"cuMemUnmap(0x1000, 0x2000)"}},
      {"SetAccess",
       [](Vmm& v, Executor&) {
         return v.SetAccess(kRange, {{Location::Device(kPeer), Access::kRead},
                                     {Location::HostNuma(7), static_cast<Access>(9)}});
       },
       {"cuMemSetAccess(0x1000, 0x2000, [{{1 2} 1} {{3 7} 9}], 0x2)"}},
      {"GetAccess",
       [](Vmm& v, Executor&) { return v.GetAccess(Location::HostNuma(7), kSource).status(); },
       {"cuMemGetAccess(out, {3 7}, 0x4000)"}},
      {"ImportShareableHandle",
       [](Vmm& v, Executor&) {
         return v.ImportShareableHandle(ShareableHandle::FileDescriptor(0x21)).status();
       },
       {"cuMemImportFromShareableHandle(out, 0x21, 0x1)"}},
      {"GetAddressRange",
       [](Vmm& v, Executor&) { return v.GetAddressRange(kDevice, kSource).status(); },
       InContext("cuMemGetAddressRange(out, out, 0x4000)")},
  };
}

std::vector<Case> CopyCases() {
  return {
      {"CopyHostToDevice",
       [](Vmm&, Executor& e) { return e.CopyHostToDevice(kDevice, kTo, kHostSource, kSize); },
       InContext("cuMemcpyHtoD(0x1000, 0xb000, 0x3)")},
      {"CopyDeviceToHost",
       [](Vmm&, Executor& e) {
         return e.CopyDeviceToHost(kDevice, kHostDestination, kSource, kSize);
       },
       InContext("cuMemcpyDtoH(0xd000, 0x4000, 0x3)")},
      {"CopyDeviceToDevice",
       [](Vmm&, Executor& e) { return e.CopyDeviceToDevice(kDevice, kTo, kSource, kSize); },
       InContext("cuMemcpyDtoD(0x1000, 0x4000, 0x3)")},
      {"CopyHostToDeviceAsync",
       [](Vmm&, Executor& e) { return e.CopyHostToDevice(kStream, kTo, kHostSource, kSize); },
       InContext("cuMemcpyHtoDAsync(0x1000, 0xb000, 0x3, 0x6000)")},
      {"CopyDeviceToHostAsync",
       [](Vmm&, Executor& e) {
         return e.CopyDeviceToHost(kStream, kHostDestination, kSource, kSize);
       },
       InContext("cuMemcpyDtoHAsync(0xd000, 0x4000, 0x3, 0x6000)")},
      {"CopyDeviceToDeviceAsync",
       [](Vmm&, Executor& e) { return e.CopyDeviceToDevice(kStream, kTo, kSource, kSize); },
       InContext("cuMemcpyDtoDAsync(0x1000, 0x4000, 0x3, 0x6000)")},
      {"Fill8",
       [](Vmm&, Executor& e) {
         return e.Fill(kDevice, kTo, {0x12345678, Bytes(1)}, 5);
       },
       InContext("cuMemsetD8(0x1000, 0x78, 0x5)")},
      {"Fill16",
       [](Vmm&, Executor& e) {
         return e.Fill(kDevice, kTo, {0x12345678, Bytes(2)}, 5);
       },
       InContext("cuMemsetD16(0x1000, 0x5678, 0x5)")},
      {"Fill32",
       [](Vmm&, Executor& e) {
         return e.Fill(kDevice, kTo, {0x12345678, Bytes(4)}, 5);
       },
       InContext("cuMemsetD32(0x1000, 0x12345678, 0x5)")},
      {"Fill8Async",
       [](Vmm&, Executor& e) {
         return e.Fill(kStream, kTo, {0x12345678, Bytes(1)}, 5);
       },
       InContext("cuMemsetD8Async(0x1000, 0x78, 0x5, 0x6000)")},
      {"Fill16Async",
       [](Vmm&, Executor& e) {
         return e.Fill(kStream, kTo, {0x12345678, Bytes(2)}, 5);
       },
       InContext("cuMemsetD16Async(0x1000, 0x5678, 0x5, 0x6000)")},
      {"Fill32Async",
       [](Vmm&, Executor& e) {
         return e.Fill(kStream, kTo, {0x12345678, Bytes(4)}, 5);
       },
       InContext("cuMemsetD32Async(0x1000, 0x12345678, 0x5, 0x6000)")},
  };
}

std::vector<Case> StreamCases() {
  return {
      {"CreateStream", [](Vmm&, Executor& e) { return e.CreateStream(kDevice).status(); },
       InContext("cuStreamCreate(out, 0x1)")},
      {"DestroyStream", [](Vmm&, Executor& e) { return e.DestroyStream(kStream); },
       InContext("cuStreamDestroy(0x6000)")},
      {"QueryStream", [](Vmm&, Executor& e) { return e.QueryStream(kStream).status(); },
       InContext("cuStreamQuery(0x6000)")},
      {"SynchronizeStream", [](Vmm&, Executor& e) { return e.SynchronizeStream(kStream); },
       InContext("cuStreamSynchronize(0x6000)")},
      {"SynchronizeDefaultStream",
       [](Vmm&, Executor& e) { return e.SynchronizeStream(Stream(kDevice)); },
       InContext("cuStreamSynchronize(0x0)")},
      {"CreateEvent", [](Vmm&, Executor& e) { return e.CreateEvent(kDevice).status(); },
       InContext("cuEventCreate(out, 0x0)")},
      {"DestroyEvent", [](Vmm&, Executor& e) { return e.DestroyEvent(kEvent); },
       InContext("cuEventDestroy(0x7000)")},
      {"RecordEvent", [](Vmm&, Executor& e) { return e.RecordEvent(kEvent, kStream); },
       InContext("cuEventRecord(0x7000, 0x6000)")},
      {"WaitEvent", [](Vmm&, Executor& e) { return e.WaitEvent(kStream, kEvent); },
       InContext("cuStreamWaitEvent(0x6000, 0x7000, 0x0)")},
      {"QueryEvent", [](Vmm&, Executor& e) { return e.QueryEvent(kEvent).status(); },
       InContext("cuEventQuery(0x7000)")},
      {"SynchronizeEvent", [](Vmm&, Executor& e) { return e.SynchronizeEvent(kEvent); },
       InContext("cuEventSynchronize(0x7000)")},
      {"SynchronizeDevice", [](Vmm&, Executor& e) { return e.SynchronizeDevice(kDevice); },
       InContext("cuCtxSynchronize()")},
      {"UnloadModule", [](Vmm&, Executor& e) { return e.UnloadModule(kModule); },
       InContext("cuModuleUnload(0x8000)")},
      {"GetKernel", [](Vmm&, Executor& e) { return e.GetKernel(kModule, "fill").status(); },
       InContext("cuModuleGetFunction(out, 0x8000, \"fill\")")},
      {"Launch",
       [](Vmm&, Executor& e) {
         return e.Launch(kStream, kKernel, {{1, 2, 3}, {4, 5, 6}, 7}, {});
       },
       InContext("cuLaunchKernel(0x9000, 0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0x6000, out, out)")},
      {"LaunchProgrammatically",
       [](Vmm&, Executor& e) {
         return e.Launch(kStream, kKernel, {{1, 2, 3}, {4, 5, 6}, 7, true}, {});
       },
       InContext("cuLaunchKernelEx({1 2 3 4 5 6 7 1 0x6000 6=1}, 0x9000, out, out)")},
  };
}

std::vector<Case> MulticastCases() {
  constexpr MulticastProperties kProperties{21, Bytes(22), static_cast<HandleType>(23), 24};
  return {
      {"GetMulticastGranularity",
       nullptr,
       {"cuMulticastGetGranularity(out, {21 22 23 24}, 0x9)"},
       [=](Multicast& m) {
         return m.GetGranularity(kProperties, static_cast<Granularity>(9)).status();
       }},
      {"CreateMulticast",
       nullptr,
       {"cuMulticastCreate(out, {21 22 23 24})"},
       [=](Multicast& m) { return m.Create(kProperties).status(); }},
      {"AddDevice",
       nullptr,
       {"cuDeviceGet(out, 0x1)", "cuMulticastAddDevice(0x5000, 0x65)"},
       [](Multicast& m) { return m.AddDevice(kHandle, kDevice); }},
      {"BindMemory",
       nullptr,
       {"cuMulticastBindMem(0x5000, 0x1, 0x5001, 0x2, 0x3, 0x4)"},
       [](Multicast& m) {
         return m.BindMemory(kHandle, Bytes(1), AllocationHandle(0x5001), Bytes(2), Bytes(3), 4);
       }},
      {"BindAddress",
       nullptr,
       {"cuMulticastBindAddr(0x5000, 0x1, 0x1000, 0x2000, 0x4)"},
       [](Multicast& m) { return m.BindAddress(kHandle, Bytes(1), kRange, 4); }},
      {"Unbind",
       nullptr,
       {"cuDeviceGet(out, 0x1)", "cuMulticastUnbind(0x5000, 0x65, 0x1, 0x2)"},
       [](Multicast& m) { return m.Unbind(kHandle, kDevice, Bytes(1), Bytes(2)); }},
  };
}

// Their arguments hold addresses of this run; the other tests of them are in the files of CudaVmm
// and CudaExecutor.
std::vector<Case> CasesWithAddresses() {
  return {
      {"ExportShareableHandle",
       [](Vmm& v, Executor&) {
         return v.ExportShareableHandle(kHandle, HandleType::kFabric, 3).status();
       },
       {"cuMemExportToShareableHandle(*, 0x5000, 0x8, 0x3)"}},
      {"ImportFabricHandle",
       [](Vmm& v, Executor&) {
         return v.ImportShareableHandle({HandleType::kFabric, -1, {}}).status();
       },
       {"cuMemImportFromShareableHandle(out, *, 0x8)"}},
      {"GetPointerAttribute",
       [](Vmm& v, Executor&) {
         return v.GetPointerAttribute(kDevice, PointerAttribute::kRangeSize, kSource).status();
       },
       InContext("cuPointerGetAttribute(*, 0xc, 0x4000)")},
      {"GetHandleForAddressRange",
       [](Vmm& v, Executor&) {
         return v.GetHandleForAddressRange(kDevice, kRange, static_cast<RangeHandleType>(7), 8)
             .status();
       },
       InContext("cuMemGetHandleForAddressRange(*, 0x1000, 0x2000, 0x7, 0x8)")},
      {"LoadModule", [](Vmm&, Executor& e) { return e.LoadModule(kDevice, "ptx").status(); },
       InContext("cuModuleLoadDataEx(out, *, 0x2, out, out)")},
  };
}

constexpr Array kArray(kDevice, 0xa000);
constexpr MipmappedArray kMipmap(kDevice, 0xe000);
constexpr ArrayExtent kOffset{1, 2, 3};
constexpr ArrayExtent kExtent{4, 5, 6};

ArrayDescriptor Descriptor() { return {{7, 8, 9}, static_cast<ArrayFormat>(10), 11, 12}; }

TileOperation Tiles() {
  TileOperation operation;
  operation.array = kArray;
  operation.tiles = {13, 14, kOffset, kExtent};
  operation.type = static_cast<TileOperationType>(15);
  operation.memory = AllocationHandle(16);
  operation.memory_offset = Bytes(17);
  operation.device_mask = 18;
  operation.flags = 19;
  return operation;
}

Case SparseCase(std::string name, std::string call,
                std::function<absl::Status(SparseArrays&)> made) {
  return {std::move(name), nullptr, InContext(std::move(call)), nullptr, std::move(made)};
}

// A copy asks for the size of an element first: two calls, each in the context.
Case CopyCase(std::string name, std::string call, std::function<absl::Status(SparseArrays&)> made) {
  return {
      std::move(name),
      nullptr,
      {"cuDeviceGet(out, 0x1)", "cuDevicePrimaryCtxRetain(out, 0x65)", "cuCtxGetCurrent(out)",
       "cuCtxPushCurrent(0xc065)", "cuArray3DGetDescriptor(out, 0xa000)", "cuCtxPopCurrent(out)",
       "cuCtxGetCurrent(out)", "cuCtxPushCurrent(0xc065)", std::move(call), "cuCtxPopCurrent(out)"},
      nullptr,
      std::move(made)};
}

std::vector<Case> SparseCases() {
  return {
      SparseCase("CreateArray", "cuArray3DCreate(out, {7 8 9 10 11 12})",
                 [](SparseArrays& s) { return s.CreateArray(kDevice, Descriptor()).status(); }),
      SparseCase("DestroyArray", "cuArrayDestroy(0xa000)",
                 [](SparseArrays& s) { return s.DestroyArray(kArray); }),
      SparseCase("CreateMipmappedArray", "cuMipmappedArrayCreate(out, {7 8 9 10 11 12}, 0x5)",
                 [](SparseArrays& s) {
                   return s.CreateMipmappedArray(kDevice, Descriptor(), 5).status();
                 }),
      SparseCase("DestroyMipmappedArray", "cuMipmappedArrayDestroy(0xe000)",
                 [](SparseArrays& s) { return s.DestroyMipmappedArray(kMipmap); }),
      SparseCase("GetLevel", "cuMipmappedArrayGetLevel(out, 0xe000, 0x3)",
                 [](SparseArrays& s) { return s.GetLevel(kMipmap, 3).status(); }),
      SparseCase("GetArraySparseProperties", "cuArrayGetSparseProperties(out, 0xa000)",
                 [](SparseArrays& s) { return s.GetArraySparseProperties(kArray).status(); }),
      SparseCase(
          "GetMipmappedArraySparseProperties", "cuMipmappedArrayGetSparseProperties(out, 0xe000)",
          [](SparseArrays& s) { return s.GetMipmappedArraySparseProperties(kMipmap).status(); }),
      SparseCase("MapTiles",
                 "cuMemMapArrayAsync({0 0 [13 14 1 2 3 4 5 6] 15 16 17 18 19}, 0x1, 0x6000)",
                 [](SparseArrays& s) { return s.MapTiles(kStream, {Tiles()}); }),
      SparseCase("MapMipTail", "cuMemMapArrayAsync({1 1 [20 21 22] 15 16 17 18 19}, 0x1, 0x6000)",
                 [](SparseArrays& s) {
                   TileOperation operation = Tiles();
                   operation.mipmap = kMipmap;
                   operation.subresource = ArraySubresource::kMipTail;
                   operation.mip_tail = {20, Bytes(21), Bytes(22)};
                   return s.MapTiles(kStream, {operation});
                 }),
      CopyCase("CopyHostToArray",
               "cuMemcpy3DAsync({from 1 at 0 0 0 to 3 at 8 2 3 of 32 5 6}, 0x6000)",
               [](SparseArrays& s) {
                 return s.CopyHostToArray(kStream, kArray, kOffset, kExtent, kHostSource);
               }),
      CopyCase("CopyArrayToHost",
               "cuMemcpy3DAsync({from 3 at 8 2 3 to 1 at 0 0 0 of 32 5 6}, 0x6000)",
               [](SparseArrays& s) {
                 return s.CopyArrayToHost(kStream, kHostDestination, kArray, kOffset, kExtent);
               }),
  };
}

std::vector<Case> Cases() {
  std::vector<Case> all;
  for (const auto& group : {VmmCases(), CopyCases(), StreamCases(), MulticastCases(),
                            CasesWithAddresses(), SparseCases()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

// `call` with each of its arguments in place of a * of `pattern` replaced by that *.
std::string Mask(const std::string& call, const std::string& pattern) {
  std::vector<std::string> parts = absl::StrSplit(call, ", ");
  const std::vector<std::string> wanted = absl::StrSplit(pattern, ", ");
  for (size_t i = 0; i < parts.size() && i < wanted.size(); ++i) {
    if (absl::EndsWith(wanted[i], "*")) parts[i] = wanted[i];
  }
  return absl::StrJoin(parts, ", ");
}

class EveryCallTest : public testing::TestWithParam<Case> {
 protected:
  // The functions are fakes: no hardware is near.
  static CudaDriverOptions WithMulticast() {
    CudaDriverOptions options;
    options.allow_multicast_on_hardware = true;
    return options;
  }
  // The call on a new driver made of `table`.
  static absl::Status Run(DriverTable table) {
    const auto driver = MakeCudaDriver(std::move(table), WithMulticast());
    if (!driver.ok()) return driver.status();
    return GetParam().Make(**driver);
  }
  static bool Uses(Symbol symbol) {
    for (const std::string& call : GetParam().driver_calls) {
      if (absl::StartsWith(call, absl::StrCat(Info(symbol).name, "("))) return true;
    }
    return false;
  }

  FakeDriver fake_;
};

// The driver sees exactly these calls, with the arguments as the caller gave them.
TEST_P(EveryCallTest, PassesItsArgumentsAsTheyCame) {
  const auto driver = MakeCudaDriver(FakeDriver::Table(), WithMulticast());
  ASSERT_THAT(driver, IsOk());
  ASSERT_THAT(fake_.TakeCalls(), ElementsAre("cuInit(0x0)"));
  EXPECT_THAT(GetParam().Make(**driver), IsOk());

  std::vector<std::string> calls = fake_.TakeCalls();
  ASSERT_EQ(calls.size(), GetParam().driver_calls.size()) << absl::StrJoin(calls, "\n");
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i] = Mask(calls[i], GetParam().driver_calls[i]);
  }
  EXPECT_EQ(calls, GetParam().driver_calls);
}

// Unless the program asked for multicast, no call of any interface calls a function of it.
TEST_P(EveryCallTest, CallsNoMulticastFunctionUnlessThatIsAllowed) {
  const auto driver = MakeCudaDriver(FakeDriver::Table());
  ASSERT_THAT(driver, IsOk());
  if (GetParam().multicast != nullptr) {
    EXPECT_THAT((*driver)->multicast(), StatusIs(absl::StatusCode::kUnimplemented));
  } else {
    EXPECT_THAT(GetParam().Make(**driver), IsOk());
  }
  for (const std::string& call : fake_.TakeCalls()) {
    EXPECT_FALSE(absl::StartsWith(call, "cuMulticast")) << call;
  }
}

// A function that is missing makes exactly the calls that use it Unimplemented, by the loader.
TEST_P(EveryCallTest, IsUnimplementedWithoutAFunctionThatItUses) {
  ForEachSymbol([&](auto, Symbol symbol) {
    SCOPED_TRACE(Info(symbol).name);
    const absl::Status status = Run(FakeDriver::TableWithout(symbol));
    if (symbol != Symbol::cuInit && !Uses(symbol)) {
      EXPECT_THAT(status, IsOk());
      return;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented));
    EXPECT_EQ(GetDriverError(status), (DriverError{DriverCode::kSharedObjectSymbolNotFound,
                                                   ErrorOrigin::kLoader, Info(symbol).name}));
    EXPECT_THAT(std::string(status.message()), HasSubstr("libfake.so (driver version 13000)"));
  });
}

// A function that is there in too old a version says so, and not that it is missing.
TEST_P(EveryCallTest, NamesAFunctionThatIsTooOld) {
  ForEachSymbol([&](auto, Symbol symbol) {
    if (!Uses(symbol)) return;
    SCOPED_TRACE(Info(symbol).name);
    DriverTable table = FakeDriver::TableWithout(symbol);
    table.too_old[static_cast<size_t>(symbol)] = true;
    const absl::Status status = Run(std::move(table));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented));
    EXPECT_EQ(GetDriverError(status), (DriverError{DriverCode::kCallRequiresNewerDriver,
                                                   ErrorOrigin::kLoader, Info(symbol).name}));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("needs version ", Info(symbol).version)));
  });
}

// When one of the driver's functions fails, the status carries its name and its code.
TEST_P(EveryCallTest, GivesTheCodeOfTheFunctionThatFailed) {
  ForEachSymbol([&](auto, Symbol symbol) {
    // When the way back fails, what the call did is still what counts.
    if (!Uses(symbol) || symbol == Symbol::cuCtxPopCurrent) return;
    SCOPED_TRACE(Info(symbol).name);
    fake_.SetResult(symbol, 12345);
    const absl::Status status = Run(FakeDriver::Table());
    fake_.SetResult(symbol, cuda_abi::CUDA_SUCCESS);
    EXPECT_EQ(GetDriverError(status), (DriverError{static_cast<DriverCode>(12345),
                                                   ErrorOrigin::kDriver, Info(symbol).name}));
  });
}

// The caller's contexts are as before, when all goes well and whatever fails or is missing.
TEST_P(EveryCallTest, LeavesTheCurrentContextAlone) {
  const std::vector<cuda_abi::CUcontext> before = {FakeDriver::PrimaryContext(7)};
  FakeDriver::ContextStack() = before;
  Run(FakeDriver::Table()).IgnoreError();
  EXPECT_EQ(FakeDriver::ContextStack(), before);
  ForEachSymbol([&](auto, Symbol symbol) {
    SCOPED_TRACE(Info(symbol).name);
    Run(FakeDriver::TableWithout(symbol)).IgnoreError();
    EXPECT_EQ(FakeDriver::ContextStack(), before);
    if (symbol == Symbol::cuCtxPopCurrent) return;
    fake_.SetResult(symbol, 1);
    Run(FakeDriver::Table()).IgnoreError();
    fake_.SetResult(symbol, cuda_abi::CUDA_SUCCESS);
    EXPECT_EQ(FakeDriver::ContextStack(), before);
  });
}

INSTANTIATE_TEST_SUITE_P(All, EveryCallTest, testing::ValuesIn(Cases()),
                         [](const auto& each) { return each.param.name; });

// Every function of the list has a user: one of the calls above, or the driver's own life.
TEST(FunctionListTest, HasOnlyFunctionsThatAreUsed) {
  std::vector<std::string> unused;
  ForEachSymbol([&](auto, Symbol symbol) {
    const std::string call = absl::StrCat(Info(symbol).name, "(");
    bool used = symbol == Symbol::cuInit || symbol == Symbol::cuDevicePrimaryCtxRelease;
    for (const Case& each : Cases()) {
      for (const std::string& made : each.driver_calls) used |= absl::StartsWith(made, call);
    }
    if (!used) unused.push_back(Info(symbol).name);
  });
  EXPECT_THAT(unused, ElementsAre());
}

}  // namespace
}  // namespace twinmmu
