// Kernels on multicast addresses: each access goes to the memory of every device of the team.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "conformance/fixtures/multicast_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

// A team of two devices, or of one where there are no more. Each has a granule, which only it may
// access by its own address; by the multicast address all may.
class MultimemTest : public MulticastTest {
 protected:
  void SetUp() override {
    MulticastTest::SetUp();
    if (IsSkipped() || HasFatalFailure() || traits().runs_any_kernel) return;
    RecordUnsupported("other kernels than those of the project are not run");
    GTEST_SKIP() << "other kernels than those of the project are not run";
  }

  // True: all that follows is there. False: the test has failed, and returns.
  bool MapTeam() {
    const AllocationHandle object = Team(two(), 1);
    for (int i = 0; i < two(); ++i) {
      const AllocationHandle memory = Memory(DeviceOrdinal(i), 1);
      EXPECT_THAT(Bind(object, 0, memory), IsOk());
      own_.push_back(MapFor(memory, i, 1));
      const std::vector<uint32_t> zeros(kWords);
      EXPECT_THAT(executor().CopyHostToDevice(DeviceOrdinal(i), own_.back(), zeros.data(),
                                              Bytes(sizeof(uint32_t) * kWords)),
                  IsOk());
    }
    all_ = MapFor(object, 0, two());
    return !HasFailure();
  }

  // The device's own address, and that of all.
  DeviceAddress own(int device) const { return own_[static_cast<size_t>(device)]; }
  DeviceAddress all() const { return all_; }

  void Set(int device, uint64_t index, uint32_t value) {
    ASSERT_THAT(executor().CopyHostToDevice(DeviceOrdinal(device), At(device, index), &value,
                                            Bytes(sizeof(value))),
                IsOk());
  }
  uint32_t Get(int device, uint64_t index) {
    uint32_t value = 0;
    EXPECT_THAT(executor().CopyDeviceToHost(DeviceOrdinal(device), &value, At(device, index),
                                            Bytes(sizeof(value))),
                IsOk());
    return value;
  }
  // Expects that the word is this on every device.
  void ExpectAll(uint64_t index, uint32_t expected) {
    for (int i = 0; i < two(); ++i) EXPECT_EQ(Get(i, index), expected) << "on device " << i;
  }

  // Launches one thread of `device` that does `body`: %rd1 is the address of all, %rd2 that of the
  // device itself. Its results lie from word kResults on.
  void Launch(int device, absl::string_view body) {
    const std::string text = absl::StrCat(
        ".version 8.1\n.target sm_90\n.address_size 64\n"
        ".visible .entry multimem(\n.param .u64 all,\n.param .u64 own\n)\n{\n"
        ".reg .pred %p<4>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n"
        "ld.param.u64 %rd1, [all];\nld.param.u64 %rd2, [own];\n",
        body, "ret;\n}\n");
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Module module,
                                 executor().LoadModule(DeviceOrdinal(device), text));
    modules_.push_back(module);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Kernel kernel, executor().GetKernel(module, "multimem"));
    const DeviceAddress own_address = own(device);
    const std::array<const void*, 2> arguments{&all_, &own_address};
    ASSERT_THAT(executor().Launch(Stream(DeviceOrdinal(device)), kernel, LaunchConfig(), arguments),
                IsOk());
  }
  void Run(int device, absl::string_view body) {
    Launch(device, body);
    ASSERT_THAT(executor().SynchronizeDevice(DeviceOrdinal(device)), IsOk());
  }
  void TearDown() override {
    for (const Module module : modules_) {
      EXPECT_THAT(executor().UnloadModule(module), IsOk()) << "while cleaning up";
    }
    MulticastTest::TearDown();
  }

  static constexpr uint64_t kWords = 64;
  static constexpr uint64_t kResults = 32;  // at byte 128

 private:
  DeviceAddress At(int device, uint64_t index) const {
    return own(device) + Bytes(index * sizeof(uint32_t));
  }
  // For `count` devices from `first` on.
  DeviceAddress MapFor(AllocationHandle handle, int first, int count) {
    const absl::StatusOr<AddressRange> range = Reserve(1);
    EXPECT_THAT(range, IsOk());
    if (!range.ok()) return DeviceAddress(0);
    EXPECT_THAT(vmm().Map(*range, handle), IsOk());
    for (int i = first; i < first + count; ++i) {
      EXPECT_THAT(Grant(*range, Access::kReadWrite, Location::Device(DeviceOrdinal(i))), IsOk());
    }
    return range->base;
  }

  std::vector<DeviceAddress> own_;
  DeviceAddress all_;
  std::vector<Module> modules_;
};

}  // namespace

