// Profile: a simulated machine, as data. A test that needs another machine changes fields of a
// profile; no code branches on the name of an implementation.

#ifndef TWINMMU_SIM_PROFILE_PROFILE_H_
#define TWINMMU_SIM_PROFILE_PROFILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/attributes.h"
#include "sim/coherence/model/litmus_program.h"
#include "sim/coherence/model/policy.h"

namespace twinmmu {

struct DeviceProfile {
  std::string name;
  Bytes memory;            // what GetMemoryInfo reports as total
  Bytes memory_in_use;     // in use before the first Create: total minus this is free at the start
  Bytes memory_kept_back;  // reported as free, but refused to Create
  std::map<DeviceAttribute, int> attributes;  // other attributes do not exist
};

// A NUMA node of the host that can hold memory.
struct HostNodeProfile {
  int node = 0;
  Bytes memory;
};

// Where device addresses come from.
struct WindowProfile {
  // Claimed: an inaccessible span of the host's own address space. A CPU access to device memory
  // faults, no device address is also a plain pointer, and the CPU can read host-located memory at
  // its device address. Not claimed: addresses are numbers from `base` on, and the CPU can read
  // none of them.
  bool claimed = true;
  DeviceAddress base;  // only when not claimed
  Bytes size;
};

// Where the reference driver departs from its documentation; api/deviations.inc says how. Each is
// on by default, like the driver; off, the simulator follows the documentation.
struct Quirks {
#define TWINMMU_QUIRK(name) bool name = true;
#define TWINMMU_WITH(condition)
#define TWINMMU_DEVIATION(id, rule, quirk, sentence) quirk
#include "api/deviations.inc"
#undef TWINMMU_DEVIATION
#undef TWINMMU_WITH
#undef TWINMMU_QUIRK
};

// Every quirk with its name, which is that of the field.
struct QuirkInfo {
  const char* name;
  bool Quirks::*field;
};
absl::Span<const QuirkInfo> AllQuirks();

// When work on a stream runs. All three keep the order that api/executor.h promises, and a driver
// may behave like any of them.
enum class StreamPolicy {
  kEager,     // at the call
  kDeferred,  // as late as synchronisation and queries allow
  kSeeded,    // at each call, a random part of what could run
};

// Whether a product and a sum without .rn are rounded once, as one fma, where the driver's compiler
// makes it one, or never.
enum class Contraction { kDriver, kNever };

// The values of a profile's choices, with their names.
template <typename Choice>
struct Named {
  Choice value;
  const char* name;
};
template <typename Choice>
absl::Span<const Named<Choice>> AllNamed();

template <>
absl::Span<const Named<StreamPolicy>> AllNamed();
template <>
absl::Span<const Named<Contraction>> AllNamed();
// What a kernel or a copy reads where memory has several addresses and no alias fence, or nothing
// at all, orders the read after a write: "coherent", "stale", "random", "l1".
template <>
absl::Span<const Named<coherence::Policy>> AllNamed();
// Where the end of an operation is a boundary between aliases: for work that starts later
// ("guide"), or for anything later ("ptx").
template <>
absl::Span<const Named<coherence::BoundaryMode>> AllNamed();
// Whether strong accesses of sufficient scope synchronise between a multicast address and the
// unicast addresses under it ("guide"), or these are aliases like any other ("strict"). Data needs
// an alias fence either way.
template <>
absl::Span<const Named<coherence::MulticastMode>> AllNamed();

struct Profile {
  int driver_version = 0;  // see Vmm::GetDriverVersion
  std::vector<DeviceProfile> devices;
  std::vector<std::vector<bool>> peers;  // peers[a][b]: a can be granted memory of b
  std::vector<HostNodeProfile> host_nodes;
  Bytes minimum_granularity;
  Bytes recommended_granularity;
  Bytes reservation_granularity;  // of sizes; for bases see default_alignment()
  // Areas of this size, at multiples of it, of which each is for small reservations or for a large
  // one: see AddressSpace. 0: there are none.
  Bytes reservation_area;
  int address_bits = 0;  // device addresses are below 2^address_bits
  WindowProfile window;
  // Of multicast objects. Assumed, not measured: as reported by others for similar machines.
  Bytes multicast_minimum_granularity = MiB(2);
  Bytes multicast_recommended_granularity = MiB(512);
  // How long a call waits for devices of a multicast team that other processes have to add, where a
  // driver may wait forever; then it is ILLEGAL_STATE.
  uint64_t multicast_wait_ms = 5000;
  bool fabric_permitted = false;  // fabric handles can be advertised but not permitted
  // Compression is a hint: if it is advertised but not granted, Create still succeeds, and the
  // properties of the handle show it.
  bool compression_granted = true;
  // Host memory can be advertised but not permitted, as in containers that forbid the NUMA system
  // calls: Create is then NOT_PERMITTED. Assumed, not measured: reports of it (NCCL 1838, 2106) do
  // not name the code.
  bool host_memory_permitted = true;
  // Memory for GPUDirect RDMA can be advertised, created and mapped, but not granted: SetAccess is
  // then UNKNOWN. Reported of WSL (PyTorch 192330), not measured.
  bool rdma_memory_granted = true;
  // Whether the devices whose memory another process exports are visible to this one. If not, an
  // import is INVALID_DEVICE. Reported of containers (NCCL 1647), not measured.
  bool exporters_visible = true;
  // Two quirks of time, which end where the program waits for its work: for a device, a stream or
  // an event. What it frees and unmaps still counts as in use until then, as reported of a GB200
  // (Dynamo 5759); not measured.
  bool memory_returns_late = false;
  // Devices see zeros in a new mapping until then, and what they write there is lost, as reported
  // of AMD's driver (rocm-systems 11693); not measured.
  bool mappings_seen_late = false;
  // Where processes find each other's fabric handles: a directory, and this machine's channel in
  // it, DIRECTORY/channelN. Without one, handles are valid only in the machine that made them.
  // Users who cannot read and write the channel are not permitted.
  std::string fabric_domain;
  int fabric_channel = 0;
  bool map_takes_offsets = false;  // today's documentation: the offset must be 0
  StreamPolicy stream_policy = StreamPolicy::kEager;
  uint64_t stream_seed = 0;  // for kSeeded: the same seed and calls give the same order
  Contraction contraction = Contraction::kDriver;
  // How many instructions the blocks of a kernel that have not ended may have executed together.
  // One of a warp counts once, and once more for each lane that accesses memory or does something
  // with others; a microsecond in which all threads wait counts as 125, a sleep as 100. A kernel
  // that exceeds this is taken to run forever: LAUNCH_TIMEOUT.
  uint64_t kernel_instruction_budget = 1'000'000'000;
  // How long a program may wait for a word of memory that a stream waits for (cuStreamWaitValue32),
  // as long as it is not certain that nobody will write it. Then nobody does: LAUNCH_TIMEOUT.
  uint64_t wait_budget_ms = 10'000;
  // How much of the host's memory running kernels may take: their local and shared memory, and the
  // registers of calls. A kernel that exceeds this is LAUNCH_FAILED.
  Bytes host_memory_limit = GiB(8);
  coherence::Policy alias_policy = coherence::Policy::kCoherent;
  uint64_t alias_seed = 0;  // for Policy::kRandom
  coherence::BoundaryMode alias_boundary = coherence::BoundaryMode::kGuide;
  coherence::MulticastMode alias_multicast = coherence::MulticastMode::kGuide;
  bool alias_check = true;  // whether accesses through several addresses that nothing orders, and
                            // missing alias fences, are diagnosed
  bool race_check = false;  // whether races are diagnosed of all memory: with one address, too, and
                            // shared memory; and barriers that diverge
  bool init_check = false;  // whether reads of memory that nothing has written are diagnosed
  Quirks quirks;

