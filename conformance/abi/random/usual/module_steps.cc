// Modules, their functions and variables, and launches.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

// add(at, n, value): adds to each of n words.
constexpr char kPtx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .b8 variable[1000];
.visible .entry add(.param .u64 at, .param .u32 n, .param .u32 value) {
  .reg .u32 %r<8>;
  .reg .u64 %d<4>;
  .reg .pred %p;
  .shared .align 4 .b8 unused[64];
  ld.param.u64 %d0, [at];
  ld.param.u32 %r0, [n];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r0;
  @%p ret;
  mul.wide.u32 %d1, %r5, 4;
  add.u64 %d2, %d0, %d1;
  ld.global.u32 %r6, [%d2];
  add.u32 %r7, %r6, %r1;
  st.global.u32 [%d2], %r7;
  ret;
}
)";

inline constexpr Function<CUresult(CUdeviceptr*, size_t*, CUmodule, const char*)> get_global(
    "cuModuleGetGlobal_v2");
inline constexpr Function<CUresult(int*, int, CUfunction)> get_function_attribute(
    "cuFuncGetAttribute");
inline constexpr Function<CUresult(CUfunction, int, int)> set_function_attribute(
    "cuFuncSetAttribute");

void Load(ProgramWorld& world) {
  if (world.modules.size() > 2) return;
  const bool right = !world.OneIn(4);
  CUmodule module = nullptr;
  if (world.Say(cuModuleLoadData(&module, right ? kPtx : "this is no PTX"), "cuModuleLoadData",
                right)) {
    world.Gave(world.modules.Add(module));
  }
}

void Unload(ProgramWorld& world) {
  if (world.modules.empty()) return;
  const auto module = world.One(world.modules);
  if (world.Say(cuModuleUnload(module.handle), "cuModuleUnload", module.name)) {
    world.modules.Remove(module.name);
  }
}

CUfunction Add(const RandomObject<CUmodule>& module) {
  CUfunction function = nullptr;
  cuModuleGetFunction(&function, module.handle, "add");
  return function;
}

void Ask(ProgramWorld& world) {
  if (world.modules.empty()) return;
  const auto& module = world.One(world.modules);
  const char* const name = world.Of({"add", "variable", "none", ""});
  CUfunction function = nullptr;
  CUdeviceptr address = 0;
  size_t size = 0;
  int value = 0;
  switch (world.Below(4)) {
    case 0:
      world.Say(cuModuleGetFunction(&function, module.handle, name), "cuModuleGetFunction",
                module.name, name);
      return;
    case 1:
      if (world.Say(get_global(&address, &size, module.handle, name), "cuModuleGetGlobal",
                    module.name, name)) {
        world.Gave(size);
      }
      return;
    case 2: {
      // Not how many registers, which is the compiler's business.
      const int attribute = world.Of({0, 1, 2, 3, 5, 8, 9, 99});
      if (world.Say(get_function_attribute(&value, attribute, Add(module)), "cuFuncGetAttribute",
                    module.name, attribute)) {
        world.Gave(attribute == 0 || attribute == 5 ? -1 : value);
      }
      return;
    }
    default: {
      const int attribute = world.Of({8, 8, 9, 0, 3, 99});
      value = world.Of({0, 1024, 48 << 10, 100 << 10, 1 << 20, -1});
      world.Say(set_function_attribute(Add(module), attribute, value), "cuFuncSetAttribute",
                module.name, attribute, value);
    }
  }
}

void Launch(ProgramWorld& world) {
  if (world.modules.empty() || world.blocks.empty()) return;
  const auto& module = world.One(world.modules);
  RandomBlock part = world.Part();
  part.base = part.base / 4 * 4;
  unsigned count = static_cast<unsigned>(part.size / 4);
  unsigned value = static_cast<unsigned>(world.Below(1000));
  const unsigned grid = world.Of({1u, 4u, 64u, 0u});
  const unsigned block = world.Of({32u, 128u, 1024u, 0u, 1025u});
  const unsigned depth = world.Of({1u, 1u, 1u, 65u});
  const unsigned shared = world.Of({0u, 0u, 1024u, 40u << 10, 64u << 10});
  const CUstream stream = world.AnyStream();
  void* arguments[] = {&part.base, &count, &value};
  world.Say(
      cuLaunchKernel(Add(module), grid, 1, 1, block, 1, depth, shared, stream, arguments, nullptr),
      "cuLaunchKernel", module.name, grid, block, depth, shared, world.streams.NameOf(stream),
      part.name, count, value);
}

}  // namespace

RandomSteps ModuleSteps() { return {{4, Load}, {1, Unload}, {10, Ask}, {10, Launch}}; }

}  // namespace twinmmu::abi
