#include "conformance/abi/elf_file.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace twinmmu::abi {
namespace {

// The things of type `Entry` that a section holds.
template <typename Entry>
std::vector<Entry> EntriesOf(const std::string& file, const Elf64_Shdr& section) {
  std::vector<Entry> entries(section.sh_size / sizeof(Entry));
  std::memcpy(entries.data(), file.data() + section.sh_offset, entries.size() * sizeof(Entry));
  return entries;
}

}  // namespace

ElfFile ElfFile::OfLoaded(const void* function) {
  ElfFile found;
  Dl_info info = {};
  if (dladdr(function, &info) == 0) return found;
  std::ifstream stream(info.dli_fname, std::ios::binary);
  std::stringstream content;
  content << stream.rdbuf();
  const std::string file = content.str();
  Elf64_Ehdr header = {};
  if (file.size() < sizeof(header)) return found;
  std::memcpy(&header, file.data(), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), file.data() + header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));

  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_DYNAMIC) continue;
    const char* const texts = file.data() + sections[section.sh_link].sh_offset;
    if (section.sh_type == SHT_DYNSYM) {
      for (const Elf64_Sym& symbol : EntriesOf<Elf64_Sym>(file, section)) {
        const bool defined = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
        if (defined && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
          found.defined_symbols_.push_back(texts + symbol.st_name);
      }
    } else {
      for (const Elf64_Dyn& entry : EntriesOf<Elf64_Dyn>(file, section)) {
        if (entry.d_tag == DT_NEEDED) found.needed_.push_back(texts + entry.d_un.d_val);
        if (entry.d_tag == DT_SONAME) found.name_ = texts + entry.d_un.d_val;
      }
    }
  }
  return found;
}

}  // namespace twinmmu::abi
