// Which calls fail, and which rules there are.

#include "sim/libcuda/injector.h"

#include <string>
#include <thread>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::libcuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kCalls[] = {"cuInit", "cuMemMap", "cuMemCreate"};
enum : size_t { kInit, kMap, kCreate };

// The numbers, from 1, of those of the next `count` calls that fail.
std::vector<int> Failing(Injector& injector, size_t call, int count) {
  std::vector<int> failing;
  for (int i = 1; i <= count; ++i) {
    if (injector.Fails(call).has_value()) failing.push_back(i);
  }
  return failing;
}

std::string Complaint(const std::string& rules) {
  Injector injector(kCalls);
  const absl::Status status = injector.SetRules(rules);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << rules;
  EXPECT_THAT(Failing(injector, kMap, 10), IsEmpty());
  return std::string(status.message());
}

TEST(InjectorTest, FailsNothingWithoutRules) {
  Injector injector(kCalls);
  EXPECT_THAT(Failing(injector, kMap, 100), IsEmpty());
  EXPECT_THAT(injector.SetRules(" ; "), IsOk());
  EXPECT_THAT(Failing(injector, kMap, 100), IsEmpty());
}

TEST(InjectorTest, FailsOneCallByItsNumber) {
  Injector injector(kCalls);
  ASSERT_THAT(injector.SetRules("cuMemMap:3:CUDA_ERROR_OUT_OF_MEMORY"), IsOk());
  EXPECT_THAT(Failing(injector, kCreate, 10), IsEmpty());
  EXPECT_THAT(Failing(injector, kMap, 10), ElementsAre(3));
}

TEST(InjectorTest, FailsEveryKthCall) {
  Injector injector(kCalls);
  ASSERT_THAT(injector.SetRules("cuMemCreate:every=4:OUT_OF_MEMORY"), IsOk());
  EXPECT_THAT(Failing(injector, kCreate, 12), ElementsAre(4, 8, 12));
}

TEST(InjectorTest, FailsWithTheCodeByNameOrNumber) {
  for (const char* code : {"CUDA_ERROR_NOT_PERMITTED", "NOT_PERMITTED", "800"}) {
    Injector injector(kCalls);
    ASSERT_THAT(injector.SetRules(std::string("cuInit:1:") + code), IsOk());
    EXPECT_EQ(injector.Fails(kInit), DriverCode::kNotPermitted) << code;
  }
}

// With a probability: about so many, the same ones with the same seed, others with another.
TEST(InjectorTest, FailsAtRandomAsTheSeedSays) {
  const auto failing = [](const char* rule) {
    Injector injector(kCalls);
    EXPECT_THAT(injector.SetRules(rule), IsOk());
    return Failing(injector, kMap, 10000);
  };
  const std::vector<int> seven = failing("cuMemMap:p=0.1,seed=7:2");
  EXPECT_GT(seven.size(), 850u);
  EXPECT_LT(seven.size(), 1150u);
  EXPECT_EQ(failing("cuMemMap:p=0.1,seed=7:2"), seven);
  EXPECT_NE(failing("cuMemMap:p=0.1,seed=8:2"), seven);
  EXPECT_THAT(failing("cuMemMap:p=0:2"), IsEmpty());
  EXPECT_EQ(failing("cuMemMap:p=1:2").size(), 10000u);
}

// In every version: a failure that was seen once can be seen again.
TEST(InjectorTest, FailsTheSameCallsForGood) {
  const auto failing = [](const char* rule) {
    Injector injector(kCalls);
    EXPECT_THAT(injector.SetRules(rule), IsOk());
    return Failing(injector, kMap, 99);
  };
  EXPECT_THAT(failing("cuMemMap:p=0.1:2"), ElementsAre(5, 7, 14, 33, 34, 53, 55, 89, 93));
  EXPECT_THAT(failing("cuMemMap:p=0.1,seed=7:2"), ElementsAre(39, 41, 45, 50, 56, 70, 89, 96));
}

// Several rules, also for one function: the first that applies gives the code.
TEST(InjectorTest, TakesSeveralRules) {
  Injector injector(kCalls);
  ASSERT_THAT(injector.SetRules("cuMemMap:2:801; cuMemMap:every=2:2;cuMemCreate:1:1"), IsOk());
  EXPECT_EQ(injector.Fails(kMap), std::nullopt);
  EXPECT_EQ(injector.Fails(kMap), DriverCode::kNotSupported);
  EXPECT_EQ(injector.Fails(kMap), std::nullopt);
  EXPECT_EQ(injector.Fails(kMap), DriverCode::kOutOfMemory);
  EXPECT_EQ(injector.Fails(kCreate), DriverCode::kInvalidValue);
}

TEST(InjectorTest, TellsOfEachFailure) {
  std::vector<InjectedFailure> told;
  Injector injector(kCalls, [&](const InjectedFailure& failure) { told.push_back(failure); });
  ASSERT_THAT(injector.SetRules("cuMemMap:2:999"), IsOk());
  Failing(injector, kMap, 3);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].call, kMap);
  EXPECT_EQ(told[0].number, 2u);
  EXPECT_EQ(told[0].code, DriverCode::kUnknown);
  EXPECT_EQ(told[0].rule, "cuMemMap:2:999");
}

TEST(InjectorTest, SaysWhatARuleCanBe) {
  EXPECT_THAT(Complaint("cuMemMap"), HasSubstr("CALL:WHEN:CODE"));
  EXPECT_THAT(Complaint("cuMemMap:1:2:3"), HasSubstr("CALL:WHEN:CODE"));
  EXPECT_THAT(Complaint("cuMemFoo:1:2"),
              AllOf(HasSubstr("\"cuMemFoo\""), HasSubstr("cuInit, cuMemMap, cuMemCreate")));
  EXPECT_THAT(Complaint("cuMemMap:1:OUT_OF_LUCK"),
              AllOf(HasSubstr("\"OUT_OF_LUCK\""), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  for (const char* when : {"0", "-1", "x", "every=0", "every=", "p=2", "p=-0.1", "p=x",
                           "p=0.5,seed=x", "p=nan", "seed=3"}) {
    EXPECT_THAT(Complaint(std::string("cuMemMap:") + when + ":2"),
                HasSubstr("p=PROBABILITY,seed=NUMBER"))
        << when;
  }
  for (const char* code : {"0", "1000", "-2", "", "CUDA_SUCCESS"}) {
    EXPECT_THAT(Complaint(std::string("cuMemMap:1:") + code), HasSubstr("from 1 to 999")) << code;
  }
}

// One wrong rule, and there are none.
TEST(InjectorTest, TakesAllRulesOrNone) {
  EXPECT_THAT(Complaint("cuMemMap:every=1:2;cuMemFoo:1:2"), HasSubstr("cuMemFoo"));
}

// Each call is counted once, whatever thread makes it.
TEST(InjectorTest, CountsTheCallsOfAllThreads) {
  Injector injector(kCalls);
  ASSERT_THAT(injector.SetRules("cuMemMap:every=10:2"), IsOk());
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 10000; ++call) failed += injector.Fails(kMap).has_value() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 4000);
}

}  // namespace
}  // namespace twinmmu::libcuda
