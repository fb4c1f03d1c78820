// Backing: the host memory behind one piece of physical memory.

#ifndef TWINMMU_SIM_HOST_BACKING_H_
#define TWINMMU_SIM_HOST_BACKING_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "sim/host/access_log.h"

namespace twinmmu {

// What tells one memory file from another, whatever descriptor it is seen through.
using FileIdentity = std::pair<dev_t, ino_t>;

// The identity of the file behind a descriptor. NotFound: it is not open. ResourceExhausted: the
// host does not say.
absl::StatusOr<FileIdentity> IdentifyFile(int file_descriptor);

// The file of each descriptor of this process, as far as the host says.
std::multiset<FileIdentity> OpenFiles();

enum class BackingKind {
  kPrivate,    // seen by this process, at one address
  kAliased,    // can be seen at further addresses of this process
  kMemoryFile  // has a descriptor, and can be seen by other processes
};

// Zeroed memory, committed page by page when first touched. Move-only; frees what it holds, as far
// as the host lets it.
class Backing {
 public:
  Backing() = default;
  // ResourceExhausted: the host gives no address space or no descriptor.
  static absl::StatusOr<Backing> Make(BackingKind kind, Bytes size);
  // `size` bytes of a memory file that somebody else made, from `offset`, of whole pages; no
  // descriptor is kept. InvalidArgument: the descriptor does not allow to write.
  // ResourceExhausted: as above.
  static absl::StatusOr<Backing> OfFile(int file_descriptor, const FileIdentity& identity,
                                        Bytes size, Bytes offset = Bytes(0));
  // The same, with a descriptor of its own as one of Make has.
  static absl::StatusOr<Backing> Open(int file_descriptor, const FileIdentity& identity,
                                      Bytes size);
  Backing(Backing&& other) noexcept { Swap(other); }
  Backing& operator=(Backing&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~Backing() { Free(); }

  // What kPrivate made becomes a memory file with the same contents, at the same address. Nobody
  // may use it meanwhile. ResourceExhausted: the host refused, and nothing has changed.
  absl::Status MoveToFile();

  char* data() const { return data_; }
  // Gives the memory back. False: the host refused, which it may do when it has to split what it
  // had joined; then nothing has changed and it can be tried again.
  bool Free();

  // The rest is for kMemoryFile, and but for the identity not for OfFile.
  const FileIdentity& identity() const { return identity_; }
  // Its own descriptor, -1 for OfFile. Behind the memory it has kLabelRoom.
  int file_descriptor() const { return file_descriptor_; }
  // A new descriptor of the file, close-on-exec, the caller's to close.
  // ResourceExhausted: the process can have no more descriptors.
  absl::StatusOr<int> NewDescriptor() const;
  // The log at `offset` of its file, of which that is any descriptor: the same one each time, which
  // goes with the memory. ResourceExhausted: the host refused.
  absl::StatusOr<std::shared_ptr<AccessLog>> OpenLog(int file_descriptor, Bytes offset);
  // Whether a descriptor that NewDescriptor gave, a copy of it, or a mapping made through one is
  // still there, in whatever process.
  bool HasDescriptorElsewhere() const;

 private:
  // False and errno: the host refused.
  bool Map(int flags, int file_descriptor, Bytes size, Bytes offset = Bytes(0));
  void Swap(Backing& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(file_descriptor_, other.file_descriptor_);
    std::swap(identity_, other.identity_);
    std::swap(log_, other.log_);
  }

  char* data_ = nullptr;
  size_t size_ = 0;
  int file_descriptor_ = -1;
  FileIdentity identity_;
  std::shared_ptr<AccessLog> log_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_BACKING_H_
