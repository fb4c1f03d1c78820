// Modules, libraries and launches.

#include <cstdint>
#include <cstring>
#include <string>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr CUresult kInvalidImage = CUDA_ERROR_INVALID_IMAGE;

const char kText[] = R"(.version 7.5
.target sm_70
.address_size 64
.visible .global .align 4 .u32 offset = 100;
.visible .entry add(.param .u64 at, .param .u32 value) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [at];
  ld.param.u32 %r1, [value];
  ld.global.u32 %r2, [offset];
  add.u32 %r3, %r1, %r2;
  st.global.u32 [%rd1], %r3;
  ret;
}
)";

using Load = Function<CUresult(void**, const void*)>;
using LoadEx = Function<CUresult(void**, const void*, unsigned int, int*, void**)>;
using Unload = Function<CUresult(void*)>;
using GetFunction = Function<CUresult(void**, void*, const char*)>;
using GetGlobal = Function<CUresult(CUdeviceptr*, size_t*, void*, const char*)>;
using Launch = Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, CUstream, void**, void**)>;

class ModuleTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_EQ(Load("cuModuleLoadData")(&module_, kText), CUDA_SUCCESS);
    ASSERT_EQ(GetFunction("cuModuleGetFunction")(&add_, module_, "add"), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(Unload("cuModuleUnload")(module_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }
  unsigned int WordAt(CUdeviceptr address) {
    unsigned int word = 0;
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(&word, address, sizeof(word)), CUDA_SUCCESS);
    return word;
  }

  void* module_ = nullptr;
  void* add_ = nullptr;
};

