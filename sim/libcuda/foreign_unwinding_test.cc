// The program's runtime of C++ unwinds through the library, which has one of its own: a host
// function may throw, or end its thread. Usage: foreign_unwinding_test LIBRARY

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <stdexcept>

#include "gtest/gtest.h"

namespace {

void* library = nullptr;

template <typename... Parameters>
int Call(const char* name, Parameters... parameters) {
  using Function = int (*)(Parameters...);
  const auto function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr ? function(parameters...) : -1;
}

int LaunchHost(void (*function)(void*)) {
  void* const none = nullptr;
  return Call("cuLaunchHostFunc", none, function, none);
}

class ForeignUnwindingTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Call("cuInit", 0u), 0);
    ASSERT_EQ(Call("cuDevicePrimaryCtxRetain", &context, 0), 0);
    ASSERT_EQ(Call("cuCtxSetCurrent", context), 0);
  }
  static void* context;
};
void* ForeignUnwindingTest::context = nullptr;

// Whether a function that a stream calls is called.
bool CallsHostFunctions() {
  static std::atomic<bool> called{false};
  called = false;
  EXPECT_EQ(LaunchHost([](void*) { called = true; }), 0);
  EXPECT_EQ(Call("cuCtxSynchronize"), 0);
  return called;
}

TEST_F(ForeignUnwindingTest, AHostFunctionMayThrow) {
  EXPECT_EQ(LaunchHost([](void*) { throw std::runtime_error("anything"); }), 0);
  EXPECT_EQ(LaunchHost([](void*) { throw 7; }), 0);
  EXPECT_TRUE(CallsHostFunctions());
}

TEST_F(ForeignUnwindingTest, TheThreadMayEndInAHostFunction) {
  EXPECT_EQ(LaunchHost([](void*) { pthread_exit(nullptr); }), 0);
  EXPECT_TRUE(CallsHostFunctions());  // by another one
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  library = dlopen(argv[1], RTLD_NOW);
  return library != nullptr ? RUN_ALL_TESTS() : 2;
}
