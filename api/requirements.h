// What the compiler and Abseil must have, said in words before anything else fails to compile.

#ifndef TWINMMU_API_REQUIREMENTS_H_
#define TWINMMU_API_REQUIREMENTS_H_

#include "absl/base/config.h"

#if __cplusplus < 201703L
#error \
    "TwinMMU needs C++17. Compile all of the program with -std=c++17 or newer. With Bazel, write into .bazelrc: build --cxxopt=-std=c++17 --host_cxxopt=-std=c++17"
#endif

// Abseil between two releases has no version.
#if defined(ABSL_LTS_RELEASE_VERSION) && ABSL_LTS_RELEASE_VERSION < 20220623
#error "TwinMMU needs Abseil 20220623 or newer, and this is older: update the Abseil of your build."
#endif

#endif  // TWINMMU_API_REQUIREMENTS_H_
