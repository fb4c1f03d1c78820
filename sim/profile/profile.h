// Profile: what a simulated machine is made of, as data. A test that needs another machine changes
// fields of a profile; no code branches on the name of an implementation.

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
  Bytes memory_in_use;     // taken before the first Create: total less this is free at the start
  Bytes memory_kept_back;  // reported as free, and yet refused to Create
  std::map<DeviceAttribute, int> attributes;  // any other attribute does not exist
};

// A NUMA node of the host that can hold memory.
struct HostNodeProfile {
  int node = 0;
  Bytes memory;
};

// Where device addresses come from.
struct WindowProfile {
  // Claimed: a span of the host's own address space that nothing may touch, so that a CPU access to
  // device memory faults, no device address is also a plain pointer, and host-located memory can be
  // read by the CPU at its device address. Not claimed: addresses are numbers from `base` on, and
  // the CPU can read none of them.
  bool claimed = true;
  DeviceAddress base;  // only when not claimed
  Bytes size;
};

// Where the reference driver departs from its documentation; api/deviations.inc says how. Each is
// on by default, as the driver does it; off, the simulator keeps to the documentation.
struct Quirks {
#define TWINMMU_QUIRK(name) bool name = true;
#define TWINMMU_WITH(condition)
#define TWINMMU_DEVIATION(id, rule, quirk, sentence) quirk
#include "api/deviations.inc"
#undef TWINMMU_DEVIATION
#undef TWINMMU_WITH
#undef TWINMMU_QUIRK
};

// Every quirk with its name, which is the name of the field.
struct QuirkInfo {
  const char* name;
  bool Quirks::*field;
};
absl::Span<const QuirkInfo> AllQuirks();

// When work on a stream runs. All three keep the order that api/executor.h promises, and a driver
// may do as any of them does.
enum class StreamPolicy {
  kEager,     // at the call
  kDeferred,  // as late as synchronisation and queries allow
  kSeeded,    // at each call some of what could run, chosen by a random number
};

// Every value of a choice that a profile makes, with its name.
template <typename Choice>
struct Named {
  Choice value;
  const char* name;
};
template <typename Choice>
absl::Span<const Named<Choice>> AllNamed();

template <>
absl::Span<const Named<StreamPolicy>> AllNamed();
// What a kernel or a copy reads where memory has several addresses and no alias fence, or nothing
// at all, orders the read behind a write: "coherent", "stale", "random", "l1".
template <>
absl::Span<const Named<coherence::Policy>> AllNamed();
// Where the end of an operation is a boundary between aliases: for what starts later ("guide"), or
// for whoever comes later ("ptx").
template <>
absl::Span<const Named<coherence::BoundaryMode>> AllNamed();
// Whether strong accesses of sufficient scope synchronise between a multicast address and the
// unicast addresses under it ("guide"), or these are aliases like any others ("strict"). Data needs
// an alias fence either way.
template <>
absl::Span<const Named<coherence::MulticastMode>> AllNamed();

struct Profile {
  int driver_version = 0;  // as Vmm::GetDriverVersion
  std::vector<DeviceProfile> devices;
  std::vector<std::vector<bool>> peers;  // peers[a][b]: a can be granted memory of b
  std::vector<HostNodeProfile> host_nodes;
  Bytes minimum_granularity;
  Bytes recommended_granularity;
  Bytes reservation_granularity;  // of sizes; where a reservation begins: see default_alignment()
  int address_bits = 0;           // no device address is beyond 2^address_bits
  WindowProfile window;
  // Of multicast objects. Assumed, not measured: what others report of machines like the reference.
  Bytes multicast_minimum_granularity = MiB(2);
  Bytes multicast_recommended_granularity = MiB(512);
  // How long a call waits for the devices that are missing in a multicast team, where a driver may
  // wait for ever; then it is ILLEGAL_STATE.
  uint64_t multicast_wait_ms = 0;
  bool fabric_permitted = false;  // a fabric handle can be advertised and still not be permitted
  // Compression is a hint: where it is advertised and not granted, Create succeeds all the same,
  // and the properties of the handle tell.
  bool compression_granted = true;
  // Memory of the host can be advertised and still not be permitted, as in containers that forbid
  // the system calls of NUMA: Create is NOT_PERMITTED then. Assumed, not measured: reports of it
  // (NCCL 1838, 2106) do not name the code.
  bool host_memory_permitted = true;
  // Where fabric handles lead from process to process: a directory, and the channel that this
  // machine uses, which is DIRECTORY/channelN. Without one they are good in the machine that made
  // them only. Who cannot read and write in the channel is not permitted.
  std::string fabric_domain;
  int fabric_channel = 0;
  bool map_takes_offsets = false;  // today's documentation: the offset must be 0
  StreamPolicy stream_policy = StreamPolicy::kEager;
  uint64_t stream_seed = 0;  // for kSeeded: the same seed and calls give the same order
  // How many instructions a kernel may execute for each of its threads, of which no more than 1024
  // count; a thread that only waits is charged 2 for each microsecond. One that goes on after that
  // is taken for one that never ends: LAUNCH_TIMEOUT.
  uint64_t kernel_instruction_budget = 1'000'000'000;
  coherence::Policy alias_policy = coherence::Policy::kCoherent;
  uint64_t alias_seed = 0;  // for Policy::kRandom
  coherence::BoundaryMode alias_boundary = coherence::BoundaryMode::kGuide;
  coherence::MulticastMode alias_multicast = coherence::MulticastMode::kGuide;
  bool alias_check = true;  // whether accesses through several addresses that nothing orders, and
                            // missing alias fences, are diagnosed
  Quirks quirks;

  // The reference: `devices` H200 under driver 580.159, each a peer of every other.
  static Profile ReferenceH200(int devices = 1);

  // One of the machines of profiles.cc; NotFound: no such name, and those that there are.
  static absl::StatusOr<Profile> Named(absl::string_view name);

  // OK, or InvalidArgument saying which value is wrong, and why.
  absl::Status Validate() const;

  static constexpr int kMaxDevices = 15;
  // Of page_size(): of the window, and of the memory of a device or a NUMA node.
  static constexpr uint64_t kMaxPages = (uint64_t{1} << 30) - 2;
  // Makes it a machine of `count` devices: further ones are copies of the first, and are its peers
  // as the second is, or if there was none.
  void SetDeviceCount(int count);

  // "eager", "deferred", "seeded" or "seeded:7", where 7 is the seed. InvalidArgument: none of
  // them.
  absl::Status SetStreamPolicy(absl::string_view policy);
  // "coherent", "stale", "l1", "random" or "random:7"; the same.
  absl::Status SetAliasPolicy(absl::string_view policy);

  int device_count() const { return static_cast<int>(devices.size()); }
  // Whether `device`, which exists, has this capability.
  bool Supports(DeviceAttribute capability, int device) const;
  // Whether any device has virtual memory management.
  bool HasVmm() const;
  // The page of the MMU: the smallest granularity.
  Bytes page_size() const;
  // Where a reservation begins when nothing is asked for: everything can be mapped at its base.
  Bytes default_alignment() const;
  DeviceAddress address_end() const { return DeviceAddress(uint64_t{1} << address_bits); }
};

// What Profile::Named knows: a name, and what the machine is, in a sentence.
struct NamedProfile {
  const char* name;
  const char* sentence;
  Profile (*make)();
};
absl::Span<const NamedProfile> NamedProfiles();

}  // namespace twinmmu

#endif  // TWINMMU_SIM_PROFILE_PROFILE_H_
