// A trace has every call with its arguments and its result, in words.

#include "api/testing/tracing.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/testing/every_call.h"
#include "api/testing/matchers.h"
#include "api/testing/mock_executor.h"
#include "api/testing/mock_multicast.h"
#include "api/testing/mock_sparse_arrays.h"
#include "api/testing/mock_vmm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NiceMock;
using ::testing::Return;
using ::testing::StartsWith;
using testing_internal::MadeCall;
using testing_internal::MakeEveryCall;

constexpr DeviceOrdinal kDevice0(0);
constexpr AddressRange kRange{DeviceAddress(0x7f0000200000), MiB(2), Bytes(0)};
constexpr AllocationHandle kHandle(0x55d0);

class TracingTest : public testing::Test {
 protected:
  NiceMock<MockVmm>& target() { return target_; }
  TracingVmm& vmm() { return vmm_; }
  std::string Printed() {
    std::ostringstream text;
    text << vmm_;
    return text.str();
  }
  // The line of the call that was made last.
  std::string LastLine() {
    std::ostringstream text;
    text << vmm_.calls().back();
    return text.str();
  }

 private:
  NiceMock<MockVmm> target_;
  TracingVmm vmm_{&target_};
};

// Every call reaches the call of the same name, is counted as its kind, and its error is kept.
void ExpectTraced(const CallTrace& trace, const std::vector<MadeCall>& all, const char* mock) {
  const std::vector<TracedCall> traced = trace.calls();
  ASSERT_EQ(traced.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const MadeCall& made = all[i];
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat(mock, " has no answer to ", made.method, ":")));
    EXPECT_EQ(trace.count(made.call), 1) << made.call;
    EXPECT_EQ(traced[i].call, made.call);
    EXPECT_EQ(traced[i].status, made.status);
  }
}

TEST_F(TracingTest, PassesEveryCallOnAndCountsIt) {
  ExpectTraced(vmm(), MakeEveryCall(vmm()), "MockVmm");
  NiceMock<MockExecutor> target_executor;
  TracingExecutor executor(&target_executor);
  ExpectTraced(executor, MakeEveryCall(executor), "MockExecutor");
  NiceMock<MockMulticast> target_multicast;
  TracingMulticast multicast(&target_multicast);
  ExpectTraced(multicast, MakeEveryCall(multicast), "MockMulticast");
  NiceMock<MockSparseArrays> target_arrays;
  TracingSparseArrays arrays(&target_arrays);
  ExpectTraced(arrays, MakeEveryCall(arrays), "MockSparseArrays");
}

TEST_F(TracingTest, ListsTheKindsOfCallsInOrder) {
  EXPECT_THAT(vmm().kinds(), IsEmpty());
  (void)vmm().Unmap(kRange);
  (void)vmm().Release(kHandle);
  (void)vmm().Unmap(kRange);
  EXPECT_THAT(vmm().kinds(),
              ElementsAre(DriverCall::kUnmap, DriverCall::kRelease, DriverCall::kUnmap));
  EXPECT_EQ(vmm().count(DriverCall::kUnmap), 2);
  EXPECT_EQ(vmm().count(DriverCall::kMap), 0);
  EXPECT_EQ(vmm().count(), 3);
}

TEST_F(TracingTest, WritesWhatACallWasGiven) {
  (void)vmm().Map(kRange, kHandle);
  EXPECT_THAT(LastLine(), StartsWith("cuMemMap([0x7f0000200000, +2 MiB], 0x55d0, offset 0 B) = "));
  (void)vmm().Map(kRange, kHandle, MiB(4), 16);
  EXPECT_THAT(LastLine(), HasSubstr("0x55d0, offset 4 MiB, flags 0x10)"));
  (void)vmm().Create(MiB(2), {}, 1);
  EXPECT_THAT(LastLine(), StartsWith("cuMemCreate(2 MiB, pinned on device 0, flags 0x1) = "));
  (void)vmm().AddressReserve(MiB(2));
  EXPECT_THAT(LastLine(), StartsWith("cuMemAddressReserve(2 MiB) = "));
  (void)vmm().AddressReserve(MiB(2), {MiB(4), DeviceAddress(0x400000), 2});
  EXPECT_THAT(LastLine(), HasSubstr("(2 MiB, alignment 4 MiB, hint 0x400000, flags 0x2)"));
  const AccessGrant grant{Location::Device(kDevice0), Access::kReadWrite};
  (void)vmm().SetAccess(kRange, {grant, grant});
  EXPECT_THAT(LastLine(), HasSubstr(", {read-write for device 0, read-write for device 0})"));
  (void)vmm().GetPointerAttribute(kDevice0, PointerAttribute::kRangeSize, kRange.base);
  EXPECT_THAT(LastLine(), HasSubstr("(device 0, RANGE_SIZE, 0x7f0000200000)"));
  (void)vmm().ExportShareableHandle(kHandle, HandleType::kPosixFileDescriptor);
  EXPECT_THAT(LastLine(), HasSubstr("(0x55d0, POSIX file descriptor)"));
  (void)vmm().GetDriverVersion();
  EXPECT_THAT(LastLine(), StartsWith("cuDriverGetVersion() = "));
}

