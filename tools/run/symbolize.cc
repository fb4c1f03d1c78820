#include "tools/run/symbolize.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "api/files/read_file.h"
#include "tools/run/child_program.h"

namespace twinmmu {
namespace {

using libcuda::Site;

constexpr Bytes kMaxProgram = GiB(1);
constexpr int kSecondsForLines = 20;  // addr2line reads all that a program has for debuggers

// A return address is behind the call, which may be the end of its line or function.
uint64_t CallOf(const Site& site) { return site.offset - 1; }

std::string Demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string demangled = text == nullptr ? name : text;
  std::free(text);
  return demangled;
}

// "/src/pool.cc:42 (discriminator 3)" as "/src/pool.cc:42"; empty where the line is not known.
std::string SourceOf(absl::string_view line) {
  line = line.substr(0, line.find(' '));
  const bool known =
      !absl::StartsWith(line, "??") && !absl::EndsWith(line, ":?") && !absl::EndsWith(line, ":0");
  return known ? std::string(line) : "";
}

struct Frame {
  absl::string_view function;
  absl::string_view source;
};

// The frames of each place, the innermost of those that are inlined there first. Each place begins
// with its address.
std::vector<std::vector<Frame>> FramesIn(absl::string_view output) {
  const std::vector<absl::string_view> lines = absl::StrSplit(output, '\n');
  std::vector<std::vector<Frame>> places;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    if (absl::StartsWith(lines[i], "0x")) {
      places.emplace_back();
    } else if (!places.empty()) {
      places.back().push_back({lines[i], lines[i + 1]});
      ++i;
    }
  }
  return places;
}

// The toolkit's header has templates around its functions, which are no place of the program.
const Frame* PlaceOfProgram(const std::vector<Frame>& frames) {
  for (const Frame& frame : frames) {
    if (!absl::StrContains(frame.source, "/cuda_runtime.h:")) return &frame;
  }
  return frames.empty() ? nullptr : &frames.front();
}

void AskForLines(const std::string& module, const std::vector<Site*>& sites) {
  std::vector<std::string> command = {"addr2line", "-aCfie", module};
  for (const Site* site : sites) command.push_back(absl::StrCat("0x", absl::Hex(CallOf(*site))));
  const absl::StatusOr<std::string> output = OutputOf(command, kSecondsForLines);
  if (!output.ok()) return;
  const std::vector<std::vector<Frame>> places = FramesIn(*output);
  if (places.size() != sites.size()) return;
  for (size_t i = 0; i < sites.size(); ++i) {
    const Frame* const frame = PlaceOfProgram(places[i]);
    if (frame == nullptr) continue;
    if (!absl::StartsWith(frame->function, "??")) sites[i]->symbol = std::string(frame->function);
    sites[i]->source = SourceOf(frame->source);
  }
}

// A file of 64 bits, read with its bounds.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    bytes_ = ReadFile(path, kMaxProgram).value_or("");
    const auto header = At<Elf64_Ehdr>(0);
    const bool known = header.has_value() && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                       header->e_ident[EI_CLASS] == ELFCLASS64;
    for (uint64_t i = 0; known && i < header->e_shnum; ++i) {
      const auto section = At<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
      if (section.has_value()) sections_.push_back(*section);
    }
  }

  std::string FunctionAt(uint64_t offset) const {
    uint64_t left = bytes_.size() / sizeof(Elf64_Sym);  // tables do not lie one over the other
    for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
      for (const Elf64_Shdr& section : sections_) {
        if (section.sh_type != type) continue;
        std::string name = FunctionIn(section, offset, &left);
        if (!name.empty()) return name;
      }
    }
    return "";
  }

 private:
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  // `left`: how many symbols may still be looked at.
  std::string FunctionIn(const Elf64_Shdr& table, uint64_t offset, uint64_t* left) const {
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym) && *left > 0; ++i, --*left) {
      const auto symbol = At<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol.has_value()) return "";
      const bool found = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && offset >= symbol->st_value &&
                         offset - symbol->st_value < symbol->st_size;
      if (found && table.sh_link < sections_.size()) {
        return TextAt(sections_[table.sh_link].sh_offset + symbol->st_name);
      }
    }
    return "";
  }
  std::string TextAt(uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    return bytes_.substr(offset, bytes_.find('\0', offset) - offset);
  }

  std::string bytes_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

std::string FunctionAt(const std::string& path, uint64_t offset) {
  return Demangled(ElfFile(path).FunctionAt(offset));
}

void Symbolize(const std::vector<Site*>& sites) {
  std::map<std::string, std::vector<Site*>> by_module;
  for (Site* site : sites) {
    if (!site->module.empty()) by_module[site->module].push_back(site);
  }
  for (const auto& [module, of_module] : by_module) {
    AskForLines(module, of_module);
    std::optional<ElfFile> file;
    for (Site* site : of_module) {
      if (!site->source.empty()) continue;
      if (!file.has_value()) file.emplace(module);
      const std::string function = file->FunctionAt(CallOf(*site));
      if (!function.empty()) site->symbol = Demangled(function);
    }
  }
}

}  // namespace twinmmu
