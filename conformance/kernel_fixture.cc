#include "conformance/kernel_fixture.h"

#include <utility>

namespace twinmmu::conformance {

void KernelTest::TearDown() {
  if (kernels_.has_value()) {
    EXPECT_THAT(kernels_->Close(), IsOk());
  }
  MappedTest::TearDown();
}

bool KernelTest::LoadKernels() {
  if (kernels_.has_value()) return true;
  absl::StatusOr<Kernels> kernels = Kernels::Load(&executor(), device());
  if (IsTooOldForPtx(kKernelsSince, kernels.status())) return false;
  EXPECT_THAT(kernels, IsOk());
  if (!kernels.ok()) return false;
  kernels_ = *std::move(kernels);
  result_ = Granules(3, 1);
  return true;
}

void KernelTest::MapTheRest() {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle more,
                               vmm().Create(4 * granule(), properties()));
  ASSERT_THAT(vmm().Map(Granules(4, 4), more), IsOk());
  ASSERT_THAT(Grant(Granules(4, 4), Access::kReadWrite), IsOk());
  result_ = Granules(7, 1);
  extra_ = 4;
}

void KernelTest::MapAlias() {
  ASSERT_THAT(vmm().Map(alias(), handle()), IsOk());
  ASSERT_THAT(Grant(alias(), Access::kReadWrite), IsOk());
}

void KernelTest::ExpectVerified(Stream stream, const AddressRange& range, uint64_t seed) {
  ASSERT_THAT(kernels().Verify(stream, range, seed, result()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult seen, ReadResult<VerifyResult>());
  EXPECT_EQ(seen.mismatches, 0u);
  EXPECT_EQ(seen.first_index, kNoMismatch);
}

}  // namespace twinmmu::conformance
