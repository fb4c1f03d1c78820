#include "sim/ptx/text/object_file.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace twinmmu::ptx {
namespace {

constexpr absl::string_view kSection = "__nv_relfatbin";
constexpr absl::string_view kArchive = "!<arch>\n";
constexpr size_t kMemberHeader = 60;
constexpr size_t kNameEnd = 16;
constexpr size_t kSizeBegin = 48;
constexpr size_t kSizeEnd = 58;
// Of a fat binary: how long its header is, and how much follows.
constexpr absl::string_view kFatBinary = "\x50\xed\x55\xba";
constexpr size_t kFatBinaryHeader = 16;

// False: it does not lie within `bytes`.
template <typename Value>
bool Read(absl::string_view bytes, uint64_t offset, Value* value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Value)) return false;
  std::memcpy(value, bytes.data() + offset, sizeof(Value));
  return true;
}

absl::string_view Part(absl::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
}

// One after the other, filled up with zeros. False: something else is there.
bool AddFatBinaries(absl::string_view section, std::vector<absl::string_view>* found) {
  while (!section.empty()) {
    if (section[0] == '\0') {
      section.remove_prefix(1);
      continue;
    }
    uint16_t header = 0;
    uint64_t bytes = 0;
    if (section.substr(0, 4) != kFatBinary || section.size() < kFatBinaryHeader) return false;
    Read(section, 6, &header);
    Read(section, 8, &bytes);
    if (header > section.size() || bytes > section.size() - header) return false;
    const size_t size = static_cast<size_t>(header + bytes);
    if (size < kFatBinaryHeader) return false;
    found->push_back(section.substr(0, size));
    section.remove_prefix(size);
  }
  return true;
}

// False: it is no object file, or is damaged.
bool AddOfObject(absl::string_view object, std::vector<absl::string_view>* found) {
  Elf64_Ehdr header;
  if (!Read(object, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return false;
  }
  const auto section_at = [&](uint64_t index, Elf64_Shdr* section) {
    return header.e_shoff <= object.size() &&
           Read(object, header.e_shoff + index * sizeof(*section), section);
  };
  Elf64_Shdr names;
  if (!section_at(header.e_shstrndx, &names)) return false;
  uint64_t left = object.size();  // sections do not lie one over the other
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!section_at(i, &section)) return false;
    absl::string_view name = Part(object, names.sh_offset, names.sh_size);
    name = Part(name, section.sh_name, kSection.size() + 1);
    if (name != absl::string_view(kSection.data(), kSection.size() + 1)) continue;
    if (section.sh_size > left) return false;
    left -= section.sh_size;
    if (!AddFatBinaries(Part(object, section.sh_offset, section.sh_size), found)) return false;
  }
  return true;
}

absl::Status Damaged() {
  return absl::InvalidArgumentError("it is no object file or library, or is damaged");
}

absl::StatusOr<std::vector<absl::string_view>> Found(std::vector<absl::string_view> found) {
  if (found.empty()) return absl::NotFoundError("there is no fat binary for a linker in it");
  return found;
}

}  // namespace

absl::StatusOr<std::vector<absl::string_view>> FatBinariesInObject(absl::string_view object) {
  std::vector<absl::string_view> found;
  if (!AddOfObject(object, &found)) return Damaged();
  return Found(std::move(found));
}

absl::StatusOr<std::vector<absl::string_view>> FatBinariesInLibrary(absl::string_view library) {
  if (library.substr(0, kArchive.size()) != kArchive) return Damaged();
  library.remove_prefix(kArchive.size());
  std::vector<absl::string_view> found;
  while (library.size() >= kMemberHeader) {
    const absl::string_view name = library.substr(0, kNameEnd);
    uint64_t size = 0;
    if (!absl::SimpleAtoi(library.substr(kSizeBegin, kSizeEnd - kSizeBegin), &size) ||
        size > library.size() - kMemberHeader) {
      return Damaged();
    }
    // "/" and "//" are tables of names, and "/12" stands for a long one.
    const bool is_table = name[0] == '/' && !absl::ascii_isdigit(name[1]);
    const absl::string_view member = library.substr(kMemberHeader, static_cast<size_t>(size));
    if (!is_table && !AddOfObject(member, &found)) return Damaged();
    const size_t taken = kMemberHeader + static_cast<size_t>(size + size % 2);
    library.remove_prefix(std::min(taken, library.size()));
  }
  return Found(std::move(found));
}

}  // namespace twinmmu::ptx
