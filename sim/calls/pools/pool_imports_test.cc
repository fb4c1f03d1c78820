// Pieces of pools of other processes: where they are, and where there is no memory left.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
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

ptrdiff_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST(PoolImportTest, APieceIsOfTheDeviceOfItsPool) {
  const auto exporter = *Simulator::Create(Profile::ReferenceH200(2));
  const auto importer = *Simulator::Create(Profile::ReferenceH200(2));
  constexpr DeviceOrdinal kDevice1(1);
  PoolProperties properties;
  properties.handle_types = kFd;
  properties.place.location = Location::Device(kDevice1);
  const uint64_t pool = *exporter->pools().Create(properties);
  const OwnedDescriptor file(*exporter->pools().Export(pool, kFd));
  const Stream stream = *(*exporter->executor())->CreateStream(kDevice1);
  const auto part =
      exporter->pools().ExportPiece(*exporter->pools().AllocateFrom(stream, pool, KiB(64)));
  ASSERT_THAT(part, IsOk());
  const auto piece =
      importer->pools().ImportPiece(*importer->pools().Import(file.get(), kFd), *part);
  ASSERT_THAT(piece, IsOk());
  EXPECT_THAT((*importer->vmm())
                  ->GetPointerAttribute(kDevice1, PointerAttribute::kDeviceOrdinal, piece->address),
              IsOkAndHolds(1u));
}

// As long as a pool has no room for pieces, it needs no file either.
TEST(PoolFileTest, APieceThatCannotBeAllocatedLeavesNoFileAlone) {
  const auto machine = *Simulator::Create(Profile::ReferenceH200());
  PoolProperties properties;
  properties.handle_types = kFd;
  const uint64_t pool = *machine->pools().Create(properties);
  const Stream stream = *(*machine->executor())->CreateStream(DeviceOrdinal(0));
  const ptrdiff_t files = OpenFiles();
  const int64_t mapped = MappedBytes();
  for (uint64_t failures = 0;; ++failures) {
    FailAt(Fails::kMemory, failures, /*for_good=*/true);
    const auto piece = [&] {
      const failing_host::Scope scope;
      return machine->pools().AllocateFrom(stream, pool, KiB(64));
    }();
    if (piece.ok()) break;
    ASSERT_THAT(piece, HasDriverCode(DriverCode::kOutOfMemory));
    ASSERT_EQ(OpenFiles() > files, MappedBytes() > mapped) << "after " << failures;
  }
  EXPECT_GT(OpenFiles(), files);
}

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
