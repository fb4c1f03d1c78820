// What holds for every call of the interface: its arguments reach the driver as they came, a
// function that the driver lacks or that fails is reported by exactly the calls that use it, and
// the caller's current context is left alone. The calls are those of api/calls.inc; a new one is
// here by itself, unless the driver's function takes something else than the call, in its order:
// then it needs a line in Departures().

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/call_macros.h"
#include "api/driver.h"
#include "api/driver_call.h"
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

// The driver's calls that a call makes, as FakeDriver writes them. The address of something of this
// run is a *.
using DriverCalls = std::vector<std::string>;

struct Case {
  std::string name;
  std::function<absl::Status(Driver&)> make;
  DriverCalls driver_calls;
};

constexpr DeviceOrdinal kDevice(1);  // the fake's CUdevice 101 (0x65), context 0xc065
constexpr Stream kStream(kDevice, 1);

// The driver's calls around those that need a context.
DriverCalls InContext(const DriverCalls& calls) {
  DriverCalls all = {"cuDeviceGet(out, 0x1)", "cuDevicePrimaryCtxRetain(out, 0x65)"};
  for (const std::string& call : calls) {
    all.insert(all.end(),
               {"cuCtxGetCurrent(out)", "cuCtxPushCurrent(0xc065)", call, "cuCtxPopCurrent(out)"});
  }
  return all;
}

// --- Arguments -----------------------------------------------------------------------------------
// Each has a value of its own, so that two exchanged ones are seen: the third parameter is 3, and
// the parts of what has several are 0x31, 0x32 and so on. No value has to be legal: the backend
// must not mind.

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

TileOperation Tiles() {
  TileOperation operation;
  operation.array = Array(kDevice, 0xa000);
  operation.tiles = {13, 14, {1, 2, 3}, {4, 5, 6}};
  operation.type = static_cast<TileOperationType>(15);
  operation.memory = AllocationHandle(16);
  operation.memory_offset = Bytes(17);
  operation.device_mask = 18;
  operation.flags = 19;
  return operation;
}
const TileOperation kTiles[] = {Tiles()};
const AccessGrant kGrants[] = {{Location::Device(DeviceOrdinal(2)), Access::kRead},
                               {Location::HostNuma(7), static_cast<Access>(9)}};
constexpr FillPattern kPattern{0x12345678, Bytes(1)};
constexpr LaunchConfig kLaunch{{1, 2, 3}, {4, 5, 6}, 7};

// A value, and how the driver sees it where it gets it as it is.
template <typename T>
struct Argument {
  T value;
  std::string text;
};

template <typename Number>
std::string Hex(Number number) {
  return absl::StrCat("0x", absl::Hex(number));
}

