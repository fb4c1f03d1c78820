// Every call of the list comes out the same when it is played: with the arguments that it was made
// with, and the results that it gave.

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/call_macros.h"
#include "api/testing/every_call.h"
#include "api/testing/matchers.h"
#include "api/testing/recording/player.h"
#include "api/testing/recording/recorder.h"
#include "api/testing/recording/replay.h"
#include "api/testing/tracing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::IsEmpty;
using testing_internal::MadeCall;
using testing_internal::MakeEveryCall;

// What a call gives. A number is no descriptor that is open.
template <typename T>
T Answer() {
  if constexpr (std::is_same_v<T, absl::StatusOr<int>>) return 1'000'000;
  return T(typename T::value_type());
}
template <>
absl::Status Answer<absl::Status>() {
  return absl::OkStatus();
}

#define TWINMMU_SUCCEED(context, id, result, method, ...) \
  result method(TWINMMU_UNUSED_PARAMETERS(__VA_ARGS__)) override { return Answer<result>(); }
struct SucceedingVmm : public Vmm {
  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, Vmm)
  TWINMMU_VMM_CALLS(TWINMMU_SUCCEED, )
};
struct SucceedingExecutor : public Executor {
  TWINMMU_EXECUTOR_CALLS(TWINMMU_SUCCEED, )
};
struct SucceedingMulticast : public Multicast {
  TWINMMU_MULTICAST_CALLS(TWINMMU_SHORT_FORMS, Multicast)
  TWINMMU_MULTICAST_CALLS(TWINMMU_SUCCEED, )
};
struct SucceedingSparseArrays : public SparseArrays {
  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_SUCCEED, )
};

// Remembers what arrives, in words that have nothing to do with those of a recording.
class TracingDriver : public Driver {
 public:
  absl::StatusOr<Vmm*> vmm() override { return &vmm_; }
  absl::StatusOr<Executor*> executor() override { return &executor_; }
  absl::StatusOr<Multicast*> multicast() override { return &multicast_; }
  absl::StatusOr<SparseArrays*> sparse_arrays() override { return &arrays_; }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const CallTrace* trace :
         std::initializer_list<const CallTrace*>{&vmm_, &executor_, &multicast_, &arrays_}) {
      for (const TracedCall& call : trace->calls()) {
        // No recording has the arguments of a kernel.
        if (call.call == DriverCall::kLaunch) continue;
        std::ostringstream line;
        line << call;
        lines.push_back(line.str());
      }
    }
    return lines;
  }
  void Clear() {
    vmm_.Clear();
    executor_.Clear();
    multicast_.Clear();
    arrays_.Clear();
  }

 private:
  SucceedingVmm succeeding_vmm_;
  SucceedingExecutor succeeding_executor_;
  SucceedingMulticast succeeding_multicast_;
  SucceedingSparseArrays succeeding_arrays_;
  TracingVmm vmm_{&succeeding_vmm_};
  TracingExecutor executor_{&succeeding_executor_};
  TracingMulticast multicast_{&succeeding_multicast_};
  TracingSparseArrays arrays_{&succeeding_arrays_};
};

class EveryCallTest : public testing::Test {
 protected:
  // As many calls as the list has.
  void MakeAll() {
    for (const std::vector<MadeCall>& made :
         {MakeEveryCall(**driver_.vmm()), MakeEveryCall(**driver_.executor()),
          MakeEveryCall(**driver_.multicast()), MakeEveryCall(**driver_.sparse_arrays())}) {
      all_.insert(all_.end(), made.begin(), made.end());
    }
  }

  TracingDriver* target_ = new TracingDriver;  // which driver_ owns
  std::vector<Json> lines_;
  RecordingDriver driver_{std::unique_ptr<Driver>(target_),
                          [this](const Json& line) { lines_.push_back(line); }};
  std::vector<MadeCall> all_;
};

TEST_F(EveryCallTest, IsALineWithItsArgumentsAndResult) {
  MakeAll();
  ASSERT_EQ(lines_.size(), all_.size());
  std::string calls;
  for (size_t i = 0; i < all_.size(); ++i) {
    EXPECT_THAT(all_[i].status, IsOk()) << all_[i].call;
    EXPECT_EQ(lines_[i].at("code"), "CUDA_SUCCESS");
    calls += TextOr(lines_[i], "call") + " ";
  }
#define TWINMMU_NAME(context, id, ...) #id " "
  std::string expected = TWINMMU_ALL_CALLS(TWINMMU_NAME, );
  for (size_t at; (at = expected.find("Async ")) != std::string::npos;) expected.erase(at, 5);
  EXPECT_EQ(calls, expected);
}