TEST_F(ModuleTest, ALaunchTakesPointersToItsArguments) {
  const Buffer word(4);
  CUdeviceptr at = word.address();
  unsigned int value = 7;
  void* arguments[] = {&at, &value};
  ASSERT_EQ(Launch("cuLaunchKernel")(add_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(WordAt(at), 107u);
}

TEST_F(ModuleTest, ALaunchTakesABufferOfArguments) {
  const Buffer word(4);
  char buffer[12];
  const CUdeviceptr at = word.address();
  const unsigned int value = 8;
  std::memcpy(buffer, &at, 8);
  std::memcpy(buffer + 8, &value, 4);
  size_t size = sizeof(buffer);
  void* extra[] = {reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &size, nullptr};
  ASSERT_EQ(Launch("cuLaunchKernel")(add_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_SUCCESS);
  EXPECT_EQ(WordAt(at), 108u);
}

// A launch with attributes, as the driver's header has it.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    uint64_t words[8];
    int allowed;
  } value;
};
struct LaunchDescription {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned int attribute_count;
};
using LaunchEx = Function<CUresult(const LaunchDescription*, void*, void**, void**)>;

// With programmatic stream serialization, on or off, a kernel that asks for nothing of it runs as
// ever, and what the host reads is there.
TEST_F(ModuleTest, ALaunchTakesProgrammaticStreamSerialization) {
  constexpr int kProgrammaticStreamSerialization = 6;
  const Buffer word(4);
  CUdeviceptr at = word.address();
  unsigned int value = 0;
  void* arguments[] = {&at, &value};
  for (const int allowed : {0, 1}) {
    LaunchAttribute attribute = {kProgrammaticStreamSerialization, {}, {}};
    attribute.value.allowed = allowed;
    const LaunchDescription launch = {{1, 1, 1}, {1, 1, 1}, 0, nullptr, &attribute, 1};
    value += 10;
    ASSERT_EQ(LaunchEx("cuLaunchKernelEx")(&launch, add_, arguments, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(WordAt(at), 100 + value);
  }
}

TEST_F(ModuleTest, VariablesCanBeWritten) {
  CUdeviceptr offset = 0;
  size_t size = 0;
  ASSERT_EQ(GetGlobal("cuModuleGetGlobal_v2")(&offset, &size, module_, "offset"), CUDA_SUCCESS);
  EXPECT_EQ(size, 4u);
  const unsigned int other = 1000;
  EXPECT_EQ(cuMemcpyHtoD(offset, &other, 4), CUDA_SUCCESS);
  const Buffer word(4);
  CUdeviceptr at = word.address();
  unsigned int value = 1;
  void* arguments[] = {&at, &value};
  ASSERT_EQ(Launch("cuLaunchKernel")(add_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(WordAt(at), 1001u);
  EXPECT_EQ(GetGlobal("cuModuleGetGlobal_v2")(&offset, &size, module_, "none"),
            CUDA_ERROR_NOT_FOUND);
}

TEST_F(ModuleTest, WhatIsMissingIsNotFound) {
  void* none = nullptr;
  EXPECT_EQ(GetFunction("cuModuleGetFunction")(&none, module_, "none"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(ModuleTest, ANameThatIsEmptyOrOfAFunctionIsNoVariable) {
  void* none = nullptr;
  CUdeviceptr address = 0;
  EXPECT_EQ(GetFunction("cuModuleGetFunction")(&none, module_, ""), CUDA_ERROR_INVALID_VALUE);
  const GetGlobal get_global("cuModuleGetGlobal_v2");
  EXPECT_EQ(get_global(&address, nullptr, module_, ""), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_global(&address, nullptr, module_, "add"), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, AnEmptyGridIsRefused) {
  EXPECT_EQ(Launch("cuLaunchKernel")(add_, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, TheLogSaysWhatIsWrong) {
  char log[512] = "";
  int options[] = {5, 6};  // the error log, and its size
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  void* module = nullptr;
  EXPECT_EQ(
      LoadEx("cuModuleLoadDataEx")(
          &module, ".version 7.5\n.target sm_70\n.address_size 64\nnonsense\n", 2, options, values),
      CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(log).find("nonsense"), std::string::npos) << log;
}

TEST_F(ModuleTest, TheLogsEndWithAZero) {
  char errors[64];
  char infos[64];
  std::memset(errors, 'x', sizeof(errors));
  std::memset(infos, 'x', sizeof(infos));
  int options[] = {3, 4, 5, 6};  // the log of information and its size, and that of errors
  void* values[] = {infos, reinterpret_cast<void*>(sizeof(infos)), errors,
                    reinterpret_cast<void*>(sizeof(errors))};
  void* module = nullptr;
  ASSERT_EQ(LoadEx("cuModuleLoadDataEx")(&module, kText, 4, options, values), CUDA_SUCCESS);
  EXPECT_NE(std::memchr(infos, 0, sizeof(infos)), nullptr);
  EXPECT_NE(std::memchr(errors, 0, sizeof(errors)), nullptr);
  EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
}

TEST_F(ModuleTest, ImagesThatAreNoneAreRefused) {
  void* module = nullptr;
  EXPECT_EQ(Load("cuModuleLoadData")(&module, "this is no PTX"), kInvalidImage);
}

struct Text {
  const char* words;  // what is so about it
  std::string ptx;
  CUresult result;
};

// A kernel with this body.
std::string Kernel(const std::string& body, const std::string& directives = "") {
  return ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 at) " +
         directives + " {\n.reg .b32 %r<4>;\n" + body + "\nret;\n}\n";
}

// What is wrong with a text decides about the code.
TEST_F(ModuleTest, TextsThatAreWrongAreRefused) {
  const Text kTexts[] = {
      {"an opcode that PTX has not", Kernel("foo.u32 %r1, %r2;"), CUDA_ERROR_INVALID_PTX},
      {"a modifier that it has not", Kernel("add.foo.u32 %r1, %r2, %r3;"), CUDA_ERROR_INVALID_PTX},
      {"a missing operand", Kernel("add.u32 %r1, %r2;"), CUDA_ERROR_INVALID_PTX},
      {"no such label", Kernel("bra nowhere;"), CUDA_ERROR_INVALID_PTX},
      {"a version to come", ".version 99.0\n.target sm_90\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
      {"a later device", ".version 8.7\n.target sm_100\n", CUDA_ERROR_INVALID_PTX},
      {"no device", ".version 8.7\n.target sm_999\n", CUDA_ERROR_INVALID_PTX},
      {"a device later than the version",
       ".version 6.0\n.target sm_90\n.address_size 64\n.entry k() {ret;}", CUDA_ERROR_INVALID_PTX},
      {"sm_90a before its time",
       ".version 7.8\n.target sm_90a\n.address_size 64\n.entry k() {ret;}", CUDA_ERROR_INVALID_PTX},
      {"sm_90a", ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() {ret;}", CUDA_SUCCESS},
      {"an old device", ".version 6.0\n.target sm_30\n.address_size 64\n", CUDA_SUCCESS},
      {"addresses of 32 bits", ".version 7.8\n.target sm_90\n.address_size 32\n.entry k() {ret;}",
       CUDA_ERROR_INVALID_PTX},
      {"a function that is nowhere",
       ".version 7.8\n.target sm_90\n.address_size 64\n"
       ".extern .func f();\n.entry k() {call f; ret;}",
       CUDA_ERROR_INVALID_PTX},
      {"too much static shared memory",
       ".version 7.8\n.target sm_90\n.address_size 64\n"
       ".shared .b8 s[300000];\n.visible .entry k() {.reg .b32 %r;"
       "ld.shared.u32 %r, [s]; st.shared.u32 [s], %r; ret;}",
       CUDA_ERROR_INVALID_PTX},
      {"a sampler of the module's own",
       ".version 7.0\n.target sm_70, texmode_independent\n.address_size 64\n"
       ".visible .global .samplerref s;\n.visible .entry k() {ret;}",
       CUDA_ERROR_NOT_FOUND},
      {"a sampler where textures bring theirs",
       ".version 7.0\n.target sm_70\n.address_size 64\n"
       ".visible .global .samplerref s;\n.visible .entry k() {ret;}",
       CUDA_ERROR_INVALID_PTX},
      {"64 KiB of it",
       ".version 7.8\n.target sm_90\n.address_size 64\n"
       ".shared .b8 s[65536];\n.visible .entry k() {.reg .b32 %r;"
       "ld.shared.u32 %r, [s]; st.shared.u32 [s], %r; ret;}",
       CUDA_SUCCESS},
      {"an alias fence", Kernel("fence.proxy.alias;"), CUDA_SUCCESS},
      {"half of one", Kernel("fence.proxy.alias.release.sys;"), CUDA_ERROR_INVALID_PTX},
      {"an alias fence before its time",
       ".version 7.4\n.target sm_70\n.address_size 64\n.entry k() {fence.proxy.alias; ret;}",
       CUDA_ERROR_INVALID_PTX},
      {"parameters of 40,000 bytes",
       ".version 9.0\n.target sm_90\n.address_size 64\n"
       ".visible .entry k(.param .b8 p[40000]) {ret;}",
       CUDA_ERROR_INVALID_PTX},
  };
  for (const Text& text : kTexts) {
    void* module = nullptr;
    EXPECT_EQ(Load("cuModuleLoadData")(&module, text.ptx.c_str()), text.result) << text.words;
    if (text.result != CUDA_SUCCESS) continue;
    EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS) << text.words;
  }
}

// A block is as the kernel says that it must be, or at most is.
TEST_F(ModuleTest, ABlockKeepsToTheLimitsOfItsKernel) {
  const auto launch = [&](const std::string& directives, unsigned x, unsigned y) {
    void* module = nullptr;
    void* kernel = nullptr;
    EXPECT_EQ(Load("cuModuleLoadData")(&module, Kernel("", directives).c_str()), CUDA_SUCCESS);
    EXPECT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
    CUdeviceptr at = 0;
    void* arguments[] = {&at};
    const CUresult result =
        Launch("cuLaunchKernel")(kernel, 1, 1, 1, x, y, 1, 0, nullptr, arguments, nullptr);
    EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
    return result;
  };
  EXPECT_EQ(launch(".maxntid 64", 64, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch(".maxntid 64", 8, 8), CUDA_SUCCESS);
  EXPECT_EQ(launch(".maxntid 64", 65, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(".reqntid 32, 2", 32, 2), CUDA_SUCCESS);
  EXPECT_EQ(launch(".reqntid 32, 2", 64, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, ASingleThreadStandsForTheBlockThatAKernelRequires) {
  const Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, CUstream, void**)>
      cooperative("cuLaunchCooperativeKernel");
  void* module = nullptr;
  void* kernel = nullptr;
  ASSERT_EQ(
      Load("cuModuleLoadData")(&module,
                               ".version 7.5\n.target sm_70\n.address_size 64\n"
                               ".visible .entry k(.param .u64 p) .reqntid 32, 2 {\n.reg .u64 %d;\n"
                               "ld.param.u64 %d, [p]; red.global.add.u32 [%d], 1; ret;\n}\n"),
      CUDA_SUCCESS);
  ASSERT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
  const Buffer word(4);
  CUdeviceptr at = word.address();
  void* arguments[] = {&at};
  ASSERT_EQ(cuMemsetD32(at, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(Launch("cuLaunchKernel")(kernel, 2, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(WordAt(at), 128u);
  EXPECT_EQ(cooperative(kernel, 2, 1, 1, 1, 1, 1, 0, nullptr, arguments), CUDA_SUCCESS);
  EXPECT_EQ(WordAt(at), 256u);
  EXPECT_EQ(Launch("cuLaunchKernel")(kernel, 2, 1, 1, 2, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
}

// A buffer of arguments may be too short, which the driver overlooks, but not too long.
TEST_F(ModuleTest, ABufferOfArgumentsIsNotTooLong) {
  void* module = nullptr;
  void* kernel = nullptr;
  ASSERT_EQ(Load("cuModuleLoadData")(&module, Kernel("").c_str()), CUDA_SUCCESS);
  ASSERT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
  uint64_t buffer[2] = {};
  size_t size = 0;
  void* extra[] = {reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &size, nullptr};
  const auto launch = [&](size_t bytes) {
    size = bytes;
    return Launch("cuLaunchKernel")(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra);
  };
  EXPECT_EQ(launch(8), CUDA_SUCCESS);
  EXPECT_EQ(launch(4), CUDA_SUCCESS);
  EXPECT_EQ(launch(16), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
}

TEST_F(ModuleTest, NoBlockFitsThatHasTooManyThreads) {
  const Function<CUresult(int*, void*, int, size_t)> count(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  for (const int threads : {1025, 0x7fffffff}) {
    int blocks = -1;
    EXPECT_EQ(count(&blocks, add_, threads, 0), CUDA_SUCCESS) << threads;
    EXPECT_EQ(blocks, 0) << threads;
  }
}

// The blocks of a cooperative grid are all there at once, or the launch is refused.
TEST_F(ModuleTest, ACooperativeGridFitsOnTheDevice) {
  const Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, CUstream, void**)>
      launch("cuLaunchCooperativeKernel");
  const Function<CUresult(int*, void*, int, size_t)> count(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  int each = 0;
  int multiprocessors = 0;
  ASSERT_EQ(count(&each, add_, 1024, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
            CUDA_SUCCESS);
  const unsigned most = static_cast<unsigned>(each * multiprocessors);
  const Buffer word(4);
  CUdeviceptr at = word.address();
  unsigned value = 1;
  void* arguments[] = {&at, &value};
  EXPECT_EQ(launch(add_, most, 1, 1, 1024, 1, 1, 0, nullptr, arguments), CUDA_SUCCESS);
  EXPECT_EQ(launch(add_, most + 1, 1, 1, 1024, 1, 1, 0, nullptr, arguments),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(launch(add_, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(ModuleTest, AFunctionTellsAboutItself) {
  const Function<CUresult(int*, int, void*)> get("cuFuncGetAttribute");
  int value = 0;
  EXPECT_EQ(get(&value, 0, add_), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(get(&value, 1, add_), CUDA_SUCCESS);
  EXPECT_EQ(value, 0);
  const Function<CUresult(void*, size_t, size_t*, size_t*)> parameter("cuFuncGetParamInfo");
  size_t offset = 0;
  size_t size = 0;
  EXPECT_EQ(parameter(add_, 1, &offset, &size), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(parameter(add_, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, AFunctionHasAllConstantsOfItsModule) {
  const auto constants = [](const std::string& variables) {
    void* module = nullptr;
    void* kernel = nullptr;
    int value = 77;
    EXPECT_EQ(Load("cuModuleLoadData")(&module, (".version 7.5\n.target sm_70\n.address_size 64\n" +
                                                 variables + "\n.visible .entry k() { ret; }\n")
                                                    .c_str()),
              CUDA_SUCCESS);
    EXPECT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
    EXPECT_EQ(Function<CUresult(int*, int, void*)>("cuFuncGetAttribute")(&value, 2, kernel),
              CUDA_SUCCESS);
    EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(constants(""), 0);
  EXPECT_EQ(constants(".visible .const .align 4 .u32 a = 7;"), 4);
  EXPECT_EQ(constants(".visible .const .align 1 .b8 a[3];\n.visible .const .align 8 .u64 b;\n"
                      ".visible .const .align 1 .b8 c[1];"),
            17);
}

TEST_F(ModuleTest, SharedVariablesOfAFunctionHaveRoomWhoeverNamesThem) {
  void* module = nullptr;
  ASSERT_EQ(Load("cuModuleLoadData")(&module,
                                     ".version 7.5\n.target sm_70\n.address_size 64\n"
                                     ".visible .entry k() { .shared .b8 unused[64]; ret; }\n"),
            CUDA_SUCCESS);
  void* kernel = nullptr;
  ASSERT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
  const Function<CUresult(int*, int, void*)> get("cuFuncGetAttribute");
  int value = 0;
  EXPECT_EQ(get(&value, 1, kernel), CUDA_SUCCESS);
  EXPECT_EQ(value, 64);
  EXPECT_EQ(get(&value, 8, kernel), CUDA_SUCCESS);
  EXPECT_EQ(value, (48 << 10) - 64);
  EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
}

TEST_F(ModuleTest, AFunctionKeepsTheCarveoutOfSharedMemory) {
  constexpr int kCarveout = 9;
  const Function<CUresult(int*, int, void*)> get("cuFuncGetAttribute");
  const Function<CUresult(void*, int, int)> set("cuFuncSetAttribute");
  int value = 0;
  EXPECT_EQ(get(&value, kCarveout, add_), CUDA_SUCCESS);
  EXPECT_EQ(value, -1);
  EXPECT_EQ(set(add_, kCarveout, 0), CUDA_SUCCESS);
  EXPECT_EQ(get(&value, kCarveout, add_), CUDA_SUCCESS);
  EXPECT_EQ(value, 0);
}

TEST_F(ModuleTest, NoBlockIsChosenWhereNoneFits) {
  const Function<CUresult(int*, int*, void*, size_t (*)(int), size_t, int)> choose(
      "cuOccupancyMaxPotentialBlockSize");
  int grid = 7;
  int block = 7;
  EXPECT_EQ(choose(&grid, &block, add_, nullptr, 49153, 0), CUDA_SUCCESS);
  EXPECT_EQ(grid, 0);
  EXPECT_EQ(block, 0);
  EXPECT_EQ(choose(&grid, &block, add_, nullptr, 0, -1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, FlagsThatExistChooseTheSameBlock) {
  const Function<CUresult(int*, int*, void*, size_t (*)(int), size_t, int)> choose(
      "cuOccupancyMaxPotentialBlockSize");
  const Function<CUresult(int*, int*, void*, size_t (*)(int), size_t, int, unsigned)>
      choose_with_flags("cuOccupancyMaxPotentialBlockSizeWithFlags");
  int grid = 0;
  int block = 0;
  int same_grid = 0;
  int same_block = 0;
  EXPECT_EQ(choose(&grid, &block, add_, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(choose_with_flags(&same_grid, &same_block, add_, nullptr, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(same_grid, grid);
  EXPECT_EQ(same_block, block);
  EXPECT_EQ(choose_with_flags(&grid, &block, add_, nullptr, 0, 0, 77), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, DynamicSharedMemoryIsSharedEvenlyByBlocksThatFit) {
  const Function<CUresult(size_t*, void*, int, int)> available(
      "cuOccupancyAvailableDynamicSMemPerBlock");
  int room = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&room, static_cast<CUdevice_attribute>(81), 0), CUDA_SUCCESS);
  size_t size = 77;
  EXPECT_EQ(available(&size, add_, 1, 128), CUDA_SUCCESS);
  EXPECT_EQ(size, 49152u) << "what a block may have without being allowed more";
  EXPECT_EQ(available(&size, add_, 8, 128), CUDA_SUCCESS);
  EXPECT_EQ(size, static_cast<size_t>(room / 8));
  size = 77;
  for (const int wrong : {-1, 0, 1025}) {
    EXPECT_EQ(available(&size, add_, 1, wrong), CUDA_ERROR_INVALID_VALUE) << wrong;
  }
  for (const int wrong : {-1, 0, 33}) {
    EXPECT_EQ(available(&size, add_, wrong, 128), CUDA_ERROR_INVALID_VALUE) << wrong;
  }
  EXPECT_EQ(size, 77u);
}

// How much shared memory a multiprocessor of 228 KB has, 8 of them at least: seen by blocks that
// need 8 KB each.
class SharedMemorySizesTest : public ModuleTest {
 protected:
  static constexpr int kMostDynamicShared = 8;
  static constexpr int kCarveout = 9;
  static constexpr int kPreferL1 = 2;
  static constexpr int kPreferEqual = 3;

  void SetUp() override {
    ModuleTest::SetUp();
    int size = 0;
    ASSERT_EQ(cuDeviceGetAttribute(&size, static_cast<CUdevice_attribute>(81), 0), CUDA_SUCCESS);
    if (size != 228 << 10) GTEST_SKIP() << "this device has other sizes";
  }
  void Set(int attribute, int value) {
    const Function<CUresult(void*, int, int)> set("cuFuncSetAttribute");
    EXPECT_EQ(set(add_, attribute, value), CUDA_SUCCESS);
  }
  void Prefer(int cache) {
    EXPECT_EQ(Function<CUresult(void*, int)>("cuFuncSetCacheConfig")(add_, cache), CUDA_SUCCESS);
  }
  int Blocks(size_t dynamic = 7 << 10) {
    const Function<CUresult(int*, void*, int, size_t)> count(
        "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    int blocks = -1;
    EXPECT_EQ(count(&blocks, add_, 32, dynamic), CUDA_SUCCESS);
    return blocks;
  }
  size_t Available(int blocks) {
    const Function<CUresult(size_t*, void*, int, int)> available(
        "cuOccupancyAvailableDynamicSMemPerBlock");
    size_t size = 77;
    EXPECT_EQ(available(&size, add_, blocks, 32), CUDA_SUCCESS);
    return size;
  }
};

TEST_F(SharedMemorySizesTest, TheNextLargerOneIsThatOfACarveout) {
  struct Case {
    int per_cent;
    int blocks;
  };
  constexpr Case kCases[] = {{-1, 28}, {0, 1},   {3, 1},   {4, 2},   {7, 2},   {8, 4},   {14, 4},
                             {15, 8},  {28, 8},  {29, 12}, {43, 12}, {44, 16}, {57, 16}, {58, 20},
                             {71, 20}, {72, 24}, {85, 24}, {86, 28}, {100, 28}};
  for (const Case& of : kCases) {
    Set(kCarveout, of.per_cent);
    EXPECT_EQ(Blocks(), of.blocks) << of.per_cent;
  }
}

TEST_F(SharedMemorySizesTest, PreferringACacheChoosesOneWhereNoCarveoutDoes) {
  Prefer(kPreferL1);
  EXPECT_EQ(Blocks(), 1);
  EXPECT_EQ(Blocks(0), 8);
  Prefer(kPreferEqual);
  EXPECT_EQ(Blocks(), 16);
  Set(kCarveout, 29);
  EXPECT_EQ(Blocks(), 12);
}

TEST_F(SharedMemorySizesTest, WhatAContextPrefersIsForFunctionsThatDoNotSay) {
  ASSERT_EQ(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
  EXPECT_EQ(Blocks(), 1);
  Prefer(kPreferEqual);
  EXPECT_EQ(Blocks(), 16);
  Prefer(0);
  EXPECT_EQ(Blocks(), 1);
  EXPECT_EQ(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE), CUDA_SUCCESS);
  EXPECT_EQ(Blocks(), 28);
}

TEST_F(SharedMemorySizesTest, OneBlockAlwaysHasRoom) {
  Prefer(kPreferL1);
  EXPECT_EQ(Blocks(48 << 10), 1);
  EXPECT_EQ(Available(1), 48u << 10);
  EXPECT_EQ(Available(2), 4096u);
  EXPECT_EQ(Available(3), 2688u) << "a third of 8 KB, in units of 128 bytes";
}

// To choose a block, any carveout is one for all, but for 0.
TEST_F(SharedMemorySizesTest, ABlockIsChosenAsIfAnyCarveoutWereTheWhole) {
  const Function<CUresult(int*, int*, void*, size_t (*)(int), size_t, int)> choose(
      "cuOccupancyMaxPotentialBlockSize");
  int multiprocessors = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
            CUDA_SUCCESS);
  for (const int carveout : {0, 1, 50}) {
    Set(kCarveout, carveout);
    int grid = 0;
    int block = 0;
    EXPECT_EQ(choose(&grid, &block, add_, nullptr, 7 << 10, 32), CUDA_SUCCESS);
    EXPECT_EQ(grid, (carveout == 0 ? 1 : 28) * multiprocessors) << carveout;
    EXPECT_EQ(block, 32);
  }
}

// What the kernel itself declares counts, too.
TEST_F(SharedMemorySizesTest, AFunctionMayHaveMoreThanUsualWithItsOwn) {
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module,
                             ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .entry k() { .shared .b8 own[4096]; ret; }\n"),
            CUDA_SUCCESS);
  ASSERT_EQ(GetFunction("cuModuleGetFunction")(&add_, module, "k"), CUDA_SUCCESS);
  Set(kMostDynamicShared, 48 << 10);
  EXPECT_EQ(Blocks(48 << 10), 4);
  EXPECT_EQ(Blocks((48 << 10) + 1), 0);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

// Of what is asked for 32 bits count, unless the function may have more than usual.
TEST_F(SharedMemorySizesTest, TheUsualSizeIsForAllFunctions) {
  for (const int allowed : {48 << 10, 1024, 0}) {
    Set(kMostDynamicShared, allowed);
    EXPECT_EQ(Blocks(48 << 10), 4) << allowed;
    EXPECT_EQ(Blocks((48 << 10) + 1), 0) << allowed;
    EXPECT_EQ(Blocks((size_t{1} << 32) + 1000), 32) << allowed;
    EXPECT_EQ(Blocks((size_t{1} << 32) + 60000), 0) << allowed;
    EXPECT_EQ(Available(4), static_cast<size_t>(allowed)) << allowed;
  }
  Set(kMostDynamicShared, 100 << 10);
  EXPECT_EQ(Blocks(100 << 10), 2);
  EXPECT_EQ(Blocks(size_t{1} << 40), 0);
}

TEST_F(ModuleTest, OccupancyIsSensible) {
  const Function<CUresult(int*, void*, int, size_t)> count(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  int blocks = 0;
  EXPECT_EQ(count(&blocks, add_, 1024, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(count(&blocks, add_, 64, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 32);
}

TEST_F(ModuleTest, FlagsAndCachesMustExist) {
  const Function<CUresult(int*, void*, int, size_t, unsigned)> count(
      "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  const Function<CUresult(void*, int)> prefer("cuFuncSetCacheConfig");
  int blocks = 0;
  EXPECT_EQ(count(&blocks, add_, 64, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(count(&blocks, add_, 64, 0, 77), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(prefer(add_, 2), CUDA_SUCCESS);
  EXPECT_EQ(prefer(add_, 100), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, ALibrarysKernelCanBeLaunched) {
  const Function<CUresult(void**, const void*, int*, void**, unsigned, int*, void**, unsigned)>
      load("cuLibraryLoadData");
  void* library = nullptr;
  ASSERT_EQ(load(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  void* kernel = nullptr;
  ASSERT_EQ(GetFunction("cuLibraryGetKernel")(&kernel, library, "add"), CUDA_SUCCESS);
  const Buffer word(4);
  CUdeviceptr at = word.address();
  unsigned int value = 3;
  void* arguments[] = {&at, &value};
  ASSERT_EQ(Launch("cuLaunchKernel")(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(WordAt(at), 103u);
  EXPECT_EQ(Unload("cuLibraryUnload")(library), CUDA_SUCCESS);
}

// A variable that is declared, and nowhere defined.
constexpr char kDeclares[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.extern .global .align 4 .u32 x;\n"
    ".visible .entry k(.param .u64 out) {\n.reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [x]; add.u32 %r1, %r1, 7;\n"
    "st.global.u32 [%rd1], %r1; ret;\n}\n";

TEST_F(ModuleTest, AVariableThatIsDeclaredOnlyIsThereAndZero) {
  void* module = nullptr;
  void* kernel = nullptr;
  ASSERT_EQ(Load("cuModuleLoadData")(&module, kDeclares), CUDA_SUCCESS);
  ASSERT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
  const Buffer word(4);
  CUdeviceptr at = word.address();
  void* arguments[] = {&at};
  EXPECT_EQ(Launch("cuLaunchKernel")(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(WordAt(at), 7u);
  CUdeviceptr address = 0;
  size_t size = 0;
  EXPECT_EQ(GetGlobal("cuModuleGetGlobal_v2")(&address, &size, module, "x"), CUDA_SUCCESS);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(GetGlobal("cuModuleGetGlobal_v2")(nullptr, nullptr, module, "x"),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
}

// So an array of words can be read as vectors, whatever its own alignment.
TEST_F(ModuleTest, GlobalVariablesBeginAtMultiplesOf256BytesAndConstantsLieClose) {
  void* module = nullptr;
  ASSERT_EQ(Load("cuModuleLoadData")(&module,
                                     ".version 7.0\n.target sm_70\n.address_size 64\n"
                                     ".visible .global .align 1 .b8 a[1];\n"
                                     ".visible .const .align 4 .b8 d[5];\n"
                                     ".visible .global .align 4 .b8 b[300];\n"
                                     ".visible .const .align 2 .b8 e[4];\n"
                                     ".visible .global .align 8 .b8 c[8];\n"),
            CUDA_SUCCESS);
  const auto address_of = [&](const char* name) {
    CUdeviceptr address = 0;
    EXPECT_EQ(GetGlobal("cuModuleGetGlobal_v2")(&address, nullptr, module, name), CUDA_SUCCESS);
    return address;
  };
  EXPECT_EQ(address_of("a") % 256, 0u);
  EXPECT_EQ(address_of("b"), address_of("a") + 256);
  EXPECT_EQ(address_of("c"), address_of("b") + 512);
  EXPECT_EQ(address_of("d") % 256, 0u);
  EXPECT_EQ(address_of("e"), address_of("d") + 6);
  EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
}

// CU_JIT_GLOBAL_SYMBOL_NAMES, _ADDRESSES and _COUNT.
TEST_F(ModuleTest, NoVariableOfPtxIsOneOfTheHosts) {
  const LoadEx load("cuModuleLoadDataEx");
  int options[] = {17, 18, 19};
  void* const host[] = {options};
  const auto load_with = [&](const char* name, const void* addresses, uintptr_t count) {
    const char* const names[] = {name};
    void* values[] = {name == nullptr ? nullptr : const_cast<char**>(names),
                      const_cast<void*>(addresses), reinterpret_cast<void*>(count)};
    void* module = nullptr;
    const CUresult result = load(&module, kDeclares, 3, options, values);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
    }
    return result;
  };
  EXPECT_EQ(load_with("x", host, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load_with("x", host, 0), CUDA_SUCCESS);
  EXPECT_EQ(load_with("another", host, 1), CUDA_SUCCESS);
  EXPECT_EQ(load_with("another", nullptr, 1), CUDA_ERROR_INVALID_VALUE) << "no addresses";
  EXPECT_EQ(load_with(nullptr, host, 0), CUDA_ERROR_INVALID_VALUE) << "no names";
}

}  // namespace
}  // namespace twinmmu::abi
