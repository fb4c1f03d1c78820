// Blocks of linear memory that several processes have: here of two memories in one process.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/memory/linear_allocation.h"
#include "sim/memory/linear_memory.h"
#include "sim/memory/physical_memory.h"
#include "sim/profile/profile.h"
#include "sim/testing/failing_host.h"

namespace twinmmu {
namespace {

constexpr Bytes kBlock = MiB(2);

LinearAllocation Wanted(LinearKind kind, int device) {
  LinearAllocation wanted;
  wanted.kind = kind;
  wanted.device = DeviceOrdinal(device);
  return wanted;
}

// What a process has.
struct Memory {
  const Profile profile = Profile::ReferenceH200(2);
  PhysicalMemory physical{profile};
  LinearMemory linear{profile, LinearMemory::AddressesFor(profile), &physical};

  Bytes FreeOf(int device) { return physical.Info(DeviceOrdinal(device)).free; }
};

class ForeignBlocksTest : public testing::Test {
 protected:
  // In the owner's memory.
  AddressRange Allocate(int device = 0) {
    const auto made = owner_.linear.Allocate(Bytes(512), Wanted(LinearKind::kDevice, device));
    EXPECT_THAT(made, IsOk());
    return *made;
  }
  absl::StatusOr<AddressRange> Add(const LinearMemory::BlockFile& file, Bytes size) {
    return other_.linear.AddForeign(file, size, Wanted(LinearKind::kForeign, 1));
  }

  Memory owner_;
  Memory other_;
};

// With all that lies in the block, and nothing else.
TEST_F(ForeignBlocksTest, ABlockIsSharedAsAWhole) {
  const AddressRange first = Allocate();
  const AddressRange second = Allocate();
  const AddressRange elsewhere = Allocate(1);
  const auto file = owner_.linear.PutInFile(second.base);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->size, kBlock);
  EXPECT_EQ(file->offset, Bytes(512));
  EXPECT_TRUE(owner_.linear.Find(first.base)->shared);
  EXPECT_TRUE(owner_.linear.Find(second.base)->shared);
  EXPECT_FALSE(owner_.linear.Find(elsewhere.base)->shared);
}

TEST_F(ForeignBlocksTest, BothSeeTheSameBytes) {
  Allocate();
  const AddressRange range = Allocate();
  char* const written = owner_.linear.Find(range.base)->memory;
  written[0] = 1;  // before it is in a file
  const auto file = owner_.linear.PutInFile(range.base);
  ASSERT_THAT(file, IsOk());
  const auto added = Add(*file, Bytes(512));
  ASSERT_THAT(added, IsOk());
  EXPECT_EQ(added->size, Bytes(512));
  const LinearAllocation* const seen = other_.linear.Find(added->base);
  ASSERT_NE(seen, nullptr);
  EXPECT_TRUE(seen->shared);
  EXPECT_EQ(seen->memory[0], 1);
  owner_.linear.Find(range.base)->memory[511] = 2;
  EXPECT_EQ(seen->memory[511], 2);
}

// Of the device for which it was added.
TEST_F(ForeignBlocksTest, ABlockTakesItsRoom) {
  const auto file = owner_.linear.PutInFile(Allocate().base);
  ASSERT_THAT(file, IsOk());
  const Bytes of_first = other_.FreeOf(0);
  const Bytes of_second = other_.FreeOf(1);
  const auto added = Add(*file, Bytes(512));
  ASSERT_THAT(added, IsOk());
  EXPECT_EQ(other_.FreeOf(0), of_first);
  EXPECT_EQ(other_.FreeOf(1), of_second - kBlock);
  other_.linear.Free(added->base);
  EXPECT_EQ(other_.FreeOf(1), of_second);
}

TEST_F(ForeignBlocksTest, EachHasAnIdOfItsOwn) {
  const auto file = owner_.linear.PutInFile(Allocate().base);
  ASSERT_THAT(file, IsOk());
  const auto first = Add(*file, Bytes(512));
  const auto second = Add(*file, Bytes(512));
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  const uint64_t id = other_.linear.Find(first->base)->block_id;
  EXPECT_NE(id, 0u);
  EXPECT_NE(other_.linear.Find(second->base)->block_id, id);
}

// What the host would not take back when it was freed is given back then.
TEST_F(ForeignBlocksTest, ABlockGivesBackWhatTheHostWouldNotTake) {
  using failing_host::MappedBytes;
  const auto file = owner_.linear.PutInFile(Allocate().base);
  ASSERT_THAT(file, IsOk());
  const auto large = other_.linear.Allocate(8 * kBlock, Wanted(LinearKind::kDevice, 1));
  ASSERT_THAT(large, IsOk());
  const int64_t before = MappedBytes();
  {
    const failing_host::Scope scope;
    failing_host::FailAt(failing_host::Fails::kSystemCalls, 0, /*for_good=*/false);
    other_.linear.Free(large->base);
    ASSERT_TRUE(scope.failed());
  }
  EXPECT_EQ(MappedBytes(), before);
  ASSERT_THAT(Add(*file, Bytes(512)), IsOk());
  EXPECT_EQ(MappedBytes(), before - static_cast<int64_t>((7 * kBlock).value()));
}

struct NoPart {
  const char* what;
  Bytes file;
  Bytes offset;
  Bytes size;
};

class NoPartTest : public ForeignBlocksTest, public testing::WithParamInterface<NoPart> {};

// Whatever another process says of a file, and nothing has changed then.
TEST_P(NoPartTest, IsInvalid) {
  const auto file = owner_.linear.PutInFile(Allocate().base);
  ASSERT_THAT(file, IsOk());
  LinearMemory::BlockFile told = *file;
  told.size = GetParam().file;
  told.offset = GetParam().offset;
  EXPECT_THAT(Add(told, GetParam().size), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(other_.linear.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, NoPartTest,
                         testing::Values(NoPart{"nothing", kBlock, Bytes(0), Bytes(0)},
                                         NoPart{"of_nothing", Bytes(0), Bytes(0), Bytes(512)},
                                         NoPart{"of_no_block", kBlock + Bytes(512), Bytes(0),
                                                Bytes(512)},
                                         NoPart{"behind_the_end", kBlock, 2 * kBlock, Bytes(512)},
                                         NoPart{"over_the_end", kBlock, Bytes(512), kBlock}),
                         [](const auto& named) { return std::string(named.param.what); });

}  // namespace
}  // namespace twinmmu
