// VirtualMemoryPool on machines that only the simulator can be, and what it says of wrong use.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/allocators/growable_buffer.h"
#include "api/allocators/virtual_memory_pool.h"
#include "api/record/event.h"
#include "api/record/event_reader.h"
#include "api/record/event_writer.h"
#include "api/testing/diagnostic_matchers.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace twinmmu {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr DeviceOrdinal kDevice(0);

// --- Wrong use ---------------------------------------------------------------------------------

// Work of a stream is queued that fills the first page of a pool and of a buffer, of two each.
class QueuedWorkTest : public testing::Test {
 protected:
  void SetUp() override {
    Profile profile = Profile::ReferenceH200();
    profile.stream_policy = StreamPolicy::kDeferred;
    TWINMMU_ASSERT_OK_AND_ASSIGN(simulator_, Simulator::Create(profile));
    TWINMMU_ASSERT_OK_AND_ASSIGN(vmm_, simulator_->vmm());
    TWINMMU_ASSERT_OK_AND_ASSIGN(executor_, simulator_->executor());
    TWINMMU_ASSERT_OK_AND_ASSIGN(stream_, executor_->CreateStream(kDevice));
    TWINMMU_ASSERT_OK_AND_ASSIGN(pool_, VirtualMemoryPool::Make(vmm_, executor_, MiB(4)));
    TWINMMU_ASSERT_OK_AND_ASSIGN(buffer_, GrowableBuffer::Make(vmm_, executor_, MiB(4)));
    ASSERT_THAT(pool_->Allocate(Bytes(0), MiB(4)), IsOk());
    ASSERT_THAT(buffer_->Resize(MiB(4)), IsOk());
    for (const DeviceAddress address : {pool_->BaseAddress(), buffer_->address()}) {
      ASSERT_THAT(executor_->Fill(stream_, address, FillPattern{1}, 100), IsOk());
    }
  }

  VirtualMemoryPool& pool() { return *pool_; }
  GrowableBuffer& buffer() { return *buffer_; }
  Stream stream() const { return stream_; }
  void ExpectFault(DiagnosticKind kind) {
    EXPECT_THAT(simulator_->diagnostics(), ElementsAre(IsDiagnostic(kind)));
    EXPECT_THAT(executor_->SynchronizeStream(stream_), HasDriverCode(DriverCode::kIllegalAddress));
  }
  void ExpectNoFault() {
    EXPECT_THAT(executor_->SynchronizeStream(stream_), IsOk());
    EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
  }

 private:
  std::unique_ptr<Simulator> simulator_;
  Vmm* vmm_ = nullptr;
  Executor* executor_ = nullptr;
  Stream stream_;
  std::unique_ptr<VirtualMemoryPool> pool_;
  std::unique_ptr<GrowableBuffer> buffer_;
};

TEST_F(QueuedWorkTest, FaultsWhereAPoolTakesItsMemoryAtOnce) {
  ASSERT_THAT(pool().Deallocate(Bytes(0), MiB(2)), IsOk());
  ExpectFault(DiagnosticKind::kUnmapUnderPendingWork);
}

TEST_F(QueuedWorkTest, FaultsWhereABufferTakesItsMemoryAtOnce) {
  ASSERT_THAT(buffer().Resize(Bytes(0)), IsOk());
  ASSERT_THAT(buffer().ShrinkToFit(), IsOk());
  ExpectFault(DiagnosticKind::kUnmapUnderPendingWork);
}

TEST_F(QueuedWorkTest, FaultsWhereAPoolTakesItsAccess) {
  ASSERT_THAT(pool().Grant(kDevice, Access::kRead), IsOk());
  ExpectFault(DiagnosticKind::kAccessLoweredUnderPendingWork);
}

TEST_F(QueuedWorkTest, IsDoneBeforeMemoryGoesAfterIt) {
  ASSERT_THAT(pool().Deallocate(Bytes(0), MiB(4), {stream()}), IsOk());
  ASSERT_THAT(buffer().Resize(Bytes(0)), IsOk());
  ASSERT_THAT(buffer().ShrinkToFit({stream()}), IsOk());
  ExpectNoFault();
}

TEST_F(QueuedWorkTest, DoesNotMindThatOtherMemoryGoes) {
  ASSERT_THAT(pool().Deallocate(MiB(2), MiB(2)), IsOk());
  ASSERT_THAT(buffer().Resize(Bytes(1)), IsOk());
  ASSERT_THAT(buffer().ShrinkToFit(), IsOk());
  ExpectNoFault();
}

// --- Other machines ----------------------------------------------------------------------------

