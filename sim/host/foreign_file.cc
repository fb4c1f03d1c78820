#include "sim/host/foreign_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/host/memory_label.h"

namespace twinmmu {
namespace {

// Mark, file, process and descriptor, namespace, the maker's, and the sum of the others.
using NameWords = std::array<uint64_t, 8>;
static_assert(sizeof(NameWords) == sizeof(FileName));

uint64_t SumOf(const NameWords& words) {
  return FingerprintOf(
      {reinterpret_cast<const uint8_t*>(words.data()), (words.size() - 1) * sizeof(uint64_t)});
}

absl::Status NotReached(int error) {
  if (IsOfTheHost(error)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the host refused a look at it: ", std::strerror(error)));
  }
  if (error == EACCES || error == EPERM) {
    return absl::NotFoundError("the host does not allow it: is it a process of another user?");
  }
  return absl::NotFoundError("it is not there");
}

}  // namespace

uint64_t ProcessNamespace() {
  struct stat space;
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

absl::StatusOr<OwnedDescriptor> OpenForeignFile(pid_t process, int descriptor,
                                                const FileIdentity& identity) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", process, descriptor);
  const OwnedDescriptor place(open(path, O_PATH | O_CLOEXEC));
  if (!place.is_open()) return NotReached(errno);
  const absl::StatusOr<FileIdentity> found = IdentifyFile(place.get());
  if (!found.ok()) return found.status();
  if (*found != identity) return NotReached(ENOENT);
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", place.get());
  OwnedDescriptor file(open(path, O_RDWR | O_CLOEXEC));
  if (!file.is_open()) return NotReached(errno);
  return file;
}

FileName NameFile(uint64_t mark, const FileIdentity& identity, int descriptor,
                  const std::array<uint64_t, 2>& words) {
  const uint64_t place =
      uint64_t{static_cast<uint32_t>(getpid())} << 32 | static_cast<uint32_t>(descriptor);
  NameWords all = {
      mark, identity.first, identity.second, place, ProcessNamespace(), words[0], words[1], 0};
  all.back() = SumOf(all);
  FileName name;
  std::memcpy(name.data(), all.data(), sizeof(all));
  return name;
}

absl::StatusOr<NamedFile> OpenNamedFile(uint64_t mark, const FileName& name) {
  NameWords words;
  std::memcpy(words.data(), name.data(), sizeof(words));
  if (words[0] != mark || words.back() != SumOf(words)) {
    return absl::InvalidArgumentError("no simulated machine gave it");
  }
  if (words[4] != ProcessNamespace()) {
    return absl::NotFoundError("it is of a process of another namespace");
  }
  const auto process = static_cast<pid_t>(words[3] >> 32);
  if (process == getpid()) return absl::FailedPreconditionError("it is of this process");
  const FileIdentity identity(words[1], words[2]);
  absl::StatusOr<OwnedDescriptor> file =
      OpenForeignFile(process, static_cast<int>(words[3] & 0xffffffff), identity);
  if (!file.ok()) return file.status();
  return NamedFile{*std::move(file), identity, {words[5], words[6]}};
}

}  // namespace twinmmu
