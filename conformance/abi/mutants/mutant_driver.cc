// A driver that is as another one, but for one function. TWINMMU_MUTANT names it, as
// cuGetProcAddress does, and how it is wrong: "cuLinkComplete:nothing". TWINMMU_MUTATED_DRIVER is
// the other one.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Whatever a function takes: what is not in registers lies where these do. Numbers with a point are
// in registers of their own, wherever they stand among the others.
using Any = uintptr_t;
using Function = int(Any, Any, Any, Any, Any, Any, double, double, double, double, Any, Any, Any,
                     Any, Any, Any, Any, Any, Any, Any);

enum class Wrong {
  kNowhere,
  kNothing,  // does nothing, and says that all went well
  kBlind,    // does what it does, and says that all went well, whatever came of it
  kDenying,  // does what it does, and says that it did not
};

constexpr int kInvalidValue = 1;

Wrong HowWrong(const char* name) {
  const char* const mutant = std::getenv("TWINMMU_MUTANT");
  const size_t length = std::strlen(name);
  if (mutant == nullptr || std::strncmp(mutant, name, length) != 0) return Wrong::kNowhere;
  const char* const way = mutant + length;
  if (std::strcmp(way, ":nothing") == 0) return Wrong::kNothing;
  if (std::strcmp(way, ":denying") == 0) return Wrong::kDenying;
  return std::strcmp(way, ":blind") == 0 ? Wrong::kBlind : Wrong::kNowhere;
}

Function* Find(const char* symbol) {
  static void* const driver = dlopen(std::getenv("TWINMMU_MUTATED_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, symbol));
}

// A function of the other driver. Found when this library is loaded: a search at the first call
// would use the registers of the call's numbers with a point.
struct Mutated {
  const Wrong wrong;
  const char* const symbol;
  Function* const found;

  Function* Found() const {
    if (found != nullptr) return found;
    std::fprintf(stderr, "there is no %s in TWINMMU_MUTATED_DRIVER\n", symbol);
    std::_Exit(2);
  }
};

}  // namespace

#define TWINMMU_CUDA_EXPORT(support, name, symbol, version)                                      \
  static const Mutated mutated_##symbol = {HowWrong(#name), #symbol, Find(#symbol)};             \
  extern "C" int symbol(Any a, Any b, Any c, Any d, Any e, Any f, double q, double r, double s,  \
                        double t, Any g, Any h, Any i, Any j, Any k, Any l, Any m, Any n, Any o, \
                        Any p) {                                                                 \
    const Wrong wrong = mutated_##symbol.wrong;                                                  \
    if (wrong == Wrong::kNothing) return 0;                                                      \
    Function* const real = mutated_##symbol.Found();                                             \
    const int result = real(a, b, c, d, e, f, q, r, s, t, g, h, i, j, k, l, m, n, o, p);         \
    if (wrong == Wrong::kDenying) return kInvalidValue;                                          \
    return wrong == Wrong::kBlind ? 0 : result;                                                  \
  }
#include "third_party/cuda_abi/exports.inc"
