// Runs the tests on a driver: [--driver=LIBRARY], which is libcuda.so.1 unless named.

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "conformance/abi/driver_under_test.h"
#include "gtest/gtest.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr char kDriver[] = "--driver=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], kDriver, std::strlen(kDriver)) != 0) {
      std::fprintf(stderr, "usage: %s [--driver=LIBRARY]\n", argv[0]);
      return 2;
    }
    twinmmu::abi::SetDriver(argv[i] + std::strlen(kDriver));
  }
  return RUN_ALL_TESTS();
}
