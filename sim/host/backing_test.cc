// Host memory behind allocations, and the window that it can be seen through.

#include "sim/host/backing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/testing/matchers.h"
#include "gtest/gtest.h"
#include "sim/host/window.h"

namespace twinmmu {
namespace {

constexpr Bytes kSize = MiB(2);

// Fresh memory is zero, and more of it than the host has is no error.
TEST(BackingTest, IsZeroAndLazy) {
  const auto backing = Backing::Make(BackingKind::kPrivate, GiB(256));
  ASSERT_THAT(backing, IsOk());
  EXPECT_EQ(backing->data()[GiB(250).value()], 0);
}

// What the host cannot give is an error.
TEST(BackingTest, SaysWhenTheHostRefuses) {
  EXPECT_THAT(Backing::Make(BackingKind::kPrivate, Bytes(uint64_t{1} << 60)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Backing::Make(BackingKind::kMemoryFile, Bytes(uint64_t{1} << 63)),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// A descriptor elsewhere is noticed, also a copy of it and a mapping made through it.
TEST(BackingTest, KnowsOfDescriptorsElsewhere) {
  const auto backing = Backing::Make(BackingKind::kMemoryFile, kSize);
  ASSERT_THAT(backing, IsOk());
  EXPECT_FALSE(backing->HasDescriptorElsewhere());
  const int descriptor = *backing->NewDescriptor();
  EXPECT_THAT(IdentifyFile(descriptor), IsOkAndHolds(backing->identity()));
  EXPECT_TRUE(backing->HasDescriptorElsewhere());
  const int copy = dup(descriptor);
  close(descriptor);
  EXPECT_TRUE(backing->HasDescriptorElsewhere());
  void* const mapped = mmap(nullptr, kSize.value(), PROT_READ, MAP_SHARED, copy, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(copy);
  EXPECT_TRUE(backing->HasDescriptorElsewhere());
  munmap(mapped, kSize.value());
  EXPECT_FALSE(backing->HasDescriptorElsewhere());
}

// A program may have closed it, and the next descriptor is then number 0.
TEST(BackingTest, OpensAFileWithoutStandardInput) {
  const auto backing = Backing::Make(BackingKind::kMemoryFile, kSize);
  ASSERT_THAT(backing, IsOk());
  const int usual = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  close(STDIN_FILENO);
  auto other = Backing::Open(backing->file_descriptor(), backing->identity(), kSize);
  const bool opened = other.ok() && other->file_descriptor() == STDIN_FILENO;
  other = absl::CancelledError();
  dup2(usual, STDIN_FILENO);
  close(usual);
  EXPECT_TRUE(opened);
}

// Others see it from then on, and it is where it was.
TEST(BackingTest, MovesIntoAFileWithWhatIsInIt) {
  auto backing = Backing::Make(BackingKind::kPrivate, kSize);
  ASSERT_THAT(backing, IsOk());
  char* const data = backing->data();
  data[0] = 'a';
  data[kSize.value() - 1] = 'z';
  ASSERT_THAT(backing->MoveToFile(), IsOk());
  EXPECT_EQ(backing->data(), data);
  EXPECT_EQ(data[0], 'a');
  EXPECT_EQ(data[4096], 0);
  EXPECT_EQ(data[kSize.value() - 1], 'z');
  const auto other = Backing::OfFile(backing->file_descriptor(), backing->identity(), kSize);
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(other->data()[0], 'a');
  other->data()[0] = 'b';
  EXPECT_EQ(data[0], 'b');
  data[kSize.value() - 1] = 'y';
  EXPECT_EQ(other->data()[kSize.value() - 1], 'y');
}

// What nobody has written takes no memory of the file.
TEST(BackingTest, MovesOnlyWhatWasWritten) {
  auto backing = Backing::Make(BackingKind::kPrivate, GiB(1));
  ASSERT_THAT(backing, IsOk());
  backing->data()[MiB(512).value()] = 1;
  ASSERT_THAT(backing->MoveToFile(), IsOk());
  struct stat file;
  ASSERT_EQ(fstat(backing->file_descriptor(), &file), 0);
  EXPECT_LE(file.st_blocks * 512, 4 << 20) << "a page of the largest size";
}

// A window shows memory at its addresses, until it hides it.
TEST(WindowTest, ShowsMemory) {
  if (!Profile::ReferenceH200().window.claimed) GTEST_SKIP() << "no room for a window";
  const auto window = Window::Make(WindowProfile{true, DeviceAddress(0), GiB(1)}, kSize);
  ASSERT_THAT(window, IsOk());
  EXPECT_TRUE(window->range().base.IsAligned(kSize));
  const auto backing = Backing::Make(BackingKind::kAliased, kSize);
  const AddressRange range{window->range().base + kSize, kSize, Bytes(0)};
  ASSERT_THAT(window->Show(range, backing->data(), Access::kReadWrite), IsOk());
  auto* shown = reinterpret_cast<char*>(range.base.value());
  shown[5] = 'x';
  EXPECT_EQ(backing->data()[5], 'x');
  ASSERT_THAT(window->Protect(range, Access::kRead), IsOk());
  EXPECT_DEATH(shown[5] = 'y', "");
  EXPECT_EQ(shown[5], 'x');
  ASSERT_THAT(window->Hide(range), IsOk());
  EXPECT_DEATH(shown[5] = 'y', "");
}

// In the host's words.
TEST(WindowTest, SaysWhyItShowsNothing) {
  if (!Profile::ReferenceH200().window.claimed) GTEST_SKIP() << "no room for a window";
  const auto window = Window::Make(WindowProfile{true, DeviceAddress(0), GiB(1)}, kSize);
  ASSERT_THAT(window, IsOk());
  const AddressRange range{window->range().base, kSize, Bytes(0)};
  const absl::Status shown = window->Show(range, /*memory=*/nullptr, Access::kReadWrite);
  EXPECT_THAT(shown, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(shown.message(), ::testing::HasSubstr("Bad address"));
}

// Not claimed, a window is only numbers.
TEST(WindowTest, CanBeNumbersOnly) {
  const auto window = Window::Make(WindowProfile{false, DeviceAddress(0x1000000), TiB(64)}, kSize);
  ASSERT_THAT(window, IsOk());
  EXPECT_EQ(window->range().base, DeviceAddress(0x1000000));
  EXPECT_EQ(window->range().size, TiB(64));
}

// Where a tool holds the address space, the message names a machine that does without.
TEST(WindowTest, NamesTheProfileThatNeedsNone) {
  WindowProfile profile;
  profile.claimed = true;
  profile.size = Bytes(uint64_t{1} << 60);
  const auto window = Window::Make(profile, MiB(2));
  EXPECT_THAT(window.status(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(window.status().message(), ::testing::HasSubstr("as full-address-space"));
}

}  // namespace
}  // namespace twinmmu
