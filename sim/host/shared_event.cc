#include "sim/host/shared_event.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <utility>

#include "sim/host/foreign_file.h"

namespace twinmmu {
namespace {

constexpr uint64_t kMark = 0x7665454d4d7754;  // "TwMMEev"
constexpr Bytes kSize = KiB(4);
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

absl::StatusOr<std::shared_ptr<SharedEvent>> SharedEvent::Make() {
  absl::StatusOr<Backing> backing = Backing::Make(BackingKind::kMemoryFile, kSize);
  if (!backing.ok()) return backing.status();
  absl::StatusOr<int> descriptor = backing->NewDescriptor();
  if (!descriptor.ok()) return descriptor.status();
  OwnedDescriptor owned(*descriptor);
  const SharedEventName name = NameFile(kMark, backing->identity(), *descriptor);
  return std::shared_ptr<SharedEvent>(new SharedEvent(*std::move(backing), std::move(owned), name));
}

absl::StatusOr<std::shared_ptr<SharedEvent>> SharedEvent::Open(const SharedEventName& name) {
  absl::StatusOr<NamedFile> named = OpenNamedFile(kMark, name);
  if (!named.ok()) return named.status();
  const int file = named->file.get();
  // Whoever made the name up may have named any file: one that cannot get shorter is safe to read.
  const int seals = fcntl(file, F_GET_SEALS);
  struct stat status;
  struct statfs system;
  if (seals == -1 || (seals & kSeals) != kSeals || fstat(file, &status) != 0 ||
      status.st_size < static_cast<off_t>(kSize.value()) || fstatfs(file, &system) != 0 ||
      system.f_type != TMPFS_MAGIC) {
    return absl::InvalidArgumentError("it names another file");
  }
  absl::StatusOr<Backing> backing = Backing::OfFile(file, named->identity, kSize);
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
