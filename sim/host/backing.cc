#include "sim/host/backing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "api/sharing/owned_descriptor.h"
#include "sim/host/memory_label.h"

namespace twinmmu {
namespace {

absl::Status HostRefused(const char* call) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the host refused memory: ", call, ": ", std::strerror(errno)));
}

// Opens the file a second time: unlike a dup, the kernel counts the two apart.
int OpenAgain(int file_descriptor) {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", file_descriptor);
  return open(path, O_RDWR | O_CLOEXEC);
}

// Gives the file its size for good: whoever gets a descriptor must not be able to take memory away
// from under a copy. False and errno: the host refused.
bool Resize(int file, size_t size) {
  rlimit limit;
  // Asked before, because a file that grows beyond the limit ends the process by a signal.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur) {
    errno = EFBIG;
    return false;
  }
  return ftruncate(file, static_cast<off_t>(size)) == 0 &&
         fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

// -1 and errno: the host refused.
int NewMemoryFile(size_t size) {
  const int made = memfd_create("device memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made < 0) return -1;
  // The descriptor that memfd_create gives is not counted as a writer, one from open is.
  const int file = OpenAgain(made);
  close(made);
  if (file < 0) return -1;
  if (Resize(file, size)) return file;
  const int error = errno;
  close(file);
  errno = error;
  return -1;
}

constexpr size_t kPage = 4096;

// Which pages of private memory hold something, as far as the host says; all, where it does not.
class PrivatePages {
 public:
  // From the page at `first` on, which is a multiple of kPage.
  explicit PrivatePages(const char* first)
      : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)),
        first_(reinterpret_cast<uint64_t>(first) / kPage) {}

  // Asks the host for many at a time: to be called with ascending numbers.
  bool MayHold(size_t page) {
    if (page < begin_ || page >= end_) Ask(page);
    return (entries_[page - begin_] & (kPresent | kSwapped)) != 0;
  }

 private:
  static constexpr uint64_t kPresent = uint64_t{1} << 63;
  static constexpr uint64_t kSwapped = uint64_t{1} << 62;

  void Ask(size_t page) {
    begin_ = page;
    end_ = page + entries_.size();
    entries_.fill(kPresent);
    const auto place = static_cast<off_t>((first_ + page) * sizeof(entries_[0]));
    if (pread(file_.get(), entries_.data(), sizeof(entries_), place) < 0) entries_.fill(kPresent);
  }

  OwnedDescriptor file_;
  uint64_t first_;
  size_t begin_ = 0;  // the pages that the entries are of
  size_t end_ = 0;
  std::array<uint64_t, 512> entries_;
};

// But for pages of zeros, so that they stay uncommitted. `from`: private. `size`: of whole pages.
void CopyWritten(const char* from, char* to, size_t size) {
  static constexpr char kZeros[kPage] = {};
  PrivatePages pages(from);
  for (size_t done = 0; done < size; done += kPage) {
    // On some hosts it takes memory even to look at zeros.
    if (!pages.MayHold(done / kPage)) continue;
    if (std::memcmp(from + done, kZeros, kPage) != 0) std::memcpy(to + done, from + done, kPage);
  }
}

}  // namespace

absl::StatusOr<FileIdentity> IdentifyFile(int file_descriptor) {
  struct stat file;
  if (fstat(file_descriptor, &file) == 0) return FileIdentity(file.st_dev, file.st_ino);
  if (errno == ENOMEM) return HostRefused("fstat");
  return absl::NotFoundError("not an open descriptor");
}

std::multiset<FileIdentity> OpenFiles() {
  std::multiset<FileIdentity> open;
  std::error_code error;
  for (std::filesystem::directory_iterator files("/proc/self/fd", error), end; files != end;
       files.increment(error)) {
    struct stat file;
    if (stat(files->path().c_str(), &file) == 0) open.emplace(file.st_dev, file.st_ino);
  }
  return open;
}

