// ElfFile: what a loaded library says of itself to the loader.

#ifndef TWINMMU_CONFORMANCE_ABI_ELF_FILE_H_
#define TWINMMU_CONFORMANCE_ABI_ELF_FILE_H_

#include <string>
#include <vector>

namespace twinmmu::abi {

class ElfFile {
 public:
  // The file of the library in which `function` is.
  static ElfFile OfLoaded(const void* function);

  // Those that others can find.
  const std::vector<std::string>& defined_symbols() const { return defined_symbols_; }
  // The libraries that it needs.
  const std::vector<std::string>& needed() const { return needed_; }
  // By which others need it.
  const std::string& name() const { return name_; }

 private:
  std::vector<std::string> defined_symbols_;
  std::vector<std::string> needed_;
  std::string name_;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_ELF_FILE_H_