// The keys of a line before its code.
std::string Arguments(const Json& line) {
  std::string keys;
  for (const auto& [key, value] : line.items()) {
    if (key == "code") break;
    if (key != "call") keys += key + " ";
  }
  return keys;
}

// As in files that are there already: `twinmmu compare` goes by it.
TEST_F(EveryCallTest, HasItsArgumentsInTheirOrder) {
  MakeAll();
  const std::map<DriverCall, std::string> expected = {
      {DriverCall::kCanAccessPeer, "device peer "},
      {DriverCall::kGetPointerAttribute, "attribute address device "},
      {DriverCall::kCopyHostToDevice, "device destination size "},
      {DriverCall::kCopyDeviceToDeviceAsync, "stream device destination source size "},
      {DriverCall::kFillAsync, "stream device destination width value count "},
      {DriverCall::kRecordEvent, "event device event_device stream "},
      {DriverCall::kWaitEvent, "event device event_device stream "},
      {DriverCall::kLaunch, "kernel device stream grid block "},
      {DriverCall::kLoadModule, "ptx device "},
      {DriverCall::kCreateMipmappedArray, "descriptor levels device "},
      {DriverCall::kCopyArrayToHost, "array offset extent stream device size "},
      {DriverCall::kMapTiles, "operations stream device "}};
  size_t found = 0;
  for (size_t i = 0; i < all_.size(); ++i) {
    const auto keys = expected.find(all_[i].call);
    if (keys == expected.end()) continue;
    EXPECT_EQ(Arguments(lines_[i]), keys->second) << all_[i].call;
    ++found;
  }
  EXPECT_EQ(found, expected.size());
}

TEST_F(EveryCallTest, LeavesOutFlagsThatAreZeroButForOneCall) {
  const AddressRange range{DeviceAddress(0x10), Bytes(3), Bytes(0)};
  Vmm& vmm = **driver_.vmm();
  vmm.Map(range, AllocationHandle(1)).IgnoreError();
  EXPECT_EQ(Arguments(lines_.back()), "range size handle ");
  vmm.GetHandleForAddressRange(DeviceOrdinal(0), range, RangeHandleType::kDmaBufFileDescriptor, 0)
      .IgnoreError();
  EXPECT_EQ(Arguments(lines_.back()), "range size type flags device ");
}

TEST_F(EveryCallTest, ReachesAnotherDriverWithTheSameArguments) {
  MakeAll();
  auto target = std::make_unique<TracingDriver>();
  const TracingDriver& played = *target;
  Player player({std::move(target), nullptr});
  for (const Json& line : lines_) {
    const absl::StatusOr<Json> seen = player.Play(line);
    if (line.at("call") == "Launch") {
      EXPECT_EQ(seen.status().code(), absl::StatusCode::kUnimplemented);
      continue;
    }
    ASSERT_THAT(seen, IsOk());
    EXPECT_THAT(DifferingKeys(line, *seen), IsEmpty()) << line << "\n" << *seen;
  }
  EXPECT_EQ(played.Lines(), target_->Lines());
}

TEST_F(EveryCallTest, WhatADriverLacksItsRecordingLacksToo) {
  struct VmmOnly : public Driver {
    absl::StatusOr<Vmm*> vmm() override { return &all; }
    SucceedingVmm all;
  };
  RecordingDriver recording(std::make_unique<VmmOnly>(), [](const Json&) {});
  EXPECT_THAT(recording.vmm(), IsOk());
  EXPECT_EQ(recording.executor().status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(recording.multicast().status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(recording.sparse_arrays().status().code(), absl::StatusCode::kUnimplemented);
  MakeAll();
  Player player({std::make_unique<VmmOnly>(), nullptr});
  for (const Json& line : lines_) {
    const bool is_of_vmm = &line < &lines_[MakeEveryCall(**recording.vmm()).size()];
    EXPECT_EQ(player.Play(line).ok(), is_of_vmm) << line;
  }
}

}  // namespace
}  // namespace twinmmu
