// Loops over lanes as vectors of the host's processor, as wide as it has them.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_HOST_VECTORS_H_
#define TWINMMU_SIM_PTX_OPERATIONS_HOST_VECTORS_H_

#include <cstdint>

namespace twinmmu::ptx {

enum class HostVectors : uint8_t {
  kBasic,   // what every processor of its kind has
  kAvx2,    // of 32 bytes; fma
  kAvx512,  // of 64 bytes
};

// What the processor has that this runs on.
inline HostVectors VectorsOfHost() {
#ifdef __x86_64__
  static const HostVectors vectors = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                      __builtin_cpu_supports("bmi2") != 0;
    const bool avx512 =
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512cd") != 0;
    return !avx2 ? HostVectors::kBasic : avx512 ? HostVectors::kAvx512 : HostVectors::kAvx2;
  }();
  return vectors;
#else
  return HostVectors::kBasic;
#endif
}

// kFunction, with all that is inline in it, compiled for each of them.
template <auto kFunction, typename Signature = decltype(kFunction)>
struct Compiled;
template <auto kFunction, typename Result, typename... Parameter>
struct Compiled<kFunction, Result (*)(Parameter...)> {
#ifdef __x86_64__
  [[gnu::target("avx2,fma,bmi2"), gnu::flatten]] static Result Avx2(Parameter... parameters) {
    return kFunction(parameters...);
  }
  [[gnu::target("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd"),
    gnu::flatten]] static Result
  Avx512(Parameter... parameters) {
    return kFunction(parameters...);
  }
#endif
};

// The one of them that is for this host. It computes what kFunction does, if that is compiled with
// -ffp-contract=off.
template <auto kFunction>
auto ForHost() -> decltype(kFunction) {
#ifdef __x86_64__
  if (VectorsOfHost() == HostVectors::kAvx512) return Compiled<kFunction>::Avx512;
  if (VectorsOfHost() == HostVectors::kAvx2) return Compiled<kFunction>::Avx2;
#endif
  return kFunction;
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_HOST_VECTORS_H_
