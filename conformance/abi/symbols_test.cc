// What the library exports, and what is found by name.

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/elf_file.h"

namespace twinmmu::abi {
namespace {

struct Export {
  const char* name;
  const char* symbol;
  int version;
};

constexpr Export kExports[] = {
#define TWINMMU_CUDA_EXPORT(support, name, symbol, version) {#name, #symbol, version},
#include "third_party/cuda_abi/exports.inc"
};

TEST(SymbolsTest, AllOfItsVersionAreExported) {
  for (const Export& expected : kExports) {
    if (expected.version > DriverVersion()) continue;
    EXPECT_NE(FindSymbol(expected.symbol), nullptr) << expected.symbol;
  }
}

TEST(SymbolsTest, OnlyFunctionsOfTheDriverAreExported) {
  const ElfFile library = ElfFile::OfLoaded(FindSymbol("cuInit"));
  const auto of_its_version =
      std::count_if(std::begin(kExports), std::end(kExports),
                    [](const Export& e) { return e.version <= DriverVersion(); });
  EXPECT_GE(library.defined_symbols().size(), static_cast<size_t>(of_its_version));
  for (const std::string& symbol : library.defined_symbols()) {
    // By which our CUDA runtime reports to the simulated driver, and our NVML asks it.
    if (symbol == "twinmmuCaller" || symbol == "twinmmuWarn") continue;
    if (symbol == "twinmmuContext" || symbol == "twinmmuDeviceInUse") continue;
    EXPECT_EQ(symbol.substr(0, 2), "cu") << symbol;
  }
}

TEST(SymbolsTest, LibraryHasTheNameThatProgramsAskFor) {
  EXPECT_EQ(ElfFile::OfLoaded(FindSymbol("cuInit")).name(), "libcuda.so.1");
}

TEST(SymbolsTest, LibraryNeedsNoMoreThanTheCLibrary) {
  const ElfFile library = ElfFile::OfLoaded(FindSymbol("cuInit"));
  for (const std::string& needed : library.needed()) {
    bool of_c = needed.rfind("ld-linux", 0) == 0;
    for (const char* const part : {"libc.", "libm.", "libdl.", "libpthread.", "librt."}) {
      of_c = of_c || needed.rfind(part, 0) == 0;
    }
    EXPECT_TRUE(of_c) << needed;
  }
}

// --- cuGetProcAddress ----------------------------------------------------------------------------

constexpr uint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
constexpr auto kFound = CU_GET_PROC_ADDRESS_SUCCESS;
constexpr auto kUnknownName = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
constexpr auto kTooNew = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;

struct Lookup {
  const char* name;
  int version;
  uint64_t flags;
  CUdriverProcAddressQueryResult found;
  const char* symbol = nullptr;  // that is found
};

void PrintTo(const Lookup& lookup, std::ostream* out) {
  *out << lookup.name << " of version " << lookup.version << ", flags " << lookup.flags;
}

class LookupTest : public testing::TestWithParam<Lookup> {};

TEST_P(LookupTest, FindsTheFormOfTheVersion) {
  const Lookup& lookup = GetParam();
  void* const expected = lookup.symbol != nullptr ? FindSymbol(lookup.symbol) : nullptr;
  void* function = reinterpret_cast<void*>(7);
  auto found = static_cast<CUdriverProcAddressQueryResult>(3);
  EXPECT_EQ(cuGetProcAddress(lookup.name, &function, lookup.version, lookup.flags, &found),
            CUDA_SUCCESS);
  EXPECT_EQ(found, lookup.found);
  EXPECT_EQ(function, expected);
}

// The first form fails for what is not there, and writes nothing.
TEST_P(LookupTest, FirstFormFindsTheSame) {
  const Lookup& lookup = GetParam();
  const Function<CUresult(const char*, void**, int, cuuint64_t)> first_form("cuGetProcAddress");
  void* const before = reinterpret_cast<void*>(7);
  void* function = before;
  EXPECT_EQ(first_form(lookup.name, &function, lookup.version, lookup.flags),
            lookup.found == kFound ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, lookup.symbol != nullptr ? FindSymbol(lookup.symbol) : before);
}

INSTANTIATE_TEST_SUITE_P(
    SymbolsTest, LookupTest,
    testing::Values(
        Lookup{"cuMemMap", 10010, 0, kTooNew}, Lookup{"cuMemMap", 10020, 0, kFound, "cuMemMap"},
        Lookup{"cuMemMap", 12000, 0, kFound, "cuMemMap"}, Lookup{"cuMemMap", 0, 0, kTooNew},
        Lookup{"cuMemMap", -1, 0, kFound, "cuMemMap"}, Lookup{"cumemmap", 12000, 0, kUnknownName},
        Lookup{"cuInit", 1000, 0, kTooNew}, Lookup{"cuNope", 12000, 0, kUnknownName},
        Lookup{"", 12000, 0, kUnknownName}, Lookup{"cudaMalloc", 12000, 0, kUnknownName},
        Lookup{"cuMemAlloc", 2000, 0, kFound, "cuMemAlloc"},
        Lookup{"cuMemAlloc", 3010, 0, kFound, "cuMemAlloc"},
        Lookup{"cuMemAlloc", 12000, 0, kFound, "cuMemAlloc_v2"},
        Lookup{"cuMemAlloc", 12000, kPerThread, kFound, "cuMemAlloc_v2"},
        Lookup{"cuMemAlloc_v2", 12000, 0, kUnknownName},
        Lookup{"cuMemAlloc_v2", 2000, 0, kUnknownName},
        Lookup{"cuMemGetInfo", 12000, 0, kFound, "cuMemGetInfo_v2"},
        Lookup{"cuMemRetainAllocationHandle", 10020, 0, kTooNew},
        Lookup{"cuMemRetainAllocationHandle", 11000, 0, kFound, "cuMemRetainAllocationHandle"},
        Lookup{"cuMulticastCreate", 12000, 0, kTooNew},
        Lookup{"cuMulticastCreate", 12010, 0, kFound, "cuMulticastCreate"}));

INSTANTIATE_TEST_SUITE_P(
    FormsTest, LookupTest,
    testing::Values(
        Lookup{"cuCtxCreate", 3010, 0, kFound, "cuCtxCreate"},
        Lookup{"cuCtxCreate", 3020, 0, kFound, "cuCtxCreate_v2"},
        Lookup{"cuCtxCreate", 11040, 0, kFound, "cuCtxCreate_v3"},
        Lookup{"cuCtxCreate", 12040, 0, kFound, "cuCtxCreate_v3"},
        Lookup{"cuCtxCreate", 12050, 0, kFound, "cuCtxCreate_v4"},
        Lookup{"cuCtxCreate_v3", 13000, 0, kUnknownName},
        Lookup{"cuGetProcAddress", 11020, 0, kTooNew},
        Lookup{"cuGetProcAddress", 11030, 0, kFound, "cuGetProcAddress"},
        Lookup{"cuGetProcAddress", 12000, 0, kFound, "cuGetProcAddress_v2"},
        Lookup{"cuGetProcAddress_v2", 12000, 0, kUnknownName},
        Lookup{"cuDevicePrimaryCtxRelease", 7000, 0, kFound, "cuDevicePrimaryCtxRelease"},
        Lookup{"cuDevicePrimaryCtxRelease", 11000, 0, kFound, "cuDevicePrimaryCtxRelease_v2"},
        Lookup{"cuEventElapsedTime", 12000, 0, kFound, "cuEventElapsedTime"},
        Lookup{"cuEventElapsedTime", 13000, 0, kFound, "cuEventElapsedTime_v2"},
        Lookup{"cuMemcpyHtoDAsync", 12000, 0, kFound, "cuMemcpyHtoDAsync_v2"},
        Lookup{"cuMemcpyHtoDAsync", 12000, 1, kFound, "cuMemcpyHtoDAsync_v2"},
        Lookup{"cuMemcpyHtoDAsync", 12000, kPerThread, kFound, "cuMemcpyHtoDAsync_v2_ptsz"},
        Lookup{"cuMemcpyHtoDAsync", 12000, 3, kFound, "cuMemcpyHtoDAsync_v2_ptsz"},
        Lookup{"cuMemcpyHtoDAsync", 6050, kPerThread, kTooNew},
        Lookup{"cuMemcpyHtoDAsync_v2", 12000, kPerThread, kUnknownName},
        Lookup{"cuMemcpyHtoDAsync_v2_ptsz", 12000, 0, kUnknownName},
        Lookup{"cuMemcpyHtoDAsync_ptsz", 12000, 0, kUnknownName}));

void ExpectRefused(int version, uint64_t flags) {
  const Function<CUresult(const char*, void**, int, cuuint64_t)> first_form("cuGetProcAddress");
  void* const before = reinterpret_cast<void*>(7);
  const auto found_before = static_cast<CUdriverProcAddressQueryResult>(3);
  void* function = before;
  auto found = found_before;
  EXPECT_EQ(cuGetProcAddress("cuMemMap", &function, version, flags, &found),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(first_form("cuMemMap", &function, version, flags), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(function, before);
  EXPECT_EQ(found, found_before);
}

TEST(SymbolsTest, VersionsAboveTheDriversAreRefused) {
  ExpectRefused(DriverVersion() + 1, 0);
  ExpectRefused(99000, 0);
}

TEST(SymbolsTest, UnknownFlagsAreRefused) { ExpectRefused(12000, 4); }

TEST(SymbolsTest, NobodyNeedsToAskWhyNothingWasFound) {
  void* function = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuInit", &function, 12000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(function, FindSymbol("cuInit"));
}

// --- Tables that only the genuine driver has -----------------------------------------------------

TEST(SymbolsTest, UnknownExportTablesAreNotFound) {
  const void* table = reinterpret_cast<const void*>(7);
  const CUuuid id = {};
  EXPECT_EQ(cuGetExportTable(&table, &id),
            TraitsOf().has_export_tables ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(table, nullptr);
  EXPECT_EQ(cuGetExportTable(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
