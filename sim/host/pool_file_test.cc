// Files of pools, and what others may make of them.

#include "sim/host/pool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "api/sharing/owned_descriptor.h"
#include "api/testing/matchers.h"
#include "gtest/gtest.h"
#include "sim/testing/failing_host.h"

namespace twinmmu {
namespace {

PoolLabel Label() {
  PoolLabel label;
  label.location = Location::Device(DeviceOrdinal(1));
  label.traits.driver_version = 13000;
  label.traits.memory = GiB(80);
  label.traits.name = 7;
  return label;
}

TEST(PoolFile, IsFoundByItsDescriptor) {
  const auto made = *PoolFile::Make(Label());
  const OwnedDescriptor descriptor(*made->NewDescriptor());
  const auto opened = *PoolFile::Open(descriptor.get());
  EXPECT_EQ(opened->id(), made->id());
  EXPECT_EQ(opened->label().location, Label().location);
  EXPECT_EQ(DifferenceOf(opened->label().traits, Label().traits), "");
}

TEST(PoolFile, TwoPoolsAreTwo) {
  EXPECT_NE((*PoolFile::Make(Label()))->id(), (*PoolFile::Make(Label()))->id());
}

TEST(PoolFile, GrowsAndKeepsWhatThereIs) {
  const auto made = *PoolFile::Make(Label());
  const auto other = *PoolFile::Open(made->descriptor());
  const Bytes first = *made->Extend(PoolFile::kStep);
  const Bytes second = *made->Extend(2 * PoolFile::kStep);
  EXPECT_EQ(second, first + PoolFile::kStep);
  EXPECT_TRUE(other->Has({0, first, 3 * PoolFile::kStep}));
  EXPECT_FALSE(other->Has({0, first, 3 * PoolFile::kStep + Bytes(1)}));
  EXPECT_FALSE(other->Has({0, second, Bytes(~uint64_t{0})}));
  EXPECT_FALSE(other->Has({0, Bytes(0), Bytes(1)})) << "there is the label";
}

// As far as the next byte, and as far as files go.
TEST(PoolFile, OthersMayMakeItLonger) {
  const auto made = *PoolFile::Make(Label());
  for (const off_t size : {off_t{(32 << 20) + 1}, off_t{1} << 42}) {
    ASSERT_EQ(ftruncate(made->descriptor(), size), 0);
  }
  EXPECT_EQ(*made->Extend(PoolFile::kStep), PoolFile::kStep);
  EXPECT_EQ(*made->Extend(PoolFile::kStep), 2 * PoolFile::kStep);
}

TEST(PoolFile, IsRefusedWhatNoFileHas) {
  const auto made = *PoolFile::Make(Label());
  EXPECT_THAT(made->Extend(Bytes(~uint64_t{0})), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(*made->Extend(PoolFile::kStep), PoolFile::kStep);
}

// Each call of the system fails in turn, and with it what cannot do without.
template <typename Call>
void ExpectRefusals(const Call& call) {
  int refusals = 0;
  bool failed = true;
  for (uint64_t n = 0; failed; ++n) {
    failing_host::FailAt(failing_host::Fails::kSystemCalls, n, /*for_good=*/false);
    const failing_host::Scope scope;
    const absl::Status status = call();
    failed = scope.failed();
    if (status.ok()) continue;
    ++refusals;
    EXPECT_TRUE(failed);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted)) << n;
  }
  EXPECT_GT(refusals, 1);
}

TEST(PoolFile, IsOpenedUnlessTheHostRefuses) {
  ExpectRefusals([] { return PoolFile::Make(Label()).status(); });
  const auto made = *PoolFile::Make(Label());
  ExpectRefusals([&] { return PoolFile::Open(made->descriptor()).status(); });
}

TEST(PoolFile, GrowsUnlessTheHostRefuses) {
  const auto made = *PoolFile::Make(Label());
  Bytes end;
  ExpectRefusals([&] {
    const auto begin = made->Extend(PoolFile::kStep);
    if (begin.ok()) end = *begin + PoolFile::kStep;
    return begin.status();
  });
  EXPECT_GT(end, PoolFile::kStep);
  EXPECT_TRUE(made->Has({0, PoolFile::kStep, end - PoolFile::kStep}));
}

TEST(PoolFile, NobodyMakesItShorter) {
  const auto made = *PoolFile::Make(Label());
  EXPECT_NE(ftruncate(made->descriptor(), 0), 0);
}

TEST(PoolFile, OtherFilesAreNone) {
  const OwnedDescriptor plain(memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const OwnedDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int descriptor : {plain.get(), null.get(), -1}) {
    EXPECT_THAT(PoolFile::Open(descriptor), StatusIs(absl::StatusCode::kInvalidArgument))
        << descriptor;
  }
}

TEST(PoolFile, AChangedLabelIsNone) {
  const auto made = *PoolFile::Make(Label());
  for (const off_t place : {0, 8, 16, 24, 40}) {
    char before = 0;
    ASSERT_EQ(pread(made->descriptor(), &before, 1, place), 1);
    const char changed = static_cast<char>(before ^ 1);
    ASSERT_EQ(pwrite(made->descriptor(), &changed, 1, place), 1);
    EXPECT_THAT(PoolFile::Open(made->descriptor()), StatusIs(absl::StatusCode::kInvalidArgument))
        << place;
    ASSERT_EQ(pwrite(made->descriptor(), &before, 1, place), 1);
  }
}

TEST(PoolPart, ComesBack) {
  const auto part = *ParsePoolPart(ToData({5, GiB(1), Bytes(100)}));
  EXPECT_EQ(part.pool, 5u);
  EXPECT_EQ(part.offset, GiB(1));
  EXPECT_EQ(part.size, Bytes(100));
}

TEST(PoolPart, IsNotTakenOnceChanged) {
  const PoolPartData data = ToData({5, GiB(1), Bytes(100)});
  for (size_t byte = 0; byte < data.size(); ++byte) {
    PoolPartData changed = data;
    changed[byte] ^= 1;
    EXPECT_THAT(ParsePoolPart(changed), StatusIs(absl::StatusCode::kInvalidArgument)) << byte;
  }
}

}  // namespace
}  // namespace twinmmu
