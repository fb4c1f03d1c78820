#include "sim/ptx/text/fat_binary.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace twinmmu::ptx {
namespace {

constexpr absl::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr absl::string_view kContainerMagic = "\x50\xed\x55\xba";  // 0xBA55ED50
constexpr absl::string_view kWrapperMagic = "\xb1\x43\x62\x46";    // 0x466243B1
constexpr uint64_t kLargestText = uint64_t{256} << 20;
// LZ4 cannot do better.
constexpr uint64_t kLargestLz4Ratio = 255;

// The first header of a container.
struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;  // of all entries
};
static_assert(sizeof(ContainerHeader) == 16);

// What all entries begin with. Their payload follows after `header_bytes`.
struct EntryHeader {
  uint16_t kind;
  uint16_t attributes;
  uint32_t header_bytes;
  uint64_t bytes;             // of the payload, with what fills it up to the next entry
  uint32_t compressed_bytes;  // of it, if it is compressed
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t target;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t decompressed_bytes;  // if it is compressed
};
static_assert(sizeof(EntryHeader) == 64);

constexpr uint16_t kPtx = 1;
constexpr uint16_t kMachineCode = 2;
constexpr uint64_t kLz4 = 0x2000;
constexpr uint64_t kZstd = 0x8000;
constexpr uint64_t kOneArchitecture = 0x100000;  // sm_90a
constexpr uint64_t kOneFamily = 0x200000;        // sm_100f

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* container;
  const void* more;
};

struct Entry {
  EntryHeader header;
  absl::string_view payload;
};

absl::Status NoPtx(absl::string_view found, int compute_capability) {
  return absl::NotFoundError(
      absl::StrCat("the image has ", found, ", but no PTX for sm_", compute_capability));
}

// As absl::StartsWith, where the end is not known: reads no byte after the first that differs.
bool StartsWith(const char* bytes, absl::string_view prefix) {
  for (const char c : prefix) {
    if (*bytes++ != c) return false;
  }
  return true;
}

// Whether the first word is .version. `text` ends with a NUL, and is read no further than needed.
bool IsPtx(const char* text) {
  for (;;) {
    if (absl::ascii_isspace(*text)) {
      ++text;
    } else if (StartsWith(text, "//")) {
      while (*text != '\0' && *text != '\n') ++text;
    } else if (StartsWith(text, "/*")) {
      text += 2;
      while (*text != '\0' && !StartsWith(text, "*/")) ++text;
      if (*text == '\0') return false;
      text += 2;
    } else {
      return StartsWith(text, ".version");
    }
  }
}

absl::Status NoImage() {
  return absl::InvalidArgumentError(
      "the image is neither PTX, which starts with .version, nor a fat binary, nor ELF");
}

// Takes the first entry off `entries`, which is not empty.
absl::StatusOr<Entry> NextEntry(absl::string_view* entries) {
  Entry entry;
  if (entries->size() < sizeof entry.header) {
    return absl::DataLossError(absl::StrCat("the fat binary ends in ", entries->size(),
                                            " bytes, where an entry takes ", sizeof entry.header));
  }
  std::memcpy(&entry.header, entries->data(), sizeof entry.header);
  const uint64_t header_bytes = entry.header.header_bytes;
  if (header_bytes < sizeof entry.header || header_bytes > entries->size() ||
      entry.header.bytes > entries->size() - header_bytes) {
    return absl::DataLossError(absl::StrCat("an entry of the fat binary takes ", header_bytes,
                                            " and ", entry.header.bytes, " bytes of ",
                                            entries->size()));
  }
  entry.payload = entries->substr(header_bytes, entry.header.bytes);
  entries->remove_prefix(static_cast<size_t>(header_bytes + entry.header.bytes));
  return entry;
}