TEST_F(TracingTest, WritesWhatACallGave) {
  ON_CALL(target(), Unmap).WillByDefault(Return(absl::OkStatus()));
  (void)vmm().Unmap(kRange);
  EXPECT_EQ(LastLine(), "cuMemUnmap([0x7f0000200000, +2 MiB]) = OK");
  ON_CALL(target(), Create).WillByDefault(Return(kHandle));
  (void)vmm().Create(MiB(2), {});
  EXPECT_EQ(LastLine(), "cuMemCreate(2 MiB, pinned on device 0) = 0x55d0");
  ON_CALL(target(), GetMemoryInfo).WillByDefault(Return(MemoryInfo{MiB(6), MiB(8)}));
  (void)vmm().GetMemoryInfo(kDevice0);
  EXPECT_EQ(LastLine(), "cuMemGetInfo(device 0) = 6 MiB free of 8 MiB");
  ON_CALL(target(), CanAccessPeer).WillByDefault(Return(true));
  (void)vmm().CanAccessPeer(kDevice0, DeviceOrdinal(1));
  EXPECT_EQ(LastLine(), "cuDeviceCanAccessPeer(device 0, device 1) = true");
  ON_CALL(target(), GetDeviceName).WillByDefault(Return(std::string("H200")));
  (void)vmm().GetDeviceName(kDevice0);
  EXPECT_EQ(LastLine(), "cuDeviceGetName(device 0) = \"H200\"");
  ON_CALL(target(), GetPointerAttribute).WillByDefault(Return(uint64_t{0x7f00}));
  (void)vmm().GetPointerAttribute(kDevice0, PointerAttribute::kRangeSize, kRange.base);
  EXPECT_THAT(LastLine(), HasSubstr(") = 0x7f00"));
}

TEST_F(TracingTest, WritesWhichTilesAreMapped) {
  NiceMock<MockSparseArrays> target;
  TracingSparseArrays arrays(&target);
  const auto line = [&] {
    std::ostringstream text;
    text << arrays.calls().back();
    return text.str();
  };
  const Stream stream(kDevice0, 3);
  const Array array(kDevice0, 5);
  ON_CALL(target, CreateArray).WillByDefault(Return(array));
  (void)arrays.CreateArray(kDevice0, {{256, 128, 0}, ArrayFormat::kHalf, 2});
  EXPECT_EQ(line(),
            "cuArray3DCreate(device 0, 256 x 128 x 0, 2 channels of format 16, flags 0x40) = 0x5");
  ON_CALL(target, GetArraySparseProperties)
      .WillByDefault(Return(SparseProperties{{128, 128, 1}, 4, KiB(64), true}));
  (void)arrays.GetArraySparseProperties(array);
  EXPECT_EQ(line(),
            "cuArrayGetSparseProperties(0x5) = tiles of 128 x 128 x 1, mip tail of 64 KiB from "
            "level 4, one for all layers");
  ON_CALL(target, MapTiles).WillByDefault(Return(absl::OkStatus()));
  TileOperation map;
  map.array = array;
  map.tiles = {1, 2, {128, 0, 0}, {128, 256, 1}};
  map.memory = kHandle;
  map.memory_offset = KiB(64);
  TileOperation unmap;
  unmap.type = TileOperationType::kUnmap;
  unmap.mipmap = MipmappedArray(kDevice0, 6);
  unmap.subresource = ArraySubresource::kMipTail;
  unmap.mip_tail.size = KiB(128);
  unmap.device_mask = 2;
  (void)arrays.MapTiles(stream, {map, unmap});
  EXPECT_EQ(line(),
            "cuMemMapArrayAsync({map 128 x 256 x 1 at 128, 0, 0 of level 1, layer 2 of 0x5 to "
            "0x55d0 + 64 KiB; unmap 128 KiB at 0 B of the mip tail, layer 0 of 0x6, device mask "
            "0x2}, stream 0x3) = OK");
  (void)arrays.CopyHostToArray(stream, array, {1, 2, 0}, {3, 1, 1}, nullptr);
  EXPECT_THAT(line(),
              StartsWith("cuMemcpy3DAsync(0x5, 3 x 1 x 1 at 1, 2, 0, from host, stream 0x3)"));
}

