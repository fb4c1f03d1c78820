// Settings of core dumps of devices. No test makes one.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using Attribute = Function<CUresult(int, void*, size_t*)>;
const Attribute get("cuCoredumpGetAttribute");
const Attribute get_for_all("cuCoredumpGetAttributeGlobal");
const Attribute set("cuCoredumpSetAttribute");
const Attribute set_for_all("cuCoredumpSetAttributeGlobal");

enum : int { kEnable = 1, kTriggerHost, kLightweight, kUserTrigger, kFile, kPipe, kFlags };

class CoredumpTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    if (DriverVersion() < 12010) GTEST_SKIP() << "the driver is older than these functions";
  }
  static constexpr size_t kNone = 77;
  // kNone: there is no such setting.
  static size_t SizeOf(const Attribute& function, int setting) {
    size_t size = kNone;
    const CUresult found = function(setting, nullptr, &size);
    EXPECT_EQ(found, size == kNone ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS) << setting;
    return size;
  }
};

TEST_F(CoredumpTest, SettingsHaveTheirSizes) {
  const size_t sizes[] = {kNone, 1, 1, 1, 1, 1024, 1024, 4, kNone};
  for (int setting = 0; setting < 9; ++setting) {
    const bool only_for_all = setting == kUserTrigger || setting == kPipe;
    EXPECT_EQ(SizeOf(get_for_all, setting), sizes[setting]) << setting;
    EXPECT_EQ(SizeOf(get, setting), only_for_all ? kNone : sizes[setting]) << setting;
  }
}

TEST_F(CoredumpTest, NumbersAreReadInTheirSizeOnly) {
  char value[8];
  for (const auto& [setting, wrong] :
       std::vector<std::pair<int, size_t>>{{kEnable, 8}, {kFlags, 1}}) {
    size_t size = wrong;
    EXPECT_EQ(get(setting, value, &size), CUDA_ERROR_INVALID_VALUE) << setting;
  }
  size_t none = 8;
  EXPECT_EQ(get(0, value, &none), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CoredumpTest, TextsAreReadWhereTheyFit) {
  char path[] = "/tmp/core_of_a_device";
  size_t size = sizeof(path);
  ASSERT_EQ(set(kFile, path, &size), CUDA_SUCCESS);
  std::vector<char> read(2048);
  size = read.size();
  EXPECT_EQ(get(kFile, read.data(), &size), CUDA_SUCCESS);
  EXPECT_EQ(size, read.size());
  EXPECT_STREQ(read.data(), path);
  // The end of the text need not fit.
  std::fill(read.begin(), read.end(), 'x');
  size = sizeof(path) - 1;
  EXPECT_EQ(get(kFile, read.data(), &size), CUDA_SUCCESS);
  EXPECT_EQ(std::string(read.data(), size), path);
  size = sizeof(path) - 2;
  EXPECT_EQ(get(kFile, read.data(), &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(size, sizeof(path) - 2);
}

TEST_F(CoredumpTest, WhatIsSetIsReadBack) {
  int flags = 1;
  size_t size = sizeof(flags);
  ASSERT_EQ(set_for_all(kFlags, &flags, &size), CUDA_SUCCESS);
  flags = 77;
  EXPECT_EQ(get_for_all(kFlags, &flags, &size), CUDA_SUCCESS);
  EXPECT_EQ(flags, 1);
  flags = 0;
  EXPECT_EQ(set_for_all(kFlags, &flags, &size), CUDA_SUCCESS);
}

// A context begins with what is set for all, and keeps it; those that there are keep what they
// have.
TEST_F(CoredumpTest, WhatIsSetForAllIsForContextsToCome) {
  const auto flags_of = [](const Attribute& function) {
    int flags = 77;
    size_t size = sizeof(flags);
    EXPECT_EQ(function(kFlags, &flags, &size), CUDA_SUCCESS);
    return flags;
  };
  const auto set_flags = [](const Attribute& function, int flags) {
    size_t size = sizeof(flags);
    EXPECT_EQ(function(kFlags, &flags, &size), CUDA_SUCCESS);
  };
  const int before = flags_of(get);
  const int before_for_all = flags_of(get_for_all);
  const int other = before_for_all ^ 1;
  set_flags(set_for_all, other);
  EXPECT_EQ(flags_of(get), before);
  CUcontext created = nullptr;
  ASSERT_EQ(cuCtxCreate(&created, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(flags_of(get), other);
  set_flags(set_for_all, before_for_all);
  EXPECT_EQ(flags_of(get), other);
  set_flags(set, before_for_all);
  set_flags(set_for_all, other);
  EXPECT_EQ(flags_of(get), before_for_all);
  EXPECT_EQ(cuCtxDestroy(created), CUDA_SUCCESS);
  set_flags(set_for_all, before_for_all);
}

TEST_F(CoredumpTest, SomeAreSetForAllContextsOnly) {
  char path[] = "/tmp/pipe_of_a_device";
  size_t size = sizeof(path);
  EXPECT_EQ(set(kPipe, path, &size), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CoredumpTest, ASizeIsNeededAndAValueIsNot) {
  bool on = false;
  size_t size = 1;
  EXPECT_EQ(set(kEnable, nullptr, &size), CUDA_SUCCESS);
  EXPECT_EQ(set(kEnable, &on, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(kEnable, &on, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(kEnable, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(0, &on, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_for_all(0, &on, &size), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CoredumpTest, OnlyThoseOfAContextNeedOne) {
  EmptyStack();
  bool on = false;
  size_t size = 1;
  EXPECT_EQ(get(kEnable, &on, &size), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(set(kEnable, &on, &size), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(get_for_all(kEnable, &on, &size), CUDA_SUCCESS);
  EXPECT_EQ(set_for_all(kEnable, &on, &size), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
