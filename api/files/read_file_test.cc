// Files of any kind and any size.

#include "api/files/read_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "api/files/limits.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Path(const std::string& name) { return ::testing::TempDir() + name; }

std::string Packed(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

std::vector<std::string> LinesOf(LineReader& reader) {
  std::vector<std::string> lines;
  for (;;) {
    const auto line = reader.Next();
    EXPECT_THAT(line, IsOk());
    if (!line.ok() || !line->has_value()) return lines;
    lines.push_back(**line);
  }
}

std::string ErrorOf(LineReader& reader) {
  for (;;) {
    const auto line = reader.Next();
    if (!line.ok()) return std::string(line.status().message());
    if (!line->has_value()) return "";
  }
}

// The most memory that this process has had.
Bytes PeakMemory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return KiB(static_cast<uint64_t>(usage.ru_maxrss));
}

// Lines come without their ends, and the last one needs none.
TEST(LineReaderTest, ReadsLines) {
  EXPECT_THAT(LinesOf(*LineReader::Of("f", "one\n\nthree")), ElementsAre("one", "", "three"));
  EXPECT_THAT(LinesOf(*LineReader::Of("f.zst", Packed("one\ntwo\n"))), ElementsAre("one", "two"));
  EXPECT_THAT(LinesOf(*LineReader::Of("f", "")), ElementsAre());
}

// Frames one behind the other are one text, also where one fills the buffer to its last byte.
TEST(LineReaderTest, ReadsPackedFrames) {
  const std::string full(ZSTD_DStreamOutSize(), 'x');
  const auto reader = LineReader::Of("f.zst", Packed(full) + Packed("y\n") + Packed(full));
  EXPECT_THAT(LinesOf(*reader), ElementsAre(full + "y", full));
}

// A line that never ends is an error before it has used the memory.
TEST(LineReaderTest, RefusesALineWithoutEnd) {
  const auto reader = LineReader::Open("/dev/zero");
  ASSERT_THAT(reader, IsOk());
  EXPECT_EQ(ErrorOf(**reader), "/dev/zero: line 1 is longer than 16 MiB");
}

// A hundred kilobytes that become gigabytes are unpacked as they are needed.
TEST(LineReaderTest, BoundsTheMemoryOfWhatIsPacked) {
  const Bytes before = PeakMemory();
  const std::string frame = Packed(std::string(size_t{1} << 20, '\n'));
  std::string bomb;
  for (int i = 0; i < 512; ++i) bomb += frame;
  const auto lines = LineReader::Of("f.zst", bomb);
  for (int i = 0; i < 1000; ++i) ASSERT_THAT(lines->Next(), IsOk());
  const auto line = LineReader::Of("f.zst", [] {
    const std::string zeros = Packed(std::string(size_t{32} << 20, '0'));
    return zeros + zeros;
  }());
  EXPECT_EQ(ErrorOf(*line), "f.zst: line 1 is longer than 16 MiB");
  EXPECT_LT(PeakMemory(), before + MiB(160));
}

// What is cut or is not packed says so.
TEST(LineReaderTest, SaysWhatIsDamaged) {
  const std::string whole = Packed("some text\n");
  EXPECT_EQ(ErrorOf(*LineReader::Of("f.zst", whole.substr(0, whole.size() - 3))),
            "f.zst: the file ends too early");
  EXPECT_THAT(ErrorOf(*LineReader::Of("f.zst", "no frame")), HasSubstr("f.zst: Unknown frame"));
}

// A pipe to which nobody writes is empty; it is not waited for.
TEST(ReadFileTest, DoesNotWaitForAPipe) {
  std::remove(Path("pipe").c_str());
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ReadFile(Path("pipe"), MiB(1)), IsOkAndHolds(std::string()));
}

// What can be opened, but not read: nothing is mapped at address 0.
TEST(ReadFileTest, SaysWhyReadingFails) {
  EXPECT_EQ(ReadFile("/proc/self/mem", MiB(1)).status().message(),
            "cannot read /proc/self/mem: Input/output error");
}

// What is no file, or too large a one, is refused by name.
TEST(ReadFileTest, SaysWhatIsNoFile) {
  EXPECT_EQ(ReadFile("/proc", MiB(1)).status().message(), "cannot read /proc: it is a folder");
  EXPECT_EQ(ReadFile("/no/file", MiB(1)).status().message(),
            "cannot read /no/file: No such file or directory");
  EXPECT_EQ(ReadFile("/dev/zero", MiB(1)).status().message(),
            "/dev/zero: it is larger than 1 MiB, the most that is read");
}

}  // namespace
}  // namespace twinmmu
