// Kernels on memory that has two addresses: what the alias monitor observes, and what it makes
// of it.

#include "absl/strings/str_cat.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using coherence::AliasHazard;
using coherence::Hazard;
using coherence::Policy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Profile With(Policy policy) {
  Profile profile = Profile::ReferenceH200(2);
  profile.alias_policy = policy;
  return profile;
}

// Two addresses, in %rd3 and %rd4, of memory that is zeros at first. Results go to %rd1, which has
// no alias. Each kernel starts after the one before.
class AliasTest : public GridTest {
 protected:
  explicit AliasTest(Policy policy = Policy::kCoherent) : GridTest(With(policy)) {
    state_.on_alias_hazard = [this](const AliasHazard& hazard) { hazards_.push_back(hazard); };
    MapBoth();
  }

  void MapBoth() {
    const AllocationHandle handle = *vmm_.Create(kGranule, {}, 0);
    for (const uint64_t i : {2, 3}) {
      EXPECT_THAT(vmm_.Map(Granule(i), handle, Bytes(0), 0), IsOk());
      const std::array grants{AccessGrant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite}};
      EXPECT_THAT(vmm_.SetAccess(Granule(i), grants), IsOk());
    }
  }

  // Line 1 of `body` is line 13 of the module.
  static std::string Body(absl::string_view body) {
    return Kernel(absl::StrCat("add.s64 %rd3, %rd1, 4194304; add.s64 %rd4, %rd1, 6291456;\n",
                               "mov.u32 %r9, %ctaid.x; setp.eq.u32 %p8, %r9, 0;\n", body));
  }
  std::unique_ptr<Grid> Make(absl::string_view body, uint32_t threads, uint32_t blocks) {
    return MakeGrid(Load(Module(Body(body))), Dim3{blocks, 1, 1}, Dim3{threads, 1, 1},
                    {memory().value()});
  }
  void RunAlone(absl::string_view body, uint32_t threads, uint32_t blocks,
                const coherence::Clocks& before) {
    grid_ = Make(body, threads, blocks);
    grid_->StartAfter(before);
    ASSERT_EQ(grid_->Run(kEnough), Grid::State::kDone) << grid_->fault().words;
    clocks_ = grid_->clocks();
  }
  // The first word of the results.
  uint32_t ResultOf(absl::string_view body, uint32_t threads = 1, uint32_t blocks = 1) {
    RunAlone(body, threads, blocks, clocks_);
    return Read(0);
  }
  // What was reported since the last call.
  std::vector<Hazard> Hazards() {
    std::vector<Hazard> all;
    for (const AliasHazard& hazard : hazards_) all.push_back(hazard.hazard);
    hazards_.clear();
    return all;
  }
  std::vector<Hazard> HazardsOf(absl::string_view body, uint32_t threads = 1, uint32_t blocks = 1) {
    ResultOf(body, threads, blocks);
    return Hazards();
  }

  std::vector<AliasHazard> hazards_;
  coherence::Clocks clocks_;
};

class StaleAliasTest : public AliasTest {
 protected:
  StaleAliasTest() : AliasTest(Policy::kStale) {}
};

// --- One thread ---

// A load through another address gives the old value, without a fence.
TEST_F(StaleAliasTest, LoadsOldValuesWithoutAFence) {
  EXPECT_EQ(ResultOf("st.global.u32 [%rd3], 7; ld.global.u32 %r2, [%rd4];\n"
                     "st.global.u32 [%rd1], %r2;"),
            0u);
  EXPECT_THAT(Hazards(), ElementsAre(Hazard::kAlias));
}

// With an alias fence it gives the new one.
TEST_F(StaleAliasTest, LoadsNewValuesBehindAnAliasFence) {
  EXPECT_EQ(ResultOf("st.global.u32 [%rd3], 7; fence.proxy.alias; ld.global.u32 %r2, [%rd4];\n"
                     "st.global.u32 [%rd1], %r2;"),
            7u);
  EXPECT_THAT(Hazards(), IsEmpty());
}

