// docs/reference/functions.md is the list of exports.inc, and that has every function of the
// toolkit's header. Where no toolkit is found the second is skipped.

#include "sim/libcuda/functions_document.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "sim/libcuda/symbols.h"

namespace twinmmu::libcuda {
namespace {

TEST(FunctionsDocumentTest, IsUpToDate) {
  std::stringstream text;
  text << std::ifstream(kFunctionsDocument).rdbuf();
  EXPECT_EQ(text.str(), FunctionsDocument())
      << "stale; run tools/bazel run //sim/libcuda:update_functions";
}

// "cuMemAlloc" and "cuMemAlloc_v2" are forms of one function: what the header declares is either.
TEST(FunctionsDocumentTest, HasEveryFunctionOfTheToolkit) {
  const std::set<std::string> theirs = {
#include "sim/libcuda/toolkit_functions.inc"
  };
  if (theirs.empty()) GTEST_SKIP() << "no cuda.h was found: NOTHING WAS COMPARED";
  std::set<std::string> ours;
  for (const SymbolInfo& symbol : kSymbols) {
    ours.insert(symbol.name);
    ours.insert(symbol.symbol);
  }
  EXPECT_GE(theirs.size(), 400u);
  for (const std::string& name : theirs) EXPECT_EQ(ours.count(name), 1u) << name;
}

}  // namespace
}  // namespace twinmmu::libcuda