// How good an entry is for the device, or nullopt: not at all.
std::optional<uint64_t> RankOf(const EntryHeader& header, int compute_capability) {
  const uint64_t device = static_cast<uint64_t>(compute_capability);
  const bool special = (header.flags & (kOneArchitecture | kOneFamily)) != 0;
  if (header.kind != kPtx || header.target > device) return std::nullopt;
  if (special && header.target != device) return std::nullopt;
  return uint64_t{header.target} * 2 + (special ? 1 : 0);
}

// Whether the device runs the machine code of an entry.
bool IsMachineCodeFor(const EntryHeader& header, int compute_capability) {
  const uint64_t device = static_cast<uint64_t>(compute_capability);
  return header.kind == kMachineCode && header.target / 10 == device / 10 &&
         header.target <= device &&
         ((header.flags & kOneArchitecture) == 0 || header.target == device);
}

// `ptx` for a device of `compute_capability`, whatever its target is.
std::string Retargeted(std::string ptx, int compute_capability) {
  constexpr absl::string_view kTarget = "\n.target sm_";
  const size_t begin = absl::string_view(ptx).find(kTarget);
  if (begin == std::string::npos) return ptx;
  const size_t number = begin + kTarget.size();
  size_t end = number;
  while (end < ptx.size() && absl::ascii_isalnum(ptx[end])) ++end;
  return ptx.replace(number, end - number, absl::StrCat(compute_capability));
}

absl::StatusOr<std::string> Decompress(const Entry& entry) {
  const uint64_t bytes = entry.header.decompressed_bytes;
  const absl::string_view packed = entry.payload.substr(0, entry.header.compressed_bytes);
  if (packed.size() != entry.header.compressed_bytes) {
    return absl::DataLossError(absl::StrCat("the compressed PTX takes ",
                                            entry.header.compressed_bytes, " bytes of ",
                                            entry.payload.size()));
  }
  if (bytes > kLargestText) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the PTX takes ", bytes, " bytes, more than ", kLargestText));
  }
  const bool is_zstd = (entry.header.flags & kZstd) != 0;
  // Before there is memory for what a damaged header says.
  const bool plausible = is_zstd ? ZSTD_getFrameContentSize(packed.data(), packed.size()) == bytes
                                 : bytes <= (uint64_t{packed.size()} + 1) * kLargestLz4Ratio;
  std::string text(plausible ? static_cast<size_t>(bytes) : 0, '\0');
  uint64_t got = ~uint64_t{0};
  if (plausible && is_zstd) {
    got = ZSTD_decompress(&text[0], text.size(), packed.data(), packed.size());
  } else if (plausible && packed.size() <= LZ4_MAX_INPUT_SIZE) {
    const int result = LZ4_decompress_safe(packed.data(), &text[0], static_cast<int>(packed.size()),
                                           static_cast<int>(text.size()));
    if (result >= 0) got = static_cast<uint64_t>(result);
  }
  if (got != bytes) {
    return absl::DataLossError(absl::StrCat("the compressed PTX of ", packed.size(),
                                            " bytes does not decompress to ", bytes));
  }
  return text;
}

absl::StatusOr<std::string> TextOf(const Entry& entry) {
  std::string text;
  if ((entry.header.flags & (kLz4 | kZstd)) != 0) {
    absl::StatusOr<std::string> decompressed = Decompress(entry);
    if (!decompressed.ok()) return decompressed.status();
    text = *std::move(decompressed);
  } else if (entry.payload.size() > kLargestText) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the PTX takes ", entry.payload.size(), " bytes, more than ", kLargestText));
  } else {
    text = std::string(entry.payload);
  }
  text.resize(std::min(text.find('\0'), text.size()));
  if (!IsPtx(text.c_str())) {
    return absl::DataLossError("what the fat binary has as PTX does not start with .version");
  }
  return text;
}

// What a container has for a device.
struct Candidates {
  std::optional<Entry> best;
  std::optional<Entry> newer;  // PTX of the lowest target above the device's
  bool machine_code = false;   // that the device runs
  std::string others;          // in words
};