// The halves of it are an alias fence together, in this order, and neither is one alone.
TEST_F(StaleAliasTest, TakesBothHalvesForAnAliasFence) {
  const std::string release = "fence.proxy.alias.release.sys; ";
  const std::string acquire = "fence.proxy.alias.acquire.sys; ";
  uint32_t value = 0;
  const auto found = [&](const std::string& fences) {
    grid_ = MakeGrid(
        Load(Module(Body(absl::StrCat("st.global.u32 [%rd3], ", ++value, "; ", fences,
                                      "ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;")),
                    "9.4")),
        Dim3(), Dim3(), {memory().value()});
    grid_->StartAfter(clocks_);
    EXPECT_EQ(grid_->Run(kEnough), Grid::State::kDone);
    clocks_ = grid_->clocks();
    return value - Read(0);
  };
  EXPECT_EQ(found(release + acquire), 0u);
  EXPECT_THAT(Hazards(), IsEmpty());
  EXPECT_EQ(found(release), 1u);
  EXPECT_EQ(found(acquire), 1u);
  EXPECT_EQ(found(acquire + release), 1u);
}

// They are there from PTX 9.4 on, and have no other form.
TEST_F(AliasTest, KnowsTheFormsOfItsHalves) {
  const auto error = [](const char* fence, const char* version) {
    const auto parsed = Parse(Module(Kernel(absl::StrCat(fence, ";")), version));
    return parsed.ok() ? MakeProgram(*parsed).status() : parsed.status();
  };
  EXPECT_THAT(error("fence.proxy.alias.acquire.sys", "9.4"), IsOk());
  EXPECT_THAT(std::string(error("fence.proxy.alias.release.sys", "9.3").message()),
              HasSubstr("PTX 9.4"));
  for (const char* fence : {"fence.proxy.alias.acquire", "fence.proxy.alias.release.gpu",
                            "fence.proxy.alias.acq_rel.sys", "fence.proxy.alias.sys"}) {
    EXPECT_EQ(error(fence, "9.4").code(), absl::StatusCode::kInvalidArgument) << fence;
  }
}

// Through the address of the store it gives the new one anyway.
TEST_F(StaleAliasTest, LoadsNewValuesThroughTheSameAddress) {
  EXPECT_EQ(ResultOf("st.global.u32 [%rd3], 7; ld.global.u32 %r2, [%rd3];\n"
                     "st.global.u32 [%rd1], %r2;"),
            7u);
  EXPECT_THAT(Hazards(), IsEmpty());
}

// Fences of memory, and of other proxies, are no alias fences.
TEST_F(StaleAliasTest, TellsFencesApart) {
  for (const char* fence : {"fence.sc.sys", "membar.sys", "fence.acq_rel.gpu", "fence.proxy.async",
                            "membar.proxy.async"}) {
    EXPECT_EQ(ResultOf(absl::StrCat("ld.global.u32 %r3, [%rd3]; fence.proxy.alias;\n",
                                    "add.u32 %r4, %r3, 1; st.global.u32 [%rd3], %r4; ", fence,
                                    "; ld.global.u32 %r2, [%rd4];\n",
                                    "sub.u32 %r2, %r4, %r2; st.global.u32 [%rd1], %r2;")),
              1u)
        << fence;
    EXPECT_THAT(Hazards(), ElementsAre(Hazard::kAlias)) << fence;
  }
  EXPECT_EQ(ResultOf("st.global.u32 [%rd3], 90; membar.proxy.alias; ld.global.u32 %r2, [%rd4];\n"
                     "st.global.u32 [%rd1], %r2;"),
            90u);
}

// Each element of a vector is the old one.
TEST_F(StaleAliasTest, LoadsOldVectors) {
  RunAlone(
      "st.global.v4.u32 [%rd3], {1, 2, 3, 4}; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4];\n"
      "st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5}; ld.global.v2.u64 {%rd5, %rd6}, [%rd3];\n"
      "st.global.v2.u64 [%rd1+16], {%rd5, %rd6};",
      1, 1, clocks_);
  EXPECT_THAT(ReadAll(8), ElementsAre(0, 0, 0, 0, 1, 2, 3, 4));
}