template <typename T>
Argument<T> NextArgument(uint64_t& position) {
  ++position;
  [[maybe_unused]] const uint64_t part = 16 * position;
  if constexpr (std::is_same_v<T, DeviceOrdinal>) {
    return {T(static_cast<int>(position)), Hex(100 + position)};
  } else if constexpr (std::is_constructible_v<T, DeviceOrdinal, uint64_t>) {  // Stream, Event
    return {T(kDevice, position), Hex(position)};
  } else if constexpr (std::is_same_v<T, AddressRange>) {
    return {{DeviceAddress(part + 1), Bytes(part + 2), Bytes(part + 3)},
            absl::StrCat(Hex(part + 1), ", ", Hex(part + 2))};
  } else if constexpr (std::is_same_v<T, ReserveOptions>) {
    return {{Bytes(part + 1), DeviceAddress(part + 2), part + 3},
            absl::StrCat(Hex(part + 1), ", ", Hex(part + 2), ", ", Hex(part + 3))};
  } else if constexpr (std::is_same_v<T, AllocationProperties>) {
    return {Properties(), "{11 12 {13 -14} 15 16 17}"};
  } else if constexpr (std::is_same_v<T, MulticastProperties>) {
    return {{21, Bytes(22), static_cast<HandleType>(23), 24}, "{21 22 23 24}"};
  } else if constexpr (std::is_same_v<T, Location>) {
    return {Location::HostNuma(7), "{3 7}"};
  } else if constexpr (std::is_same_v<T, ArrayDescriptor>) {
    return {{{7, 8, 9}, static_cast<ArrayFormat>(10), 11, 12}, "{7 8 9 10 11 12}"};
  } else if constexpr (std::is_same_v<T, absl::string_view>) {
    return {"text", "\"text\""};
  } else if constexpr (std::is_pointer_v<T>) {
    return {reinterpret_cast<T>(position), Hex(position)};
  } else if constexpr (std::is_same_v<T, absl::Span<const AccessGrant>>) {
    return {kGrants, "(a list)"};
  } else if constexpr (std::is_same_v<T, absl::Span<const TileOperation>>) {
    return {kTiles, "(a list)"};
  } else if constexpr (std::is_same_v<T, absl::Span<const void* const>>) {
    return {{}, "(a list)"};
  } else if constexpr (std::is_same_v<T, ShareableHandle>) {
    return {ShareableHandle::FileDescriptor(0x21), "(in parts)"};
  } else if constexpr (std::is_same_v<T, FillPattern>) {
    return {kPattern, "(in parts)"};
  } else if constexpr (std::is_same_v<T, LaunchConfig>) {
    return {kLaunch, "(in parts)"};
  } else if constexpr (std::is_same_v<T, ArrayExtent>) {
    return {{part + 1, part + 2, part + 3}, "(in parts)"};
  } else {
    return {static_cast<T>(position), Hex(position)};
  }
}

// --- Cases ---------------------------------------------------------------------------------------

// What else the driver sees than the arguments of the call in their order.
const std::map<DriverCall, DriverCalls>& Departures() {
  static const std::map<DriverCall, DriverCalls> kDepartures = {
      {DriverCall::kGetDeviceName, {"cuDeviceGet(out, 0x1)", "cuDeviceGetName(out, 0x100, 0x65)"}},
      {DriverCall::kGetMemoryInfo, InContext({"cuMemGetInfo(out, out)"})},
      {DriverCall::kMap, {"cuMemMap(0x11, 0x12, 0x3, 0x2, 0x4)"}},
      {DriverCall::kSetAccess, {"cuMemSetAccess(0x11, 0x12, [{{1 2} 1} {{3 7} 9}], 0x2)"}},
      {DriverCall::kExportShareableHandle, {"cuMemExportToShareableHandle(*, 0x1, 0x2, 0x3)"}},
      {DriverCall::kImportShareableHandle, {"cuMemImportFromShareableHandle(out, 0x21, 0x1)"}},
      {DriverCall::kGetPointerAttribute, InContext({"cuPointerGetAttribute(*, 0x2, 0x3)"})},
      {DriverCall::kGetAddressRange, InContext({"cuMemGetAddressRange(out, out, 0x2)"})},
      {DriverCall::kGetHandleForAddressRange,
       InContext({"cuMemGetHandleForAddressRange(*, 0x21, 0x22, 0x3, 0x4)"})},
      {DriverCall::kFill, InContext({"cuMemsetD8(0x2, 0x78, 0x4)"})},
      {DriverCall::kCopyHostToDeviceAsync, InContext({"cuMemcpyHtoDAsync(0x2, 0x3, 0x4, 0x1)"})},
      {DriverCall::kCopyDeviceToHostAsync, InContext({"cuMemcpyDtoHAsync(0x2, 0x3, 0x4, 0x1)"})},
      {DriverCall::kCopyDeviceToDeviceAsync, InContext({"cuMemcpyDtoDAsync(0x2, 0x3, 0x4, 0x1)"})},
      {DriverCall::kFillAsync, InContext({"cuMemsetD8Async(0x2, 0x78, 0x4, 0x1)"})},
      {DriverCall::kCreateStream, InContext({"cuStreamCreate(out, 0x1)"})},
      {DriverCall::kQueryStream, InContext({"cuStreamQuery(0x1)"})},
      {DriverCall::kCreateEvent, InContext({"cuEventCreate(out, 0x0)"})},
      {DriverCall::kWaitEvent, InContext({"cuStreamWaitEvent(0x1, 0x2, 0x0)"})},
      {DriverCall::kQueryEvent, InContext({"cuEventQuery(0x1)"})},
      {DriverCall::kLoadModule, InContext({"cuModuleLoadDataEx(out, *, 0x2, out, out)"})},
      {DriverCall::kLaunch, InContext({"cuLaunchKernel(0x2, 0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, "
                                       "0x1, out, out)"})},
      {DriverCall::kMapTiles,
       InContext({"cuMemMapArrayAsync({0 0 [13 14 1 2 3 4 5 6] 15 16 17 18 19}, 0x1, 0x1)"})},
      // A copy asks for the size of an element first, of 8 bytes here.
      {DriverCall::kCopyHostToArray,
       InContext({"cuArray3DGetDescriptor(out, 0x2)",
                  "cuMemcpy3DAsync({from 1 at 0 0 0 to 3 at 392 50 51 of 520 66 67}, 0x1)"})},
      {DriverCall::kCopyArrayToHost,
       InContext({"cuArray3DGetDescriptor(out, 0x3)",
                  "cuMemcpy3DAsync({from 3 at 520 66 67 to 1 at 0 0 0 of 648 82 83}, 0x1)"})},
  };
  return kDepartures;
}

