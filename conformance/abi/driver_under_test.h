// The driver under test: its functions, under their own names, so that a test reads as a program.
//
//   CUdeviceptr address = 0;
//   EXPECT_EQ(cuMemAlloc(&address, 100), CUDA_SUCCESS);

#ifndef TWINMMU_CONFORMANCE_ABI_DRIVER_UNDER_TEST_H_
#define TWINMMU_CONFORMANCE_ABI_DRIVER_UNDER_TEST_H_

#include <ostream>
#include <string>

#include "third_party/cuda_abi/include/cuda.h"

// Who calls a function by a type made here has another view of its parameters than who defined it:
// the names of types differ, and any number must be able to pass as an enumerator.
#if defined(__clang__)
#define TWINMMU_ANY_TYPES __attribute__((no_sanitize("undefined")))
#else
#define TWINMMU_ANY_TYPES
#endif

// For GoogleTest's messages.
void PrintTo(CUresult result, std::ostream* out);

namespace twinmmu::abi {

// Which library is tested: a path, or a name to look for. Before any other function here.
void SetDriver(const std::string& library);
const std::string& DriverName();

// Opens the library, unless it is. Ends the process if it cannot be opened.
void* OpenedDriver();
// Closes the library: the next call opens it again.
void CloseDriver();

// Null: the library does not export it.
void* FindSymbol(const char* symbol);

// Says in the test that a symbol is missing.
CUresult MissingSymbol(const char* symbol);

// A function of the driver by the name of its symbol.
template <typename Signature>
class Function;

template <typename... Parameters>
class Function<CUresult(Parameters...)> {
 public:
  constexpr explicit Function(const char* symbol) : symbol_(symbol) {}

  TWINMMU_ANY_TYPES CUresult operator()(Parameters... parameters) const {
    void* const found = FindSymbol(symbol_);
    if (found == nullptr) return MissingSymbol(symbol_);
    return reinterpret_cast<CUresult (*)(Parameters...)>(found)(parameters...);
  }

  const char* symbol() const { return symbol_; }

 private:
  const char* symbol_;
};

// Those of cuda.h. A plain name is a macro there, and the symbol is what it means.
#define TWINMMU_TEXT(name) #name
#define TWINMMU_EXPANDED_TEXT(name) TWINMMU_TEXT(name)
#define TWINMMU_VALUE(name) static_assert(true)
#define TWINMMU_TYPE(name) static_assert(true)
#define TWINMMU_FUNCTION(name) \
  inline constexpr Function<decltype(::name)> name(TWINMMU_EXPANDED_TEXT(name))
#include "third_party/cuda_abi/cuda_header_names.inc"
#undef TWINMMU_VALUE
#undef TWINMMU_TYPE
#undef TWINMMU_FUNCTION

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_DRIVER_UNDER_TEST_H_
