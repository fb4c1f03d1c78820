// Which instructions on tensor maps there are, and which are none.

#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(absl::string_view instruction, absl::string_view target = "sm_90a") {
  const auto parsed =
      Parse(absl::StrCat(".version 8.6\n.target ", target, "\n.address_size 64\n",
                         ".visible .entry k(.param .align 64 .b8 map[128])\n{\n"
                         ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
                         ".shared .align 128 .b8 s[1024]; .shared .align 8 .b64 m;\n",
                         instruction, "\nret;\n}\n"));
  if (!parsed.ok()) return std::string(parsed.status().message());
  const auto program = MakeProgram(*parsed);
  if (!program.ok()) return std::string(program.status().message());
  return (*program)->FindKernel("k")->refusal;
}

TEST(TensorFormsTest, CopiesHaveTheseForms) {
  for (const char* form :
       {"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1, "
        "{%r1}], [m];",
        "cp.async.bulk.tensor.5d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%rd1, "
        "{%r1, %r2, %r3, %r4, 0}], [m];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster.L2::cache_hint [s], [map, {%r1, %r2}], [m], %h1, %rd2;",
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], "
        "[%rd1, {%r1, %r2, %r3, %r4}], [m], {%h1, %h2};",
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint [%rd1, {%r1, "
        "%r2, %r3}], [s], %rd2;",
        "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%rd1, {%r1, %r2, "
        "%r3}], [s];",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.bulk_group [%rd1, {%r1, %r2}], [s];",
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %r2}];",
        "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%rd1, {%r1, %r2, %r3}], {%h1};",
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;",
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [s], 1, %r1;",
        "tensormap.replace.tile.global_stride.global.b1024.b64 [%rd1], 1, %rd2;",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%rd1], [s], 128;",
        "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;",
        "fence.proxy.tensormap::generic.release.cta;"}) {
    EXPECT_EQ(ErrorOf(form), "") << form;
  }
}

TEST(TensorFormsTest, OthersAreRefusedWithWords) {
  const std::pair<const char*, const char*> forms[] = {
      {"cp.async.bulk.tensor.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1, "
       "{%r1}], [m];",
       ".1d to .5d"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1, "
       "{%r1}], [m];",
       "it has 2 coordinates"},
      {"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], "
       "[m];",
       "[map, {x, y}] are missing"},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], "
       "[%rd1, {%r1, %r2}], [m], {%h1};",
       "three dimensions or more"},
      {"cp.async.bulk.tensor.2d.global.shared::cta.tile [%rd1, {%r1, %r2}], [s];",
       "no copy of tensors of this form"},
      {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [s];",
       "the operation is missing"},
      {"tensormap.replace.tile.rank.global.b1024.b64 [%rd1], %rd2;", "another type"},
      {"tensormap.replace.tile.global_stride.global.b1024.b32 [%rd1], 1, %r1;", "another type"},
      {"tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 5, %r1;", "five dimensions"},
  };
  for (const auto& [form, words] : forms) EXPECT_THAT(ErrorOf(form), HasSubstr(words)) << form;
  EXPECT_THAT(ErrorOf("tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1;", "sm_90"),
              HasSubstr("sm_90a"));
}

}  // namespace
}  // namespace twinmmu::ptx
