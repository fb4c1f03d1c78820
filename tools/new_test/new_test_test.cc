#include "tools/new_test/new_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class NewTestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_ / "source" / "api");
    std::ofstream(root_ / "source" / "api" / "vmm.h") << "\n";
    test_ = {(root_ / "my-test").string(), "bazel", (root_ / "source").string()};
  }

  void ExpectError(absl::StatusCode code, const std::string& words) {
    const auto laid_out = LayOutTest(test_);
    EXPECT_THAT(laid_out, StatusIs(code));
    EXPECT_THAT(std::string(laid_out.status().message()), HasSubstr(words));
  }

  fs::path root_;
  NewTest test_;
};

// For Bazel there is what reads modules and what does not, both with the path of the source.
TEST_F(NewTestTest, WritesFilesForBazel) {
  const auto files = LayOutTest(test_);
  ASSERT_THAT(files, IsOk());
  EXPECT_THAT(*files, Contains("BUILD.bazel"));
  const fs::path folder(test_.folder);
  for (const char* const file : {"MODULE.bazel", "WORKSPACE"}) {
    EXPECT_THAT(Read(folder / file), HasSubstr("\"" + test_.source + "\"")) << file;
    EXPECT_THAT(Read(folder / file), HasSubstr("name = \"my_test\"")) << file;
  }
}

// Each file that is said to be written has words, and no placeholder is left.
TEST_F(NewTestTest, FillsEveryPlaceholder) {
  for (const char* const build : {"bazel", "cmake"}) {
    test_.build = build;
    test_.folder = (root_ / build).string();
    const auto files = LayOutTest(test_);
    ASSERT_THAT(files, IsOk());
    for (const std::string& file : *files) {
      const std::string text = Read(fs::path(test_.folder) / file);
      EXPECT_FALSE(text.empty()) << file;
      for (const char* const name : {"@NAME@", "@VERSION@", "@SOURCE@", "@TWINMMU@", "@DEBIAN@"}) {
        EXPECT_THAT(text, Not(HasSubstr(name))) << file;
      }
    }
  }
}

// On Debian 14 the libraries of Debian stand for the modules, wherever the workspace is.
TEST_F(NewTestTest, TakesTheLibrariesOfDebianFromTheSource) {
  fs::create_directories(root_ / "source" / "third_party" / "debian");
  std::ofstream(root_ / "source" / "third_party" / "debian" / "bazelrc")
      << "# Why.\ncommon:debian --override_module=zstd=%workspace%/third_party/debian/zstd\n"
         "common:debian --lockfile_mode=off\n";
  ASSERT_THAT(LayOutTest(test_), IsOk());
  EXPECT_THAT(Read(fs::path(test_.folder) / ".bazelrc"),
              HasSubstr("common:debian \"--override_module=zstd=" + test_.source +
                        "/third_party/debian/zstd\"\ncommon:debian --lockfile_mode=off\n"));
}

// CMake uses the installed libraries, unless a source tree is named.
TEST_F(NewTestTest, CmakeUsesWhatIsInstalledOrTheSource) {
  test_.build = "cmake";
  ASSERT_THAT(LayOutTest(test_), IsOk());
  EXPECT_THAT(Read(fs::path(test_.folder) / "CMakeLists.txt"), HasSubstr("add_subdirectory(\""));
  test_.folder += "2";
  test_.source = "";
  ASSERT_THAT(LayOutTest(test_), IsOk());
  EXPECT_THAT(Read(fs::path(test_.folder) / "CMakeLists.txt"),
              HasSubstr("find_package(twinmmu REQUIRED)"));
}

// An empty folder is taken as it is.
TEST_F(NewTestTest, TakesAnEmptyFolder) {
  fs::create_directory(test_.folder);
  EXPECT_THAT(LayOutTest(test_), IsOk());
}

// A folder with something in it stays as it is.
TEST_F(NewTestTest, RefusesAFolderThatIsNotEmpty) {
  fs::create_directory(test_.folder);
  std::ofstream(fs::path(test_.folder) / "mine.txt") << "mine";
  ExpectError(absl::StatusCode::kAlreadyExists, "is not empty");
  EXPECT_FALSE(fs::exists(fs::path(test_.folder) / "BUILD.bazel"));
}

TEST_F(NewTestTest, RefusesAFile) {
  std::ofstream(test_.folder) << "mine";
  ExpectError(absl::StatusCode::kAlreadyExists, "is not a folder");
  EXPECT_EQ(Read(test_.folder), "mine");
}

TEST_F(NewTestTest, RefusesAFolderWithNoneAbove) {
  test_.folder = (root_ / "nowhere" / "test").string();
  ExpectError(absl::StatusCode::kNotFound, "there is no folder");
  EXPECT_FALSE(fs::exists(root_ / "nowhere"));
}

// Where nothing can be written, nothing is left, and the reason is told.
TEST_F(NewTestTest, LeavesNothingHalfDone) {
  const fs::path full("/proc/twinmmu_test");  // not even root can write there
  test_.folder = full.string();
  ExpectError(absl::StatusCode::kPermissionDenied, "Nothing was left behind");
  EXPECT_FALSE(fs::exists(full));
}

TEST_F(NewTestTest, RefusesAnUnknownBuild) {
  test_.build = "bazle";
  ExpectError(absl::StatusCode::kInvalidArgument, "did you mean bazel?");
  EXPECT_FALSE(fs::exists(test_.folder));
}

TEST_F(NewTestTest, RefusesASourceThatIsNone) {
  test_.source = root_.string();
  ExpectError(absl::StatusCode::kInvalidArgument, "which has api/vmm.h");
}

// Bazel cannot do without the source.
TEST_F(NewTestTest, BazelNeedsTheSource) {
  test_.source = "";
  ExpectError(absl::StatusCode::kInvalidArgument, "--source=DIR");
}

}  // namespace
}  // namespace twinmmu