CONFORMANCE_TEST(MultimemTest, MM_1, StoresReachEveryDevice) {
  if (!MapTeam()) return;
  Run(0,
      "multimem.st.weak.global.u32 [%rd1], 7;\n"
      "mov.b32 %f1, 0x3f800000;\n"
      "mov.b32 %f2, 0x40000000;\n"
      "multimem.st.relaxed.sys.global.v2.f32 [%rd1+8], {%f1, %f2};\n");
  ExpectAll(0, 7);
  ExpectAll(1, 0);
  ExpectAll(2, 0x3f800000);
  ExpectAll(3, 0x40000000);
}

CONFORMANCE_TEST(MultimemTest, MM_7, AnyDeviceOfTheTeamStores) {
  if (!MapTeam()) return;
  Run(two() - 1, "multimem.st.weak.global.u32 [%rd1+4], 9;\n");
  ExpectAll(0, 0);
  ExpectAll(1, 9);
}

CONFORMANCE_TEST(MultimemTest, MM_8, PlainStoresReachEveryDevice) {
  if (!AnswersMistakes() || !MapTeam()) return;
  Run(0,
      "mov.u32 %r1, 7;\n"
      "st.global.u32 [%rd1], %r1;\n"
      "st.global.v2.u32 [%rd1+8], {%r1, 9};\n"
      "st.global.u8 [%rd1+16], %r1;\n");
  ExpectAll(0, 7);
  ExpectAll(1, 0);
  ExpectAll(2, 7);
  ExpectAll(3, 9);
  ExpectAll(4, 7);
}

CONFORMANCE_TEST(MultimemTest, MM_2, LoadsReduceOverAllDevices) {
  if (!MapTeam()) return;
  const auto n = static_cast<uint32_t>(two());
  for (int i = 0; i < two(); ++i) {
    Set(i, 0, 10 + static_cast<uint32_t>(i));  // 10, 11
    Set(i, 1, 0u - static_cast<uint32_t>(i));  // 0, -1
    Set(i, 2, 6u << i);                        // 6, 12
  }
  Run(0,
      "multimem.ld_reduce.weak.global.add.u32 %r1, [%rd1];\n"
      "multimem.ld_reduce.weak.global.min.s32 %r2, [%rd1+4];\n"
      "multimem.ld_reduce.weak.global.max.u32 %r3, [%rd1+4];\n"
      "multimem.ld_reduce.weak.global.and.b32 %r4, [%rd1+8];\n"
      "multimem.ld_reduce.weak.global.or.b32 %r5, [%rd1+8];\n"
      "st.global.u32 [%rd2+128], %r1;\nst.global.u32 [%rd2+132], %r2;\n"
      "st.global.u32 [%rd2+136], %r3;\nst.global.u32 [%rd2+140], %r4;\n"
      "st.global.u32 [%rd2+144], %r5;\n");
  EXPECT_EQ(Get(0, kResults), n == 1 ? 10u : 21u);
  EXPECT_EQ(Get(0, kResults + 1), 1 - n);
  EXPECT_EQ(Get(0, kResults + 2), 1 - n);
  EXPECT_EQ(Get(0, kResults + 3), n == 1 ? 6u : 4u);
  EXPECT_EQ(Get(0, kResults + 4), n == 1 ? 6u : 14u);
}

CONFORMANCE_TEST(MultimemTest, MM_3, ReductionsChangeTheMemoryOfEveryDevice) {
  if (!MapTeam()) return;
  for (int i = 0; i < two(); ++i) {
    for (const uint64_t index : {0, 1, 2}) Set(i, index, 20 + static_cast<uint32_t>(i));
  }
  Run(0,
      "multimem.red.relaxed.sys.global.add.u32 [%rd1], 5;\n"
      "multimem.red.relaxed.sys.global.min.u32 [%rd1+4], 3;\n"
      "multimem.red.relaxed.sys.global.xor.b32 [%rd1+8], 1;\n");
  for (int i = 0; i < two(); ++i) {
    const auto own = static_cast<uint32_t>(i);
    EXPECT_EQ(Get(i, 0), 25 + own);
    EXPECT_EQ(Get(i, 1), 3u);
    EXPECT_EQ(Get(i, 2), (20 + own) ^ 1);
  }
}

