// The program's runtime of C++ unwinds through the library, which has one of its own: a host
// function may throw, or end its thread. Usage: foreign_unwinding_test LIBRARY

#include <dlfcn.h>
#include <pthread.h>

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

TEST_F(ForeignUnwindingTest, AHostFunctionMayThrow) {
  constexpr int kUnknown = 999;
  EXPECT_EQ(LaunchHost([](void*) { throw std::runtime_error("anything"); }), kUnknown);
  EXPECT_EQ(LaunchHost([](void*) { throw 7; }), kUnknown);
}

TEST_F(ForeignUnwindingTest, AThreadMayEndInAHostFunction) {
  static bool returned = false;
  const auto run = [](void*) -> void* {
    Call("cuCtxSetCurrent", context);
    LaunchHost([](void*) { pthread_exit(nullptr); });
    returned = true;
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_FALSE(returned);
  EXPECT_EQ(Call("cuCtxSynchronize"), 0);  // no lock is held
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  library = dlopen(argv[1], RTLD_NOW);
  return library != nullptr ? RUN_ALL_TESTS() : 2;
}
