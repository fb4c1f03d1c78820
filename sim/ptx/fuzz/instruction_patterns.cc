#include "sim/ptx/fuzz/instruction_patterns.h"

namespace twinmmu::ptx {
namespace {

constexpr absl::string_view kPatterns[] = {
    // Numbers.
    "<add|sub|mul.lo|min|max|div|rem>.<u32|s32> $r, $r, $r;",
    "<add|sub|mul.lo|mul.hi|min|max|div|rem>.<u64|s64> $d, $d, $d;",
    "<add|sub|mul.lo|min|max|div|rem>.<u16|s16> $h, $h, $h;",
    "<mul.wide.<u32|s32> $d, $r, $r|mad.wide.<u32|s32> $d, $r, $r, $d>;",
    "mad.<lo|hi>.<u32|s32> $r, $r, $r, $r;",
    "<mul24.<lo|hi>.<u32|s32> $r, $r, $r|mad24.<lo|hi>.<u32|s32> $r, $r, $r, $r>;",
    "sad.<u32|s32> $r, $r, $r, $r;",
    "<<add|sub>.cc.<u32|s32> $r, $r, $r|mad.<lo|hi>.cc.<u32|s32> $r, $r, $r, $r>;",
    "<addc|subc>.u32 $r, $r, $r;",
    "madc.<lo|hi>.u32 $r, $r, $r, $r;",
    "<abs|neg>.<s32|f32|ftz.f32> $r, $r;",
    "<abs|neg>.<s64|f64> $d, $d;",
    "<popc|clz|brev>.b32 $r, $r;",
    "<popc|clz>.b64 $r, $d;",
    "<bfind|bfind.shiftamt>.<u32|s32> $r, $r;",
    "bfe.<u32|s32> $r, $r, $r, $r;",
    "bfi.b32 $r, $r, $r, $r, $r;",
    "bfi.b64 $d, $d, $d, $r, $r;",
    "fns.b32 $r, $r, $r, $r;",
    "<szext.<clamp|wrap>.<u32|s32>|bmsk.<clamp|wrap>.b32> $r, $r, $r;",
    "<and|or|xor>.b32 $r, $r, $r;",
    "<not|cnot>.b32 $r, $r;",
    "lop3.b32 $r, $r, $r, $r, $n;",
    "<shl.b32|shr.u32|shr.s32> $r, $r, $r;",
    "<shl.b64|shr.u64|shr.s64> $d, $d, $r;",
    "shf.<l|r>.<wrap|clamp>.b32 $r, $r, $r, $r;",
    "prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16> $r, $r, $r, $r;",
    "dp4a.<u32|s32>.<u32|s32> $r, $r, $r, $r;",
    "dp2a.<lo|hi>.<u32|s32>.<u32|s32> $r, $r, $r, $r;",
    "<add|sub|mul>.<rn|rz|rm|rp>.<|ftz.><|sat.>f32 $r, $r, $r;",
    "<add|sub|mul|div>.rn.f64 $d, $d, $d;",
    "<add|mul>.f32 $r, $r, $r;",
    "fma.<rn|rz|rm|rp>.<|ftz.>f32 $r, $r, $r, $r;",
    "fma.rn.f64 $d, $d, $d, $d;",
    "fma.rn<<|.ftz><|.sat|.relu>.f16x2|<|.relu>.bf16x2> $r, $r, $r, $r;",
    "<add|sub|mul>.<|rn.><f16x2|bf16x2> $r, $r, $r;",
    "<min|max><|.NaN><|.xorsign.abs>.<f32|f16x2|bf16x2> $r, $r, $r;",
    "div.<approx|full|rn>.f32 $r, $r, $r;",
    "<rcp|sqrt>.<approx|rn>.<|ftz.>f32 $r, $r;",
    "<<sin|cos|lg2|ex2|rsqrt>.approx.<|ftz.>f32|tanh.approx.f32> $r, $r;",
    "<ex2.approx.<f16x2|ftz.bf16x2>|tanh.approx.<f16x2|bf16x2>> $r, $r;",
    "copysign.f32 $r, $r, $r;",
    "testp.<finite|infinite|number|notanumber|normal|subnormal>.f32 $p, $r;",
    "setp.<<eq|ne|lt|le|gt|ge>.<u32|s32>|<lo|hi|ls|hs>.u32> $p, $r, $r;",
    "setp.<equ|num|nan|ltu>.f32 $p, $r, $r;",
    "setp.<eq|lt>.<and|or|xor>.<s32|f32> $p|$p, $r, $r, $p;",
    "set.<eq|lt>.<u32|f32>.<s32|f32> $r, $r, $r;",
    "selp.b32 $r, $r, $r, $p;",
    "slct.<u32|f32>.<s32|f32> $r, $r, $r, $r;",
    "cvt.<rni|rzi|rmi|rpi>.<|ftz.><s32|u32>.f32 $r, $r;",
    "cvt.<rn|rz>.f32.<s32|u32> $r, $r;",
    "cvt.<|sat.><u8|s8|u16|s16>.<u32|s32> $r, $r;",
    "cvt.<u64.u32|s64.s32> $d, $r;",
    "cvt.rn.<f16x2|bf16x2><|.relu>.f32 $r, $r, $r;",
    "cvt.rn.satfinite.<e4m3x2|e5m2x2>.f32 $h, $r, $r;",
    "cvt.rn.f16x2.<e4m3x2|e5m2x2> $r, $h;",
    "cvt.<rna|rn>.tf32.f32 $r, $r;",
    "cvt.pack.sat.<u8|s8>.s32.b32 $r, $r, $r, $r;",
    "mov.b64 $d, $R2;",
    "mov.b64 $R2, $d;",
    "mov.b32 $r, $H2;",
    "mov.b128 $q, $D2;",
    "mov.b128 $D2, $q;",
    "mov.u32 $r, <%tid.x|%laneid|%warpid|%ctaid.x|%clock|%lanemask_lt|%smid|%cluster_ctarank|"
    "%cluster_nctarank|%is_explicit_cluster|%total_smem_size|%dynamic_smem_size|$i>;",
    "mov.u64 $d, <%clock64|%globaltimer|%gridid|$i>;",
    // Video.
    "<vadd|vsub|vabsdiff|vmin|vmax>.<u32|s32>.<u32|s32>.<u32|s32><|.sat> $r, $r<|.b1|.h0>, $r;",
    "<vadd|vsub|vmin|vmax>.s32.s32.s32.<add|min|max> $r, $r.b2, $r.h1, $r;",
    "<vshl|vshr>.u32.u32.u32.<clamp|wrap> $r, $r, $r;",
    "vmad.s32.s32.s32<|.shr7|.shr15> $r, $r, $r, $r;",
    "vset.<u32|s32>.<u32|s32>.<eq|lt> $r, $r, $r;",
    "<vadd|vsub|vavrg|vabsdiff|vmin|vmax><2|4>.<u32|s32>.<u32|s32>.<u32|s32><|.add> $r, $r, $r, "
    "$r;",
    "vset<2|4>.<u32|s32>.<u32|s32>.<eq|lt> $r, $r, $r, $r;",
    // Memory.
    "ld.global<|.ca|.cg|.nc|.volatile|.relaxed.gpu|.acquire.sys|.L1::no_allocate>.<u32|s8|u16> $r, "
    "[$g];",
    "ld.global.v4.b32 $R4, [$g];",
    "ld.global.<b128 $q|v2.b64 $D2|nc.v2.u64 $D2>, [$g];",
    "st.<|volatile.|relaxed.cta.|release.gpu.>global<|.wb|.cs>.<u32|u8> [$g], $r;",
    "st.global.v4.b32 [$g], $R4;",
    "st.global.<b128 [$g], $q|v2.b64 [$g], $D2>;",
    "<ld|ldu>.u32 $r, [$g];",
    "st.u32 [$g], $r;",
    "ld.<|volatile.|acquire.cta.>shared<|::cta>.<u32|u16> $r, [$s];",
    "ld.shared.v4.b32 $R4, [$s];",
    "st.<|release.cta.>shared<|::cta>.u32 [$s], $r;",
    "st.local.b32 [$l], $r;",
    "ld.local.b32 $r, [$l];",
    "st.local.v2.b64 [$l], $D2;",
    "ld.const.u32 $r, [constants+4];",
    "ld.param.u32 $r, [other];",
    "ld.shared::cluster.u32 $r, [$c];",
    "st.shared::cluster.u32 [$c], $r;",
    "atom.<<global.<add|min|max|inc>.u32 $r, [$g]|shared.<add|min|max>.s32 $r, "
    "[$s]>|<global.<exch|and|or|xor>.b32 $r, [$g]|shared.<exch|and|or|xor>.b32 $r, [$s]>>, $r;",
    "atom.global<|.relaxed|.acquire|.release|.acq_rel><|.cta|.gpu|.sys|.cluster>.add.u32 $r, [$g], "
    "$r;",
    "atom.global.add.<f32|noftz.f16x2|noftz.bf16x2> $r, [$g], $r;",
    "atom.global.<add.u64|add.f64|exch.b64|max.s64> $d, [$g], $d;",
    "atom.<global.cas.b32 $r, [$g]|shared.cas.b32 $r, [$s]>, $r, $r;",
    "atom.global.<cas.b128 $q, [$g], $q, $q|exch.b128 $q, [$g], $q>;",
    "atom.shared::cluster.add.u32 $r, [$c], $r;",
    "red.<global.<add|min|max>.<u32|s32> [$g]|shared.<and|or|xor>.b32 [$s]>, $r;",
    "red.shared::cluster.<add|max>.u32 [$c], $r;",
    "atom.global.add.<v2.f32 $R2, [$g], $R2|v4.f32 $R4, [$g], $R4>;",
    "red.global.<add|min|max>.noftz.<v2.<f16x2|bf16x2> [$g], $R2|v4.<f16x2|bf16x2> [$g], $R4>;",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.<<add|min|inc>.u32|max."
    "s32|or.b32> [$c], $r, [$o];",
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.<b32 [$c], $r|v2.b32 [$c], $R2|"
    "v4.b32 [$c], $R4>, [$o];",
    "prefetch.global.<L1|L2> [$g];",
    "prefetchu.L1 [$g];",
    "<applypriority.global.L2::evict_normal|discard.global.L2> [$g], 128;",
    "createpolicy.fractional.L2::evict_<last|first|unchanged>.b64 $d, 0.5;",
    "createpolicy.range.L2::evict_last.b64 $d, [$g], 128, 256;",
    "cvta.<shared|local|global>.u64 $d, $d;",
    "cvta.to.<shared|local|global>.u64 $d, $d;",
    "isspacep.<shared|local|global|const|shared::cluster|shared::cta> $p, $d;",
    "stacksave.u64 %rdk; alloca.u64 $d, 64; stackrestore.u64 %rdk;",
    "multimem.<ld_reduce.global.add.u32 $r, [$g]|st.global.u32 [$g], $r|red.global.add.u32 [$g], "
    "$r>;",
    // Together.
    "bar.sync <0|1|15>;",
    "bar.<sync|arrive> <0|1>, <32|64>;",
    "barrier.cta.<sync|arrive>.aligned 2, 64;",
    "<bar|barrier.cta>.red.<popc.u32 $r, 0, $p|and.pred $p, 0, $p|or.pred $p, 0, !$p>;",
    "bar.warp.sync $k;",
    "vote.sync.<ballot.b32 $r|all.pred $p|any.pred $p|uni.pred $p>, $p, $k;",
    "match.any.sync.<b32 $r, $r|b64 $r, $d>, $k;",
    "match.all.sync.b32 $r|$p, $r, $k;",
    "shfl.sync.<up|down|bfly|idx>.b32 $r|$p, $r, $r, <31|0x1c1f|$r>, $k;",
    "redux.sync.<add|min|max>.<u32|s32> $r, $r, $k;",
    "redux.sync.<and|or|xor>.b32 $r, $r, $k;",
    "elect.sync $r|$p, $k;",
    "activemask.b32 $r;",
    "<membar.<gl|cta|sys>|fence.<sc|acq_rel|acquire|release>.<cta|cluster|gpu|sys>>;",
    "fence.proxy.<alias|async|async.global|async.shared::cta|async.shared::cluster>;",
    "fence.proxy.tensormap::generic.<release.gpu|acquire.gpu [$g], 128>;",
    "fence.mbarrier_init.release.cluster;",
    "nanosleep.u32 $n;",
    "griddepcontrol.<wait|launch_dependents>;",
    "barrier.cluster.<arrive|arrive.relaxed|arrive.release|wait|wait.acquire><|.aligned>;",
    "barrier.cluster.arrive; barrier.cluster.wait;",
    "<mapa.shared::cluster.u32 %rc, %rs|mapa.shared::cluster.u32 %ro, %rm|mapa.u64 %rdc, %rds>, "
    "<0|1|$r>;",
    "getctarank.shared::cluster.u32 $r, %rc;",
    "setmaxnreg.<inc|dec>.sync.aligned.u32 <24|64|232>;",
    // mbarriers and copies.
    "mbarrier.init<|.shared|.shared::cta>.b64 [$m], <1|2|32|64|$r>;",
    "mbarrier.arrive<|.release.cta>.shared<|::cta>.b64 $d, [$m];",
    "mbarrier.arrive<.noComplete.release.cta|>.shared.b64 $d, [$m], <1|2|$r>;",
    "mbarrier.arrive_drop<.shared.b64 $d, [$m]<|, 1>|.noComplete.shared.b64 $d, [$m], 1>;",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$o]<|, 1>;",
    "mbarrier.arrive<|_drop>.expect_tx.shared::cta.b64 _, [$m], <$b|$r>;",
    "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [$o], $b;",
    "mbarrier.<expect|complete>_tx.relaxed.cta.shared::cta.b64 [$m], <$b|$r>;",
    "mbarrier.<test|try>_wait.shared.b64 $p, [$m], $d;",
    "mbarrier.<test|try>_wait.parity<|.acquire.cta|.acquire.cluster>.shared::cta.b64 $p, [$m], "
    "<0|1|$r>;",
    "mbarrier.try_wait.parity.shared.b64 $p, [$m], 0, 100;",
    "mbarrier.pending_count.b64 $r, $d;",
    "cp.async.<ca|cg>.shared.global [$s], [$g], 16<|, $r|, 8>;",
    "cp.async.ca.shared.global [$s], [$g], <4|8>;",
    "cp.async.<commit_group|wait_all|wait_group 0|wait_group 1>;",
    "cp.async.mbarrier.arrive<|.noinc>.shared.b64 [$m];",
    "cp.async.bulk.shared::<cluster|cta>.global.mbarrier::complete_tx::bytes [$s], [$g], <$b|$r>, "
    "[$m];",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$c], [$s], $b, [$o];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$s], "
    "[$g], $b, "
    "[$m], $h;",
    "cp.async.bulk.global.shared::cta.bulk_group [$g], [$s], $b;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.<add.u32|min.s32|max.u64|and.b32|inc.u32|"
    "add.f64|"
    "add.noftz.f16|add.noftz.bf16|max.f16> [$g], [$s], $b;",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.<<add|min>.u32|"
    "max.s32|or.b32> [$c], [$s], $b, [$o];",
    "cp.async.bulk.prefetch.L2.global [$g], $b;",
    "cp.async.bulk.<commit_group|wait_group 0|wait_group.read 0|wait_group 1>;",
    "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [$s], [$1, {$4}], "
    "[$m];",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$s], [$2, "
    "{$4, $n}], [$m];",
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$2, {$4, $n}], [$s];",
    "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [$s], [$3, "
    "{$4, $n, $n}], [$m], {$h};",
    "cp.reduce.async.bulk.tensor.<1d.global.shared::cta.<add|min|xor>.bulk_group [$1, "
    "{$4}]|2d.global.shared::cta.<add|or|inc>.bulk_group [$2, {$4, $n}]>, [$s];",
    "cp.async.bulk.prefetch.tensor.2d.L2.global [$2, {$4, $n}];",
    "tensormap.replace.tile.global_address.<global.b1024.b64 [$t]|shared::cta.b1024.b64 [$s]>, $d;",
    "tensormap.replace.tile.<rank.global.b1024.b32 [$t], $n|box_dim.global.b1024.b32 [$t], 0, $n|"
    "global_dim.global.b1024.b32 [$t], 1, $n|global_stride.global.b1024.b64 [$t], 0, $d|"
    "element_stride.global.b1024.b32 [$t], 0, $n|elemtype.global.b1024.b32 [$t], 7|"
    "swizzle_mode.global.b1024.b32 [$t], 3|interleave_layout.global.b1024.b32 [$t], 0|"
    "fill_mode.global.b1024.b32 [$t], 1>;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [$t], "
    "[$s], 128;",
    // Matrices.
    "ldmatrix.sync.aligned.m8n8.<x1<|.trans>.shared.b16 {$r}|x2<|.trans>.shared.b16 "
    "$R2|x4<|.trans>.shared."
    "b16 $R4>, [$s];",
    "stmatrix.sync.aligned.m8n8.<x1.shared.b16 [$s], {$r}|x4.trans.shared.b16 [$s], $R4>;",
    "movmatrix.sync.aligned.m8n8.trans.b16 $r, $r;",
    "mma.sync.aligned.m16n8k16.row.col.<f32.f16.f16.f32|f32.bf16.bf16.f32> $R4, $R4, $R2, $R4;",
    "mma.sync.aligned.m16n8k8.row.col.<f32.tf32.tf32.f32> $R4, $R4, $R2, $R4;",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 $R2, $R4, $R2, $R2;",
    "mma.sync.aligned.m16n8k32.row.col<|.satfinite>.s32.<u8|s8>.<u8|s8>.s32 $R4, $R4, $R2, $R4;",
    "mma.sync.aligned.m16n8k64.row.col.s32.<u4|s4>.<u4|s4>.s32 $R4, $R4, $R2, $R4;",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.<xor|and>.popc $R4, $R4, $R2, $R4;",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 $D2, {$d}, {$d}, $D2;",
    "mma.sync.aligned.m16n8k32.row.col.f32.<e4m3|e5m2>.<e4m3|e5m2>.f32 $R4, $R4, $R2, $R4;",
    "mma.sp<|::ordered_metadata>.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 $R4, $R4, $R4, $R4, "
    "$r, 0;",
    "wmma.load.<a|b>.sync.aligned.m16n16k16.<row|col>.<global.f16 $R8, [$g]|shared.f16 $R8, [$s]>, "
    "16;",
    "wmma.load.c.sync.aligned.m16n16k16.row.shared.f32 $R8, [$s], 16;",
    "wmma.store.d.sync.aligned.m16n16k16.<row|col>.<global.f32 [$g]|shared.f32 [$s]>, $R8, "
    "<16|$r>;",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 $R8, $R8, $R8, $R8;",
    "wgmma.<fence.sync.aligned|commit_group.sync.aligned|wait_group.sync.aligned 0>;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.<f16.f16|bf16.bf16> $R4, $w, $w, $p, 1, <1|-1>, "
    "<0|1>, <0|1>;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 $R4, $R4, $w, $p, 1, 1, 0;",
    "wgmma.mma_async.sync.aligned.m64n8k32.s32.<u8|s8>.s8 $R4, $w, $w, $p;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 $R4, $w, $w, $r, 0, $p, 1, 1, 0, 0;",
    // Textures.
    "tex.<1d.v4.<f32|s32>.<s32|f32> $R4, [$x, {$r}]|2d.v4.f32.<s32|f32> $R4, [$x, {$r, $r}]|"
    "3d.v4.f32.f32 $R4, [$x, {$r, $r, $r, $r}]|a2d.v4.f32.f32 $R4, [$x, {$r, $r, $r, $r}]|"
    "cube.v4.f32.f32 $R4, [$x, {$r, $r, $r, $r}]>;",
    "tex.<level.2d.v4.f32.f32 $R4, [$x, {$r, $r}], $r|grad.2d.v4.f32.f32 $R4, [$x, {$r, $r}], $R2, "
    "$R2>;",
    "tld4.<r|g|b|a>.2d.v4.f32.f32 $R4, [$x, {$r, $r}];",
    "<txq|suq>.<width|height|depth>.b32 $r, [$x];",
    "suld.b.<1d.b32.<trap|clamp|zero> {$r}, [$y, {$r}]|2d.v4.b32.<trap|clamp|zero> $R4, [$y, {$r, "
    "$r}]|"
    "3d.b32.zero {$r}, [$y, {$r, $r, $r, $r}]>;",
    "sust.b.<1d.b32.<trap|clamp|zero> [$y, {$r}], {$r}|2d.v2.b32.clamp [$y, {$r, $r}], $R2>;",
    "sured.<b|p>.<1d.u32.add.<clamp|zero> [$y, {$r}]|2d.<min.s32|max.u32|or.b32>.clamp [$y, {$r, "
    "$r}]>, $r;",
    // Where to go on.
    "bra<|.uni> $L;",
    "bra $L;",
    "{ t: .branchtargets $L, $L; brx.idx $r, t; }",
    "call helper;",
    "{ .param .b32 in; .param .b32 out; st.param.b32 [in], $r; call (out), twice, (in); "
    "ld.param.b32 $r, "
    "[out]; }",
    "{ .param .b64 in; .param .b64 out; st.param.b64 [in], $b; call (out), malloc, (in); "
    "ld.param.b64 %rdh, "
    "[out]; }",
    "{ .param .b64 in; st.param.b64 [in], <%rdh|$d>; call free, (in); }",
    "<exit|ret|trap|brkpt|pmevent 3|mbarrier.inval.shared.b64 [$m]>;",
};

}  // namespace

absl::Span<const absl::string_view> InstructionPatterns() { return kPatterns; }

}  // namespace twinmmu::ptx
