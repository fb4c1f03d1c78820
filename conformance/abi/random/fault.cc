#include "conformance/abi/random/fault.h"

namespace twinmmu::abi {
namespace {

constexpr char kFaults[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry stop() { trap; }
.visible .entry nowhere() {
  .reg .u64 %a;
  mov.u64 %a, 64;
  st.global.u32 [%a], 1;
  ret;
}
)";

}  // namespace

void Fault(ProgramWorld& world) {
  const char* const name = world.OneIn(2) ? "stop" : "nowhere";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  cuModuleLoadData(&module, kFaults);
  cuModuleGetFunction(&function, module, name);
  world.Say(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            "cuLaunchKernel", name);
  world.Say(cuCtxSynchronize(), "cuCtxSynchronize");
}

}  // namespace twinmmu::abi