// Whether the driver's function of this name is told its device, rather than called in a context.
bool TakesDevice(absl::string_view function) {
  bool takes = false;
  ForEachSymbol([&](auto, Symbol symbol) {
    const bool is_it = Info(symbol).name == function;
    takes |= is_it && absl::StrContains(Info(symbol).parameters, "CUdevice ");
  });
  return takes;
}

// The driver's calls where its function takes the arguments of the call in their order.
template <typename Result, typename... T>
DriverCalls InOrder(absl::string_view function, const Argument<T>&... arguments) {
  constexpr bool kIsOfDevice =
      ((std::is_same_v<T, DeviceOrdinal> || std::is_constructible_v<T, DeviceOrdinal, uint64_t>) ||
       ...);
  const bool takes_device = TakesDevice(function);
  DriverCalls calls;
  std::vector<std::string> texts;
  if (!std::is_same_v<Result, absl::Status>) texts.push_back("out");
  [[maybe_unused]] const auto add = [&](const auto& argument) {
    constexpr bool kIsDevice =
        std::is_same_v<std::decay_t<decltype(argument.value)>, DeviceOrdinal>;
    if constexpr (kIsDevice) {
      if (!takes_device) return;
      calls.push_back(absl::StrCat("cuDeviceGet(out, ", Hex(argument.value.value()), ")"));
    }
    texts.push_back(argument.text);
  };
  (add(arguments), ...);
  calls.push_back(absl::StrCat(function, "(", absl::StrJoin(texts, ", "), ")"));
  return kIsOfDevice && !takes_device ? InContext(calls) : calls;
}

absl::Status StatusOf(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// A call of an interface of Driver.
template <typename Interface, typename Make>
Case CaseOf(std::string name, absl::StatusOr<Interface*> (Driver::*interface)(), Make make,
            DriverCalls driver_calls) {
  const auto on_driver = [=](Driver& driver) {
    const absl::StatusOr<Interface*> made_on = (driver.*interface)();
    return made_on.ok() ? StatusOf(make(**made_on)) : made_on.status();
  };
  return {std::move(name), on_driver, std::move(driver_calls)};
}

template <typename Result, typename Interface, typename Make, typename... T>
Case ListedCase(DriverCall call, std::string id, Interface interface, Make make,
                const std::tuple<Argument<T>...>& arguments) {
  const auto departure = Departures().find(call);
  const auto in_order = [&](const Argument<T>&... each) {
    return InOrder<Result>(DriverCallName(call), each...);
  };
  const auto make_it = [=](auto& made_on) {
    return std::apply([&](const Argument<T>&... each) { return make(made_on, each.value...); },
                      arguments);
  };
  return CaseOf(
      std::move(id), interface, make_it,
      departure == Departures().end() ? std::apply(in_order, arguments) : departure->second);
}

std::vector<Case> Listed() {
  std::vector<Case> cases;
  uint64_t position;
#define TWINMMU_NEXT(type, parameter) NextArgument<std::decay_t<type>>(position)
#define TWINMMU_CASE(interface, id, result, method, ...)                                    \
  position = 0;                                                                             \
  cases.push_back(ListedCase<result>(                                                       \
      DriverCall::k##id, #id, &Driver::interface,                                           \
      [](auto& made_on, const auto&... arguments) { return made_on.method(arguments...); }, \
      std::tuple{TWINMMU_FOR_PARAMETERS(TWINMMU_NEXT, __VA_ARGS__)}));
  TWINMMU_VMM_CALLS(TWINMMU_CASE, vmm)
  TWINMMU_EXECUTOR_CALLS(TWINMMU_CASE, executor)
  TWINMMU_MULTICAST_CALLS(TWINMMU_CASE, multicast)
  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_CASE, sparse_arrays)
#undef TWINMMU_CASE
#undef TWINMMU_NEXT
  return cases;
}

