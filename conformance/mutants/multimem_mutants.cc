// Mutants of kernels on multicast addresses.

#include "conformance/mutants/framework/ptx_mutant.h"

namespace twinmmu::conformance {

PTX_MUTANT(MM_1, "multimem.st.weak.global.u32 [*], *;", "", "A multimem store is lost.")
PTX_MUTANT(MM_1, "multimem.st.weak.global.u32 [*], *;",
           "multimem.red.relaxed.sys.global.add.u32 [$0+4], $1;",
           "A multimem store goes to the word behind.")
PTX_MUTANT(MM_1, "multimem.st.relaxed.sys.global.v2.f32 [*], {*, *};",
           "multimem.st.relaxed.sys.global.f32 [$0], $1;",
           "A multimem store of a vector stores its first element.")
PTX_MUTANT(MM_2, "multimem.ld_reduce.weak.global.add.u32 *, [*];",
           "multimem.ld_reduce.weak.global.max.u32 $0, [$1];", "A sum over devices is one's word.")
PTX_MUTANT(MM_2, "multimem.ld_reduce.weak.global.min.s32 *, [*];",
           "multimem.ld_reduce.weak.global.min.u32 $0, [$1];",
           "The minimum over devices forgets the sign.")
PTX_MUTANT(MM_2, "multimem.ld_reduce.weak.global.and.b32 *, [*];",
           "multimem.ld_reduce.weak.global.or.b32 $0, [$1];",
           "The bits of all devices are those of any.")
PTX_MUTANT(MM_3, "multimem.red.relaxed.sys.global.add.u32 [*], *;",
           "multimem.st.weak.global.u32 [$0], 25;",
           "A sum is made once, and stored on every device.")
PTX_MUTANT(MM_3, "multimem.red.relaxed.sys.global.min.u32 [*], *;",
           "multimem.red.relaxed.sys.global.max.u32 [$0], $1;", "A minimum is a maximum.")
PTX_MUTANT(MM_4, "multimem.ld_reduce.weak.global.add.f16x2 *, [*];",
           "multimem.ld_reduce.weak.global.add.bf16x2 $0, [$1];", "f16 is taken for bf16.")
PTX_MUTANT(MM_4, "multimem.red.relaxed.sys.global.add.v2.f32 [*], {*, *};",
           "multimem.red.relaxed.sys.global.add.v2.f32 [$0], {$1, $1};",
           "All elements of a vector get the first one.")
PTX_MUTANT(MM_5, "multimem.red.release.sys.global.add.u32 [*], *;", "",
           "Another device never sees the flag.")
PTX_MUTANT(MM_5, "multimem.st.weak.global.u32 [*], *;", "",
           "Another device sees the flag and not the data.")
PTX_MUTANT(MM_6, "multimem.st.weak.global.u32 [*], *;", "",
           "A multimem store is not there for the own address.")
PTX_MUTANT(MM_6, "multimem.ld_reduce.weak.global.add.u32 *, [*];",
           "multimem.ld_reduce.weak.global.min.u32 $0, [$1];",
           "A multimem load sees what was stored before.")
PTX_MUTANT(MM_7, "multimem.st.weak.global.u32 [*], *;", "",
           "A multimem store of another device is lost.")
PTX_MUTANT(MM_8, "st.global.u32 [*], *;", "", "A plain store at a multicast address is lost.")
PTX_MUTANT(MM_8, "st.global.v2.u32 [*], {*, *};", "st.global.u32 [$0], $1;",
           "A plain store of a vector stores its first element.")
PTX_MUTANT(MM_8, "st.global.u32 [*], *;", "st.global.u32 [%rd2], $1;",
           "A plain store at a multicast address reaches the own memory only.")

}  // namespace twinmmu::conformance
