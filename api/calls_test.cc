// The list of calls says of each interface what its header says.

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "api/call_macros.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

// The virtual functions that a header declares, in their order, a line for each:
// "absl::Status Map(const AddressRange& range, AllocationHandle handle, ...)".
std::string DeclaredIn(const std::string& header) {
  std::ifstream file(header);
  std::string code;
  for (std::string line; std::getline(file, line);) {
    absl::StrAppend(&code, line.substr(0, line.find("//")), " ");
  }
  absl::RemoveExtraAsciiWhitespace(&code);
  code = absl::StrReplaceAll(code, {{"( ", "("}});
  const std::string mark = "virtual ";
  std::string declared;
  for (size_t at = code.find(mark); at != std::string::npos; at = code.find(mark, at)) {
    at += mark.size();
    if (code[at] == '~') continue;
    absl::StrAppend(&declared, code.substr(at, code.find(')', at) + 1 - at), "\n");
  }
  return declared;
}

// The same of a line of the list.
std::string Line(const std::string& function, const std::vector<std::string>& parameters) {
  return absl::StrCat(function, "(", absl::StrJoin(parameters, ", "), ")\n");
}
#define TWINMMU_DECLARED(type, parameter) #type " " #parameter
#define TWINMMU_LINE(context, id, result, method, ...) \
  +Line(#result " " #method, {TWINMMU_FOR_PARAMETERS(TWINMMU_DECLARED, __VA_ARGS__)})

TEST(CallsTest, AreThoseOfTheHeaders) {
  const std::string none;
  EXPECT_EQ(DeclaredIn("api/vmm.h"), none TWINMMU_VMM_CALLS(TWINMMU_LINE, ));
  EXPECT_EQ(DeclaredIn("api/executor.h"), none TWINMMU_EXECUTOR_CALLS(TWINMMU_LINE, ));
  EXPECT_EQ(DeclaredIn("api/multicast.h"), none TWINMMU_MULTICAST_CALLS(TWINMMU_LINE, ));
  EXPECT_EQ(DeclaredIn("api/sparse_arrays.h"), none TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_LINE, ));
}

}  // namespace
}  // namespace twinmmu
