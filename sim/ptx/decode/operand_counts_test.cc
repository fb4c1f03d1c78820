// How many operands an instruction has: with one less, or one more, a module is refused. So says an
// H200 with driver 580.159, but that it takes st.async and red.async without their mbarrier, and
// leaves them out.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/decode/one_instruction.h"

namespace twinmmu::ptx {
namespace {

// `one_less`: whether there are fewer operands than an instruction may have without the last.
// `one_more`: whether there are more than it may have with another one, a register of 32 bits.
struct Form {
  const char* text;
  bool one_less = true;
  bool one_more = true;
};

constexpr bool kHasAnotherForm = false;

const Form kForms[] = {
    {"mov.u32 %r1, %r2"},
    {"cvta.global.u64 %rd1, %rd2"},
    {"cvta.to.shared.u64 %rd1, %rd2"},
    {"isspacep.global %p1, %rd1"},
    {"add.u32 %r1, %r2, %r3"},
    {"add.cc.u32 %r1, %r2, %r3"},
    {"addc.u32 %r1, %r2, %r3"},
    {"mad.lo.u32 %r1, %r2, %r3, %r4"},
    {"mad.lo.cc.u32 %r1, %r2, %r3, %r4"},
    {"fma.rn.f32 %f1, %f2, %f3, %f4"},
    {"neg.s32 %r1, %r2"},
    {"setp.eq.u32 %p1, %r1, %r2"},
    {"setp.eq.and.u32 %p1, %r1, %r2, %p2", kHasAnotherForm},
    {"selp.u32 %r1, %r2, %r3, %p1"},
    {"slct.u32.s32 %r1, %r2, %r3, %r4"},
    {"cvt.u64.u32 %rd1, %r1"},
    {"cvt.rn.f16x2.f32 %r1, %f1, %f2"},
    {"bfe.u32 %r1, %r2, %r3, %r4"},
    {"bfi.b32 %r1, %r2, %r3, %r4, %r5"},
    {"prmt.b32 %r1, %r2, %r3, %r4"},
    {"lop3.b32 %r1, %r2, %r3, %r4, 1"},
    {"shf.l.wrap.b32 %r1, %r2, %r3, %r4"},
    {"dp4a.u32.u32 %r1, %r2, %r3, %r4"},
    {"ld.global.u32 %r1, [%rd1]"},
    {"ldu.global.u32 %r1, [%rd1]"},
    {"st.global.u32 [%rd1], %r1"},
    {"atom.global.add.u32 %r1, [%rd1], %r2"},
    {"atom.global.cas.b32 %r1, [%rd1], %r2, %r3"},
    {"red.global.add.u32 [%rd1], %r1"},
    {"multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1]"},
    {"multimem.st.relaxed.sys.global.u32 [%rd1], %r1"},
    {"multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1"},
    {"membar.gl", false},
    {"fence.sc.gpu", false},
    {"applypriority.global.L2::evict_normal [%rd1], 128"},
    {"discard.global.L2 [%rd1], 128"},
    {"griddepcontrol.wait", false},
    {"bra E"},
    {"ret", false},
    {"exit", false},
    {"trap", false},
    {"brkpt", false},
    {"nanosleep.u32 10"},
    {"bar.sync 0", true, kHasAnotherForm},
    {"bar.sync 0, 32", kHasAnotherForm},
    {"bar.red.popc.u32 %r1, 0, 32, %p1", kHasAnotherForm},
    {"bar.warp.sync 0xffffffff"},
    {"barrier.cluster.arrive", false},
    {"barrier.cluster.wait", false},
    {"shfl.sync.idx.b32 %r1, %r2, 0, 31, 0xffffffff"},
    {"vote.sync.any.pred %p1, %p2, 0xffffffff"},
    {"vote.sync.ballot.b32 %r1, %p2, 0xffffffff"},
    {"match.any.sync.b32 %r1, %r2, 0xffffffff"},
    {"redux.sync.add.u32 %r1, %r2, 0xffffffff"},
    {"activemask.b32 %r1"},
    {"elect.sync %r1|%p1, 0xffffffff"},
    {"mbarrier.init.shared.b64 [%r1], 1"},
    {"mbarrier.inval.shared.b64 [%r1]"},
    {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 1"},
    {"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 1"},
    {"mbarrier.arrive.shared.b64 %rd1, [%r1]", true, kHasAnotherForm},
    {"mbarrier.arrive.shared.b64 %rd1, [%r1], 2", kHasAnotherForm},
    {"mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 2"},
    {"mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r1], 2"},
    {"mbarrier.arrive_drop.shared.b64 %rd1, [%r1]", true, kHasAnotherForm},
    {"mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1"},
    {"mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1", true, kHasAnotherForm},
    {"mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1, 10", kHasAnotherForm},
    {"mbarrier.pending_count.b64 %r1, %rd1"},
    {"mapa.shared::cluster.u32 %r1, %r2, %r3"},
    {"getctarank.shared::cluster.u32 %r1, %r2"},
    {"cp.async.ca.shared.global [%r1], [%rd1], 4", true, kHasAnotherForm},
    {"cp.async.ca.shared.global [%r1], [%rd1], 4, 2", kHasAnotherForm},
    {"cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 4, %rd2"},
    {"cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 4, 2, %rd2", kHasAnotherForm},
    {"cp.async.commit_group", false},
    {"cp.async.wait_group 0"},
    {"cp.async.wait_all", false},
    {"cp.async.mbarrier.arrive.shared.b64 [%r1]"},
    {"cp.async.bulk.commit_group", false},
    {"cp.async.bulk.wait_group 0"},
    {"cp.async.bulk.wait_group.read 0"},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2]"},
    {"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16"},
    {"cp.async.bulk.prefetch.L2.global [%rd1], 16"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16"},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]"},
    {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, "
     "[%r3]"},
    {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2]"},
    {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1}"},
    {"movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2"},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2}, {%fd3}, {%fd4}, {%fd5, %fd6}"},
    {"wgmma.fence.sync.aligned", false},
    {"wgmma.commit_group.sync.aligned", false},
    {"wgmma.wait_group.sync.aligned 0"},
    {"alloca.u64 %rd1, 8", true, kHasAnotherForm},
    {"alloca.u64 %rd1, 8, 16", kHasAnotherForm},
    {"stacksave.u64 %rd1"},
    {"stackrestore.u64 %rd1"},
    {"setmaxnreg.inc.sync.aligned.u32 64"},
    {"createpolicy.fractional.L2::evict_first.b64 %rd1", true, kHasAnotherForm},
    {"createpolicy.fractional.L2::evict_first.b64 %rd1, 0f3F000000", kHasAnotherForm},
    {"createpolicy.range.global.L2::evict_last.b64 %rd1, [%rd2], 64, 128"},
    {"createpolicy.cvt.L2.b64 %rd1, %rd2"},
    {"vadd.u32.u32.u32 %r1, %r2, %r3", true, kHasAnotherForm},
    {"ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2", kHasAnotherForm},
    {"red.global.add.L2::cache_hint.u32 [%rd1], %r1, %rd2", kHasAnotherForm},
    {"vadd4.u32.u32.u32 %r1, %r2, %r3, %r4"},
    {"istypep.texref %p1, %rd1"},
};

class OperandCountsTest : public testing::TestWithParam<Form> {};

// Without its last operand: what stands behind the last comma, or the last word of the text.
std::string WithoutTheLast(const std::string& text) {
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    const char c = text[i];
    depth += c == ']' || c == '}' ? 1 : c == '[' || c == '{' ? -1 : 0;
    if (depth == 0 && c == ',') return text.substr(0, i);
  }
  return text.substr(0, text.find(' '));
}

TEST_P(OperandCountsTest, AreThoseOfTheInstruction) {
  const std::string text = GetParam().text;
  EXPECT_EQ(StatusOfOne(text), absl::OkStatus());
  if (GetParam().one_less) {
    EXPECT_EQ(StatusOfOne(WithoutTheLast(text)).code(), absl::StatusCode::kInvalidArgument)
        << WithoutTheLast(text);
  }
  if (GetParam().one_more) {
    const bool has_some = text.find(' ') != std::string::npos;
    const std::string more = absl::StrCat(text, has_some ? ", " : " ", "%r1");
    EXPECT_EQ(StatusOfOne(more).code(), absl::StatusCode::kInvalidArgument) << more;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, OperandCountsTest, testing::ValuesIn(kForms));

}  // namespace
}  // namespace twinmmu::ptx
