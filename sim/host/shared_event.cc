#include "sim/host/shared_event.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "sim/host/foreign_file.h"
#include "sim/host/memory_label.h"

namespace twinmmu {
namespace {

constexpr uint64_t kMark = 0x7665454d4d7754;  // "TwMMEev"
constexpr Bytes kSize = KiB(4);
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// Mark, file, process, and the sum of the others.
using NameWords = std::array<uint64_t, 8>;
static_assert(sizeof(NameWords) == sizeof(SharedEventName));

uint64_t SumOf(const NameWords& words) {
  return FingerprintOf(
      {reinterpret_cast<const uint8_t*>(words.data()), (words.size() - 1) * sizeof(uint64_t)});
}

SharedEventName NameOf(const FileIdentity& file, int descriptor) {
  NameWords words = {kMark,
                     file.first,
                     file.second,
                     static_cast<uint64_t>(getpid()),
                     ProcessNamespace(),
                     static_cast<uint64_t>(descriptor),
                     0,
                     0};
  words.back() = SumOf(words);
  SharedEventName name;
  std::memcpy(name.data(), words.data(), sizeof(words));
  return name;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedEvent>> SharedEvent::Make() {
  absl::StatusOr<Backing> backing = Backing::Make(BackingKind::kMemoryFile, kSize);
  if (!backing.ok()) return backing.status();
  absl::StatusOr<int> descriptor = backing->NewDescriptor();
  if (!descriptor.ok()) return descriptor.status();
  OwnedDescriptor owned(*descriptor);
  const SharedEventName name = NameOf(backing->identity(), *descriptor);
  return std::shared_ptr<SharedEvent>(new SharedEvent(*std::move(backing), std::move(owned), name));
}

absl::StatusOr<std::shared_ptr<SharedEvent>> SharedEvent::Open(const SharedEventName& name) {
  NameWords words;
  std::memcpy(words.data(), name.data(), sizeof(words));
  if (words[0] != kMark || words.back() != SumOf(words)) {
    return absl::InvalidArgumentError("no simulated machine gave it");
  }
  if (words[4] != ProcessNamespace()) {
    return absl::NotFoundError("it is of a process of another namespace");
  }
  if (words[3] == static_cast<uint64_t>(getpid())) {
    return absl::FailedPreconditionError("it is of this process");
  }
  const FileIdentity identity(words[1], words[2]);
  absl::StatusOr<OwnedDescriptor> file =
      OpenForeignFile(static_cast<pid_t>(words[3]), static_cast<int>(words[5]), identity);
  if (!file.ok()) return file.status();
  // Whoever made the name up may have named any file: one that cannot get shorter is safe to read.
  const int seals = fcntl(file->get(), F_GET_SEALS);
  struct stat status;
  struct statfs system;
  if (seals == -1 || (seals & kSeals) != kSeals || fstat(file->get(), &status) != 0 ||
      status.st_size < static_cast<off_t>(kSize.value()) || fstatfs(file->get(), &system) != 0 ||
      system.f_type != TMPFS_MAGIC) {
    return absl::InvalidArgumentError("it names another file");
  }
  absl::StatusOr<Backing> backing = Backing::OfFile(file->get(), identity, kSize);
  if (!backing.ok()) return backing.status();
  return std::shared_ptr<SharedEvent>(
      new SharedEvent(*std::move(backing), OwnedDescriptor(), name));
}

uint64_t SharedEvent::Record() {
  const uint64_t record = words().recorded.fetch_add(1, std::memory_order_acq_rel) + 1;
  own_.store(record, std::memory_order_release);
  return record;
}

void SharedEvent::End(uint64_t record) {
  std::atomic<uint64_t>& over = words().over;
  uint64_t before = over.load(std::memory_order_relaxed);
  while (before < record && !over.compare_exchange_weak(before, record, std::memory_order_release,
                                                        std::memory_order_relaxed)) {
  }
}

}  // namespace twinmmu
