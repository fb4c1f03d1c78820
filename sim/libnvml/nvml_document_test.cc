// docs/reference/nvml.md is the list of nvml_exports.inc.

#include "sim/libnvml/nvml_document.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "sim/libnvml/nvml_symbols.h"

namespace twinmmu::nvml {
namespace {

TEST(NvmlDocumentTest, IsUpToDate) {
  std::stringstream text;
  text << std::ifstream(kNvmlDocument).rdbuf();
  EXPECT_EQ(text.str(), NvmlDocument()) << "stale; run tools/bazel run //sim/libnvml:update_nvml";
}

TEST(NvmlDocumentTest, NamesEachFunctionOnce) {
  std::set<std::string> names;
  for (const NvmlSymbol& symbol : kNvmlSymbols) {
    EXPECT_TRUE(names.insert(symbol.name).second) << symbol.name;
  }
}

}  // namespace
}  // namespace twinmmu::nvml
