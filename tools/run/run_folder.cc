#include "tools/run/run_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/run/driver_library.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;
using libcuda::ProcessReport;

// A report that finds less room than that is better kept on a disk.
constexpr uint64_t kRoomForReports = uint64_t{32} << 20;

std::vector<std::string> TemporaryPlaces() {
  const char* const set = std::getenv("TMPDIR");
  std::vector<std::string> places;
  if (set != nullptr && *set == '/') places.push_back(set);
  places.insert(places.end(), {"/tmp", "/var/tmp", "/dev/shm"});
  return places;
}

bool AllowsCode(const std::string& place) {
  struct statvfs info = {};
  return statvfs(place.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) == 0;
}

bool HasRoom(const std::string& place) {
  struct statvfs info = {};
  return statvfs(place.c_str(), &info) == 0 &&
         uint64_t{info.f_bavail} * info.f_frsize >= kRoomForReports;
}

std::string MakeFolderIn(const std::string& place) {
  std::string path = absl::StrCat(place, "/twinmmu-XXXXXX");
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

bool WriteLibrary(const std::string& folder) {
  const std::string path = folder + "/libcuda.so.1";
  const absl::string_view library = DriverLibrary();
  std::ofstream file(path, std::ios::binary);
  file.write(library.data(), static_cast<std::streamsize>(library.size()));
  file.close();
  return file && chmod(path.c_str(), 0755) == 0 &&
         symlink("libcuda.so.1", (folder + "/libcuda.so").c_str()) == 0;
}

absl::StatusOr<ProcessReport> ReadReportFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  if (file < 0 || fstat(file, &info) != 0 || info.st_size == 0) {
    if (file >= 0) close(file);
    return absl::NotFoundError(path);
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return absl::ResourceExhaustedError(path);
  absl::StatusOr<ProcessReport> report =
      libcuda::ReadReport(static_cast<const char*>(memory), size);
  munmap(memory, size);
  return report;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunFolders>> RunFolders::Make() {
  std::unique_ptr<RunFolders> folders(new RunFolders);
  for (const std::string& place : TemporaryPlaces()) {
    if (!AllowsCode(place)) continue;
    folders->library_ = MakeFolderIn(place);
    if (!folders->library_.empty()) break;
  }
  if (folders->library_.empty() || !WriteLibrary(folders->library_)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no folder for the driver library that allows running code, not even in ",
                     TemporaryPlaces().front(), ": ", std::strerror(errno)));
  }
  if (HasRoom("/dev/shm")) folders->reports_ = MakeFolderIn("/dev/shm");
  if (folders->reports_.empty()) folders->reports_ = MakeFolderIn(folders->library_);
  if (folders->reports_.empty()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no folder for reports: ", std::strerror(errno)));
  }
  return folders;
}

RunFolders::~RunFolders() {
  std::error_code ignored;
  for (const std::string& folder : {reports_, library_}) {
    if (!folder.empty()) fs::remove_all(folder, ignored);
  }
}

std::vector<ProcessReport> RunFolders::Read() const {
  std::vector<ProcessReport> reports;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(reports_, ignored)) {
    absl::StatusOr<ProcessReport> report = ReadReportFile(entry.path().string());
    if (report.ok()) reports.push_back(*std::move(report));
  }
  std::sort(reports.begin(), reports.end(),
            [](const ProcessReport& a, const ProcessReport& b) { return a.pid < b.pid; });
  return reports;
}

}  // namespace twinmmu
