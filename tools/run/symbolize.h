// Symbolize: the names and lines of places in programs.

#ifndef TWINMMU_TOOLS_RUN_SYMBOLIZE_H_
#define TWINMMU_TOOLS_RUN_SYMBOLIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/libcuda/report/report_reader.h"

namespace twinmmu {

// Fills in function and source line, as far as the programs have them: by addr2line where that is
// installed, else the function by the symbol table.
void Symbolize(const std::vector<libcuda::Site*>& sites);

// The function of an ELF file that has code at this offset, as C++ spells it; empty: not known.
// Whatever stands in the file.
std::string FunctionAt(const std::string& path, uint64_t offset);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_SYMBOLIZE_H_
