// PoolFile: the memory of a pool that other processes may use, in a memory file.

#ifndef TWINMMU_SIM_HOST_POOL_FILE_H_
#define TWINMMU_SIM_HOST_POOL_FILE_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/host/backing.h"
#include "sim/host/memory_label.h"

namespace twinmmu {

// What the file says of the pool. Whoever has a descriptor can write there: it is read once, and
// then believed in nothing that is not checked.
struct PoolLabel {
  Location location;
  SharingTraits traits;
};

// What a process says of a piece of the pool: where it lies in the file.
struct PoolPart {
  uint64_t pool = 0;  // PoolFile::id
  Bytes offset;
  Bytes size;  // as it was asked for
};

// As another process takes it. It is checked for damage and not for truth.
using PoolPartData = std::array<unsigned char, 64>;
PoolPartData ToData(const PoolPart& part);
// InvalidArgument: no simulator made that.
absl::StatusOr<PoolPart> ParsePoolPart(const PoolPartData& data);

// The label is at its beginning, and behind it the arenas of the pool. The kernel keeps the memory
// as long as somebody has a descriptor or has mapped it. It only ever grows, so nobody can take
// memory away from under another. Not thread-safe, but for the const members.
class PoolFile {
 public:
  // Arenas begin at multiples of it.
  static constexpr Bytes kStep = MiB(32);
  // The log of what is accessed in the file.
  static constexpr Bytes kLogOffset = KiB(4);

  // ResourceExhausted: the host refused.
  static absl::StatusOr<std::shared_ptr<PoolFile>> Make(const PoolLabel& label);
  // A file that Make made, of this process or another one. InvalidArgument: it is none, and why.
  // ResourceExhausted: the host refused.
  static absl::StatusOr<std::shared_ptr<PoolFile>> Open(int file_descriptor);
  ~PoolFile();
  PoolFile(const PoolFile&) = delete;
  PoolFile& operator=(const PoolFile&) = delete;

  const PoolLabel& label() const { return label_; }
  int descriptor() const { return descriptor_; }
  const FileIdentity& identity() const { return identity_; }
  // What no other pool of this host has as long as somebody has this one.
  uint64_t id() const { return identity_.second; }

  // `size` more bytes, multiples of a page, of a file that was made here; the result is where they
  // begin: behind those before, however long others made the file. ResourceExhausted: the host
  // refused.
  absl::StatusOr<Bytes> Extend(Bytes size);
  // Whether the file has that part now.
  bool Has(const PoolPart& part) const;
  // A new descriptor for the program, which stays open in what it executes, as an H100 with driver
  // 580.159 has it. ResourceExhausted: the process can have no more.
  absl::StatusOr<int> NewDescriptor() const;

 private:
  PoolFile(int descriptor, const FileIdentity& identity, const PoolLabel& label)
      : descriptor_(descriptor), identity_(identity), label_(label) {}

  const int descriptor_;
  const FileIdentity identity_;
  const PoolLabel label_;
  Bytes end_ = kStep;  // of what the maker has given out
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_POOL_FILE_H_