// An atomic operation through another address works on the old value, too; a fence helps.
TEST_F(StaleAliasTest, DoesAtomicOperationsOnOldValues) {
  EXPECT_EQ(ResultOf("red.global.add.u32 [%rd3], 1; atom.global.add.u32 %r2, [%rd4], 1;\n"
                     "st.global.u32 [%rd1], %r2;"),
            0u);
  EXPECT_THAT(Hazards(), ElementsAre(Hazard::kAlias));
  EXPECT_EQ(ResultOf("red.global.add.u32 [%rd3+4], 1; fence.proxy.alias;\n"
                     "atom.global.add.u32 %r2, [%rd4+4], 1; st.global.u32 [%rd1], %r2;"),
            1u);
  EXPECT_THAT(Hazards(), IsEmpty());
}

// A comparison that fails writes nothing: it does not meet reads.
TEST_F(StaleAliasTest, DoesNotTakeAFailedComparisonForAWrite) {
  EXPECT_THAT(HazardsOf("setp.eq.u32 %p1, %r1, 0; @%p1 atom.global.cas.b32 %r2, [%rd3], 5, 6;\n"
                        "setp.eq.u32 %p2, %r1, 1; @%p2 ld.global.u32 %r3, [%rd3];",
                        2),
              IsEmpty());
  EXPECT_THAT(HazardsOf("setp.eq.u32 %p1, %r1, 0; @%p1 atom.global.cas.b32 %r2, [%rd3], 0, 6;\n"
                        "setp.eq.u32 %p2, %r1, 1; @%p2 ld.global.u32 %r3, [%rd3];",
                        2),
              ElementsAre(Hazard::kData));
}

// Lanes of one load may go to such memory, to other memory, and to shared memory at once.
TEST_F(StaleAliasTest, TellsLanesApart) {
  RunAlone(
      ".shared .align 4 .b32 s; mov.u64 %rd5, s; cvta.shared.u64 %rd5, %rd5;\n"
      "mov.u64 %rd6, %rd4; setp.eq.u32 %p1, %r1, 1; @%p1 mov.u64 %rd6, %rd5;\n"
      "setp.eq.u32 %p2, %r1, 2; @%p2 add.s64 %rd6, %rd1, 512; mov.u64 %rd7, %rd3;\n"
      "@%p1 mov.u64 %rd7, %rd5; @%p2 mov.u64 %rd7, %rd6;\n"
      "add.u32 %r2, %r1, 5; st.u32 [%rd7], %r2; ld.u32 %r3, [%rd6]; st.global.u32 [%rd2], %r3;",
      3, 1, clocks_);
  EXPECT_THAT(ReadAll(3), ElementsAre(0, 6, 7));
}

// --- Barriers ---

constexpr char kStoreByFirst[] =
    "setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32; @%p1 st.global.u32 [%rd3], 7;\n";
constexpr char kLoadByOther[] = "@%p2 ld.global.u32 %r2, [%rd4]; @%p2 st.global.u32 [%rd1], %r2;\n";

// A barrier of the block orders what is before it, but is no alias fence.
TEST_F(StaleAliasTest, NeedsAFenceBesideABarrier) {
  EXPECT_EQ(ResultOf(absl::StrCat(kStoreByFirst, "bar.sync 0;\n", kLoadByOther), 64), 0u);
  ASSERT_EQ(hazards_.size(), 1u);
  EXPECT_EQ(hazards_[0].hazard, Hazard::kAlias);
  EXPECT_TRUE(hazards_[0].missing_fence);
}

// A fence on either side of the barrier is enough.
TEST_F(StaleAliasTest, TakesAFenceOnEitherSideOfABarrier) {
  EXPECT_EQ(
      ResultOf(absl::StrCat(kStoreByFirst, "fence.proxy.alias; bar.sync 0;\n", kLoadByOther), 64),
      7u);
  EXPECT_EQ(ResultOf(absl::StrCat("setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;\n",
                                  "@%p1 st.global.u32 [%rd3], 8; bar.sync 0; fence.proxy.alias;\n",
                                  kLoadByOther),
                     64),
            8u);
  EXPECT_THAT(Hazards(), IsEmpty());
}

