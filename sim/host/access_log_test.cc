// The log in the file of shared memory: what one process adds, all others see, and no more is
// believed of it than that.

#include "sim/host/access_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/sharing/owned_descriptor.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Bytes kOffset = KiB(8);

class AccessLogTest : public testing::Test {
 protected:
  AccessLogTest() : file_(memfd_create("a test", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_.get(), static_cast<off_t>((kOffset + AccessLog::kRoom).value())), 0);
    log_ = *AccessLog::Open(file_.get(), kOffset);
    other_ = *AccessLog::Open(file_.get(), kOffset);  // as another process does
  }

  static LoggedAccess Of(const std::string& words) { return {1, 2, 3, 4, true, 10, 11, 5, words}; }
  static std::vector<LoggedAccess> All(const AccessLog& log) {
    std::vector<LoggedAccess> all;
    log.ForEach([&](const LoggedAccess& access) { all.push_back(access); });
    return all;
  }

  OwnedDescriptor file_;
  std::shared_ptr<AccessLog> log_;
  std::shared_ptr<AccessLog> other_;
};

TEST_F(AccessLogTest, OthersSeeWhatIsAdded) {
  EXPECT_THAT(All(*other_), IsEmpty());
  log_->Add(Of("kernel fill"));
  const std::vector<LoggedAccess> all = All(*other_);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].process, 1u);
  EXPECT_EQ(all[0].pid, 2u);
  EXPECT_EQ(all[0].first, 3u);
  EXPECT_EQ(all[0].last, 4u);
  EXPECT_TRUE(all[0].writes);
  EXPECT_EQ(all[0].waited, 10u);
  EXPECT_EQ(all[0].recorded, 11u);
  EXPECT_EQ(all[0].call, 5u);
  EXPECT_EQ(all[0].words, "kernel fill");
}

TEST_F(AccessLogTest, OthersSeeWhatIsSetLater) {
  log_->Add(Of("one"));
  const AccessLog::Number two = log_->Add(Of("two"));
  log_->SetWaited(two, 7);
  log_->SetRecorded(two, 8);
  for (const LoggedAccess& access : All(*other_)) {
    EXPECT_EQ(access.waited, access.words == "two" ? 7u : 10u);
    EXPECT_EQ(access.recorded, access.words == "two" ? 8u : 11u);
  }
}

// And nothing can be set of them any more.
TEST_F(AccessLogTest, LaterEntriesTakeThePlaceOfTheFirst) {
  const AccessLog::Number first = log_->Add(Of("first"));
  size_t entries = 0;
  do {
    entries = All(*log_).size();
    log_->Add(Of("later"));
  } while (All(*log_).size() > entries);
  log_->SetWaited(first, 7);
  log_->SetRecorded(first, 8);
  for (const LoggedAccess& access : All(*log_)) {
    EXPECT_EQ(access.words, "later");
    EXPECT_EQ(access.waited, 10u);
    EXPECT_EQ(access.recorded, 11u);
  }
}

TEST_F(AccessLogTest, LongWordsAreCut) {
  const std::string words(1000, 'w');
  log_->Add(Of(words));
  const std::vector<LoggedAccess> all = All(*other_);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_GT(all[0].words.size(), 60u);
  EXPECT_EQ(all[0].words, words.substr(0, all[0].words.size()));
}

TEST_F(AccessLogTest, MarksAreForAll) {
  EXPECT_FALSE(other_->IsFlagged());
  log_->SetFlagged();
  EXPECT_TRUE(other_->IsFlagged());
  log_->RaiseKnown(5);
  other_->RaiseKnown(3);
  EXPECT_EQ(log_->known(), 5u);
  other_->RaiseKnown(6);
  EXPECT_EQ(log_->known(), 6u);
}

// Words are for people: nothing in them moves a cursor or ends a line.
TEST_F(AccessLogTest, WhatIsNoTextBecomesText) {
  log_->Add(Of("a\n\x1b[31m\xff<b>"));
  const std::vector<LoggedAccess> all = All(*other_);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].words, "a??[31m?<b>");
}

// By somebody who has a descriptor, while others read and add.
TEST_F(AccessLogTest, AnythingMayBeWrittenThere) {
  std::vector<char> noise(AccessLog::kRoom.value());
  uint64_t state = 1;
  for (int round = 0; round < 50; ++round) {
    for (char& byte : noise) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<char>(round % 2 == 0 ? state >> 56 : 0xff);
    }
    ASSERT_EQ(pwrite(file_.get(), noise.data(), noise.size(), static_cast<off_t>(kOffset.value())),
              static_cast<ssize_t>(noise.size()));
    for (const LoggedAccess& access : All(*log_)) {
      for (const char letter : access.words) EXPECT_TRUE(letter >= ' ' && letter <= '~');
    }
    log_->SetWaited(log_->Add(Of("still here")), 9);
    EXPECT_THAT(All(*other_),
                testing::Contains(testing::Field(&LoggedAccess::words, "still here")));
  }
}

TEST(NoAccessLogTest, TheHostMayRefuse) {
  EXPECT_THAT(AccessLog::Open(-1, Bytes(0)), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace twinmmu
