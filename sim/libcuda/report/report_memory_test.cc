// The memory of a report: which file it becomes, and what it takes of the host.

#include "sim/libcuda/report/report_memory.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

bool host_is_full = false;

}  // namespace

// The linker lets these take the place of posix_fallocate.
extern "C" int __real_posix_fallocate(int descriptor, off_t offset, off_t size);
extern "C" int __wrap_posix_fallocate(int descriptor, off_t offset, off_t size) {
  return host_is_full ? ENOSPC : __real_posix_fallocate(descriptor, offset, size);
}

namespace twinmmu::libcuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr ReportShape kShape{4, {1024, 21}, {1024, 21}};
const ReportLayout kLayout(kShape);
constexpr char kMark = 'm';

std::vector<std::string> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  DIR* const folder = opendir(path.c_str());
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  closedir(folder);
  return names;
}

template <typename Resource>
void SetLimit(Resource resource, uint64_t value) {
  rlimit limit = {};
  getrlimit(resource, &limit);
  limit.rlim_cur = value;
  setrlimit(resource, &limit);
}

class ReportMemoryTest : public ::testing::Test {
 protected:
  ReportMemoryTest() {
    std::string pattern = ::testing::TempDir() + "/memoryXXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  std::vector<std::string> Files() const { return NamesIn(folder_); }
  std::string PathOf(int number) const {
    return folder_ + "/report." + std::to_string(getpid()) + "." + std::to_string(number);
  }
  void TakeNumbers(int first, int last) const {
    for (int number = first; number <= last; ++number) std::ofstream(PathOf(number)).put('x');
  }
  // A report begins, and has a mark at one place.
  bool Write() const {
    ReportMemory memory;
    if (!memory.Start(folder_, kShape) || !memory.MakeReady(kLayout.log())) return false;
    *memory.At<char>(kLayout.log()) = kMark;
    return true;
  }
  static char MarkIn(const std::string& path) {
    std::ifstream file(path);
    file.seekg(static_cast<std::streamoff>(kLayout.log()));
    return static_cast<char>(file.get());
  }
  // Whether body() is true in a child.
  static bool HoldsInChild(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
  }

  std::string folder_;
};

TEST_F(ReportMemoryTest, AFileHasTheFirstNumberThatIsFree) {
  TakeNumbers(1, 2);
  EXPECT_TRUE(Write());
  EXPECT_EQ(MarkIn(PathOf(3)), kMark);
}

// One that loads the library again and again fills no folder, and has its report.
TEST_F(ReportMemoryTest, AProcessHasAThousandFilesAtMost) {
  TakeNumbers(1, 999);
  ReportMemory last;
  EXPECT_TRUE(last.Start(folder_, kShape));
  EXPECT_EQ(access(PathOf(1000).c_str(), F_OK), 0);
  ReportMemory more;
  EXPECT_TRUE(more.Start(folder_, kShape));
  EXPECT_THAT(Files(), SizeIs(1000));
  EXPECT_TRUE(more.MakeReady(kLayout.log()));
}

// The number 0 is a descriptor like any other.
TEST_F(ReportMemoryTest, AProcessWithoutStandardInputHasAFile) {
  EXPECT_TRUE(HoldsInChild([&] {
    close(STDIN_FILENO);
    errno = 0;
    return Write();
  }));
  ASSERT_THAT(Files(), SizeIs(1));
  EXPECT_EQ(MarkIn(folder_ + "/" + Files().front()), kMark);
}

TEST_F(ReportMemoryTest, NoDescriptorStaysOpen) {
  const size_t before = NamesIn("/proc/self/fd").size();
  ReportMemory memory;
  ASSERT_TRUE(memory.Start(folder_, kShape));
  EXPECT_TRUE(memory.MakeReady(kLayout.log(), 4 * kChunk));
  EXPECT_THAT(NamesIn("/proc/self/fd"), SizeIs(before));
}

// A signal would end the process if its files may not become so large.
TEST_F(ReportMemoryTest, AFileIsMadeWithinTheLimitOfTheProcess) {
  const auto start_with = [&](uint64_t limit) {
    return HoldsInChild([&] {
      SetLimit(RLIMIT_FSIZE, limit);
      return Write();
    });
  };
  EXPECT_TRUE(start_with(kLayout.size() - 1));
  EXPECT_THAT(Files(), IsEmpty());
  EXPECT_TRUE(start_with(kLayout.size()));
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_F(ReportMemoryTest, AFullHostIsLeftNoFile) {
  host_is_full = true;
  ReportMemory memory;
  EXPECT_TRUE(memory.Start(folder_, kShape));
  EXPECT_TRUE(memory.MakeReady(kLayout.log()));
  host_is_full = false;
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ReportMemoryTest, AProcessWithoutAddressesHasNoMemory) {
  EXPECT_TRUE(HoldsInChild([&] {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    SetLimit(RLIMIT_AS, pages * static_cast<uint64_t>(getpagesize()) + kLayout.size() / 2);
    ReportMemory memory;
    return !memory.Start(folder_, kShape);
  }));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ReportMemoryTest, AMachineWithTooManyAddressesHasNoMemory) {
  constexpr ReportShape kHuge{4, {1024, 21}, {uint64_t{1} << 33, 9}};
  ReportMemory memory;
  EXPECT_FALSE(memory.Start(folder_, kHuge));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ReportMemoryTest, WhatIsMadeReadyIsNoChunkMore) {
  ReportMemory memory;
  ASSERT_TRUE(memory.Start(folder_, kShape));
  const uint64_t begin = kLayout.log();
  EXPECT_TRUE(memory.MakeReady(begin + kChunk - 8, kChunk + 8));
  std::vector<bool> ready;
  for (uint64_t chunk = 0; chunk < 3; ++chunk)
    ready.push_back(memory.IsReady(begin + chunk * kChunk));
  EXPECT_THAT(ready, ElementsAre(true, true, false));
}

TEST_F(ReportMemoryTest, ARefusalLeavesErrnoAlone) {
  ReportMemory memory;
  ASSERT_TRUE(memory.Start(folder_, kShape));
  unlink(PathOf(1).c_str());
  errno = EDOM;
  EXPECT_FALSE(memory.MakeReady(kLayout.log()));
  EXPECT_EQ(errno, EDOM);
}

// It is larger than what the program has.
TEST_F(ReportMemoryTest, NoCoreDumpHasIt) {
  for (const std::string& folder : {folder_, std::string()}) {
    ReportMemory memory;
    ASSERT_TRUE(memory.Start(folder, kShape));
    std::ostringstream begin;
    begin << std::hex << reinterpret_cast<uintptr_t>(memory.data()) << "-";
    std::ifstream maps("/proc/self/smaps");
    std::string line;
    while (std::getline(maps, line) && line.rfind(begin.str(), 0) != 0) continue;
    while (std::getline(maps, line) && line.rfind("VmFlags:", 0) != 0) continue;
    EXPECT_THAT(line + " ", HasSubstr(" dd ")) << "in a folder: " << !folder.empty();
  }
}

}  // namespace
}  // namespace twinmmu::libcuda