absl::StatusOr<Candidates> CandidatesIn(absl::string_view entries, int compute_capability) {
  constexpr size_t kMostNamed = 200;  // characters of `others`
  Candidates found;
  std::optional<uint64_t> best_rank;
  while (!entries.empty()) {
    const absl::StatusOr<Entry> entry = NextEntry(&entries);
    if (!entry.ok()) return entry.status();
    const EntryHeader& header = entry->header;
    found.machine_code |= IsMachineCodeFor(header, compute_capability);
    const std::optional<uint64_t> rank = RankOf(header, compute_capability);
    if (rank > best_rank) {
      found.best = *entry;
      best_rank = rank;
      continue;
    }
    if (header.kind == kPtx && header.target > static_cast<uint64_t>(compute_capability) &&
        (!found.newer || header.target < found.newer->header.target)) {
      found.newer = *entry;
    }
    if (found.others.size() >= kMostNamed) continue;
    absl::StrAppend(&found.others, found.others.empty() ? "" : ", ",
                    header.kind == kPtx ? "PTX" : "machine code", " for sm_", header.target,
                    (header.flags & kOneArchitecture) != 0 ? "a" : "");
  }
  return found;
}

// `container` is at least as long as its header.
absl::StatusOr<std::string> PtxInContainer(absl::string_view container, int compute_capability) {
  ContainerHeader header;
  std::memcpy(&header, container.data(), sizeof header);
  if (header.header_bytes < sizeof header || header.header_bytes > container.size() ||
      header.bytes > container.size() - header.header_bytes) {
    return absl::DataLossError(absl::StrCat("the fat binary takes ", header.header_bytes, " and ",
                                            header.bytes, " bytes of ", container.size()));
  }
  const absl::StatusOr<Candidates> found =
      CandidatesIn(container.substr(header.header_bytes, header.bytes), compute_capability);
  if (!found.ok()) return found.status();
  if (found->best) return TextOf(*found->best);
  if (found->machine_code && found->newer) {
    absl::StatusOr<std::string> ptx = TextOf(*found->newer);
    if (ptx.ok()) return Retargeted(*std::move(ptx), compute_capability);
    return ptx;
  }
  return NoPtx(found->others.empty() ? "no entries" : found->others, compute_capability);
}

}  // namespace

absl::StatusOr<std::string> PtxIn(absl::string_view image, int compute_capability) {
  if (image.substr(0, 4) == kContainerMagic) {
    if (image.size() < sizeof(ContainerHeader)) {
      return absl::DataLossError(
          absl::StrCat("a fat binary of ", image.size(), " bytes is cut off"));
    }
    return PtxInContainer(image, compute_capability);
  }
  if (image.substr(0, 4) == kElfMagic) return NoPtx("machine code", compute_capability);
  std::string text(image.substr(0, image.find('\0')));
  if (!IsPtx(text.c_str())) return NoImage();
  return text;
}

absl::StatusOr<std::string> PtxAt(const void* image, int compute_capability) {
  const char* bytes = static_cast<const char*>(image);
  if (StartsWith(bytes, kWrapperMagic)) {
    Wrapper wrapper;
    std::memcpy(&wrapper, bytes, sizeof wrapper);
    bytes = static_cast<const char*>(wrapper.container);
    if (bytes == nullptr || !StartsWith(bytes, kContainerMagic)) {
      return absl::InvalidArgumentError("the wrapper of a fat binary points to none");
    }
  }
  if (StartsWith(bytes, kContainerMagic)) {
    ContainerHeader header;
    std::memcpy(&header, bytes, sizeof header);
    const uint64_t most = PTRDIFF_MAX - uint64_t{header.header_bytes};
    const uint64_t size =
        std::max<uint64_t>(sizeof header, header.header_bytes + std::min(header.bytes, most));
    return PtxInContainer(absl::string_view(bytes, static_cast<size_t>(size)), compute_capability);
  }
  if (StartsWith(bytes, kElfMagic)) return NoPtx("machine code", compute_capability);
  if (!IsPtx(bytes)) return NoImage();
  return std::string(bytes);
}

}  // namespace twinmmu::ptx
