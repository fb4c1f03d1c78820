#include "conformance/abi/random/kernels/launch_world.h"

namespace twinmmu::abi {
namespace {

// One word each thread of a grid and blocks of any dimensions: adds `value`, or stores it.
std::string Kernel(const std::string& name, const std::string& directives, bool adds,
                   const std::string& more = "") {
  return ".visible .entry " + name + "(.param .u64 at, .param .u32 n, .param .u32 value) " +
         directives + R"( {
  .reg .u32 %r<20>;
  .reg .u64 %d<4>;
  .reg .pred %p;
)" + more +
         R"(
  ld.param.u64 %d0, [at];
  ld.param.u32 %r0, [n];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %ctaid.z;
  mov.u32 %r3, %nctaid.y;
  mov.u32 %r4, %ctaid.y;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, %nctaid.x;
  mov.u32 %r7, %ctaid.x;
  mad.lo.u32 %r5, %r5, %r6, %r7;
  mov.u32 %r8, %ntid.z;
  mov.u32 %r9, %tid.z;
  mad.lo.u32 %r5, %r5, %r8, %r9;
  mov.u32 %r10, %ntid.y;
  mov.u32 %r11, %tid.y;
  mad.lo.u32 %r5, %r5, %r10, %r11;
  mov.u32 %r12, %ntid.x;
  mov.u32 %r13, %tid.x;
  mad.lo.u32 %r5, %r5, %r12, %r13;
  setp.ge.u32 %p, %r5, %r0;
  @%p ret;
  mul.wide.u32 %d1, %r5, 4;
  add.u64 %d2, %d0, %d1;
)" + (adds ? "  ld.global.u32 %r6, [%d2];\n  add.u32 %r1, %r1, %r6;\n" : "") +
         "  st.global.u32 [%d2], %r1;\n  ret;\n}\n";
}

}  // namespace

std::string RandomKernelText(bool cluster) {
  const std::string variables =
      ".visible .global .align 4 .b8 plain[1000];\n"
      ".visible .const .align 4 .u32 constant = 7;\n"
      ".visible .global .attribute(.managed) .align 4 .u32 managed = 5;\n";
  if (cluster) {
    return ".version 8.0\n.target sm_90\n.address_size 64\n" + variables +
           Kernel("add", "", /*adds=*/true) + Kernel("fill", "", /*adds=*/false) +
           Kernel("fixed", ".reqnctapercluster 2", /*adds=*/false) +
           Kernel("explicit", ".explicitcluster", /*adds=*/true) +
           Kernel("ranked", ".maxclusterrank 4", /*adds=*/false);
  }
  return ".version 7.0\n.target sm_70\n.address_size 64\n" + variables +
         Kernel("add", "", /*adds=*/true) + Kernel("fill", "", /*adds=*/false) +
         Kernel("small", ".maxntid 64, 1, 1", /*adds=*/true) +
         Kernel("fixed", ".reqntid 32, 2, 1", /*adds=*/true) +
         Kernel("shared", "", /*adds=*/true,
                "  .shared .align 4 .b8 own[1000];\n  mov.u32 %r14, %tid.x;\n"
                "  st.shared.u32 [own], %r14;\n");
}

const char* AnyNameOfRandomKernels(ProgramWorld& world) {
  if (world.OneIn(6)) {
    return world.Of({"plain", "constant", "managed", "none", "", "Add"});
  }
  return world.Of({"add", "add", "add", "fill", "fill", "fixed", "fixed", "small", "shared",
                   "explicit", "ranked"});
}

bool FindAnyKernel(ProgramWorld& world, AnyKernel* found, size_t one_in) {
  const bool of_library =
      !world.kernels.empty() && (world.functions.empty() || world.OneIn(one_in));
  if (of_library) {
    const auto& kernel = world.One(world.kernels);
    *found = {reinterpret_cast<CUfunction>(kernel.handle), kernel.name};
    return true;
  }
  if (world.functions.empty()) return false;
  const auto& function = world.One(world.functions);
  *found = {function.handle, function.name};
  return true;
}

CUstream StreamFor(ProgramWorld& world, std::string* name) {
  if (world.OneIn(6)) {
    const bool legacy = world.OneIn(2);
    *name = legacy ? "legacy" : "per thread";
    return legacy ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
  }
  const CUstream stream = world.AnyStream();
  *name = world.streams.NameOf(stream);
  return stream;
}

}  // namespace twinmmu::abi
