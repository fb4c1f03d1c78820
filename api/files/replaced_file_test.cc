#include "api/files/replaced_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ptrdiff_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

class ReplacedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  std::string TextOf(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  const std::string folder_ = testing::TempDir() + "replaced_file";
  const std::string path_ = folder_ + "/run.html";
};

TEST_F(ReplacedFileTest, TakesThePlaceOfWhatWasThereWhenItIsWhole) {
  std::ofstream(path_) << "before";
  ReplacedFile file(path_);
  file.stream() << std::string(1'000'000, 'x') << "after";
  EXPECT_EQ(TextOf(path_), "before");
  EXPECT_EQ(file.Finish(), absl::OkStatus());
  EXPECT_EQ(TextOf(path_), std::string(1'000'000, 'x') + "after");
  EXPECT_THAT(Names(), ElementsAre("run.html"));
}

TEST_F(ReplacedFileTest, WithoutItsEndWhatWasThereStays) {
  std::ofstream(path_) << "before";
  const ptrdiff_t open = OpenFiles();
  ReplacedFile(path_).stream() << std::string(1'000'000, 'x');
  EXPECT_EQ(TextOf(path_), "before");
  EXPECT_THAT(Names(), ElementsAre("run.html"));
  EXPECT_EQ(OpenFiles(), open);
}

// Each of two at once is whole; the last one stays.
TEST_F(ReplacedFileTest, TwoOfOneNameDoNotMix) {
  ReplacedFile first(path_);
  ReplacedFile second(path_);
  first.stream() << "first";
  second.stream() << "second, and longer";
  EXPECT_EQ(second.Finish(), absl::OkStatus());
  EXPECT_EQ(first.Finish(), absl::OkStatus());
  EXPECT_EQ(TextOf(path_), "first");
}

// Where a file may not grow, no signal ends the program, and nothing is left of it.
TEST_F(ReplacedFileTest, SaysWhyItCannotBeWritten) {
  std::ofstream(path_) << "before";
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {500'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  absl::Status status;
  {
    ReplacedFile file(path_);
    file.stream() << std::string(1'000'000, 'x');
    status = file.Finish();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              absl::StrCat("cannot write ", path_, ": File too large"));
  EXPECT_EQ(TextOf(path_), "before");
  EXPECT_THAT(Names(), ElementsAre("run.html"));
}

TEST_F(ReplacedFileTest, AFolderThatIsNotThereIsAnError) {
  ReplacedFile file(folder_ + "/none/run.html");
  EXPECT_THAT(std::string(file.Check().message()), HasSubstr("No such file or directory"));
  file.stream() << "words";
  EXPECT_FALSE(file.Finish().ok());
}

TEST_F(ReplacedFileTest, AFullDeviceIsAnError) {
  ReplacedFile file("/dev/full");
  file.stream() << "words";
  EXPECT_EQ(file.Finish().message(), "cannot write /dev/full: No space left on device");
}

// A pipe gets what is written, and stays one.
TEST_F(ReplacedFileTest, APipeIsWrittenAtOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ReplacedFile file(absl::StrCat("/dev/fd/", ends[1]));
  file.stream() << "words";
  EXPECT_EQ(file.Finish(), absl::OkStatus());
  char words[16] = {};
  EXPECT_EQ(read(ends[0], words, sizeof(words)), 5);
  EXPECT_STREQ(words, "words");
  close(ends[0]);
  close(ends[1]);
}

// What a link leads to is replaced, with its permissions; the link stays.
TEST_F(ReplacedFileTest, ALinkLeadsToTheFile) {
  const std::string other = testing::TempDir() + "replaced_file_other";
  std::filesystem::remove(other);
  std::ofstream(other) << "before";
  ASSERT_EQ(chmod(other.c_str(), 0640), 0);
  std::filesystem::create_symlink(other, path_);
  ReplacedFile file(path_);
  file.stream() << "after";
  EXPECT_EQ(file.Finish(), absl::OkStatus());
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(TextOf(other), "after");
  struct stat info = {};
  ASSERT_EQ(stat(other.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

}  // namespace
}  // namespace twinmmu
