// Temporary folders, and what becomes of them when their owner is killed.

#include "sim/host/owned_folder.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;

class OwnedFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = ::testing::TempDir() + "/owned_folder_test.XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    place_ = path;
  }
  void TearDown() override { fs::remove_all(place_); }

  int Count() const {
    int count = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(place_)) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }
  // A process that owns a folder with a file in it, and waits.
  pid_t StartOwner() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      const auto folder = OwnedFolder::Make(place_);
      std::ofstream((*folder)->path() + "/file") << "content";
      EXPECT_EQ(write(ready[1], "", 1), 1);
      for (;;) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  std::string place_;
};

// It goes with its object, and with all that is in it.
TEST_F(OwnedFolderTest, GoesWithItsOwner) {
  {
    const auto folder = OwnedFolder::Make(place_);
    ASSERT_THAT(folder, IsOk());
    fs::create_directories((*folder)->path() + "/a/b");
    EXPECT_EQ(Count(), 1);
  }
  EXPECT_EQ(Count(), 0);
}

// A program may have closed it, and the folder's descriptor is then number 0.
TEST_F(OwnedFolderTest, IsMadeWithoutStandardInput) {
  const int usual = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  close(STDIN_FILENO);
  auto folder = OwnedFolder::Make(place_);
  const int count = Count();
  if (folder.ok()) folder->reset();
  dup2(usual, STDIN_FILENO);
  close(usual);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(Count(), 0);
}

TEST_F(OwnedFolderTest, GoesWhereTheProcessHasNoDescriptorLeft) {
  auto folder = OwnedFolder::Make(place_);
  ASSERT_THAT(folder, IsOk());
  fs::create_directories((*folder)->path() + "/reports/more");
  std::ofstream((*folder)->path() + "/reports/more/file") << "content";
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit less = {64, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &less);
  std::vector<int> open;
  while (open.empty() || open.back() >= 0) open.push_back(dup(0));
  folder->reset();
  for (const int descriptor : open) close(descriptor);
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(Count(), 0);
}

// What a killed process left is removed by whoever comes next.
TEST_F(OwnedFolderTest, IsRemovedAfterItsOwnerWasKilled) {
  Kill(StartOwner());
  EXPECT_EQ(Count(), 1);
  RemoveAbandonedFolders(place_);
  EXPECT_EQ(Count(), 0);
}

// What a living process has stays, also what this one has.
TEST_F(OwnedFolderTest, StaysWhileItsOwnerLives) {
  const pid_t owner = StartOwner();
  const auto own = OwnedFolder::Make(place_);
  RemoveAbandonedFolders(place_);
  EXPECT_EQ(Count(), 2);
  Kill(owner);
}

// A child made by fork does not take away what is its parent's.
TEST_F(OwnedFolderTest, IsNotTheChilds) {
  auto folder = OwnedFolder::Make(place_);
  const pid_t child = fork();
  if (child == 0) {
    folder->reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  RemoveAbandonedFolders(place_);
  EXPECT_EQ(Count(), 1);
}

// Other folders stay, and so does what a link of such a name leads to.
TEST_F(OwnedFolderTest, LeavesWhatIsNoneOfThem) {
  fs::create_directory(place_ + "/twinmmu-fabric");
  fs::create_directory(place_ + "/other");
  fs::create_directory_symlink(place_ + "/other", place_ + "/twinmmu-owned-link12");
  RemoveAbandonedFolders(place_);
  EXPECT_TRUE(fs::exists(place_ + "/twinmmu-fabric"));
  EXPECT_TRUE(fs::exists(place_ + "/twinmmu-owned-link12"));
  EXPECT_TRUE(fs::exists(place_ + "/other"));
}

// Folders of another user stay, whoever looks.
TEST_F(OwnedFolderTest, LeavesThoseOfOtherUsers) {
  const std::string path = place_ + "/twinmmu-owned-abcdef";
  fs::create_directory(path);
  if (chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a folder away";
  RemoveAbandonedFolders(place_);
  EXPECT_TRUE(fs::exists(path));
}

// A place that is not there is an error that names it.
TEST_F(OwnedFolderTest, SaysWhereItCannotBe) {
  const auto folder = OwnedFolder::Make(place_ + "/nowhere");
  EXPECT_THAT(folder, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(folder.status().message(), ::testing::HasSubstr(place_ + "/nowhere: No such file"));
  RemoveAbandonedFolders(place_ + "/nowhere");
}

}  // namespace
}  // namespace twinmmu
