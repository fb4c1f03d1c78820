// TeamFile: what the processes that share a multicast object tell each other of it.

#ifndef TWINMMU_SIM_HOST_TEAM_FILE_H_
#define TWINMMU_SIM_HOST_TEAM_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/multicast.h"
#include "sim/host/backing.h"

namespace twinmmu {

// Memory that a process has bound, and where another one finds it.
struct SharedBinding {
  DeviceOrdinal device;
  Bytes offset;  // of the object
  Bytes size;
  Bytes memory_offset;
  uint64_t memory_id = 0;  // PhysicalPages::id
  FileIdentity memory;     // the file that it is in
  int descriptor = -1;     // of that file, in the process; -1: it has none

  // Whether it has a byte of [from, from + bytes) for that device.
  bool Overlaps(DeviceOrdinal of, Bytes from, Bytes bytes) const {
    return device == of && offset < from + bytes && from < offset + size;
  }
};

// The same as others see it.
struct TeamEntry : SharedBinding {
  uint64_t stamp = 0;      // what no other entry of the file has; not 0
  pid_t process = 0;       // that has bound it
  uint64_t processes = 0;  // the namespace of that number
  bool own = false;        // of this TeamFile
  bool left = false;       // the process is there no more
};

struct TeamState {
  std::vector<DeviceOrdinal> devices;  // in the order of their numbers
  std::vector<TeamEntry> entries;
};

// A table in a memory file that all of them have mapped. Who is there holds a lock of the kernel on
// the place that it has taken, and who changes the table, one on all of it: the kernel takes both
// from a process that ends, however it does. An entry counts from when its last word is written, so
// a process may be killed anywhere. Whoever has a descriptor can write into the file: nothing in it
// is believed that does not make sense, and nothing is waited for without end.
//
// Not thread-safe, but for HasChanged.
class TeamFile {
 public:
  static constexpr Bytes kSize = KiB(132);

  // `file` is kSize of a memory file, with a descriptor that is open for nobody else, and outlives
  // this object. `machine_devices`: how many the machine has, at most 64.
  TeamFile(const Backing* file, const MulticastProperties& properties, int machine_devices);

  // Comes first: takes a place among the processes, until the descriptor is closed.
  // ResourceExhausted: there is none left, or the host refused.
  absl::Status Join();

  // Where the number of this process is good.
  uint64_t processes() const { return processes_; }

  // The right to change the table, until it is destroyed.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(const TeamFile* file) : file_(file) {}
    Turn(Turn&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
    Turn& operator=(Turn&& other) noexcept {
      std::swap(file_, other.file_);
      return *this;
    }
    ~Turn();

   private:
    const TeamFile* file_ = nullptr;
  };
  // DeadlineExceeded: another process has it, and does not let go. ResourceExhausted: the host
  // refused.
  absl::StatusOr<Turn> TakeTurn() const;

  // The rest but HasChanged and Leave is done in a turn.

  // InvalidArgument: what is in the table makes no sense.
  absl::StatusOr<TeamState> Read();
  // Whether Read may say something else than it last did.
  bool HasChanged() const;
  // As if nothing had been read.
  void Forget() { was_read_ = false; }

  // `device` was not in the team that was last read.
  void AddDevice(DeviceOrdinal device);
  // The stamp of the new entry. Those of processes that are gone make room. ResourceExhausted: the
  // table is full.
  absl::StatusOr<uint64_t> Add(const SharedBinding& binding);
  // Takes away an entry of this process.
  void Remove(uint64_t stamp);

  // Without a turn: takes away all of them, if it gets one. Else others find that this process has
  // gone. Allocates nothing.
  void Leave();

 private:
  struct Member {
    uint64_t place = 0;
    uint64_t id = 0;

    bool operator==(const Member& other) const { return place == other.place && id == other.id; }
  };

  uint64_t* WordOf(uint64_t index) const;
  bool SetLock(short type, uint64_t byte) const;
  int LockTable() const;
  bool IsHere(const Member& member) const;
  void Change();
  bool ReadEntry(uint64_t at, TeamEntry* entry, Member* owner) const;
  template <typename Visit>
  void ForEachEntry(const Visit& visit) const;
  uint64_t FindRoom() const;

  const Backing& file_;
  const MulticastProperties properties_;
  const int machine_devices_;
  uint64_t processes_ = 0;
  Member self_;
  bool was_read_ = false;
  uint64_t change_ = 0;          // as it was read
  std::vector<Member> watched_;  // whose entries were read
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_TEAM_FILE_H_
