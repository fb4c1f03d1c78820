#include "sim/host/owned_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "twinmmu-owned-";
constexpr int kAttempts = 100;

// A descriptor that holds the lock; -1: it is no folder of this user, or it has an owner.
int TakeFolder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat info = {};
  if (folder < 0) return -1;
  if (fstat(folder, &info) == 0 && info.st_uid == geteuid() &&
      flock(folder, LOCK_EX | LOCK_NB) == 0) {
    return folder;
  }
  close(folder);
  return -1;
}

// Whoever removes abandoned folders may have been faster than its new owner.
bool IsAt(int folder, const std::string& path) {
  struct stat held = {};
  struct stat found = {};
  return fstat(folder, &held) == 0 && lstat(path.c_str(), &found) == 0 &&
         held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

// With no more than one descriptor at a time: the process may have no others.
void RemoveAll(const std::string& path) {
  std::vector<std::string> entries;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; entry != end && !error;
       entry.increment(error)) {
    entries.push_back(entry->path().string());
  }
  for (const std::string& entry : entries) {
    if (unlink(entry.c_str()) != 0 && (errno == EISDIR || errno == EPERM)) RemoveAll(entry);
  }
  rmdir(path.c_str());
}

}  // namespace

OwnedFolder::OwnedFolder(std::string path, int lock)
    : path_(std::move(path)), lock_(lock), owner_(getpid()) {}

absl::StatusOr<std::unique_ptr<OwnedFolder>> OwnedFolder::Make(absl::string_view place) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = absl::StrCat(place, "/", kPrefix, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr) break;
    const int lock = TakeFolder(path);
    if (lock >= 0 && IsAt(lock, path)) {
      return std::unique_ptr<OwnedFolder>(new OwnedFolder(std::move(path), lock));
    }
    if (lock >= 0) close(lock);
    rmdir(path.c_str());
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot make a folder in ", place, ": ", std::strerror(errno)));
}

OwnedFolder::~OwnedFolder() {
  close(lock_);  // first, so that there is a descriptor to remove it by
  // A child made by fork has the same object.
  if (getpid() == owner_) RemoveAll(path_);
}

void RemoveAbandonedFolders(const std::string& place) {
  std::error_code error;
  for (fs::directory_iterator entries(place, error), end; entries != end && !error;
       entries.increment(error)) {
    if (!absl::StartsWith(entries->path().filename().string(), kPrefix)) continue;
    const int lock = TakeFolder(entries->path().string());
    if (lock < 0) continue;
    RemoveAll(entries->path().string());
    close(lock);
  }
}

}  // namespace twinmmu
