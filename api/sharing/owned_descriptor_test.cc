#include "api/sharing/owned_descriptor.h"

#include <cerrno>
#include <utility>

#include "api/sharing/testing.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

// The descriptor is closed when its owner ends, and its number is -1 for one that has none.
TEST(OwnedDescriptorTest, ClosesAtTheEnd) {
  int number = -1;
  {
    const OwnedDescriptor owner = NewFile();
    number = owner.get();
    EXPECT_TRUE(owner.is_open());
    EXPECT_TRUE(IsOpen(number));
  }
  EXPECT_FALSE(IsOpen(number));
  EXPECT_EQ(OwnedDescriptor().get(), -1);
  EXPECT_FALSE(OwnedDescriptor(-7).is_open());
}

// A move leaves one owner, and closes what the target had.
TEST(OwnedDescriptorTest, MovesToOneOwner) {
  OwnedDescriptor first = NewFile();
  const int moved = first.get();
  OwnedDescriptor second = NewFile();
  const int closed = second.get();
  second = std::move(first);
  EXPECT_FALSE(IsOpen(closed));
  EXPECT_EQ(second.get(), moved);
  OwnedDescriptor& same = second;
  second = std::move(same);
  EXPECT_TRUE(IsOpen(moved));
  const OwnedDescriptor third(std::move(second));
  EXPECT_EQ(third.get(), moved);
}

// What is released is the caller's.
TEST(OwnedDescriptorTest, ReleaseGivesItAway) {
  int number = -1;
  {
    OwnedDescriptor owner = NewFile();
    number = owner.Release();
    EXPECT_FALSE(owner.is_open());
    EXPECT_EQ(owner.Release(), -1);
  }
  EXPECT_TRUE(IsOpen(number));
  close(number);
}

// Closing twice closes once, and hides no error that is being reported.
TEST(OwnedDescriptorTest, CloseLeavesErrno) {
  OwnedDescriptor owner(1 << 20);
  errno = EINTR;
  owner.Close();
  EXPECT_EQ(errno, EINTR);
  owner.Close();
  EXPECT_FALSE(owner.is_open());
}

}  // namespace
}  // namespace twinmmu
