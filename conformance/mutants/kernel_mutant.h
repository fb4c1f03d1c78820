// What mutants of kernels are made of.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_KERNEL_MUTANT_H_
#define TWINMMU_CONFORMANCE_MUTANTS_KERNEL_MUTANT_H_

#include <map>
#include <string>
#include <vector>

#include "conformance/mutants/mutant_of.h"
#include "kernels/common.h"

namespace twinmmu::conformance {

// Knows the kernels by name, and may run them with other arguments.
class KernelMutant : public Real {
 public:
  using Real::Real;
  CALL(GetKernel) override {
    const auto kernel = Real::GetKernel(module, name);
    if (kernel.ok()) names_[kernel->value()] = std::string(name);
    return kernel;
  }

 protected:
  bool Is(Kernel kernel, const std::string& name) {
    return names_[kernel.value()] == "twinmmu_" + name;
  }
  template <typename T>
  static T Argument(absl::Span<const void* const> arguments, size_t index) {
    return *static_cast<const T*>(arguments[index]);
  }
  static DeviceAddress AddressIn(absl::Span<const void* const> arguments, size_t index) {
    return DeviceAddress(Argument<uint64_t>(arguments, index));
  }
  // What a kernel leaves, or finds, as the device sees it.
  template <typename T>
  void Leave(DeviceOrdinal device, DeviceAddress address, const T& value) {
    Real::Write(device, address, &value, Bytes(sizeof(value))).IgnoreError();
  }
  template <typename T>
  T Find(DeviceOrdinal device, DeviceAddress address) {
    T value = {};
    Real::Read(device, &value, address, Bytes(sizeof(value))).IgnoreError();
    return value;
  }

 private:
  std::map<uint64_t, std::string> names_;
};

// A mutant of the launch of kernels.
#define KERNEL_MUTANT(rule_id, sentence) MUTANT_OF(KernelMutant, rule_id, Launch, sentence)
// One that gives `answer` where `condition` holds, and does not launch.
#define KERNEL_MUTANT_IF(rule_id, sentence, condition, answer) \
  KERNEL_MUTANT(rule_id, sentence) {                           \
    if (condition) return answer;                              \
    return REAL(Launch);                                       \
  }

// A cache that is looked up by address, and outlives the kernel.
class CachesLoads : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;
  CALL(Launch) override {
    const absl::Status status = Real::Launch(stream, kernel, config, arguments);
    if (!Is(kernel, "store32") && !Is(kernel, "load32")) return status;
    const uint64_t at = Argument<uint64_t>(arguments, 0);
    if (Is(kernel, "store32")) cache_[at] = Argument<uint32_t>(arguments, 1);
    if (!Is(kernel, "load32")) return status;
    const uint32_t loaded = Find<uint32_t>(stream.device(), AddressIn(arguments, 1));
    const uint32_t cached = cache_.emplace(at, loaded).first->second;
    Leave(stream.device(), AddressIn(arguments, 1), cached);
    return status;
  }

 private:
  std::map<uint64_t, uint32_t> cache_;
};

// Kernels that fill run when somebody waits.
class FillsLate : public LateWork<KernelMutant> {
 public:
  using LateWork::LateWork;
  CALL(Launch) override {
    if (!Is(kernel, "fill")) return Real::Launch(stream, kernel, config, arguments);
    const std::vector<uint64_t> values = {Argument<uint64_t>(arguments, 0),
                                          Argument<uint64_t>(arguments, 1),
                                          Argument<uint64_t>(arguments, 2)};
    return Later([=] {
      return Real::Launch(stream, kernel, config, {&values[0], &values[1], &values[2]});
    });
  }
};

// What a kernel does with access that its device lacks.
class GrantsForTheLaunch : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;

 protected:
  absl::Status LaunchWithAccess(Stream stream, Kernel kernel, const LaunchConfig& config,
                                absl::Span<const void* const> arguments) {
    const DeviceAddress at = AddressIn(arguments, 0);
    const int device = stream.device().value();
    const Access access = AccessAt(at, device);
    const AddressRange word{at, Bytes(1), Bytes(0)};
    Grant(word, Access::kReadWrite, device);
    const absl::Status status = Real::Launch(stream, kernel, config, arguments);
    Grant(word, access, device);
    return status;
  }
};

#define WITHOUT_ACCESS(Name, kernel_name)                                                  \
  class Name : public GrantsForTheLaunch {                                                 \
   public:                                                                                 \
    using GrantsForTheLaunch::GrantsForTheLaunch;                                          \
    CALL(Launch) override {                                                                \
      return Is(kernel, kernel_name) ? LaunchWithAccess(stream, kernel, config, arguments) \
                                     : Real::Launch(stream, kernel, config, arguments);    \
    }                                                                                      \
  };
WITHOUT_ACCESS(StoresWithoutAccess, "store32")
WITHOUT_ACCESS(LoadsWithoutAccess, "load32")
WITHOUT_ACCESS(AddsWithoutAccess, "atomic_add32")

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_KERNEL_MUTANT_H_
