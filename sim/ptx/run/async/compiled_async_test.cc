// Asynchronous copies as compilers write them: sim/ptx/testdata/async.cu. Under each policy, since
// these programs have all fences that they need.

#include <fstream>
#include <iterator>

#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::IsEmpty;

constexpr uint32_t kTile = 256;
// Where the results go.
constexpr uint64_t kResults = 64 << 10;

class CompiledAsyncTest : public GridTest, public testing::WithParamInterface<coherence::Policy> {
 protected:
  CompiledAsyncTest() : GridTest(WithPolicy(GetParam())) {
    for (uint32_t i = 0; i < 4 * kTile; ++i) Write(i, 1000 + i);
  }
  void RunCompiled(const char* name, const Dim3& blocks, std::vector<uint64_t> arguments) {
    std::ifstream file("sim/ptx/testdata/async_sm_90.ptx");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto program = Load(text);
    ASSERT_NE(program, nullptr);
    ASSERT_NE(program->FindKernel(name), nullptr);
    ASSERT_EQ(program->FindKernel(name)->refusal, "");
    grid_ = MakeGrid(program, blocks, Dim3{kTile, 1, 1}, arguments, name);
    const Grid::State state = grid_->Run(kEnough);
    ASSERT_EQ(state, Grid::State::kDone)
        << (state == Grid::State::kFaulted
                ? grid_->fault().place.instruction + ": " + grid_->fault().words
                : grid_->WhoWaits());
    EXPECT_THAT(hazards_, IsEmpty());
  }
  uint64_t results() const { return memory().value() + kResults; }
  uint32_t Result(uint32_t i) { return Read(kResults / 4 + i); }
};

INSTANTIATE_TEST_SUITE_P(Policies, CompiledAsyncTest,
                         testing::Values(coherence::Policy::kCoherent, coherence::Policy::kStale,
                                         coherence::Policy::kRandom));

TEST_P(CompiledAsyncTest, CopiesByAGroup) {
  RunCompiled("group_copy", Dim3{2, 1, 1}, {memory().value(), results()});
  EXPECT_EQ(Result(0), 2 * (1000 + 255));
  EXPECT_EQ(Result(511), 2 * (1000 + 256));
}

TEST_P(CompiledAsyncTest, CopiesByABarrier) {
  RunCompiled("barrier_copy", Dim3{1, 1, 1}, {memory().value(), results()});
  for (uint32_t i = 0; i < 3 * kTile; ++i) ASSERT_EQ(Result(i), 1000 + (i ^ 1));
}

TEST_P(CompiledAsyncTest, CopiesByAPipelineOfABlock) {
  RunCompiled("pipeline_sum", Dim3{1, 1, 1}, {memory().value(), results(), 4});
  for (uint32_t i = 0; i < kTile; ++i) {
    uint32_t sum = 0;
    for (uint32_t tile = 0; tile < 4; ++tile) sum += 1000 + tile * kTile + (i + tile) % kTile;
    ASSERT_EQ(Result(i), sum) << i;
  }
}

TEST_P(CompiledAsyncTest, CopiesByAPipelineOfAThread) {
  RunCompiled("thread_pipeline", Dim3{1, 1, 1}, {memory().value(), results()});
  for (uint32_t i = 0; i < 4 * kTile; ++i) ASSERT_EQ(Result(i), 1000 + i);
}

TEST_P(CompiledAsyncTest, CopiesInBulk) {
  RunCompiled("bulk_increment", Dim3{4, 1, 1}, {memory().value()});
  for (uint32_t i = 0; i < 4 * kTile; ++i) ASSERT_EQ(Read(i), 1001 + i);
}

TEST_P(CompiledAsyncTest, CountsInACluster) {
  RunCompiled("cluster_count", Dim3{4, 1, 1}, {memory().value(), results()});
  for (uint32_t i = 0; i < 16; ++i) ASSERT_EQ(Result(i), 64u) << i;
}

TEST_P(CompiledAsyncTest, MultipliesInStages) {
  constexpr uint32_t kSide = 32;
  for (uint32_t i = 0; i < kSide * kSide; ++i) {
    Write(i, static_cast<float>(i % 7));
    Write(kSide * kSide + i, static_cast<float>(i % 5));
  }
  RunCompiled("staged_gemm", Dim3{2, 2, 1},
              {memory().value(), memory().value() + 4 * kSide * kSide, results(), kSide});
  for (uint32_t i = 0; i < kSide * kSide; ++i) {
    float sum = 0;
    for (uint32_t k = 0; k < kSide; ++k) {
      sum += static_cast<float>((i / kSide * kSide + k) % 7 * ((k * kSide + i % kSide) % 5));
    }
    ASSERT_EQ(Read<float>(kResults / 4 + i), sum) << i;
  }
}

TEST_P(CompiledAsyncTest, FeedsWorkersInBulk) {
  for (uint32_t i = 0; i < 8 * kTile; ++i) Write(i, i);
  RunCompiled("bulk_pipeline", Dim3(), {memory().value(), results(), 8});
  for (uint32_t own = 0; own < kTile - 32; ++own) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 8 * kTile; ++i) {
      if (i % kTile % (kTile - 32) == own) sum += i;
    }
    ASSERT_EQ(Result(own), sum) << own;
  }
}

}  // namespace
}  // namespace twinmmu::ptx
