// A library of another driver exports what that had, and finds no more by name. The arguments are
// the library and its version.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "sim/libcuda/symbols.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {
namespace {

void* library = nullptr;
int version = 0;

template <typename Function>
Function* Find(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

TEST(DriverLevelTest, ExportsExactlyWhatTheVersionHad) {
  for (const SymbolInfo& symbol : kSymbols) {
    EXPECT_EQ(Find<void()>(symbol.symbol) != nullptr, symbol.version <= version) << symbol.symbol;
  }
}

TEST(DriverLevelTest, TellsItsVersion) {
  int told = 0;
  ASSERT_EQ(Find<cuda_abi::cuDriverGetVersion_t>("cuDriverGetVersion")(&told), 0);
  EXPECT_EQ(told, version);
}

TEST(DriverLevelTest, FindsByNameWhatItExportsAndNothingElse) {
  auto* const get = Find<cuda_abi::cuGetProcAddress_v11030_t>("cuGetProcAddress");
  if (get == nullptr) return;  // the version had no such function
  for (const SymbolInfo& symbol : kSymbols) {
    if (symbol.per_thread()) continue;
    void* found = nullptr;
    const int result = get(symbol.name, &found, symbol.version, 0);
    EXPECT_EQ(result == 0, symbol.version <= version) << symbol.symbol;
    EXPECT_EQ(found, symbol.version <= version ? dlsym(library, symbol.symbol) : nullptr)
        << symbol.symbol;
  }
}

TEST(DriverLevelTest, KnowsTheAttributeOfVirtualMemoryFromItsFirstVersionOn) {
  ASSERT_EQ(Find<cuda_abi::cuInit_t>("cuInit")(0), 0);
  constexpr int kVirtualMemoryManagementSupported = 102;
  int value = 0;
  const int result = Find<cuda_abi::cuDeviceGetAttribute_t>("cuDeviceGetAttribute")(
      &value, kVirtualMemoryManagementSupported, 0);
  EXPECT_EQ(result, version >= 10020 ? 0 : 1);
  EXPECT_EQ(value, version >= 10020 ? 1 : 0);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  twinmmu::libcuda::library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (twinmmu::libcuda::library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  twinmmu::libcuda::version = std::atoi(argv[2]);
  return RUN_ALL_TESTS();
}
