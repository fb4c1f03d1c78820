// Blocks that are kept for the next launch of their kernel: what they take of the host says which.

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

class IdleBlocksTest : public GridTest {
 protected:
  uint64_t taken() const { return mmu_.host_memory.taken().value(); }
  // Runs a grid of one block of `program`.
  void RunOnce(const std::shared_ptr<const Program>& program, uint32_t threads,
               uint32_t dynamic_shared = 0, uint64_t address = 0) {
    const auto grid = MakeGrid(program, Dim3(), Dim3{threads, 1, 1},
                               {address != 0 ? address : memory().value()}, "k", 1, dynamic_shared);
    EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  }
  const std::shared_ptr<const Program> counts_ = Load(
      Module(".extern .shared .b32 words[];\n" +
             Kernel("mov.u32 %r2, words; mad.lo.u32 %r2, %r1, 4, %r2; ld.shared.u32 %r3, [%r2];\n"
                    "add.u32 %r3, %r3, 1; st.shared.u32 [%r2], %r3; ld.global.u32 %r4, [%rd2];\n"
                    "add.u32 %r4, %r4, %r3; st.global.u32 [%rd2], %r4;")));
};

TEST_F(IdleBlocksTest, AreUsedAgainForTheirShape) {
  EXPECT_EQ(taken(), 0u);
  RunOnce(counts_, 32, 128);
  const uint64_t kept = taken();
  EXPECT_GT(kept, 0u);
  RunOnce(counts_, 32, 128);
  EXPECT_EQ(taken(), kept);
  RunOnce(counts_, 64, 256);
  EXPECT_GT(taken(), kept);
}

TEST_F(IdleBlocksTest, AreNotOfAnotherCluster) {
  const auto tells =
      Load(Module(Kernel("mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, %ctaid.x;\n"
                         "mad.wide.u32 %rd2, %r4, 4, %rd1; st.global.u32 [%rd2], %r3;")));
  for (const uint32_t size : {1, 2, 4, 1}) {
    Launch launch;
    launch.program = tells;
    launch.kernel = tells->FindKernel("k");
    launch.config = LaunchConfig{Dim3{4, 1, 1}, Dim3(), 0};
    launch.cluster = Dim3{size, 1, 1};
    launch.parameters.resize(launch.kernel->parameter_bytes);
    const uint64_t address = memory().value();
    std::memcpy(launch.parameters.data(), &address, sizeof(address));
    GridEnvironment environment{&mmu_, &state_.sites, &state_.aliases};
    environment.idle = idle_;
    EXPECT_EQ(Grid(environment, launch, 1).Run(kEnough), Grid::State::kDone);
    EXPECT_THAT(ReadAll(4), testing::Each(size));
  }
}

// Shared memory is empty again, parameters are those of the launch.
TEST_F(IdleBlocksTest, KeepNothingOfTheLaunchBefore) {
  for (int i = 0; i < 3; ++i) RunOnce(counts_, 4, 16);
  RunOnce(counts_, 4, 16, (memory() + Bytes(16)).value());
  EXPECT_THAT(ReadAll(8), testing::ElementsAre(3, 3, 3, 3, 1, 1, 1, 1));
}

TEST_F(IdleBlocksTest, OfAProgramAreForgotten) {
  RunOnce(counts_, 32, 128);
  EXPECT_GT(taken(), 0u);
  Forget(*idle_, counts_.get());
  EXPECT_EQ(taken(), 0u);
}

// Of launches at once each gives its own back.
TEST_F(IdleBlocksTest, OfOneShapeAreKeptOnce) {
  RunOnce(counts_, 32, 128);
  const uint64_t kept = taken();
  std::vector<std::unique_ptr<Grid>> grids;
  for (int i = 0; i < 3; ++i) {
    grids.push_back(MakeGrid(counts_, Dim3(), Dim3{32, 1, 1}, {memory().value()}, "k", 1, 128));
    EXPECT_EQ(grids.back()->Run(kEnough), Grid::State::kDone);
  }
  grids.clear();
  EXPECT_EQ(taken(), kept);
}

TEST_F(IdleBlocksTest, AreSmall) {
  RunOnce(Load(Module(Kernel(".local .b8 much[65536]; mov.u64 %rd3, much;"))), 32);
  EXPECT_EQ(taken(), 0u);
}

TEST_F(IdleBlocksTest, AreOfTheEightShapesThatWereLaunchedLast) {
  RunOnce(counts_, 1, 100);
  const uint64_t kept = taken();
  for (uint32_t shared = 99; shared > 70; --shared) RunOnce(counts_, 1, shared);
  EXPECT_GT(taken(), 7 * kept);
  EXPECT_LE(taken(), 8 * kept);
}

// What a kernel that faulted has left behind may be anything.
TEST_F(IdleBlocksTest, AreNotOfKernelsThatFaulted) {
  auto grid = MakeGrid(counts_, Dim3(), Dim3{32, 1, 1}, {0}, "k", 1, 128);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kFaulted);
  grid.reset();
  EXPECT_EQ(taken(), 0u);
}

}  // namespace
}  // namespace twinmmu::ptx
