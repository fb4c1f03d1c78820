// Where images of modules and libraries come from: files, and memory. As the documentation has it,
// and an H200 with driver 580.159.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

const Function<CUresult(CUmodule*, const char*)> load_file("cuModuleLoad");
const Function<CUresult(CUmodule*, const void*)> load_fat_binary("cuModuleLoadFatBinary");
const Function<CUresult(int*)> get_loading_mode("cuModuleGetLoadingMode");
const Function<CUresult(void**, const char*, void*, void*, unsigned, void*, void*, unsigned)>
    load_library("cuLibraryLoadFromFile");
const Function<CUresult(void*)> unload_library("cuLibraryUnload");
const Function<CUresult(void**, void*, const char*)> get_kernel("cuLibraryGetKernel");

constexpr int kEager = 1;
constexpr int kLazy = 2;

// A file with a kernel, and the name of one that there is not.
class ImagesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    std::ofstream(file_) << ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".visible .entry kernel() { ret; }\n";
  }
  void TearDown() override {
    std::remove(file_.c_str());
    ContextTest::TearDown();
  }

  const std::string file_ = testing::TempDir() + "image_" + std::to_string(getpid()) + ".ptx";
  const std::string no_file_ = file_ + ".missing";
};

TEST_F(ImagesTest, AModuleIsLoadedFromAFile) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(load_file(&module, no_file_.c_str()), CUDA_ERROR_FILE_NOT_FOUND);
  ASSERT_EQ(load_file(&module, file_.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, module, "kernel"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(ImagesTest, ALibraryIsLoadedFromAFile) {
  const auto load = [](void** library, const std::string& name) {
    return load_library(library, name.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  void* library = nullptr;
  void* kernel = nullptr;
  EXPECT_EQ(load(&library, no_file_), CUDA_ERROR_FILE_NOT_FOUND);
  ASSERT_EQ(load(&library, file_), CUDA_SUCCESS);
  EXPECT_EQ(get_kernel(&kernel, library, "kernel"), CUDA_SUCCESS);
  EXPECT_EQ(unload_library(library), CUDA_SUCCESS);
}

TEST_F(ImagesTest, WordsAreNoFatBinary) {
  CUmodule module = nullptr;
  EXPECT_EQ(load_fat_binary(&module, "this is no fat binary"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(module, nullptr);
}

TEST_F(ImagesTest, OptionsOfAModuleMustExist) {
  const Function<CUresult(CUmodule*, const void*, unsigned, int*, void**)> load(
      "cuModuleLoadDataEx");
  constexpr int kOptimizationLevel = 7;
  for (int option : {kOptimizationLevel, -1, 999}) {
    CUmodule module = nullptr;
    void* value = reinterpret_cast<void*>(4);
    const CUresult loaded =
        load(&module, ".version 7.0\n.target sm_70\n.address_size 64\n", 1, &option, &value);
    if (option == kOptimizationLevel) {
      EXPECT_EQ(loaded, CUDA_SUCCESS);
      EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    } else {
      EXPECT_EQ(loaded, CUDA_ERROR_INVALID_VALUE) << option;
    }
  }
}

TEST_F(ImagesTest, WhatALibrarysFileHoldsIsToldLater) {
  std::ofstream(file_) << "this is no PTX";
  void* library = nullptr;
  void* kernel = nullptr;
  ASSERT_EQ(load_library(&library, file_.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(get_kernel(&kernel, library, "kernel"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(unload_library(library), CUDA_SUCCESS);
}

TEST_F(ImagesTest, FunctionsAreLoadedEagerlyOrLazily) {
  int mode = 0;
  EXPECT_EQ(get_loading_mode(&mode), CUDA_SUCCESS);
  EXPECT_TRUE(mode == kEager || mode == kLazy) << mode;
  if (!TraitsOf().survives_bad_pointers) return;
  EXPECT_EQ(get_loading_mode(nullptr), CUDA_ERROR_INVALID_VALUE);
}

class LoadingModeTest : public NewProcessTest {
 protected:
  static void ExpectMode(int expected) {
    int mode = 0;
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(get_loading_mode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, expected);
  }
};

TEST_F(LoadingModeTest, FunctionsAreLoadedLazily) {
  if (!RanInNewProcess({"CUDA_MODULE_LOADING="})) ExpectMode(kLazy);
}

TEST_F(LoadingModeTest, TheEnvironmentMayAskForEagerLoading) {
  if (!RanInNewProcess({"CUDA_MODULE_LOADING=eager"})) ExpectMode(kEager);
}

}  // namespace
}  // namespace twinmmu::abi