// Without a barrier there is nothing at all.
TEST_F(AliasTest, FindsThatABarrierIsMissing) {
  ResultOf(absl::StrCat(kStoreByFirst, "fence.proxy.alias;\n", kLoadByOther), 64);
  ASSERT_EQ(hazards_.size(), 1u);
  EXPECT_FALSE(hazards_[0].missing_fence);
}

// Who only arrives comes before those who wait, whatever the form of the barrier.
TEST_F(AliasTest, OrdersArrivalsBeforeThoseWhoWait) {
  EXPECT_THAT(HazardsOf("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1, 64;\n"
                        "ld.global.u32 %r2, [%rd3]; bra E;\n"
                        "A: setp.eq.u32 %p2, %r1, 0; @%p2 st.global.u32 [%rd3], 7;\n"
                        "bar.arrive 1, 64;\nE:",
                        64),
              IsEmpty());
  EXPECT_THAT(HazardsOf("setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd3], 7;\n"
                        "bar.red.popc.u32 %r3, 0, %p1; ld.global.u32 %r2, [%rd3];",
                        64),
              IsEmpty());
}

// Who only arrives is not ordered behind the others.
TEST_F(AliasTest, DoesNotOrderWhatFollowsAnArrival) {
  EXPECT_THAT(HazardsOf("setp.lt.u32 %p1, %r1, 32; @%p1 bra A;\n"
                        "setp.eq.u32 %p2, %r1, 32; @%p2 st.global.u32 [%rd3], 7;\n"
                        "bar.sync 1, 64; bra E;\nA: bar.arrive 1, 64; nanosleep.u32 1;\n"
                        "setp.eq.u32 %p2, %r1, 0; @%p2 ld.global.u32 %r2, [%rd3];\nE:",
                        64),
              ElementsAre(Hazard::kData));
}

// Who has arrived at the barrier of a cluster, and ended, is not ordered before the next cluster.
TEST_F(AliasTest, DoesNotOrderArrivalsBeforeTheNextCluster) {
  EXPECT_THAT(HazardsOf("setp.eq.u32 %p1, %r1, 0; @!%p8 bra N; @!%p1 bra W;\n"
                        "st.global.u32 [%rd3], 7; barrier.cluster.arrive; bra E;\n"
                        "W: bar.sync 0; bra E;\n"
                        "N: barrier.cluster.arrive; barrier.cluster.wait;\n"
                        "@%p1 ld.global.u32 %r2, [%rd3];\nE:",
                        2, 2),
              ElementsAre(Hazard::kData));
}

// A barrier of the warp orders memory, wherever its lanes come from; shuffles and votes do not.
TEST_F(AliasTest, OrdersLanesByTheirBarrierOnly) {
  const std::string store = "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd3], 7;\n";
  const std::string load = "@!%p1 ld.global.u32 %r2, [%rd3];";
  EXPECT_THAT(HazardsOf(store + "bar.warp.sync -1;\n" + load, 32), IsEmpty());
  EXPECT_THAT(HazardsOf("setp.eq.u32 %p1, %r1, 0; @%p1 bra A;\n"
                        "bar.warp.sync -1; ld.global.u32 %r2, [%rd3]; bra E;\n"
                        "A: st.global.u32 [%rd3], 7; bar.warp.sync -1;\nE:",
                        32),
              IsEmpty());
  for (const char* other :
       {"shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;\n", "vote.sync.any.pred %p3, %p1, -1;\n"}) {
    EXPECT_THAT(HazardsOf(store + other + load, 32), ElementsAre(Hazard::kData)) << other;
  }
}

// --- Flags ---

// Block 0 stores 7 and `release`s a flag, block 1 `acquire`s it and loads through the other
// address. The flag lies at %rd8, in memory with one address.
std::string WithFlag(absl::string_view release, absl::string_view acquire) {
  return absl::StrCat("add.s64 %rd8, %rd1, 1024; @!%p8 bra W;\nst.global.u32 [%rd3], 7;\n", release,
                      "\nbra E;\nW:\n", acquire,
                      "\nsetp.eq.u32 %p1, %r3, 0; @%p1 bra W;\nld.global.u32 %r2, [%rd4];\n"
                      "st.global.u32 [%rd1], %r2; st.relaxed.sys.global.u32 [%rd8], 0;\nE:");
}

