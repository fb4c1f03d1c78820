// Kernels in mapped memory: seen by the device itself, not by a copy.

#include <optional>
#include <utility>

#include "conformance/kernel_fixture.h"
#include "conformance/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr uint64_t kRounds = 100'000;

}  // namespace

CONFORMANCE_TEST(KernelTest, KERNEL_1, FillsAndVerifiesAcrossMappings) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapTheRest());
  const Stream stream(device());
  ASSERT_THAT(kernels().Fill(stream, work(), 1), IsOk());
  ASSERT_THAT(kernels().Verify(stream, work(), 1, result()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult same, ReadResult<VerifyResult>());
  EXPECT_EQ(same.mismatches, 0u);
  // And it does notice: one word on the far side of the seam is changed.
  const Bytes at = work().size - granule() + Bytes(64);
  ASSERT_THAT(kernels().Store32(stream, work().base + at, ~FillWord(1, at / Bytes(4))), IsOk());
  ASSERT_THAT(kernels().Verify(stream, work(), 1, result()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult changed, ReadResult<VerifyResult>());
  EXPECT_EQ(changed.mismatches, 1u);
  EXPECT_EQ(changed.first_index, at / Bytes(4));
}

CONFORMANCE_TEST(KernelTest, KERNEL_2, LoadsStoresAndAdds) {
  if (!LoadKernels()) return;
  const Stream stream(device());
  const DeviceAddress word = work().base + Bytes(4);
  ASSERT_THAT(kernels().Store32(stream, word, 40), IsOk());
  ASSERT_THAT(kernels().AtomicAdd32(stream, word, 2, result()), IsOk());
  EXPECT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(40u));
  ASSERT_THAT(kernels().Load32(stream, word, result()), IsOk());
  EXPECT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(42u));
}

CONFORMANCE_TEST(KernelTest, KERNEL_3, TheFirstKernelSeesAFreshMapping) {
  if (!LoadKernels()) return;
  const Stream stream(device());
  for (uint32_t round = 0; round < 20; ++round) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle fresh,
                                 vmm().Create(2 * granule(), properties()));
    ASSERT_THAT(vmm().Map(Granules(6, 2), fresh), IsOk());
    ASSERT_THAT(Grant(Granules(6, 2), Access::kReadWrite), IsOk());
    ASSERT_THAT(kernels().Store32(stream, Granules(6, 2).base, round), IsOk());
    ASSERT_THAT(kernels().Load32(stream, Granules(6, 2).base, result()), IsOk());
    ASSERT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(round));
    ASSERT_THAT(vmm().Unmap(Granules(6, 2)), IsOk());
    ASSERT_THAT(vmm().Release(fresh), IsOk());
  }
}

CONFORMANCE_TEST(KernelTest, KERNEL_4, RefusesWhatIsNotPtx) {
  if (!LoadKernels()) return;
  EXPECT_THAT(executor().LoadModule(device(), "this is no PTX"),
              HasDriverCode(DriverCode::kInvalidImage));
  const auto broken =
      executor().LoadModule(device(), ".version 7.5\n.target sm_70\n.address_size 64\nnonsense\n");
  EXPECT_THAT(broken, HasDriverCode(DriverCode::kInvalidPtx));
  EXPECT_THAT(std::string(broken.status().message()), ::testing::HasSubstr("nonsense"));
}

CONFORMANCE_TEST(KernelTest, KERNEL_5, AMissingKernelIsNotFound) {
  if (!LoadKernels()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Module module,
                               executor().LoadModule(device(), Kernels::PtxTexts()[0]));
  EXPECT_THAT(executor().GetKernel(module, "no_such_kernel"), HasDriverCode(DriverCode::kNotFound));
  EXPECT_THAT(executor().UnloadModule(module), IsOk());
}

CONFORMANCE_TEST(KernelTest, KERNEL_6, RefusesAnEmptyGridAndAnEmptyBlock) {
  if (!LoadKernels()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Module module, executor().LoadModule(device(),
                                                 ".version 7.5\n.target sm_70\n.address_size 64\n"
                                                 ".visible .entry nothing() { ret; }\n"));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Kernel nothing, executor().GetKernel(module, "nothing"));
  const Stream stream(device());
  LaunchConfig config;
  EXPECT_THAT(executor().Launch(stream, nothing, config, {}), IsOk());
  config.grid.x = 0;
  EXPECT_THAT(executor().Launch(stream, nothing, config, {}),
              HasDriverCode(DriverCode::kInvalidValue));
  config = LaunchConfig();
  config.block.y = 0;
  EXPECT_THAT(executor().Launch(stream, nothing, config, {}),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().SynchronizeDevice(device()), IsOk());
  EXPECT_THAT(executor().UnloadModule(module), IsOk());
}

CONFORMANCE_TEST(KernelTest, KERNEL_7, WorksInHostMemory) {
  if (!LoadKernels()) return;
  const auto host = vmm().Create(2 * granule(), properties(Location::HostNuma(0)));
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const int supported,
      vmm().GetDeviceAttribute(DeviceAttribute::kHostNumaVirtualMemoryManagementSupported,
                               device()));
  if (supported == 0) return ExpectUnsupported(host.status());
  ASSERT_THAT(host, IsOk());
  const AddressRange range = Granules(4, 2);
  ASSERT_THAT(vmm().Map(range, *host), IsOk());
  ASSERT_THAT(Grant(range, Access::kReadWrite), IsOk());
  ASSERT_THAT(kernels().Fill(Stream(device()), range, 7), IsOk());
  ASSERT_THAT(kernels().Verify(Stream(device()), range, 7, result()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult same, ReadResult<VerifyResult>());
  EXPECT_EQ(same.mismatches, 0u);
  ExpectHolds(range, 7);
}

CONFORMANCE_TEST(KernelTest, ALIAS_1, TheFenceMakesAliasesCoherent) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  for (const bool warm : {false, true}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AliasResult seen,
                                 WriteThenReadThroughAlias(kRounds, warm, /*fence=*/true));
    EXPECT_EQ(seen.rounds, kRounds);
    EXPECT_EQ(seen.stale, 0u);
    EXPECT_EQ(seen.wrong, 0u);
  }
}

CONFORMANCE_TEST(KernelTest, ALIAS_2, WithoutTheFenceOldOrNew) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  for (const bool warm : {false, true}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AliasResult seen,
                                 WriteThenReadThroughAlias(kRounds, warm, /*fence=*/false));
    EXPECT_EQ(seen.rounds, kRounds);
    EXPECT_EQ(seen.wrong, 0u);
    // Any number of stale reads is allowed: it is counted, never asserted.
    RecordProperty(warm ? "stale_of_100000_warm" : "stale_of_100000_cold",
                   std::to_string(seen.stale));
  }
}

CONFORMANCE_TEST(KernelTest, ALIAS_3, ALaunchMakesAliasesCoherent) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  const Stream stream(device());
  for (uint32_t round = 1; round <= 200; ++round) {
    const auto& [from, to] = round % 2 == 0 ? std::pair(work().base, alias().base)
                                            : std::pair(alias().base, work().base);
    ASSERT_THAT(kernels().Load32(stream, to, result()), IsOk());
    ASSERT_THAT(kernels().Store32(stream, from, round), IsOk());
    ASSERT_THAT(kernels().Load32(stream, to, result()), IsOk());
    ASSERT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(round));
  }
}

}  // namespace twinmmu::conformance
