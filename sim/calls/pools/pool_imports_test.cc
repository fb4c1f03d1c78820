// Pieces of pools of other processes, where there is no memory left.

#include <unistd.h>

#include <cstdint>
#include <memory>

#include "api/sharing/owned_descriptor.h"
#include "api/testing/matchers.h"
#include "gtest/gtest.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/simulator.h"
#include "sim/testing/failing_host.h"

namespace twinmmu {
namespace {

using failing_host::FailAt;
using failing_host::Fails;
using failing_host::MappedBytes;

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

// Two machines, as two processes have them.
class PoolImportsTest : public testing::Test {
 protected:
  PoolImportsTest() {
    PoolCalls& pools = exporter_->pools();
    PoolProperties properties;
    properties.handle_types = kFd;
    const uint64_t pool = *pools.Create(properties);
    const OwnedDescriptor file(*pools.Export(pool, kFd));
    const Stream stream = *(*exporter_->executor())->CreateStream(DeviceOrdinal(0));
    part_ = *pools.ExportPiece(*pools.AllocateFrom(stream, pool, KiB(64)));
    imported_ = *importer_->pools().Import(file.get(), kFd);
  }

  const std::unique_ptr<Simulator> exporter_ = *Simulator::Create(Profile::ReferenceH200());
  const std::unique_ptr<Simulator> importer_ = *Simulator::Create(Profile::ReferenceH200());
  uint64_t imported_ = 0;
  PoolPartData part_;
};

// Whatever it is that there is no room for.
TEST_F(PoolImportsTest, APieceThatCannotBeImportedTakesNothing) {
  const int64_t before = MappedBytes();
  uint64_t failures = 0;
  for (;; ++failures) {
    FailAt(Fails::kMemory, failures, /*for_good=*/false);
    const failing_host::Scope scope;
    const auto piece = importer_->pools().ImportPiece(imported_, part_);
    if (piece.ok()) break;
    ASSERT_THAT(piece, HasDriverCode(DriverCode::kOutOfMemory));
    ASSERT_EQ(MappedBytes(), before) << "after " << failures << " allocations";
  }
  EXPECT_GT(failures, 3u);
  EXPECT_GT(MappedBytes(), before);
}

}  // namespace
}  // namespace twinmmu