// A release and an acquire of sufficient scope order both blocks; the alias fence is for whoever
// has it.
TEST_F(StaleAliasTest, SeesBehindAFlag) {
  const char* const acquire = "ld.acquire.gpu.global.u32 %r3, [%rd8];";
  EXPECT_EQ(
      ResultOf(WithFlag("fence.proxy.alias; st.release.gpu.global.u32 [%rd8], 1;", acquire), 1, 2),
      7u);
  EXPECT_THAT(Hazards(), IsEmpty());
}

// A flag without an alias fence leaves just that missing.
TEST_F(StaleAliasTest, NeedsAFenceBesideAFlag) {
  EXPECT_EQ(ResultOf(WithFlag("st.release.gpu.global.u32 [%rd8], 1;",
                              "ld.acquire.gpu.global.u32 %r3, [%rd8];"),
                     1, 2),
            0u);
  ASSERT_EQ(hazards_.size(), 1u);
  EXPECT_TRUE(hazards_[0].missing_fence);
}

// The same in other words of PTX: fences around relaxed accesses, volatile ones, and atomic
// operations, whose scope is the GPU where nothing is said.
TEST_F(AliasTest, KnowsTheFormsOfFlags) {
  const char* const kForms[][2] = {
      {"fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd8], 1;",
       "ld.relaxed.gpu.global.u32 %r3, [%rd8]; fence.acq_rel.gpu;"},
      {"membar.gl; st.volatile.global.u32 [%rd8], 1;",
       "ld.volatile.global.u32 %r3, [%rd8]; membar.gl;"},
      {"fence.sc.gpu; red.global.add.u32 [%rd8], 1;",
       "atom.global.or.b32 %r3, [%rd8], 0; fence.acq_rel.gpu;"},
      {"atom.release.global.exch.b32 %r4, [%rd8], 1;",
       "atom.acquire.global.or.b32 %r3, [%rd8], 0;"},
      {"st.release.sys.u32 [%rd8], 1;", "ld.acquire.sys.u32 %r3, [%rd8];"},
  };
  for (const auto& [release, acquire] : kForms) {
    EXPECT_THAT(HazardsOf(WithFlag(absl::StrCat("fence.proxy.alias; ", release), acquire), 1, 2),
                IsEmpty())
        << release;
  }
}

// What is too weak, or for too few, orders nothing.
TEST_F(AliasTest, FindsThatAFlagIsTooWeak) {
  const char* const kForms[][2] = {
      {"st.release.cta.global.u32 [%rd8], 1;", "ld.acquire.gpu.global.u32 %r3, [%rd8];"},
      {"st.release.gpu.global.u32 [%rd8], 1;", "ld.acquire.cta.global.u32 %r3, [%rd8];"},
      {"atom.release.cta.global.exch.b32 %r4, [%rd8], 1;",
       "ld.acquire.gpu.global.u32 %r3, [%rd8];"},
      {"fence.acq_rel.cta; st.relaxed.gpu.global.u32 [%rd8], 1;",
       "ld.acquire.gpu.global.u32 %r3, [%rd8];"},
      {"st.relaxed.gpu.global.u32 [%rd8], 1;", "ld.acquire.gpu.global.u32 %r3, [%rd8];"},
      {"st.release.gpu.global.u32 [%rd8], 1;", "ld.global.cv.u32 %r3, [%rd8];"},
  };
  for (const auto& [release, acquire] : kForms) {
    ResultOf(WithFlag(absl::StrCat("fence.proxy.alias; ", release), acquire), 1, 2);
    ASSERT_EQ(hazards_.size(), 1u) << release;
    EXPECT_FALSE(hazards_[0].missing_fence);
    hazards_.clear();
  }
}