TEST_F(TracingTest, WritesWhatIsBound) {
  NiceMock<MockMulticast> target;
  TracingMulticast multicast(&target);
  ON_CALL(target, Create).WillByDefault(Return(kHandle));
  (void)multicast.Create({2, MiB(4), HandleType::kFabric, 1});
  (void)multicast.BindMemory(kHandle, MiB(2), AllocationHandle(7), Bytes(0), MiB(4));
  std::ostringstream text;
  text << multicast.calls()[0] << "\n" << multicast.calls()[1];
  EXPECT_THAT(text.str(),
              StartsWith("cuMulticastCreate(4 MiB of 2 devices, fabric, flags 0x1) = 0x55d0\n"
                         "cuMulticastBindMem(0x55d0, offset 2 MiB, 0x7, offset 0 B, 4 MiB) = "));
}

TEST_F(TracingTest, WritesWhatIsCopiedAndLaunched) {
  NiceMock<MockExecutor> target;
  TracingExecutor executor(&target);
  const auto line = [&] {
    std::ostringstream text;
    text << executor.calls().back();
    return text.str();
  };
  (void)executor.CopyHostToDevice(kDevice0, kRange.base, nullptr, KiB(1));
  EXPECT_THAT(line(), StartsWith("cuMemcpyHtoD(device 0, 0x7f0000200000, from host, 1 KiB) = "));
  const Stream stream(kDevice0, 3);
  (void)executor.Fill(stream, kRange.base, {7, Bytes(4)}, 16);
  EXPECT_THAT(line(), StartsWith("cuMemsetAsync(0x7f0000200000, 0x7 of 4 B, 16, stream 0x3) = "));
  (void)executor.Launch(stream, Kernel(kDevice0, 9), {{1, 2, 3}, {4, 5, 6}, 7}, {});
  EXPECT_THAT(line(), StartsWith("cuLaunchKernel(0x9, grid 1 x 2 x 3, block 4 x 5 x 6, 7 B shared, "
                                 "0 arguments, stream 0x3) = "));
}

// The driver's code where there is one, else the whole status.
TEST_F(TracingTest, WritesHowACallFailed) {
  ON_CALL(target(), Release)
      .WillByDefault(Return(MakeDriverStatus(
          {DriverCode::kInvalidValue, ErrorOrigin::kDriver, "cuMemRelease"}, "handle 0")));
  (void)vmm().Release(kHandle);
  EXPECT_EQ(LastLine(), "cuMemRelease(0x55d0) = CUDA_ERROR_INVALID_VALUE");
  ON_CALL(target(), Release).WillByDefault(Return(absl::InternalError("no idea")));
  (void)vmm().Release(kHandle);
  EXPECT_EQ(LastLine(), "cuMemRelease(0x55d0) = INTERNAL: no idea");
}

TEST_F(TracingTest, PrintsALineForEachCall) {
  ON_CALL(target(), Release).WillByDefault(Return(absl::OkStatus()));
  (void)vmm().Release(AllocationHandle(1));
  (void)vmm().Release(AllocationHandle(2));
  EXPECT_EQ(Printed(), "cuMemRelease(0x1) = OK\ncuMemRelease(0x2) = OK\n");
}

TEST_F(TracingTest, ClearForgetsAll) {
  (void)vmm().Release(kHandle);
  vmm().Clear();
  EXPECT_EQ(vmm().count(), 0);
  EXPECT_EQ(vmm().count(DriverCall::kRelease), 0);
  EXPECT_EQ(Printed(), "");
}

// Only the last calls are kept where that is wanted; all are counted, and the text says so.
TEST_F(TracingTest, KeepsTheLastCalls) {
  ON_CALL(target(), Release).WillByDefault(Return(absl::OkStatus()));
  TracingVmm trace(&target(), 2);
  for (uint64_t i = 1; i <= 5; ++i) (void)trace.Release(AllocationHandle(i));
  EXPECT_EQ(trace.count(DriverCall::kRelease), 5);
  std::ostringstream text;
  text << trace;
  EXPECT_EQ(text.str(),
            "(3 calls before these are forgotten)\n"
            "cuMemRelease(0x4) = OK\n"
            "cuMemRelease(0x5) = OK\n");
}

}  // namespace
}  // namespace twinmmu
