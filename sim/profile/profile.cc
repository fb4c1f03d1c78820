#include "sim/profile/profile.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sim/base/thread_sanitizer.h"

namespace twinmmu {
namespace {

// The thread sanitizer leaves the program less than 2 TiB of address space: no room for a window.
constexpr bool kRoomForWindow = !kThreadSanitizer;

// What the host's mmap gives: x86-64 with four levels of page tables.
constexpr int kHostAddressBits = 47;

// What an H200 answers for the device attributes 1, 2, 3 and so on.
constexpr int kAttributeValues[] = {
    1024,      1024,       1024,   64,        2147483647, 65535,     65535,  49152, 65536,
    32,        2147483647, 65536,  1980000,   512,        1,         132,    0,     0,
    1,         0,          131072, 131072,    65536,      16384,     16384,  16384, 32768,
    32768,     2048,       512,    1,         1,          0,         6,      0,     3201000,
    6016,      62914560,   2048,   3,         1,          32768,     2048,   1,     32768,
    32768,     8192,       8192,   32768,     0,          32,        32768,  32768, 2046,
    32768,     131072,     65536,  16384,     16384,      16384,     32768,  2048,  32768,
    32768,     2048,       32768,  32768,     2046,       268435456, 131072, 65000, 2097120,
    32768,     32768,      9,      0,         32768,      1,         1,      1,     233472,
    65536,     1,          0,      0,         0,          2,         0,      1,     1,
    1,         0,          0,      0,         1,          1,         232448, 0,     1,
    0,         0,          1,      1,         0,          0,         32,     1,     39321600,
    134217728, 1,          1024,   1,         1,          1,         1,      1,     1,
    100,       9,          1,      1,         1,          1,         1,      1,     4,
    1,         1,          1,      0,         -1,         0,         0,      0,     0,
    0,         0,          0,      590680286, 415174878,  1,         1,      0,     1,
    1,         0,          0,
};

DeviceProfile H200() {
  DeviceProfile device;
  device.name = "NVIDIA H200";
  device.memory = Bytes(150109880320);
  device.memory_in_use = Bytes(150109880320 - 149557477376);
  device.memory_kept_back = MiB(2);
  for (size_t i = 0; i < std::size(kAttributeValues); ++i) {
    device.attributes[static_cast<DeviceAttribute>(i + 1)] = kAttributeValues[i];
  }
  // One that is joined to others; alone it answers 0.
  device.attributes[DeviceAttribute::kMulticastSupported] = 1;
  return device;
}

constexpr uint64_t kLongestWaitMs = 24 * 60 * 60 * 1000;

// `path`: the value that is wrong, as profile_json.h names it.
template <typename... Parts>
absl::Status Wrong(absl::string_view path, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("profile: ", path, ": ", parts...));
}

absl::Status ValidateGranularities(const Profile& profile) {
  const Bytes host_page = KiB(4);
  for (const auto& [name, granularity] :
       {std::pair("minimum_granularity", profile.minimum_granularity),
        std::pair("recommended_granularity", profile.recommended_granularity),
        std::pair("reservation_granularity", profile.reservation_granularity),
        std::pair("multicast_minimum_granularity", profile.multicast_minimum_granularity),
        std::pair("multicast_recommended_granularity",
                  profile.multicast_recommended_granularity)}) {
    if (!IsPowerOfTwo(granularity) || granularity < host_page || granularity > GiB(1)) {
      return Wrong(name, ToString(granularity), " is not a power of two in ", ToString(host_page),
                   " .. 1 GiB");
    }
  }
  const Bytes area = profile.reservation_area;
  if (area != Bytes(0) &&
      (!IsPowerOfTwo(area) || area > GiB(1) || area < 2 * profile.default_alignment())) {
    return Wrong("reservation_area", ToString(area), " is not 0, nor a power of two from twice ",
                 ToString(profile.default_alignment()), " to 1 GiB");
  }
  if (profile.recommended_granularity < profile.minimum_granularity) {
    return Wrong("recommended_granularity", ToString(profile.recommended_granularity),
                 " is less than the minimum ", ToString(profile.minimum_granularity));
  }
  if (profile.multicast_minimum_granularity < profile.minimum_granularity) {
    return Wrong("multicast_minimum_granularity", ToString(profile.multicast_minimum_granularity),
                 " is less than minimum_granularity, that of the memory: ",
                 ToString(profile.minimum_granularity));
  }
  if (profile.multicast_recommended_granularity < profile.multicast_minimum_granularity) {
    return Wrong("multicast_recommended_granularity",
                 ToString(profile.multicast_recommended_granularity), " is less than the minimum ",
                 ToString(profile.multicast_minimum_granularity));
  }
  if (profile.multicast_wait_ms > kLongestWaitMs) {
    return Wrong("multicast_wait_ms", profile.multicast_wait_ms, " is more than ", kLongestWaitMs,
                 ", a day");
  }
  return absl::OkStatus();
}

absl::Status ValidateWindow(const Profile& profile) {
  const WindowProfile& window = profile.window;
  const Bytes alignment = profile.default_alignment();
  if (profile.address_bits < 32 || profile.address_bits > 57) {
    return Wrong("address_bits", profile.address_bits, " is not in 32 .. 57");
  }
  if (window.size == Bytes(0) || window.size % alignment != Bytes(0)) {
    return Wrong("window.size", ToString(window.size), " is not a multiple of ",
                 ToString(alignment));
  }
  if (window.size / profile.page_size() > Profile::kMaxPages) {
    return Wrong("window.size", ToString(window.size), " has too many pages of ",
                 ToString(profile.page_size()), ", the smallest granularity: at most ",
                 Profile::kMaxPages);
  }
  if (window.claimed && profile.address_bits < kHostAddressBits) {
    return Wrong("window.claimed", "the host gives addresses of up to ", kHostAddressBits,
                 " bits, and address_bits is ", profile.address_bits);
  }
  const bool base_fits =
      window.base != DeviceAddress(0) && window.base.IsAligned(alignment) &&
      AddressRange{window.base, window.size, Bytes(0)}.end() <= profile.address_end();
  if (!window.claimed && !base_fits) {
    return Wrong("window.base", ToString(window.base), " is 0, is not a multiple of ",
                 ToString(alignment), ", or leaves the window beyond 2^", profile.address_bits);
  }
  return absl::OkStatus();
}

absl::Status ValidateDevices(const Profile& profile) {
  const size_t count = profile.devices.size();
  if (count > Profile::kMaxDevices) {
    return Wrong("devices", count, " devices are more than ", Profile::kMaxDevices);
  }
  for (size_t i = 0; i < count; ++i) {
    const DeviceProfile& device = profile.devices[i];
    if (device.memory_in_use > device.memory ||
        device.memory_kept_back > device.memory - device.memory_in_use) {
      return Wrong(absl::StrCat("devices[", i, "].memory"), "of ", ToString(device.memory), " ",
                   ToString(device.memory_in_use), " are in use and ",
                   ToString(device.memory_kept_back), " kept back");
    }
    if (device.memory / profile.page_size() > Profile::kMaxPages) {
      return Wrong(absl::StrCat("devices[", i, "].memory"), ToString(device.memory),
                   " has too many pages of ", ToString(profile.page_size()));
    }
  }
  const bool square =
      profile.peers.size() == count &&
      std::all_of(profile.peers.begin(), profile.peers.end(),
                  [=](const std::vector<bool>& row) { return row.size() == count; });
  if (!square) return Wrong("peers", "the matrix is not ", count, " by ", count);
  return absl::OkStatus();
}

absl::Status ValidateHost(const Profile& profile) {
  std::set<int> seen;
  for (size_t i = 0; i < profile.host_nodes.size(); ++i) {
    const HostNodeProfile& node = profile.host_nodes[i];
    if (node.node < 0 || !seen.insert(node.node).second) {
      return Wrong(absl::StrCat("host_nodes[", i, "].node"), "host NUMA node ", node.node,
                   " is negative or there twice");
    }
    if (node.memory / profile.page_size() > Profile::kMaxPages) {
      return Wrong(absl::StrCat("host_nodes[", i, "].memory"), ToString(node.memory),
                   " has too many pages of ", ToString(profile.page_size()));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateFabric(const Profile& profile) {
  constexpr size_t kLongest = 3000;  // with what is put behind it, less than any path may have
  constexpr int kChannels = 2048;
  const std::string& domain = profile.fabric_domain;
  const bool is_path = domain.empty() || domain.front() == '/';
  if (!is_path || domain.size() > kLongest || domain.find('\0') != std::string::npos) {
    return Wrong("fabric_domain", "\"", domain.substr(0, 80),
                 "\" is not empty, nor the path of a directory from / on");
  }
  if (profile.fabric_channel < 0 || profile.fabric_channel >= kChannels) {
    return Wrong("fabric_channel", profile.fabric_channel, " is not in 0 .. ", kChannels - 1);
  }
  return absl::OkStatus();
}

template <typename Choice>
absl::Status ValidateChoice(const char* path, const char* noun, Choice choice) {
  for (const Named<Choice>& known : AllNamed<Choice>()) {
    if (choice == known.value) return absl::OkStatus();
  }
  return Wrong(path, "there is no ", noun, " ", static_cast<int>(choice));
}

absl::Status ValidateChoices(const Profile& profile) {
  absl::Status status = ValidateChoice("stream_policy", "policy", profile.stream_policy);
  status.Update(ValidateChoice("contraction", "choice", profile.contraction));
  status.Update(ValidateChoice("alias_policy", "policy", profile.alias_policy));
  status.Update(ValidateChoice("alias_boundary", "boundary", profile.alias_boundary));
  status.Update(ValidateChoice("alias_multicast", "mode", profile.alias_multicast));
  return status;
}

// Reads "name", or "name:7" for the policy that takes a seed. False: there is no such policy.
template <typename Policy>
bool ReadPolicy(absl::string_view text, Policy seeded, Policy* policy, uint64_t* seed) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const bool with_seed = parts.first.size() != text.size();
  for (const Named<Policy>& known : AllNamed<Policy>()) {
    if (parts.first != known.name || (with_seed && known.value != seeded)) continue;
    uint64_t number = *seed;
    if (with_seed && !absl::SimpleAtoi(parts.second, &number)) continue;
    *policy = known.value;
    *seed = number;
    return true;
  }
  return false;
}

}  // namespace

template <>
absl::Span<const Named<StreamPolicy>> AllNamed() {
  static constexpr Named<StreamPolicy> kAll[] = {{StreamPolicy::kEager, "eager"},
                                                 {StreamPolicy::kDeferred, "deferred"},
                                                 {StreamPolicy::kSeeded, "seeded"}};
  return kAll;
}

template <>
absl::Span<const Named<Contraction>> AllNamed() {
  static constexpr Named<Contraction> kAll[] = {{Contraction::kDriver, "driver"},
                                                {Contraction::kNever, "never"}};
  return kAll;
}

template <>
absl::Span<const Named<coherence::Policy>> AllNamed() {
  using coherence::Policy;
  static constexpr Named<Policy> kAll[] = {{Policy::kCoherent, "coherent"},
                                           {Policy::kStale, "stale"},
                                           {Policy::kRandom, "random"},
                                           {Policy::kL1, "l1"}};
  return kAll;
}

template <>
absl::Span<const Named<coherence::BoundaryMode>> AllNamed() {
  using coherence::BoundaryMode;
  static constexpr Named<BoundaryMode> kAll[] = {{BoundaryMode::kGuide, "guide"},
                                                 {BoundaryMode::kPtx, "ptx"}};
  return kAll;
}

template <>
absl::Span<const Named<coherence::MulticastMode>> AllNamed() {
  using coherence::MulticastMode;
  static constexpr Named<MulticastMode> kAll[] = {{MulticastMode::kGuide, "guide"},
                                                  {MulticastMode::kStrict, "strict"}};
  return kAll;
}

absl::Span<const QuirkInfo> AllQuirks() {
  static constexpr QuirkInfo kQuirks[] = {
#define TWINMMU_QUIRK(name) {#name, &Quirks::name},
#define TWINMMU_WITH(condition)
#define TWINMMU_DEVIATION(id, rule, quirk, sentence) quirk
#include "api/deviations.inc"
#undef TWINMMU_DEVIATION
#undef TWINMMU_WITH
#undef TWINMMU_QUIRK
  };
  return kQuirks;
}

Profile Profile::ReferenceH200(int devices) {
  const size_t count = static_cast<size_t>(std::max(devices, 0));
  Profile profile;
  profile.driver_version = 13000;
  profile.devices.assign(count, H200());
  profile.peers.assign(count, std::vector<bool>(count, true));
  profile.host_nodes = {HostNodeProfile{0, TiB(1)}};
  profile.minimum_granularity = MiB(2);
  profile.recommended_granularity = MiB(2);
  profile.reservation_granularity = MiB(2);
  profile.address_bits = 47;
  profile.window = WindowProfile{kRoomForWindow, DeviceAddress(TiB(16).value()), TiB(16)};
  return profile;
}

void Profile::SetDeviceCount(int count) {
  const auto size = static_cast<size_t>(std::max(count, 0));
  const DeviceProfile copied = devices.empty() ? H200() : devices.front();
  const bool reach = devices.size() < 2 || peers[0][1];
  devices.resize(size, copied);
  peers.resize(size);
  for (std::vector<bool>& row : peers) row.resize(size, reach);
}

absl::Status Profile::SetStreamPolicy(absl::string_view policy) {
  const bool known = ReadPolicy(policy, StreamPolicy::kSeeded, &stream_policy, &stream_seed);
  if (known) return absl::OkStatus();
  return absl::InvalidArgumentError("it is eager, deferred, seeded or seeded:NUMBER");
}

absl::Status Profile::SetAliasPolicy(absl::string_view policy) {
  const bool known = ReadPolicy(policy, coherence::Policy::kRandom, &alias_policy, &alias_seed);
  if (known) return absl::OkStatus();
  return absl::InvalidArgumentError("it is coherent, stale, l1, random or random:NUMBER");
}

bool Profile::Supports(DeviceAttribute capability, int device) const {
  const auto& attributes = devices[static_cast<size_t>(device)].attributes;
  const auto found = attributes.find(capability);
  return found != attributes.end() && found->second != 0;
}

bool Profile::HasHostNode(int node) const {
  return std::any_of(host_nodes.begin(), host_nodes.end(),
                     [=](const HostNodeProfile& known) { return known.node == node; });
}

bool Profile::HasVmm() const {
  for (int i = 0; i < device_count(); ++i) {
    if (Supports(DeviceAttribute::kVirtualMemoryManagementSupported, i)) return true;
  }
  return devices.empty();  // nobody to say no
}

Bytes Profile::page_size() const { return std::min(minimum_granularity, reservation_granularity); }

Bytes Profile::default_alignment() const {
  return std::max(minimum_granularity, reservation_granularity);
}

absl::Status Profile::Validate() const {
  absl::Status status = ValidateGranularities(*this);
  if (status.ok()) status = ValidateWindow(*this);
  if (status.ok()) status = ValidateDevices(*this);
  if (status.ok()) status = ValidateHost(*this);
  if (status.ok()) status = ValidateFabric(*this);
  if (status.ok()) status = ValidateChoices(*this);
  return status;
}

}  // namespace twinmmu