// Fences of sequential consistency are in one order: the later one is behind what was before the
// earlier one, whatever is read. membar is one of them.
TEST_F(AliasTest, OrdersFencesOfSequentialConsistency) {
  const auto body = [](absl::string_view fence) {
    return WithFlag(absl::StrCat("fence.proxy.alias; ", fence, "; st.global.u32 [%rd8], 1;"),
                    absl::StrCat("ld.global.u32 %r3, [%rd8]; ", fence, ";"));
  };
  for (const char* fence : {"fence.sc.gpu", "membar.gl"}) {
    EXPECT_THAT(HazardsOf(body(fence), 1, 2), IsEmpty()) << fence;
  }
  for (const char* fence : {"fence.acq_rel.gpu", "fence.sc.cta", "membar.cta"}) {
    EXPECT_THAT(HazardsOf(body(fence), 1, 2), ElementsAre(Hazard::kAlias)) << fence;
  }
}

// A volatile load is a strong one of the whole system; one that skips the caches is a weak one.
TEST_F(AliasTest, KnowsWhichLoadsAreStrong) {
  const auto body = [](absl::string_view load) {
    return absl::StrCat("@!%p8 bra W; st.relaxed.gpu.global.u32 [%rd3+64], 1; bra E;\nW: ", load,
                        " %r3, [%rd3+64]; setp.eq.u32 %p1, %r3, 0; @%p1 bra W;\nE:");
  };
  for (const char* load :
       {"ld.volatile.global.u32", "ld.mmio.relaxed.sys.global.u32", "ld.relaxed.gpu.global.u32"}) {
    EXPECT_THAT(HazardsOf(body(load), 1, 2), IsEmpty()) << load;
  }
  for (const char* load : {"ld.global.cv.u32", "ld.weak.global.u32", "ld.global.nc.u32",
                           "ld.relaxed.cta.global.u32"}) {
    EXPECT_THAT(HazardsOf(body(load), 1, 2), ElementsAre(Hazard::kData)) << load;
  }
}

// A flag in shared memory orders the threads of a block.
TEST_F(AliasTest, KnowsFlagsInSharedMemory) {
  const auto body = [](absl::string_view release, absl::string_view acquire) {
    return absl::StrCat(
        ".shared .align 4 .b32 s; setp.lt.u32 %p1, %r1, 32; @!%p1 bra W;\n"
        "setp.eq.u32 %p2, %r1, 0; @%p2 st.global.u32 [%rd3], 7; fence.proxy.alias;\n@%p2 ",
        release, "\nbra E;\nW: ", acquire,
        "\nsetp.eq.u32 %p3, %r3, 0; @%p3 bra W;\nld.global.u32 %r2, [%rd4];\nE:");
  };
  EXPECT_THAT(
      HazardsOf(body("st.release.cta.shared.u32 [s], 1;", "ld.acquire.cta.shared.u32 %r3, [s];"),
                64),
      IsEmpty());
  EXPECT_THAT(HazardsOf(body("st.shared.u32 [s], 1;", "ld.shared.u32 %r3, [s];"), 64),
              ElementsAre(Hazard::kAlias));
}

// --- Reports ---

// A hazard names both places in the code, and both addresses.
TEST_F(AliasTest, NamesBothSidesOfAHazard) {
  ResultOf("st.global.u32 [%rd3+4096], 7;\nld.global.u16 %h1, [%rd4+4098];");
  ASSERT_EQ(hazards_.size(), 1u);
  const AliasHazard& hazard = hazards_[0];
  EXPECT_EQ(state_.sites.InWords(hazard.first.site), "kernel k, PTX line 13, st.global.u32");
  EXPECT_EQ(state_.sites.InWords(hazard.second.site), "kernel k, PTX line 14, ld.global.u16");
  EXPECT_TRUE(hazard.first.writes);
  EXPECT_FALSE(hazard.second.writes);
  EXPECT_EQ(hazard.first.address, mmu_.MappingAt(Granule(2).base)->id);
  EXPECT_EQ(hazard.second.address, mmu_.MappingAt(Granule(3).base)->id);
  EXPECT_EQ(hazard.memory, mmu_.MemoryOf(*mmu_.MappingAt(Granule(3).base)) + 4098);
}

