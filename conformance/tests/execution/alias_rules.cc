// One memory at two addresses: who sees through the one what was written through the other, and
// when. Stale reads are counted where the memory model allows them, and never asserted there.

#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/fixtures/alias_trials.h"
#include "conformance/fixtures/kernel_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

class AliasTest : public KernelTest {
 protected:
  // `run(rounds, warm)` is a trial, with and without a line of the read address in the cache.
  template <typename Run>
  void ExpectCoherence(AliasPartners partners, bool fence, Run run) {
    const uint64_t rounds = AliasRounds(traits(), partners);
    for (const bool warm : {false, true}) {
      ASSERT_THAT(kernels().Store32(Stream(device()), work().base, kAliasStart), IsOk());
      ASSERT_THAT(run(rounds, warm), IsOk());
      TWINMMU_ASSERT_OK_AND_ASSIGN(const AliasResult seen, ReadResult<AliasResult>());
      ExpectCoherent(seen, rounds, fence,
                     absl::StrCat("stale_of_", rounds, warm ? "_warm" : "_cold"));
    }
  }
  void ExpectCoherenceInThread(bool fence) {
    ExpectCoherence(AliasPartners::kOfABlock, fence, [&](uint64_t rounds, bool warm) {
      return kernels().AliasWriteThenRead(Stream(device()), work().base, alias().base, rounds, warm,
                                          fence, result());
    });
  }
  void ExpectCoherenceInBlock(AliasFence fence) {
    ExpectCoherence(
        AliasPartners::kOfABlock, fence != AliasFence::kNone, [&](uint64_t rounds, bool warm) {
          return kernels().AliasWriteThenReadInBlock(Stream(device()), work().base, alias().base,
                                                     rounds, warm, fence, result());
        });
  }
  void ExpectCoherenceInGrid(AliasFence fence) {
    ExpectCoherence(
        AliasPartners::kBlocks, fence != AliasFence::kNone, [&](uint64_t rounds, bool warm) {
          const Stream stream(device());
          const DeviceAddress turn = result() + Bytes(64);
          absl::Status status = kernels().Store32(stream, turn, 0);
          status.Update(kernels().AliasWriteThenReadInTurns(stream, Kernels::AliasRole::kBoth,
                                                            work().base, alias().base, turn, rounds,
                                                            warm, fence, result()));
          return status;
        });
  }
};

}  // namespace

CONFORMANCE_TEST(AliasTest, ALIAS_1, TheFenceMakesAliasesCoherent) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  ExpectCoherenceInThread(/*fence=*/true);
}

CONFORMANCE_TEST(AliasTest, ALIAS_2, WithoutTheFenceOldOrNew) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  ExpectCoherenceInThread(/*fence=*/false);
}

CONFORMANCE_TEST(AliasTest, ALIAS_3, ALaunchMakesAliasesCoherent) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  const Stream stream(device());
  for (uint32_t round = 1; round <= 200; ++round) {
    const auto& [from, to] = round % 2 == 0 ? std::pair(work().base, alias().base)
                                            : std::pair(alias().base, work().base);
    ASSERT_THAT(kernels().Load32(stream, to, result()), IsOk());
    ASSERT_THAT(kernels().Store32(stream, from, round), IsOk());
    ASSERT_THAT(kernels().Load32(stream, to, result()), IsOk());
    ASSERT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(round));
  }
}

CONFORMANCE_TEST(AliasTest, ALIAS_4, TheFenceAndABarrierMakeABlockCoherent) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  ExpectCoherenceInBlock(AliasFence::kWriter);
}

CONFORMANCE_TEST(AliasTest, ALIAS_5, ABarrierWithoutTheFenceOldOrNew) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  ExpectCoherenceInBlock(AliasFence::kNone);
}

CONFORMANCE_TEST(AliasTest, ALIAS_6, TheFenceMakesBlocksCoherent) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  ExpectCoherenceInGrid(AliasFence::kWriter);
}

CONFORMANCE_TEST(AliasTest, ALIAS_7, BlocksWithoutTheFenceOldOrNew) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  ExpectCoherenceInGrid(AliasFence::kNone);
}

CONFORMANCE_TEST(AliasTest, ALIAS_8, AnEventMakesAliasesCoherent) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream writer, executor().CreateStream(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream reader, executor().CreateStream(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(device()));
  for (uint32_t round = 1; round <= 200; ++round) {
    ASSERT_THAT(kernels().Load32(reader, alias().base, result()), IsOk());
    ASSERT_THAT(executor().RecordEvent(event, reader), IsOk());
    ASSERT_THAT(executor().WaitEvent(writer, event), IsOk());
    ASSERT_THAT(kernels().Store32(writer, work().base, round), IsOk());
    ASSERT_THAT(executor().RecordEvent(event, writer), IsOk());
    ASSERT_THAT(executor().WaitEvent(reader, event), IsOk());
    ASSERT_THAT(kernels().Load32(reader, alias().base, result()), IsOk());
    ASSERT_THAT(ReadResult<uint32_t>(), IsOkAndHolds(round));
  }
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  EXPECT_THAT(executor().DestroyStream(reader), IsOk());
  EXPECT_THAT(executor().DestroyStream(writer), IsOk());
}

CONFORMANCE_TEST(AliasTest, ALIAS_9, CopiesAndKernelsAreCoherent) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  const Stream stream(device());
  const AddressRange here = alias().subrange(Bytes(0), work().size);
  const uint32_t rounds_over_all = traits().interprets_kernels ? 1 : 4;
  for (uint32_t seed = 1; seed <= rounds_over_all; ++seed) {
    ASSERT_THAT(Write(here, seed), IsOk());
    ExpectVerified(stream, work(), seed);
    ASSERT_THAT(kernels().Fill(stream, work(), seed + 100), IsOk());
    ExpectHolds(here, seed + 100);
  }
}

CONFORMANCE_TEST(AliasTest, ALIAS_10, NoAtomicAdditionThroughAliasesIsLost) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  const Stream stream(device());
  const bool may_lose = traits().loses_aliased_atomics;
  // Of blocks, and of rounds.
  const uint32_t count = may_lose ? 4 : traits().interprets_kernels ? 8 : 64;
  const uint32_t all = 7 + count * Kernels::kThreadsPerBlock * count;
  ASSERT_THAT(kernels().Store32(stream, work().base, 7), IsOk());
  ASSERT_THAT(kernels().Count(stream, work().base, alias().base, count, count), IsOk());
  for (const DeviceAddress word : {work().base, alias().base}) {
    ASSERT_THAT(kernels().Load32(stream, word, result()), IsOk());
    TWINMMU_ASSERT_OK_AND_ASSIGN(const uint32_t counted, ReadResult<uint32_t>());
    EXPECT_TRUE(may_lose ? counted < all : counted == all) << counted << " of " << all;
  }
}

CONFORMANCE_TEST(AliasTest, ALIAS_11, TheReaderMayExecuteTheFence) {
  if (!LoadKernels()) return;
  ASSERT_NO_FATAL_FAILURE(MapAlias());
  ExpectCoherenceInBlock(AliasFence::kReader);
  ExpectCoherenceInGrid(AliasFence::kReader);
}

}  // namespace twinmmu::conformance