// A fill of elements of so many bytes, without a stream and on one.
std::vector<Case> Fills(int width, const std::string& function, const std::string& value) {
  const FillPattern pattern{0x12345678, Bytes(static_cast<uint64_t>(width))};
  return {
      CaseOf(
          function, &Driver::executor,
          [=](Executor& e) { return e.Fill(kDevice, DeviceAddress(2), pattern, 4); },
          InContext({absl::StrCat(function, "(0x2, ", value, ", 0x4)")})),
      CaseOf(
          function + "Async", &Driver::executor,
          [=](Executor& e) { return e.Fill(kStream, DeviceAddress(2), pattern, 4); },
          InContext({absl::StrCat(function, "Async(0x2, ", value, ", 0x4, 0x1)")})),
  };
}

// Calls of the list for which the driver has other functions, or other arguments.
std::vector<Case> Variants() {
  return {
      CaseOf("ImportFabricHandle", &Driver::vmm,
             [](Vmm& v) {
               return v.ImportShareableHandle({HandleType::kFabric, -1, {}});
             },
             {"cuMemImportFromShareableHandle(out, *, 0x8)"}),
      CaseOf(
          "SynchronizeDefaultStream", &Driver::executor,
          [](Executor& e) { return e.SynchronizeStream(Stream(kDevice)); },
          InContext({"cuStreamSynchronize(0x0)"})),
      CaseOf(
          "LaunchProgrammatically", &Driver::executor,
          [](Executor& e) {
            return e.Launch(kStream, Kernel(kDevice, 2), {{1, 2, 3}, {4, 5, 6}, 7, true}, {});
          },
          InContext({"cuLaunchKernelEx({1 2 3 4 5 6 7 1 0x1 6=1}, 0x2, out, out)"})),
      CaseOf(
          "MapMipTail", &Driver::sparse_arrays,
          [](SparseArrays& s) {
            TileOperation operation = Tiles();
            operation.mipmap = MipmappedArray(kDevice, 0xe000);
            operation.subresource = ArraySubresource::kMipTail;
            operation.mip_tail = {20, Bytes(21), Bytes(22)};
            return s.MapTiles(kStream, {operation});
          },
          InContext({"cuMemMapArrayAsync({1 1 [20 21 22] 15 16 17 18 19}, 0x1, 0x1)"})),
  };
}

std::vector<Case> Cases() {
  std::vector<Case> all;
  for (const auto& group : {Listed(), Fills(2, "cuMemsetD16", "0x5678"),
                            Fills(4, "cuMemsetD32", "0x12345678"), Variants()}) {
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
    return GetParam().make(**driver);
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
  EXPECT_THAT(GetParam().make(**driver), IsOk());

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
  const bool is_multicast = absl::StartsWith(GetParam().driver_calls.back(), "cuMulticast");
  EXPECT_EQ(GetParam().make(**driver).code(),
            is_multicast ? absl::StatusCode::kUnimplemented : absl::StatusCode::kOk);
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
