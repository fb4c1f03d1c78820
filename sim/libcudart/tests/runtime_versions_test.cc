// The libraries of each CUDA version: what each exports, under which version, and what it tells of
// a device in the layout of its time. The arguments are their files.

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#define TWINMMU_CUDART_TYPES_ONLY
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

// By the name of the library.
std::map<std::string, std::string>* files = nullptr;

class RuntimeVersions : public testing::TestWithParam<std::pair<const char*, int>> {
 protected:
  RuntimeVersions() : library_(dlopen((*files)[soname()].c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
  }

  static const char* soname() { return GetParam().first; }
  static int major() { return GetParam().second; }
  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlvsym(library_, name, soname()));
  }

  void* const library_;
};

// As a program asks that was linked to NVIDIA's library of that name.
TEST_P(RuntimeVersions, ExportsWhatItsVersionHas) {
  EXPECT_NE(Find<void>("cudaMalloc"), nullptr);
  EXPECT_NE(Find<void>("__cudaRegisterFatBinary"), nullptr);
  EXPECT_EQ(Find<void>("cudaGetDeviceProperties_v2") != nullptr, major() == 12);
  EXPECT_EQ(Find<void>("cudaGetKernel") != nullptr, major() >= 12);
  EXPECT_EQ(Find<void>("cudaThreadSynchronize") != nullptr, major() < 13);
  EXPECT_EQ(dlsym(library_, "_ZN7twinmmu6cudart10InitializeEv"), nullptr) << "all else is hidden";
  int version = 0;
  EXPECT_EQ(Find<cudaError_t(int*)>("cudaRuntimeGetVersion")(&version), cudaSuccess);
  EXPECT_EQ(version / 1000, major());
}

// Whatever is behind the structure stays as it was.
template <typename Properties>
Properties Told(cudaError_t (*tell)(void*, int)) {
  struct {
    Properties told;
    char behind[64];
  } properties;
  std::memset(&properties, 0x5a, sizeof(properties));
  EXPECT_EQ(tell(&properties, 0), cudaSuccess);
  EXPECT_EQ(std::string(properties.behind, 64), std::string(64, 0x5a));
  EXPECT_EQ(properties.told.major, 9);
  EXPECT_EQ(properties.told.warpSize, 32);
  EXPECT_GT(properties.told.multiProcessorCount, 0);
  EXPECT_EQ(properties.told.maxBlocksPerMultiProcessor, 32);
  return properties.told;
}

TEST_P(RuntimeVersions, TellsOfADeviceInItsLayout) {
  auto* const tell = Find<cudaError_t(void*, int)>("cudaGetDeviceProperties");
  ASSERT_NE(tell, nullptr);
  if (major() == 13) {
    EXPECT_EQ(Told<twinmmu_cudaDeviceProp_13>(tell).unifiedAddressing, 1);
  } else {
    EXPECT_GT(Told<twinmmu_cudaDeviceProp_11>(tell).clockRate, 0);
  }
  if (major() == 12) {
    auto* const newer = Find<cudaError_t(void*, int)>("cudaGetDeviceProperties_v2");
    EXPECT_EQ(Told<twinmmu_cudaDeviceProp_12>(newer).hostRegisterSupported, 1);
  }
}

// Where a program asks for no other stream, those of its default stream.
TEST_P(RuntimeVersions, FindsTheDriversFunctionsForTheStreamOfAThread) {
  using FindFunction = cudaError_t(const char*, void**, unsigned long long, int*);
  auto* const find = Find<FindFunction>("cudaGetDriverEntryPoint");
  auto* const find_of_thread = Find<FindFunction>("cudaGetDriverEntryPoint_ptsz");
  int found = 0;
  const auto ask = [&](FindFunction* function, unsigned long long flags) {
    void* address = nullptr;
    EXPECT_EQ(function("cuMemcpyAsync", &address, flags, &found), cudaSuccess);
    return address;
  };
  void* const of_thread = ask(find, cudaEnablePerThreadDefaultStream);
  EXPECT_NE(ask(find, cudaEnableDefault), of_thread);
  EXPECT_EQ(ask(find_of_thread, cudaEnableDefault), of_thread);
  EXPECT_NE(ask(find_of_thread, cudaEnableLegacyStream), of_thread);
}

// A function that is no kernel is taken for a handle since CUDA 13.
TEST_P(RuntimeVersions, TellsWhatIsWrongWithALaunchAsInItsTime) {
  using Launch = cudaError_t(const void*, twinmmu_dim3, twinmmu_dim3, void**, size_t, void*);
  auto* const launch = Find<Launch>("cudaLaunchKernel");
  ASSERT_NE(launch, nullptr);
  static const char no_kernel = 0;
  EXPECT_EQ(launch(&no_kernel, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr),
            major() == 13 ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction);
}

INSTANTIATE_TEST_SUITE_P(All, RuntimeVersions,
                         testing::Values(std::pair<const char*, int>("libcudart.so.11.0", 11),
                                         std::pair<const char*, int>("libcudart.so.12", 12),
                                         std::pair<const char*, int>("libcudart.so.13", 13)));

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  files = new std::map<std::string, std::string>;
  for (int i = 1; i < argc; ++i) {
    const std::string file = argv[i];
    (*files)[file.substr(file.rfind('/') + 1)] = file;
  }
  return RUN_ALL_TESTS();
}
