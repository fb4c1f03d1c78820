#include "sim/host/team_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "sim/host/memory_label.h"

namespace twinmmu {
namespace {

// The words of the file: the head, the members, the entries.
constexpr uint64_t kChange = 0;   // counts the changes; goes up before each
constexpr uint64_t kDevices = 1;  // a bit for each in the team
constexpr uint64_t kUsed = 2;     // no entry from this one on was ever used
constexpr uint64_t kMembers = 8;  // the id of each
constexpr uint64_t kMostMembers = 64;
constexpr uint64_t kEntries = 512;
constexpr uint64_t kEntryWords = 16;
constexpr uint64_t kMostEntries = 1024;
static_assert((kEntries + kEntryWords * kMostEntries) * sizeof(uint64_t) ==
              TeamFile::kSize.value());

// The words of an entry. A stamp of 0: it is free.
enum Field : uint64_t {
  kStamp,
  kPlace,
  kMember,
  kProcess,
  kProcesses,
  kDevice,
  kOffset,
  kExtent,
  kMemoryOffset,
  kMemoryId,
  kMemoryDevice,
  kMemoryNode,
  kDescriptor,
  kFields
};
static_assert(kFields <= kEntryWords);

// The bytes that are locked: that of the table, then one for each member.
constexpr uint64_t kTableLock = 0;
constexpr uint64_t kMemberLocks = 1;

// Others hold the lock for microseconds, unless they are stopped, or mean harm.
constexpr std::chrono::milliseconds kPatience(1000);
constexpr std::chrono::microseconds kPause(50);

uint64_t Load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void Store(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

struct flock LockOf(short type, uint64_t byte) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

bool IsTaken(int error) { return error == EAGAIN || error == EACCES; }
absl::Status LockRefused(int error) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the host refused a lock on a memory file: ", std::strerror(error)));
}

uint64_t NewId(const void* file) {
  const uint64_t now = std::chrono::system_clock::now().time_since_epoch().count();
  const uint64_t parts[] = {static_cast<uint64_t>(getpid()), reinterpret_cast<uint64_t>(file), now};
  return FingerprintOf({reinterpret_cast<const uint8_t*>(parts), sizeof(parts)}) | 1;
}

}  // namespace

TeamFile::TeamFile(const Backing* file, const MulticastProperties& properties, int machine_devices)
    : file_(*file), properties_(properties), machine_devices_(machine_devices) {
  struct stat space;
  if (stat("/proc/self/ns/pid", &space) == 0) processes_ = space.st_ino;
}

uint64_t* TeamFile::WordOf(uint64_t index) const {
  return reinterpret_cast<uint64_t*>(file_.data()) + index;
}

bool TeamFile::SetLock(short type, uint64_t byte) const {
  struct flock lock = LockOf(type, byte);
  return fcntl(file_.file_descriptor(), F_OFD_SETLK, &lock) == 0;
}

absl::Status TeamFile::Join() {
  for (uint64_t place = 0; place < kMostMembers; ++place) {
    if (!SetLock(F_WRLCK, kMemberLocks + place)) {
      if (IsTaken(errno)) continue;
      return LockRefused(errno);
    }
    self_ = {place, NewId(this)};
    Store(WordOf(kMembers + place), self_.id);
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the multicast object is shared by ", kMostMembers, " others already"));
}

bool TeamFile::IsHere(const Member& member) const {
  if (member == self_) return true;
  if (member.place >= kMostMembers || Load(WordOf(kMembers + member.place)) != member.id) {
    return false;
  }
  struct flock lock = LockOf(F_WRLCK, kMemberLocks + member.place);
  // What the host does not say is no reason to think so.
  return fcntl(file_.file_descriptor(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

TeamFile::Turn::~Turn() {
  if (file_ != nullptr) file_->SetLock(F_UNLCK, kTableLock);
}

// 0, or an errno; EAGAIN: another process did not let go.
int TeamFile::LockTable() const {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!SetLock(F_WRLCK, kTableLock)) {
    if (!IsTaken(errno) && errno != EINTR) return errno;
    if (std::chrono::steady_clock::now() > deadline) return EAGAIN;
    std::this_thread::sleep_for(kPause);
  }
  return 0;
}

absl::StatusOr<TeamFile::Turn> TeamFile::TakeTurn() const {
  const int error = LockTable();
  if (error == 0) return Turn(this);
  if (error != EAGAIN) return LockRefused(error);
  return absl::DeadlineExceededError(absl::StrCat(
      "another process has the multicast object locked for more than ", kPatience.count(), " ms"));
}

// False: it makes no sense. An owner that is gone is no matter here.
bool TeamFile::ReadEntry(uint64_t at, TeamEntry* entry, Member* owner) const {
  std::array<uint64_t, kFields> words;  // once, since they may change
  for (uint64_t i = 0; i < kFields; ++i) {
    words[i] = Load(WordOf(kEntries + at * kEntryWords + i));
  }
  constexpr uint64_t kMostInt = std::numeric_limits<int>::max();
  entry->stamp = words[kStamp];
  *owner = {words[kPlace], words[kMember]};
  entry->process = static_cast<pid_t>(words[kProcess]);
  entry->processes = words[kProcesses];
  entry->device = DeviceOrdinal(static_cast<int>(words[kDevice]));
  entry->offset = Bytes(words[kOffset]);
  entry->size = Bytes(words[kExtent]);
  entry->memory_offset = Bytes(words[kMemoryOffset]);
  entry->memory_id = words[kMemoryId];
  entry->memory = FileIdentity(words[kMemoryDevice], words[kMemoryNode]);
  const bool has_descriptor = words[kDescriptor] <= kMostInt;
  entry->descriptor = has_descriptor ? static_cast<int>(words[kDescriptor]) : -1;
  constexpr uint64_t kSmallestGranule = 4096;
  const uint64_t granules = words[kOffset] | words[kExtent] | words[kMemoryOffset];
  return granules % kSmallestGranule == 0 && words[kPlace] < kMostMembers && words[kProcess] != 0 &&
         words[kProcess] <= kMostInt && words[kDevice] < static_cast<uint64_t>(machine_devices_) &&
         entry->size != Bytes(0) && entry->offset <= properties_.size &&
         entry->size <= properties_.size - entry->offset;
}

absl::StatusOr<TeamState> TeamFile::Read() {
  change_ = Load(WordOf(kChange));
  was_read_ = true;
  watched_.clear();
  const absl::Status damaged = absl::InvalidArgumentError(
      "what the processes of the multicast object have written of it makes no sense");
  TeamState state;
  const uint64_t devices = Load(WordOf(kDevices));
  for (int i = 0; i < 64; ++i) {
    if ((devices >> i & 1) == 0) continue;
    if (i >= machine_devices_) return damaged;
    state.devices.emplace_back(i);
  }
  if (state.devices.size() > properties_.device_count) return damaged;
  const uint64_t used = std::min(Load(WordOf(kUsed)), kMostEntries);
  for (uint64_t at = 0; at < used; ++at) {
    if (Load(WordOf(kEntries + at * kEntryWords)) == 0) continue;
    TeamEntry entry;
    Member owner;
    if (!ReadEntry(at, &entry, &owner)) return damaged;
    entry.own = owner == self_;
    entry.left = !entry.own && !IsHere(owner);
    if (!entry.own && !entry.left &&
        std::find(watched_.begin(), watched_.end(), owner) == watched_.end()) {
      watched_.push_back(owner);
    }
    state.entries.push_back(entry);
  }
  return state;
}

bool TeamFile::HasChanged() const {
  if (!was_read_ || Load(WordOf(kChange)) != change_) return true;
  return !std::all_of(watched_.begin(), watched_.end(),
                      [&](const Member& member) { return IsHere(member); });
}

// First of all: whoever ends in the middle of it has changed nothing that others do not look at.
void TeamFile::Change() { Store(WordOf(kChange), Load(WordOf(kChange)) + 1); }

void TeamFile::AddDevice(DeviceOrdinal device) {
  Change();
  Store(WordOf(kDevices), Load(WordOf(kDevices)) | uint64_t{1} << device.value());
}

// Calls visit(stamp, entry, owner) for each that is not free; of one that makes no sense, not at
// all.
template <typename Visit>
void TeamFile::ForEachEntry(const Visit& visit) const {
  const uint64_t used = std::min(Load(WordOf(kUsed)), kMostEntries);
  for (uint64_t at = 0; at < used; ++at) {
    uint64_t* const stamp = WordOf(kEntries + at * kEntryWords);
    TeamEntry entry;
    Member owner;
    if (Load(stamp) != 0 && ReadEntry(at, &entry, &owner)) visit(stamp, entry, owner);
  }
}

// One that is free, or kMostEntries.
uint64_t TeamFile::FindRoom() const {
  uint64_t at = 0;
  while (at < kMostEntries && Load(WordOf(kEntries + at * kEntryWords)) != 0) ++at;
  return at;
}

absl::StatusOr<uint64_t> TeamFile::Add(const SharedBinding& binding) {
  Change();
  const auto remove_gone = [&](const auto& which) {
    ForEachEntry([&](uint64_t* stamp, const TeamEntry& entry, const Member& owner) {
      if (which(entry) && !IsHere(owner)) Store(stamp, 0);
    });
  };
  remove_gone([&](const TeamEntry& entry) {
    return entry.Overlaps(binding.device, binding.offset, binding.size);
  });
  uint64_t at = FindRoom();
  if (at == kMostEntries) {
    remove_gone([](const TeamEntry&) { return true; });
    at = FindRoom();
  }
  if (at == kMostEntries) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a multicast object that can be shared takes no more than ", kMostEntries, " bindings"));
  }
  if (Load(WordOf(kUsed)) <= at) Store(WordOf(kUsed), at + 1);
  uint64_t* const words = WordOf(kEntries + at * kEntryWords);
  Store(words + kPlace, self_.place);
  Store(words + kMember, self_.id);
  Store(words + kProcess, static_cast<uint64_t>(getpid()));
  Store(words + kProcesses, processes_);
  Store(words + kDevice, static_cast<uint64_t>(binding.device.value()));
  Store(words + kOffset, binding.offset.value());
  Store(words + kExtent, binding.size.value());
  Store(words + kMemoryOffset, binding.memory_offset.value());
  Store(words + kMemoryId, binding.memory_id);
  Store(words + kMemoryDevice, binding.memory.first);
  Store(words + kMemoryNode, binding.memory.second);
  Store(words + kDescriptor, static_cast<uint64_t>(int64_t{binding.descriptor}));
  const uint64_t stamp = std::max<uint64_t>(Load(WordOf(kChange)), 1);
  Store(words + kStamp, stamp);
  return stamp;
}

void TeamFile::Remove(uint64_t stamp) {
  Change();
  ForEachEntry([&](uint64_t* word, const TeamEntry& entry, const Member& owner) {
    if (owner == self_ && entry.stamp == stamp) Store(word, 0);
  });
}

void TeamFile::Leave() {
  if (LockTable() != 0) return;
  const Turn turn(this);
  Change();
  ForEachEntry([&](uint64_t* word, const TeamEntry&, const Member& owner) {
    if (owner == self_) Store(word, 0);
  });
}

}  // namespace twinmmu
