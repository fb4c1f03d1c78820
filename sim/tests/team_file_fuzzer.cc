// Any words in the file of a multicast object, between the steps of a process that shares it. Each
// ten bytes are a word, by its number and value, and what is done behind it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "api/address.h"
#include "api/multicast.h"
#include "sim/host/backing.h"
#include "sim/host/team_file.h"

namespace {

using twinmmu::Backing;
using twinmmu::BackingKind;
using twinmmu::Bytes;
using twinmmu::DeviceOrdinal;
using twinmmu::MiB;
using twinmmu::MulticastProperties;
using twinmmu::SharedBinding;
using twinmmu::TeamEntry;
using twinmmu::TeamFile;
using twinmmu::TeamState;

constexpr int kDevices = 4;
constexpr Bytes kObject = MiB(64);
constexpr size_t kStep = 10;
constexpr uint64_t kWords = TeamFile::kSize.value() / sizeof(uint64_t);

bool IsDevice(DeviceOrdinal device) { return 0 <= device.value() && device.value() < kDevices; }

// What whoever reads it relies on.
void Check(const TeamState& state) {
  for (const DeviceOrdinal device : state.devices) {
    if (!IsDevice(device)) std::abort();
  }
  for (const TeamEntry& entry : state.entries) {
    if (!IsDevice(entry.device) || entry.stamp == 0 || entry.size == Bytes(0) ||
        entry.offset > kObject || entry.size > kObject - entry.offset) {
      std::abort();
    }
  }
}

class Process {
 public:
  explicit Process(const Backing& file)
      : team_(&file, MulticastProperties{kDevices, kObject, {}, 0}, kDevices) {
    if (!team_.Join().ok()) std::abort();
  }

  void Act(uint32_t what) {
    const auto turn = team_.TakeTurn();
    if (!turn.ok()) std::abort();
    const auto state = team_.Read();
    if (state.ok()) Check(*state);
    const DeviceOrdinal device(static_cast<int>(what / 8 % kDevices));
    const Bytes offset = MiB(2 * (what / 32 % 32));
    if (what % 8 == 1) team_.AddDevice(device);
    if (what % 8 == 2) {
      const auto stamp = team_.Add(SharedBinding{device, offset, MiB(2), Bytes(0), 7, {}, -1});
      if (stamp.ok()) last_ = *stamp;
    }
    if (what % 8 == 3) team_.Remove(last_);
    if (what % 8 == 4) team_.Remove(what);
    if (what % 8 == 5) team_.Forget();
    static_cast<void>(team_.HasChanged());
  }
  void Leave() { team_.Leave(); }

 private:
  TeamFile team_;
  uint64_t last_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxSteps = 200;
  auto file = Backing::Make(BackingKind::kMemoryFile, TeamFile::kSize);
  if (!file.ok()) std::abort();
  Process process(*file);
  for (size_t step = 0; step < std::min(kMaxSteps, size / kStep); ++step) {
    uint16_t index = 0;
    uint64_t value = 0;
    std::memcpy(&index, data + step * kStep, sizeof(index));
    std::memcpy(&value, data + step * kStep + sizeof(index), sizeof(value));
    // Most of them in the words that are looked at first.
    const uint64_t word = index % 4 == 0 ? index / 4 : index / 4 % 640;
    std::memcpy(file->data() + word % kWords * sizeof(value), &value, sizeof(value));
    process.Act(static_cast<uint32_t>(value ^ index));
  }
  process.Leave();
  return 0;
}
