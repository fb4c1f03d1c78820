#include "sim/host/write_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

std::string PathOf(const char* name) { return ::testing::TempDir() + "/" + name; }

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(WriteFileTest, PutsATextInPlaceOfWhatIsThere) {
  const std::string path = PathOf("text");
  EXPECT_TRUE(WriteFile(path.c_str(), "a longer text"));
  EXPECT_TRUE(WriteFile(path.c_str(), "short"));
  EXPECT_EQ(ContentOf(path), "short");
}

// What cannot be opened or has no room is an error that errno names.
TEST(WriteFileTest, SaysWhatCannotBeWritten) {
  EXPECT_FALSE(WriteFile(PathOf("no/folder").c_str(), "text"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(WriteFile("/dev/full", "text"));
  EXPECT_EQ(errno, ENOSPC);
}

// A process whose files may not grow lives on.
TEST(WriteFileTest, IsEndedByNoSignal) {
  const std::string path = PathOf("limited");
  const auto write = [&] {
    rlimit none = {};
    getrlimit(RLIMIT_FSIZE, &none);
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
    const bool written = WriteFile(path.c_str(), "text");
    _exit(!written && errno == EFBIG ? 0 : 1);
  };
  EXPECT_EXIT(write(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace twinmmu
