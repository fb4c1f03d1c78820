#include "tools/run/report_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "api/address.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;
using libcuda::ProcessReport;

constexpr Bytes kMaxContent = GiB(1);

// Memory of this process that is as a file was: a report is read in place, and a file that is
// mapped could be cut meanwhile, which would be a signal.
class Copy {
 public:
  explicit Copy(int file) {
    struct stat info = {};
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) return;
    size_ = static_cast<size_t>(info.st_size);
    void* const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    data_ = static_cast<char*>(memory);
    is_whole_ = Fill(file);
  }
  ~Copy() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  bool is_whole() const { return is_whole_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  // A report is mostly holes, which stay holes.
  bool Fill(int file) {
    Bytes content;
    const auto end = static_cast<off_t>(size_);
    for (off_t hole = 0;;) {
      const off_t begin = lseek(file, hole, SEEK_DATA);
      if (begin < 0 || begin >= end) return true;
      hole = std::min(lseek(file, begin, SEEK_HOLE), end);
      if (hole <= begin) return true;  // it was cut
      content = content + Bytes(static_cast<uint64_t>(hole - begin));
      if (content > kMaxContent) return false;
      for (off_t at = begin; at < hole;) {
        const ssize_t got = pread(file, data_ + at, static_cast<size_t>(hole - at), at);
        if (got <= 0) return got == 0;
        at += got;
      }
    }
  }

  char* data_ = nullptr;
  size_t size_ = 0;
  bool is_whole_ = false;
};

absl::StatusOr<ProcessReport> ReadReportFile(const std::string& path) {
  // Does not wait for the other end of a pipe.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return absl::NotFoundError(path);
  const Copy copy(file);
  close(file);
  if (!copy.is_whole()) return absl::InvalidArgumentError(path);
  return libcuda::ReadReport(copy.data(), copy.size());
}

}  // namespace

std::vector<ProcessReport> ReadReports(const std::string& folder) {
  std::vector<ProcessReport> reports;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end && !error;
       entry.increment(error)) {
    absl::StatusOr<ProcessReport> report = ReadReportFile(entry->path().string());
    if (report.ok()) reports.push_back(*std::move(report));
  }
  std::sort(reports.begin(), reports.end(),
            [](const ProcessReport& a, const ProcessReport& b) { return a.pid < b.pid; });
  return reports;
}

}  // namespace twinmmu