absl::StatusOr<Backing> Backing::Make(BackingKind kind, Bytes size) {
  Backing backing;
  int flags = MAP_NORESERVE;
  if (kind == BackingKind::kMemoryFile) {
    backing.file_descriptor_ = NewMemoryFile((size + kLabelRoom).value());
    if (backing.file_descriptor_ < 0) return HostRefused("memory file");
    const absl::StatusOr<FileIdentity> identity = IdentifyFile(backing.file_descriptor_);
    if (!identity.ok()) return identity.status();
    backing.identity_ = *identity;
    flags |= MAP_SHARED;
  } else {
    flags |= MAP_ANONYMOUS | (kind == BackingKind::kAliased ? MAP_SHARED : MAP_PRIVATE);
  }
  if (!backing.Map(flags, backing.file_descriptor_, size)) return HostRefused("mmap");
  return backing;
}

absl::StatusOr<Backing> Backing::OfFile(int file_descriptor, const FileIdentity& identity,
                                        Bytes size, Bytes offset) {
  Backing backing;
  if (!backing.Map(MAP_NORESERVE | MAP_SHARED, file_descriptor, size, offset)) {
    if (errno != EACCES && errno != EPERM) return HostRefused("mmap");
    return absl::InvalidArgumentError("it does not allow to write");
  }
  backing.identity_ = identity;
  return backing;
}

absl::StatusOr<Backing> Backing::Open(int file_descriptor, const FileIdentity& identity,
                                      Bytes size) {
  const int again = OpenAgain(file_descriptor);
  if (again < 0) {
    if (errno != EACCES && errno != EPERM) return HostRefused("descriptor");
    return absl::InvalidArgumentError("it does not allow to write");
  }
  absl::StatusOr<Backing> backing = OfFile(again, identity, size);
  if (backing.ok()) {
    backing->file_descriptor_ = again;
  } else {
    close(again);
  }
  return backing;
}

absl::Status Backing::MoveToFile() {
  absl::StatusOr<Backing> file = Make(BackingKind::kMemoryFile, Bytes(size_));
  if (!file.ok()) return file.status();
  CopyWritten(data_, file->data_, size_);
  void* const moved =
      mremap(file->data_, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, static_cast<void*>(data_));
  if (moved == MAP_FAILED) return HostRefused("mremap");
  file->data_ = nullptr;
  std::swap(file_descriptor_, file->file_descriptor_);
  identity_ = file->identity_;
  return absl::OkStatus();
}

bool Backing::Map(int flags, int file_descriptor, Bytes size, Bytes offset) {
  void* const data = mmap(nullptr, size.value(), PROT_READ | PROT_WRITE, flags, file_descriptor,
                          static_cast<off_t>(offset.value()));
  if (data == MAP_FAILED) return false;
  data_ = static_cast<char*>(data);
  size_ = size.value();
  return true;
}

bool Backing::Free() {
  if (data_ != nullptr && munmap(data_, size_) != 0) return false;
  data_ = nullptr;
  log_ = nullptr;
  if (file_descriptor_ >= 0) close(file_descriptor_);
  file_descriptor_ = -1;
  return true;
}

absl::StatusOr<int> Backing::NewDescriptor() const {
  const int descriptor = OpenAgain(file_descriptor_);
  if (descriptor < 0) return HostRefused("descriptor");
  return descriptor;
}

absl::StatusOr<std::shared_ptr<AccessLog>> Backing::OpenLog(int file_descriptor, Bytes offset) {
  if (log_ != nullptr) return log_;
  absl::StatusOr<std::shared_ptr<AccessLog>> log = AccessLog::Open(file_descriptor, offset);
  if (log.ok()) log_ = *log;
  return log;
}

bool Backing::HasDescriptorElsewhere() const {
  // The kernel gives a write lease only to the sole opener of a file. Were somebody to open it just
  // now, the signal would be one that is ignored by default.
  fcntl(file_descriptor_, F_SETSIG, SIGURG);
  // Any other error says that there are no leases here: then a descriptor cannot be seen.
  if (fcntl(file_descriptor_, F_SETLEASE, F_WRLCK) != 0) return errno == EAGAIN || errno == EBUSY;
  fcntl(file_descriptor_, F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace twinmmu
