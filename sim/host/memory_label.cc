#include "sim/host/memory_label.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

constexpr uint64_t kMark = 0x6d654d554d4d7754;  // "TwMMUMem"
constexpr uint64_t kVersion = 3;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr long kMemoryFileSystem = 0x01021994;  // TMPFS_MAGIC

// One word for each field, and the last for the sum of the others.
using Words = std::array<uint64_t, 20>;

template <typename T>
absl::Span<const uint8_t> BytesOf(const T& words, size_t count) {
  return {reinterpret_cast<const uint8_t*>(words.data()), count * sizeof(uint64_t)};
}
uint64_t SumOf(const Words& words) { return FingerprintOf(BytesOf(words, words.size() - 1)); }

// Calls visit(word, field) for each field of a label, in the order in which they are written.
template <typename Label, typename WordsOf, typename Visit>
void VisitFields(Label& label, WordsOf& words, const Visit& visit) {
  size_t next = 2;
  const auto field = [&](auto& value) { visit(words[next++], value); };
  field(label.id);
  field(label.size);
  field(label.properties.type);
  field(label.properties.requested_handle_types);
  field(label.properties.location.type);
  field(label.properties.location.id);
  field(label.properties.compression);
  field(label.properties.gpu_direct_rdma);
  field(label.properties.usage);
  field(label.traits.driver_version);
  field(label.traits.minimum_granularity);
  field(label.traits.recommended_granularity);
  field(label.traits.reservation_granularity);
  field(label.traits.memory);
  field(label.traits.name);
  field(label.team_devices);
  field(label.object_size);
  static_assert(std::tuple_size_v<Words> == 2 + 17 + 1, "mark and version, the fields, the sum");
}

// False: the word is more than the field can hold.
bool Take(uint64_t word, Bytes& field) {
  field = Bytes(word);
  return true;
}
template <typename T>
bool Take(uint64_t word, T& field) {
  field = static_cast<T>(word);
  return static_cast<uint64_t>(field) == word;
}

uint64_t WordOf(Bytes field) { return field.value(); }
template <typename T>
uint64_t WordOf(T field) {
  return static_cast<uint64_t>(field);
}

absl::Status Refused(const char* call, const char* reason) {
  const int error = errno;
  if (IsOfTheHost(error)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the host refused: ", call, ": ", std::strerror(error)));
  }
  return absl::InvalidArgumentError(reason);
}

absl::Status NoLabel() { return absl::InvalidArgumentError("nothing says that it was exported"); }

}  // namespace

bool IsOfTheHost(int error) {
  return error == ENOMEM || error == EINTR || error == EIO || error == EMFILE || error == ENFILE ||
         error == ENOSPC;
}

uint64_t FingerprintOf(absl::Span<const uint8_t> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

SharingTraits SharingTraits::Of(const Profile& profile, const Location& location) {
  SharingTraits traits;
  traits.driver_version = profile.driver_version;
  traits.minimum_granularity = profile.minimum_granularity;
  traits.recommended_granularity = profile.recommended_granularity;
  traits.reservation_granularity = profile.reservation_granularity;
  if (location.type == LocationType::kDevice) {
    const DeviceProfile& device = profile.devices[static_cast<size_t>(location.id)];
    traits.memory = device.memory;
    traits.name =
        FingerprintOf({reinterpret_cast<const uint8_t*>(device.name.data()), device.name.size()});
  }
  for (const HostNodeProfile& node : profile.host_nodes) {
    if (Location::HostNuma(node.node) == location) traits.memory = node.memory;
  }
  return traits;
}

SharingTraits SharingTraits::OfTeams(const Profile& profile) {
  SharingTraits traits = Of(profile, Location{LocationType::kInvalid, 0});
  traits.minimum_granularity = profile.multicast_minimum_granularity;
  traits.recommended_granularity = profile.multicast_recommended_granularity;
  std::string devices;
  for (const DeviceProfile& device : profile.devices) {
    absl::StrAppend(&devices, device.name, ", ", device.memory.value(), "\n");
  }
  traits.name = FingerprintOf({reinterpret_cast<const uint8_t*>(devices.data()), devices.size()});
  return traits;
}

std::string DifferenceOf(const SharingTraits& exporter, const SharingTraits& importer) {
  if (exporter.driver_version != importer.driver_version) {
    return absl::StrCat("driver version ", exporter.driver_version, ", here it is ",
                        importer.driver_version);
  }
  for (const auto& [name, field] :
       {std::pair("minimum granularity", &SharingTraits::minimum_granularity),
        std::pair("recommended granularity", &SharingTraits::recommended_granularity),
        std::pair("granularity of reservations", &SharingTraits::reservation_granularity),
        std::pair("memory at that place", &SharingTraits::memory)}) {
    if (exporter.*field == importer.*field) continue;
    return absl::StrCat(name, " ", ToString(exporter.*field), ", here it is ",
                        ToString(importer.*field));
  }
  return exporter.name == importer.name ? "" : "a device of another name";
}

absl::Status WriteLabel(int file_descriptor, const MemoryLabel& label) {
  Words words = {kMark, kVersion};
  VisitFields(label, words, [](uint64_t& word, const auto& field) { word = WordOf(field); });
  words.back() = SumOf(words);
  const ssize_t written =
      pwrite(file_descriptor, words.data(), sizeof(words), static_cast<off_t>(label.size.value()));
  if (written == static_cast<ssize_t>(sizeof(words))) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the host refused memory for the label of a memory file: ",
                   written < 0 ? std::strerror(errno) : "it is full"));
}

absl::StatusOr<MemoryLabel> ReadLabel(int file_descriptor) {
  struct statfs system;
  if (fstatfs(file_descriptor, &system) != 0) return Refused("fstatfs", "it is not open");
  // Of those in huge pages the host may not have as many as it says.
  if (static_cast<long>(system.f_type) != kMemoryFileSystem) {
    return absl::InvalidArgumentError("it is not a memory file");
  }
  const int seals = fcntl(file_descriptor, F_GET_SEALS);
  if (seals == -1) return Refused("fcntl", "it is not a memory file");
  if ((seals & kSeals) != kSeals) {
    return absl::InvalidArgumentError("the file is not sealed: its size could change");
  }
  struct stat file;
  if (fstat(file_descriptor, &file) != 0) return Refused("fstat", "it is not open");
  const auto length = static_cast<uint64_t>(file.st_size);
  if (length <= kLabelRoom.value()) return NoLabel();
  const Bytes size(length - kLabelRoom.value());

  Words words;
  const ssize_t got =
      pread(file_descriptor, words.data(), sizeof(words), static_cast<off_t>(size.value()));
  if (got < 0) return Refused("pread", "it cannot be read");
  if (got != static_cast<ssize_t>(sizeof(words)) || words[0] != kMark) return NoLabel();
  if (words[1] != kVersion) {
    return absl::InvalidArgumentError("another version of this simulator exported it");
  }
  MemoryLabel label;
  bool fits = words.back() == SumOf(words);
  VisitFields(label, words, [&](uint64_t word, auto& field) { fits = Take(word, field) && fits; });
  if (!fits || label.size != size) {
    return absl::InvalidArgumentError("what it says of its memory was changed");
  }
  return label;
}

}  // namespace twinmmu
