// Tests of what an older runtime has, in a program that is linked to ours of today.

#ifndef TWINMMU_SIM_LIBCUDART_TESTING_OLDER_RUNTIME_H_
#define TWINMMU_SIM_LIBCUDART_TESTING_OLDER_RUNTIME_H_

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "gtest/gtest.h"

namespace twinmmu::cudart {

inline void* older_runtime = nullptr;

template <typename Function>
Function* FindOlder(const std::string& name) {
  return reinterpret_cast<Function*>(dlsym(older_runtime, name.c_str()));
}

// The function of that name of the older runtime: OLD(cudaMalloc)(&memory, 4).
#define OLD(name) (*::twinmmu::cudart::FindOlder<std::remove_reference_t<decltype(name)>>(#name))

// What main returns: runs all tests. The runtime is the file that is the only argument, or, if
// there is none, the one that the dynamic linker finds by `soname`.
inline int RunTestsOfOlder(const char* soname, int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  older_runtime = dlopen(argc == 2 ? argv[1] : soname, RTLD_NOW | RTLD_LOCAL);
  if (older_runtime == nullptr) {
    ADD_FAILURE() << dlerror();
    return 1;
  }
  return RUN_ALL_TESTS();
}

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_TESTING_OLDER_RUNTIME_H_
