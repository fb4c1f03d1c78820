// docs/reference/runtime.md is the list of runtime_exports.inc, and that has every function of the
// toolkit's header. Where no toolkit is found the second is skipped.

#include "sim/libcudart/runtime_document.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "sim/libcudart/runtime_symbols.h"

namespace twinmmu::cudart {
namespace {

TEST(RuntimeDocumentTest, IsUpToDate) {
  std::stringstream text;
  text << std::ifstream(kRuntimeDocument).rdbuf();
  EXPECT_EQ(text.str(), RuntimeDocument())
      << "stale; run tools/bazel run //sim/libcudart:update_runtime";
}

TEST(RuntimeDocumentTest, HasEveryFunctionOfTheToolkit) {
  const std::set<std::string> theirs = {
#include "sim/libcudart/toolkit_runtime_functions.inc"
  };
  if (theirs.empty()) GTEST_SKIP() << "no cuda_runtime_api.h was found: NOTHING WAS COMPARED";
  std::set<std::string> ours;
  for (const RuntimeSymbol& symbol : kRuntimeSymbols) ours.insert(symbol.name);
  EXPECT_GE(theirs.size(), 250u);
  for (const std::string& name : theirs) EXPECT_EQ(ours.count(name), 1u) << name;
}

TEST(RuntimeDocumentTest, NamesEachFunctionOnce) {
  std::set<std::string> names;
  for (const RuntimeSymbol& symbol : kRuntimeSymbols) {
    EXPECT_TRUE(names.insert(symbol.name).second) << symbol.name;
    EXPECT_LE(symbol.first_version, symbol.last_version) << symbol.name;
  }
}

}  // namespace
}  // namespace twinmmu::cudart
