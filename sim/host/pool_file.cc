#include "sim/host/pool_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "api/sharing/owned_descriptor.h"

namespace twinmmu {
namespace {

constexpr uint64_t kMark = 0x6c6f504d4d7754;      // "TwMMPol"
constexpr uint64_t kPartMark = 0x7472504d4d7754;  // "TwMMPrt"
constexpr uint64_t kVersion = 1;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

// Mark and version, the fields, and the sum of the others.
using Words = std::array<uint64_t, 11>;
using PartWords = std::array<uint64_t, 8>;
static_assert(sizeof(PartWords) == sizeof(PoolPartData));

template <typename AnyWords>
uint64_t SumOf(const AnyWords& words) {
  return FingerprintOf(
      {reinterpret_cast<const uint8_t*>(words.data()), (words.size() - 1) * sizeof(uint64_t)});
}

Words WordsOf(const PoolLabel& label) {
  const SharingTraits& traits = label.traits;
  Words words = {kMark,
                 kVersion,
                 static_cast<uint64_t>(label.location.type),
                 static_cast<uint64_t>(int64_t{label.location.id}),
                 static_cast<uint64_t>(int64_t{traits.driver_version}),
                 traits.minimum_granularity.value(),
                 traits.recommended_granularity.value(),
                 traits.reservation_granularity.value(),
                 traits.memory.value(),
                 traits.name,
                 0};
  words.back() = SumOf(words);
  return words;
}

PoolLabel LabelOf(const Words& words) {
  PoolLabel label;
  label.location = {static_cast<LocationType>(words[2]), static_cast<int>(words[3])};
  label.traits.driver_version = static_cast<int>(words[4]);
  label.traits.minimum_granularity = Bytes(words[5]);
  label.traits.recommended_granularity = Bytes(words[6]);
  label.traits.reservation_granularity = Bytes(words[7]);
  label.traits.memory = Bytes(words[8]);
  label.traits.name = words[9];
  return label;
}

absl::Status HostRefused(const char* call) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the host refused the file of a pool: ", call, ": ", std::strerror(errno)));
}

absl::Status NoPool() { return absl::InvalidArgumentError("it is no pool that was exported"); }

// The same, unless it is the host that refused `call`.
absl::Status NoPool(const char* call) { return IsOfTheHost(errno) ? HostRefused(call) : NoPool(); }

int OpenAgain(int file_descriptor, int flags) {
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", file_descriptor);
  return open(path, O_RDWR | flags);
}

// Makes it as long as that, if it is not. False and errno: the host refused. A file that grows
// beyond the limit would end the process.
bool GrowTo(int file, uint64_t size) {
  struct stat now;
  if (fstat(file, &now) != 0) return false;
  if (static_cast<uint64_t>(now.st_size) >= size) return true;
  rlimit limit;
  const bool known = getrlimit(RLIMIT_FSIZE, &limit) == 0;
  if (size > uint64_t{std::numeric_limits<int64_t>::max()} || (known && size > limit.rlim_cur)) {
    errno = EFBIG;
    return false;
  }
  return ftruncate(file, static_cast<off_t>(size)) == 0;
}

}  // namespace

PoolPartData ToData(const PoolPart& part) {
  PartWords words = {kPartMark, part.pool, part.offset.value(), part.size.value(), 0, 0, 0, 0};
  words.back() = SumOf(words);
  PoolPartData data;
  std::memcpy(data.data(), words.data(), sizeof(words));
  return data;
}

absl::StatusOr<PoolPart> ParsePoolPart(const PoolPartData& data) {
  PartWords words;
  std::memcpy(words.data(), data.data(), sizeof(words));
  if (words[0] != kPartMark || words.back() != SumOf(words)) {
    return absl::InvalidArgumentError("no simulated machine exported it");
  }
  return PoolPart{words[1], Bytes(words[2]), Bytes(words[3])};
}

absl::StatusOr<std::shared_ptr<PoolFile>> PoolFile::Make(const PoolLabel& label) {
  OwnedDescriptor made(memfd_create("device pool", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.is_open()) return HostRefused("memfd_create");
  const Words words = WordsOf(label);
  if (!GrowTo(made.get(), kStep.value())) return HostRefused("ftruncate");
  if (pwrite(made.get(), words.data(), sizeof(words), 0) != ssize_t{sizeof(words)}) {
    return HostRefused("pwrite");
  }
  if (fcntl(made.get(), F_ADD_SEALS, kSeals) != 0) return HostRefused("fcntl");
  const absl::StatusOr<FileIdentity> identity = IdentifyFile(made.get());
  if (!identity.ok()) return identity.status();
  PoolFile* const file = new PoolFile(made.get(), *identity, label);
  static_cast<void>(made.Release());  // it is the file's
  return std::shared_ptr<PoolFile>(file);
}

absl::StatusOr<std::shared_ptr<PoolFile>> PoolFile::Open(int file_descriptor) {
  const int seals = fcntl(file_descriptor, F_GET_SEALS);
  if (seals == -1) return NoPool("fcntl");
  if ((seals & kSeals) != kSeals) return NoPool();
  struct statfs system;
  if (fstatfs(file_descriptor, &system) != 0) return NoPool("fstatfs");
  if (system.f_type != TMPFS_MAGIC) return NoPool();
  Words words;
  const ssize_t got = pread(file_descriptor, words.data(), sizeof(words), 0);
  if (got < 0) return NoPool("pread");
  if (got != ssize_t{sizeof(words)} || words[0] != kMark || words[1] != kVersion ||
      words.back() != SumOf(words)) {
    return NoPool();
  }
  const absl::StatusOr<FileIdentity> identity = IdentifyFile(file_descriptor);
  if (!identity.ok()) return identity.status();
  OwnedDescriptor own(OpenAgain(file_descriptor, O_CLOEXEC));
  if (!own.is_open()) {
    return IsOfTheHost(errno) ? HostRefused("open")
                              : absl::InvalidArgumentError("it does not allow to write");
  }
  PoolFile* const file = new PoolFile(own.get(), *identity, LabelOf(words));
  static_cast<void>(own.Release());  // it is the file's
  return std::shared_ptr<PoolFile>(file);
}

PoolFile::~PoolFile() { close(descriptor_); }

absl::StatusOr<Bytes> PoolFile::Extend(Bytes size) {
  const Bytes begin = end_;
  if (size.value() > ~uint64_t{0} - begin.value()) return absl::ResourceExhaustedError("too much");
  if (!GrowTo(descriptor_, (begin + size).value())) return HostRefused("ftruncate");
  end_ = begin + size;
  return begin;
}

bool PoolFile::Has(const PoolPart& part) const {
  struct stat now;
  if (fstat(descriptor_, &now) != 0) return false;
  const auto end = static_cast<uint64_t>(now.st_size);
  return part.offset >= kStep && part.offset.value() <= end &&
         part.size.value() <= end - part.offset.value();
}

absl::StatusOr<int> PoolFile::NewDescriptor() const {
  const int descriptor = OpenAgain(descriptor_, 0);
  if (descriptor < 0) return HostRefused("open");
  return descriptor;
}

}  // namespace twinmmu
