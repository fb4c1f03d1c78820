// Reports of a run, among whatever a program may put beside them.

#include "tools/run/report_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "sim/libcuda/report/report.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCalls[] = {"cuInit"};

class ReportFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/report_files_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    libcuda::ReportOptions options;
    options.calls = kCalls;
    options.folder = folder_;
    libcuda::Report report(options, Profile::ReferenceH200());
    const libcuda::ReportedCall call(report, 0, nullptr);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // The one that SetUp made, and nothing else.
  void ExpectTheReport() const {
    const std::vector<libcuda::ProcessReport> reports = ReadReports(folder_);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].pid, getpid());
    ASSERT_EQ(reports[0].calls.size(), 1u);
    EXPECT_EQ(reports[0].calls[0].calls, 1u);
  }

  std::string folder_;
};

// It is read whole.
TEST_F(ReportFilesTest, AreRead) { ExpectTheReport(); }

// A pipe to which nobody writes is not waited for.
TEST_F(ReportFilesTest, PassOverAPipe) {
  ASSERT_EQ(mkfifo(Path("report.1.1").c_str(), 0600), 0);
  ExpectTheReport();
}

// Neither a folder nor a link to a device that has no end is read.
TEST_F(ReportFilesTest, PassOverFoldersAndLinks) {
  fs::create_directory(Path("report.1.1"));
  fs::create_symlink("/dev/zero", Path("report.2.1"));
  ExpectTheReport();
}

// A file of a terabyte without content costs nothing, and is no report.
TEST_F(ReportFilesTest, PassOverALargeHole) {
  std::ofstream(Path("report.1.1")) << "hole";
  fs::resize_file(Path("report.1.1"), uintmax_t{1} << 40);
  ExpectTheReport();
}

// A folder that is not there has none.
TEST_F(ReportFilesTest, AreNoneInNoFolder) { EXPECT_TRUE(ReadReports(Path("none")).empty()); }

}  // namespace
}  // namespace twinmmu
