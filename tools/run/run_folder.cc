#include "tools/run/run_folder.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/run/driver_library.h"
#include "tools/run/host_error.h"
#include "tools/run/report_files.h"

namespace twinmmu {
namespace {

using libcuda::ProcessReport;

constexpr char kSharedMemory[] = "/dev/shm";
// A report that finds less room than that is better kept on a disk.
constexpr uint64_t kRoomForReports = uint64_t{32} << 20;

std::vector<std::string> TemporaryPlaces() {
  const char* const set = std::getenv("TMPDIR");
  std::vector<std::string> places;
  if (set != nullptr && *set == '/') places.push_back(set);
  places.insert(places.end(), {"/tmp", "/var/tmp", kSharedMemory});
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

// A name that LD_LIBRARY_PATH can carry.
bool CanBeSearched(const std::string& place) {
  return place.find_first_of(":;$") == std::string::npos;
}

bool WriteLibrary(const std::string& folder, const Library& library) {
  const std::string path = absl::StrCat(folder, "/", library.file);
  std::ofstream file(path, std::ios::binary);
  file.write(library.content.data(), static_cast<std::streamsize>(library.content.size()));
  file.close();
  return file && chmod(path.c_str(), 0755) == 0;
}

// What programs find here when they load the driver or the runtime by name.
bool WriteLibraries(const std::string& folder) {
  for (const Library& library : Libraries()) {
    if (!WriteLibrary(folder, library)) return false;
  }
  return symlink("libcuda.so.1", (folder + "/libcuda.so").c_str()) == 0;
}

absl::StatusOr<std::unique_ptr<OwnedFolder>> MakeLibraryFolder(const std::string& place) {
  if (!AllowsCode(place)) {
    return absl::ResourceExhaustedError(absl::StrCat(place, " does not allow running code"));
  }
  if (!CanBeSearched(place)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(place, " has one of \":;$\", which LD_LIBRARY_PATH cannot carry"));
  }
  absl::StatusOr<std::unique_ptr<OwnedFolder>> folder = OwnedFolder::Make(place);
  if (folder.ok() && !WriteLibraries((*folder)->path())) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot write the libraries to ", place, ": ", HostErrorInWords(errno)));
  }
  return folder;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunFolders>> RunFolders::Make() {
  const std::vector<std::string> places = TemporaryPlaces();
  for (const std::string& place : places) RemoveAbandonedFolders(place);
  std::unique_ptr<RunFolders> folders(new RunFolders);
  absl::Status refused;
  for (const std::string& place : places) {
    absl::StatusOr<std::unique_ptr<OwnedFolder>> made = MakeLibraryFolder(place);
    if (made.ok()) {
      folders->library_ = *std::move(made);
      break;
    }
    if (refused.ok()) refused = made.status();
  }
  if (folders->library_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no folder for the driver library: ", refused.message(),
                     ". Set TMPDIR to a folder that can be written and allows running code."));
  }
  if (HasRoom(kSharedMemory)) {
    absl::StatusOr<std::unique_ptr<OwnedFolder>> made = OwnedFolder::Make(kSharedMemory);
    if (made.ok()) folders->shared_memory_ = *std::move(made);
  }
  const OwnedFolder& base =
      *(folders->shared_memory_ ? folders->shared_memory_ : folders->library_);
  folders->reports_ = base.path() + "/reports";
  folders->events_ = folders->library() + "/events";
  for (const std::string& folder : {folders->reports_, folders->events_}) {
    if (mkdir(folder.c_str(), S_IRWXU) == 0) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make the folder ", folder, ": ", HostErrorInWords(errno)));
  }
  return folders;
}

std::vector<ProcessReport> RunFolders::Read() const { return ReadReports(reports_); }

}  // namespace twinmmu
