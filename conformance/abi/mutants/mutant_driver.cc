// A driver that is as another one, but for one function. TWINMMU_MUTANT names it, as
// cuGetProcAddress does, and how it is wrong: "cuLinkComplete:nothing". TWINMMU_MUTATED_DRIVER is
// the other one.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// Whatever a function takes: what is not in registers lies where these do.
using Any = uintptr_t;
using Function = int(Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any,
                     Any);

enum class Wrong {
  kNowhere,
  kNothing,  // does nothing, and says that all went well
  kBlind,    // does what it does, and says that all went well, whatever came of it
  kDenying,  // does what it does, and says that it did not
};

constexpr int kInvalidValue = 1;

Wrong HowWrong(const char* name) {
  const char* const mutant = std::getenv("TWINMMU_MUTANT");
  if (mutant == nullptr) return Wrong::kNowhere;
  if (std::string(name) + ":nothing" == mutant) return Wrong::kNothing;
  if (std::string(name) + ":denying" == mutant) return Wrong::kDenying;
  return std::string(name) + ":blind" == mutant ? Wrong::kBlind : Wrong::kNowhere;
}

Function* Find(const char* symbol) {
  static void* const driver = dlopen(std::getenv("TWINMMU_MUTATED_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  void* const found = driver == nullptr ? nullptr : dlsym(driver, symbol);
  if (found != nullptr) return reinterpret_cast<Function*>(found);
  std::fprintf(stderr, "there is no %s in TWINMMU_MUTATED_DRIVER\n", symbol);
  std::_Exit(2);
}

}  // namespace

#define TWINMMU_CUDA_EXPORT(support, name, symbol, version)                                   \
  extern "C" int symbol(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i, Any j, \
                        Any k, Any l, Any m, Any n, Any o, Any p) {                           \
    static const Wrong wrong = HowWrong(#name);                                               \
    if (wrong == Wrong::kNothing) return 0;                                                   \
    static Function* const real = Find(#symbol);                                              \
    const int result = real(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);                  \
    if (wrong == Wrong::kDenying) return kInvalidValue;                                       \
    return wrong == Wrong::kBlind ? 0 : result;                                               \
  }
#include "third_party/cuda_abi/exports.inc"
