// Compares our own cuda.h with what the simulated library exports, and with the toolkit's header
// where that is found. Where it is not, the test says so in its output and is skipped.

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cuda_header_facts.h"

namespace twinmmu {
namespace {

std::set<std::string> Exports() {
  return {
#define TWINMMU_CUDA_EXPORT(support, name, symbol, version) #name " " #symbol,
#include "third_party/cuda_abi/exports.inc"
  };
}

// The symbols of functions: "cuMemAlloc" and "cuMemAlloc_v2".
CudaHeaderFacts SymbolsOf(const CudaHeaderFacts& facts) {
  CudaHeaderFacts symbols;
  for (const auto& [name, fact] : facts) {
    if (name.substr(0, 2) == "cu" && fact.substr(0, 2) == "cu") {
      symbols[name] = fact.substr(0, fact.find(' '));
    }
  }
  return symbols;
}

void ExpectExported(const CudaHeaderFacts& facts) {
  const CudaHeaderFacts symbols = SymbolsOf(facts);
  EXPECT_GT(symbols.size(), 60u);
  for (const auto& [name, symbol] : symbols) {
    EXPECT_EQ(Exports().count(name + " " + symbol), 1u) << name << " is " << symbol;
  }
}

TEST(CudaHeaderTest, AllItsFunctionsAreExported) {
  ExpectExported(FactsOfOurs());
  CudaHeaderFacts per_thread = FactsOfOursPerThread();
  EXPECT_EQ(per_thread.erase("cuGetProcAddress"), 1u);  // is inline there
  ExpectExported(per_thread);
}

TEST(CudaHeaderTest, PerThreadFormsAreOtherSymbols) {
  EXPECT_EQ(SymbolsOf(FactsOfOurs())["cuMemcpyHtoD"], "cuMemcpyHtoD_v2");
  EXPECT_EQ(SymbolsOf(FactsOfOursPerThread())["cuMemcpyHtoD"], "cuMemcpyHtoD_v2_ptds");
  EXPECT_EQ(SymbolsOf(FactsOfOursPerThread())["cuStreamQuery"], "cuStreamQuery_ptsz");
}

void Compare(CudaHeaderFacts ours, const CudaHeaderFacts& theirs) {
  if (theirs.empty()) GTEST_SKIP() << "no cuda.h was found: NOTHING WAS COMPARED";
  // Later headers mean later forms by these names.
  if (std::stoi(theirs.at("CUDA_VERSION")) >= 13000) {
    for (const char* const name :
         {"cuCtxCreate", "cuEventElapsedTime", "cuMemAdvise", "cuMemPrefetchAsync"}) {
      EXPECT_EQ(ours.erase(name), 1u) << name;
    }
  }
  ours.erase("CUDA_VERSION");
  for (const auto& [name, fact] : ours) EXPECT_EQ(fact, theirs.at(name)) << name;
}

TEST(CudaHeaderTest, AgreesWithTheToolkit) { Compare(FactsOfOurs(), FactsOfTheirs()); }

TEST(CudaHeaderTest, AgreesWithTheToolkitPerThread) {
  Compare(FactsOfOursPerThread(), FactsOfTheirsPerThread());
}

}  // namespace
}  // namespace twinmmu