std::unique_ptr<Simulator> SimulatorOf(const std::string& name) {
  return Simulator::Create(Profile::Named(name).value()).value();
}

TEST(OtherMachinesTest, GiveSmallPagesWhereTheyCan) {
  const auto simulator = SimulatorOf("granularities");
  PageOptions options;
  options.page_size = KiB(64);
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const auto pool, VirtualMemoryPool::Make(*simulator->vmm(), nullptr, KiB(100), options));
  EXPECT_EQ(pool->PageSize(), KiB(64));
  EXPECT_EQ(pool->Capacity(), KiB(128));
  EXPECT_THAT(pool->Allocate(KiB(64), KiB(64)), IsOkAndHolds(pool->BaseAddress() + KiB(64)));
  EXPECT_EQ(pool->PhysicalMemoryUsage(), KiB(64));
}

TEST(OtherMachinesTest, HaveNoPoolsWithoutVirtualMemoryManagement) {
  const auto simulator = SimulatorOf("no-vmm");
  EXPECT_THAT(VirtualMemoryPool::Make(*simulator->vmm(), nullptr, GiB(1)),
              StatusIs(StatusCode::kUnimplemented));
}

TEST(OtherMachinesTest, DoNotGrantWhatTheyCannotReach) {
  const auto simulator = SimulatorOf("no-peers");
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto pool,
                               VirtualMemoryPool::Make(*simulator->vmm(), nullptr, GiB(1)));
  for (const Access access : {Access::kRead, Access::kNone}) {
    const absl::Status status = pool->Grant(DeviceOrdinal(1), access);
    EXPECT_THAT(status, StatusIs(StatusCode::kFailedPrecondition));
    EXPECT_THAT(std::string(status.message()), HasSubstr("device 1 cannot reach"));
  }
}

TEST(OtherMachinesTest, RunOutOfMemoryAndGoOn) {
  Profile small = Profile::ReferenceH200();
  small.devices[0].memory = MiB(64);
  small.devices[0].memory_in_use = MiB(44);
  small.devices[0].memory_kept_back = Bytes(0);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto simulator, Simulator::Create(small));
  Vmm* const vmm = *simulator->vmm();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto pool, VirtualMemoryPool::Make(vmm, nullptr, GiB(1)));
  ASSERT_THAT(pool->Allocate(Bytes(0), MiB(6)), IsOk());
  ASSERT_THAT(pool->Deallocate(MiB(4), MiB(2)), IsOk());
  EXPECT_THAT(pool->Allocate(MiB(100), MiB(30)), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_EQ(vmm->GetMemoryInfo(kDevice)->free, MiB(14));
  EXPECT_EQ(pool->Stats().cached, MiB(2));
  EXPECT_THAT(pool->Allocate(MiB(100), MiB(16)), IsOk());
  EXPECT_EQ(vmm->GetMemoryInfo(kDevice)->free, Bytes(0));
}

// --- The record of a run -----------------------------------------------------------------------

// Pages from its cache, too, and what is left at the end.
TEST(RecordTest, APoolTellsWhichBlocksItGivesAndTakes) {
  const std::string path = testing::TempDir() + "pool.events";
  const auto simulator = SimulatorOf("reference");
  TWINMMU_ASSERT_OK_AND_ASSIGN(auto events, record::EventWriter::Create(path));
  PageOptions options;
  options.events = events.get();
  {
    TWINMMU_ASSERT_OK_AND_ASSIGN(
        const auto pool, VirtualMemoryPool::Make(*simulator->vmm(), nullptr, MiB(8), options));
    ASSERT_THAT(pool->Allocate(Bytes(0), MiB(4)), IsOk());
    ASSERT_THAT(pool->Deallocate(MiB(2), MiB(2)), IsOk());
    ASSERT_THAT(pool->Allocate(MiB(6), MiB(2)), IsOk());
    EXPECT_THAT(pool->Allocate(Bytes(0), MiB(2)), StatusIs(StatusCode::kAlreadyExists));
  }
  events.reset();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto reader, record::EventReader::Open(path));
  std::vector<std::string> told;
  uint64_t base = 0;
  record::Event event;
  const record::Stack* stack = nullptr;
  while (reader->Next(&event, &stack)) {
    if (base == 0) base = event.address;
    told.push_back(absl::StrCat(std::string(record::Word(event.kind)), " ",
                                (event.address - base) >> 20, "+", event.bytes >> 20));
  }
  EXPECT_THAT(told, ElementsAre("pool-allocate 0+4", "pool-free 2+2", "pool-allocate 6+2",
                                "pool-free 0+8"));
}

}  // namespace
}  // namespace twinmmu
