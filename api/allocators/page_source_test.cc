#include "api/allocators/page_source.h"

#include <utility>
#include <vector>

#include "api/testing/matchers.h"
#include "api/testing/mock_vmm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::InSequence;
using testing::Return;

AllocationHandle Page(uint64_t number) { return AllocationHandle(number); }

absl::Status Refused(const char* call) {
  return MakeDriverStatus({DriverCode::kOutOfMemory, ErrorOrigin::kDriver, call}, "refused");
}

// Of pages of 2 MiB, at most two of which are kept.
class PageSourceTest : public testing::Test {
 protected:
  MockVmm& vmm() { return vmm_; }
  PageSource& source() { return source_; }
  const DriverCallCounts& calls() const { return calls_; }

  void ExpectCreate(const std::vector<AllocationHandle>& pages) {
    for (const AllocationHandle page : pages) {
      EXPECT_CALL(vmm_, Create(MiB(2), AllocationProperties(), 0)).WillOnce(Return(page));
    }
  }
  void ExpectRelease(AllocationHandle page, absl::Status answer = absl::OkStatus()) {
    EXPECT_CALL(vmm_, Release(page)).WillOnce(Return(std::move(answer)));
  }

 private:
  testing::StrictMock<MockVmm> vmm_;
  DriverCallCounts calls_;
  PageSource source_{&vmm_, AllocationProperties(), MiB(2), MiB(5), &calls_};
};

TEST_F(PageSourceTest, TakesWhatWasPutBeforeItCreates) {
  const InSequence in_order;
  source().Put(Page(1));
  source().Put(Page(2));
  ExpectCreate({Page(3)});
  TWINMMU_ASSERT_OK_AND_ASSIGN(const PageSource::Batch batch, source().Take(3));
  EXPECT_THAT(batch.handles, ElementsAre(Page(1), Page(2), Page(3)));
  EXPECT_EQ(batch.from_cache, 2);
  EXPECT_EQ(source().cached(), 0);
  EXPECT_EQ(calls(), (DriverCallCounts{1, 0, 0, 0, 0}));
}

TEST_F(PageSourceTest, TakesThePagesThatWerePutLast) {
  source().Put(Page(1));
  source().Put(Page(2));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const PageSource::Batch batch, source().Take(1));
  EXPECT_THAT(batch.handles, ElementsAre(Page(2)));
}

TEST_F(PageSourceTest, ReleasesWhatItCreatedWhenACreateFails) {
  const InSequence in_order;
  source().Put(Page(1));
  ExpectCreate({Page(2), Page(3)});
  EXPECT_CALL(vmm(), Create(_, _, _)).WillOnce(Return(Refused("cuMemCreate")));
  ExpectRelease(Page(2));
  ExpectRelease(Page(3));
  const absl::Status status = source().Take(5).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(GetDriverError(status)->call, "cuMemCreate");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("page 4 of 5 of 2 MiB on device 0: refused"));
  EXPECT_EQ(source().cached(), 1);
  EXPECT_EQ(calls(), (DriverCallCounts{3, 2, 0, 0, 0}));
}

TEST_F(PageSourceTest, KeepsWhatTheDriverDoesNotTake) {
  ExpectRelease(Page(3), Refused("cuMemRelease"));
  source().Put(Page(1));
  source().Put(Page(2));
  source().Put(Page(3));
  EXPECT_EQ(source().cached(), 3);
}

TEST_F(PageSourceTest, ReleasesWhatIsBeyondItsLimit) {
  ExpectRelease(Page(3));
  source().Put(Page(1));
  source().Put(Page(2));
  source().Put(Page(3));
  EXPECT_EQ(source().cached(), 2);
}

TEST_F(PageSourceTest, UndoesATake) {
  source().Put(Page(1));
  source().Put(Page(2));
  ExpectCreate({Page(3)});
  TWINMMU_ASSERT_OK_AND_ASSIGN(const PageSource::Batch batch, source().Take(3));
  ExpectRelease(Page(3));
  source().Undo(batch);
  EXPECT_EQ(source().cached(), 2);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const PageSource::Batch again, source().Take(2));
  EXPECT_THAT(again.handles, ElementsAre(Page(1), Page(2)));
}

TEST_F(PageSourceTest, KeepsTheRestWhenARefusedReleaseStopsCompact) {
  const InSequence in_order;
  source().Put(Page(1));
  source().Put(Page(2));
  ExpectRelease(Page(2));
  ExpectRelease(Page(1), Refused("cuMemRelease"));
  const absl::Status status = source().Compact();
  EXPECT_EQ(GetDriverError(status)->call, "cuMemRelease");
  EXPECT_THAT(std::string(status.message()), HasSubstr("a cached page could not be released"));
  EXPECT_EQ(source().cached(), 1);
  ExpectRelease(Page(1));
  EXPECT_THAT(source().Compact(), IsOk());
  EXPECT_EQ(source().cached(), 0);
}

}  // namespace
}  // namespace twinmmu