  // The reference: `devices` H200s with driver 580.159, each a peer of every other.
  static Profile ReferenceH200(int devices = 1);

  // A machine of profiles.cc. NotFound: no such name; the message lists the names.
  static absl::StatusOr<Profile> Named(absl::string_view name);

  // OK, or InvalidArgument that says which value is invalid, and why.
  absl::Status Validate() const;

  static constexpr int kMaxDevices = 15;
  // Limits, in units of page_size(): of the window, and of the memory of a device or a NUMA node.
  static constexpr uint64_t kMaxPages = (uint64_t{1} << 30) - 2;
  // Makes it a machine of `count` devices: more are copies of the first, and its peers if the
  // second is, or if there was no second.
  void SetDeviceCount(int count);

  // "eager", "deferred", "seeded" or "seeded:7", where 7 is the seed. InvalidArgument: anything
  // else.
  absl::Status SetStreamPolicy(absl::string_view policy);
  // "coherent", "stale", "l1", "random" or "random:7"; likewise.
  absl::Status SetAliasPolicy(absl::string_view policy);

  int device_count() const { return static_cast<int>(devices.size()); }
  bool HasDevice(int device) const { return device >= 0 && device < device_count(); }
  bool HasHostNode(int node) const;
  // Whether `device`, which must exist, has this capability.
  bool Supports(DeviceAttribute capability, int device) const;
  // Whether any device has virtual memory management.
  bool HasVmm() const;
  // Whether the driver knows locality domains at all: since CUDA 13.4.
  bool HasLocalityDomains() const { return driver_version >= 13040; }
  // The MMU's page size: the smallest granularity.
  Bytes page_size() const;
  // The default alignment of reservations: everything can be mapped at their base.
  Bytes default_alignment() const;
  DeviceAddress address_end() const { return DeviceAddress(uint64_t{1} << address_bits); }
};

// What Profile::Named knows: a name, and a sentence about the machine.
struct NamedProfile {
  const char* name;
  const char* sentence;
  Profile (*make)();
};
absl::Span<const NamedProfile> NamedProfiles();

}  // namespace twinmmu

#endif  // TWINMMU_SIM_PROFILE_PROFILE_H_