// 1.5 and 2.5 as f32, 1 and 2 as f16, in vectors; of every device the same.
CONFORMANCE_TEST(MultimemTest, MM_4, ReducesElementByElement) {
  if (!MapTeam()) return;
  for (int i = 0; i < two(); ++i) {
    Set(i, 0, 0x3fc00000);
    Set(i, 1, 0x40200000);
    Set(i, 2, 0x40003c00);
  }
  Run(0,
      "multimem.ld_reduce.weak.global.add.v2.f32 {%f1, %f2}, [%rd1];\n"
      "multimem.ld_reduce.weak.global.add.f16x2 %r1, [%rd1+8];\n"
      "st.global.f32 [%rd2+128], %f1;\nst.global.f32 [%rd2+132], %f2;\n"
      "st.global.u32 [%rd2+136], %r1;\n"
      "multimem.red.relaxed.sys.global.add.v2.f32 [%rd1], {%f2, %f1};\n");
  const bool alone = two() == 1;
  EXPECT_EQ(Get(0, kResults), alone ? 0x3fc00000u : 0x40400000u);      // 1.5 or 3
  EXPECT_EQ(Get(0, kResults + 1), alone ? 0x40200000u : 0x40a00000u);  // 2.5 or 5
  EXPECT_EQ(Get(0, kResults + 2), alone ? 0x40003c00u : 0x44004000u);  // 1, 2 or 2, 4
  ExpectAll(0, alone ? 0x40800000 : 0x40d00000);                       // 4 or 6.5
  ExpectAll(1, alone ? 0x40800000 : 0x40b00000);                       // 4 or 5.5
}

CONFORMANCE_TEST(MultimemTest, MM_5, AFlagAndTheFencePublishToOtherDevices) {
  if (device_count() < 2) GTEST_SKIP() << "needs two devices, there is one";
  if (!MapTeam()) return;
  Launch(1,
         "multimem.st.weak.global.u32 [%rd1], 7;\n"
         "fence.proxy.alias;\n"
         "multimem.red.release.sys.global.add.u32 [%rd1+4], 1;\n");
  Launch(0,
         "mov.u32 %r1, 0;\n"
         "look:\n"
         "multimem.ld_reduce.acquire.sys.global.min.u32 %r2, [%rd1+4];\n"
         "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra seen;\n"
         "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 1000000;\n@%p1 bra look;\n"
         "seen:\n"
         "ld.weak.global.u32 %r3, [%rd2];\n"
         "st.global.u32 [%rd2+128], %r2;\nst.global.u32 [%rd2+132], %r3;\n");
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(executor().SynchronizeDevice(DeviceOrdinal(i)), IsOk());
  }
  EXPECT_EQ(Get(0, kResults), 1u);
  EXPECT_EQ(Get(0, kResults + 1), 7u);
}

CONFORMANCE_TEST(MultimemTest, MM_6, TheFenceMakesBothAddressesCoherent) {
  if (!MapTeam()) return;
  Run(0,
      "ld.global.u32 %r1, [%rd2];\n"
      "fence.proxy.alias;\n"
      "multimem.st.weak.global.u32 [%rd1], 5;\n"
      "fence.proxy.alias;\n"
      "ld.global.u32 %r2, [%rd2];\n"
      "st.global.u32 [%rd2], 6;\n"
      "fence.proxy.alias;\n"
      "multimem.ld_reduce.weak.global.add.u32 %r3, [%rd1];\n"
      "st.global.u32 [%rd2+128], %r2;\nst.global.u32 [%rd2+132], %r3;\n");
  EXPECT_EQ(Get(0, kResults), 5u);
  EXPECT_EQ(Get(0, kResults + 1), 6u + 5u * static_cast<uint32_t>(two() - 1));
}

}  // namespace twinmmu::conformance