// A place is in the function that has it, with the line of its source, and the kernel that ran it.
TEST_F(AliasTest, NamesPlacesInFunctions) {
  const std::string functions = absl::StrCat(
      ".file 1 \"copy.cu\"\n.func g(.param .b64 q)\n{\n.reg .b64 %rd<3>;\n.loc 1 9 0\n"
      "ld.param.u64 %rd1, [q];\n.loc 1 10 0\nst.global.u32 [%rd1], 7;\nret;\n}\n",
      Body("{ .param .b64 p0; st.param.b64 [p0], %rd3; call g, (p0); }\n"
           "ld.global.u32 %r2, [%rd4];"));
  const auto program = Load(Module(functions));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(MakeGrid(program, Dim3(), Dim3(), {memory().value()})->Run(kEnough),
            Grid::State::kDone);
  ASSERT_EQ(hazards_.size(), 1u);
  EXPECT_THAT(state_.sites.InWords(hazards_[0].first.site),
              HasSubstr("kernel k, PTX line 11 (copy.cu:10), st.global.u32"));
  EXPECT_THAT(state_.sites.InWords(hazards_[0].second.site), HasSubstr(", ld.global.u32"));
}

// --- Grids ---

// What one grid wrote is ordered before the next one that starts after it, for all addresses.
TEST_F(StaleAliasTest, SeesWhatGridsBeforeWrote) {
  RunAlone("st.global.u32 [%rd3], 7;", 1, 1, clocks_);
  EXPECT_EQ(ResultOf("ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;"), 7u);
  EXPECT_THAT(Hazards(), IsEmpty());
}

// A grid that does nothing of note hands on what was before it.
TEST_F(AliasTest, HandsOnWhatWasBefore) {
  RunAlone("st.global.u32 [%rd3], 7;", 1, 1, clocks_);
  RunAlone("st.global.u32 [%rd1], 1;", 1, 1, clocks_);
  EXPECT_THAT(HazardsOf("ld.global.u32 %r2, [%rd4];"), IsEmpty());
}

// What one grid wrote is not before one that does not wait for it.
TEST_F(StaleAliasTest, DoesNotOrderGridsThatDoNotWait) {
  RunAlone("st.global.u32 [%rd3], 7;", 1, 1, clocks_);
  RunAlone("ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;", 1, 1, coherence::Clocks());
  EXPECT_EQ(Read(0), 0u);
  EXPECT_THAT(Hazards(), ElementsAre(Hazard::kAlias));
}

// A grid that faults has done what it did: the threads of all its blocks end with it.
TEST_F(AliasTest, EndsThreadsOfGridsThatFault) {
  const auto grid = Make(
      "W: ld.volatile.global.u32 %r2, [%rd1+1024]; @!%p8 bra S; setp.eq.u32 %p1, %r2, 0;\n"
      "@%p1 bra W; trap;\n"
      "S: st.global.u32 [%rd3], 7; st.volatile.global.u32 [%rd1+1024], 1;\n"
      "L: ld.volatile.global.u32 %r2, [%rd1+2048]; bra L;",
      1, 2);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kFaulted);
  EXPECT_THAT(Hazards(), IsEmpty());
  RunAlone("st.global.u32 [%rd4], 7;", 1, 1, grid->clocks());
  EXPECT_THAT(Hazards(), IsEmpty());
}

// Blocks that run on several threads of the host give the same, and no hazard where there is none.
TEST_F(AliasTest, TellsOfBlocksOnSeveralThreads) {
  const auto program = Load(Module(
      Body("mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n"
           "mul.wide.u32 %rd5, %r4, 4; add.s64 %rd6, %rd3, %rd5; st.global.u32 [%rd6+64], %r4;\n"
           "fence.proxy.alias; add.s64 %rd7, %rd4, %rd5; ld.global.u32 %r5, [%rd7+64];\n"
           "bar.sync 0; red.global.add.u32 [%rd3], %r5;")));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3{50, 1, 1}, Dim3{64, 1, 1}, {memory().value()}, "k", 4);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read(4194304 / 4), 3200u * 3199 / 2);
  EXPECT_THAT(Hazards(), IsEmpty());
}

// Threads of a grid that is dropped while it runs end with it: nothing runs any more, so that the
// monitor forgets all of which the host knows that it is done.
TEST_F(AliasTest, EndsThreadsOfGridsThatAreDropped) {
  auto grid =
      Make("st.global.u32 [%rd3], 7;\nW: ld.volatile.global.u32 %r2, [%rd1+1024]; bra W;", 1, 1);
  EXPECT_EQ(grid->Run(100'000), Grid::State::kRunning);
  EXPECT_EQ(grid->Run(100'000), Grid::State::kWaiting);
  coherence::Clocks everything;
  everything.all.AddEnded(1, 1 << 20);
  state_.aliases.HostWaited(everything);
  EXPECT_THAT(HazardsOf("st.global.u32 [%rd4], 7;"), ElementsAre(Hazard::kAlias));
  grid.reset();
  state_.aliases.HostWaited(everything);
  EXPECT_THAT(HazardsOf("st.global.u32 [%rd3], 7;"), IsEmpty());
}

// Operations that change memory are no polls of it.
TEST_F(AliasTest, DoesNotTakeAtomicOperationsForWaiting) {
  const auto grid = Make("L: red.global.add.u32 [%rd3], 1; bra L;", 1, 1);
  EXPECT_EQ(grid->Run(100'000), Grid::State::kRunning);
  EXPECT_EQ(grid->Run(100'000), Grid::State::kRunning);
}

// Weak accesses of memory with one address are not observed, nor is anything else that they do.
TEST_F(AliasTest, TellsNothingOfOtherMemory) {
  RunAlone(
      ".shared .b32 s; st.shared.u32 [s], 1; st.global.u32 [%rd2], %r1;\n"
      "ld.global.u32 %r2, [%rd2]; ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];",
      64, 2, coherence::Clocks());
  EXPECT_TRUE(clocks_.all.empty());
  RunAlone("ld.global.u32 %r2, [%rd3];", 1, 1, coherence::Clocks());
  EXPECT_FALSE(clocks_.all.empty());
}

// Where nothing has two addresses, strong accesses, fences and barriers are not observed either.
TEST_F(AliasTest, TellsNothingWhereNothingHasTwoAddresses) {
  EXPECT_THAT(vmm_.Unmap(Granule(3)), IsOk());
  constexpr char kBody[] =
      "st.global.u32 [%rd3], 1; st.release.gpu.global.u32 [%rd2], %r1; bar.sync 0;\n"
      "atom.global.add.u32 %r2, [%rd1], 1; fence.proxy.alias; membar.sys; bar.warp.sync -1;";
  RunAlone(kBody, 64, 2, coherence::Clocks());
  EXPECT_TRUE(clocks_.all.empty());
}

// Memory that gets a second address while a kernel runs is watched from its next access on.
TEST_F(StaleAliasTest, WatchesMemoryThatGetsAnotherAddress) {
  const AllocationHandle handle = *vmm_.RetainAllocationHandle(Granule(2).base);
  EXPECT_THAT(vmm_.Unmap(Granule(3)), IsOk());
  const auto grid = Make(
      "st.global.u32 [%rd3], 1;\nW: ld.volatile.global.u32 %r2, [%rd1+1024];\n"
      "setp.eq.u32 %p1, %r2, 0; @%p1 bra W; st.global.u32 [%rd3], 7;\n"
      "ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;",
      1, 1);
  EXPECT_EQ(grid->Run(100'000), Grid::State::kRunning);
  EXPECT_EQ(grid->Run(100'000), Grid::State::kWaiting);
  EXPECT_THAT(vmm_.Map(Granule(3), handle, Bytes(0), 0), IsOk());
  const std::array grants{AccessGrant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite}};
  EXPECT_THAT(vmm_.SetAccess(Granule(3), grants), IsOk());
  Write<uint32_t>(256, 1);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read(0), 1u);
  EXPECT_THAT(Hazards(), ElementsAre(Hazard::kAlias));
}

}  // namespace
}  // namespace twinmmu::ptx
