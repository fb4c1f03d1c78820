// Device code in PTX: what lanes do together under masks of a part of their warp, what the blocks
// of a cooperative grid do, and where variables lie.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using Load = Function<CUresult(void**, const void*)>;
using Unload = Function<CUresult(void*)>;
using GetFunction = Function<CUresult(void**, void*, const char*)>;
using Launch = Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, CUstream, void**, void**)>;
using LaunchCooperative = Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                            unsigned, unsigned, CUstream, void**)>;

constexpr unsigned kWords = 256;

class DeviceCodeTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    memory_.emplace(kWords * 4);
  }
  void TearDown() override {
    memory_.reset();
    EXPECT_EQ(Unload("cuModuleUnload")(module_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }
  // Loads a kernel: %rd1 has the address of the memory, %rd2 that of the thread's own word, %r1 the
  // number of the thread in its block, %r2 that of the block.
  void LoadKernel(const std::string& body, const std::string& declarations = "") {
    const std::string text =
        target_ + "\n.address_size 64\n" + declarations +
        ".visible .entry k(.param .u64 p) {\n.reg .pred %p<10>; .reg .b32 %r<20>;\n"
        ".reg .b64 %rd<20>;\nld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
        "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;\n" +
        body + "\nret;\n}\n";
    ASSERT_EQ(Load("cuModuleLoadData")(&module_, text.c_str()), CUDA_SUCCESS) << text;
    ASSERT_EQ(GetFunction("cuModuleGetFunction")(&kernel_, module_, "k"), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(memory_->address(), 0, kWords * 4), CUDA_SUCCESS);
  }
  // Runs one block of it.
  void Run(const std::string& body, unsigned threads = 32, const std::string& declarations = "",
           unsigned dynamic_shared = 0) {
    LoadKernel(body, declarations);
    CUdeviceptr at = memory_->address();
    void* arguments[] = {&at};
    ASSERT_EQ(Launch("cuLaunchKernel")(kernel_, 1, 1, 1, threads, 1, 1, dynamic_shared, nullptr,
                                       arguments, nullptr),
              CUDA_SUCCESS);
    ReadBack();
  }
  void ReadBack() {
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoH(words_.data(), memory_->address(), kWords * 4), CUDA_SUCCESS);
  }

  // The attribute of the kernel.
  int SharedBytes() {
    int bytes = -1;
    EXPECT_EQ(Function<CUresult(int*, int, void*)>("cuFuncGetAttribute")(
                  &bytes, 1 /* CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES */, kernel_),
              CUDA_SUCCESS);
    return bytes;
  }

  std::string target_ = ".version 8.0\n.target sm_80";
  std::optional<Buffer> memory_;
  void* module_ = nullptr;
  void* kernel_ = nullptr;
  std::array<unsigned, kWords> words_ = {};
};

// In %r4 the mask of those 8 lanes that the lane is one of.
const char kTile[] = "and.b32 %r3, %r1, 24; mov.u32 %r4, 255; shl.b32 %r4, %r4, %r3;\n";

TEST_F(DeviceCodeTest, LanesShuffleWithinTheirMask) {
  Run(std::string(kTile) +
      "shfl.sync.bfly.b32 %r5, %r1, 4, 0x181f, %r4; st.global.u32 [%rd2], %r5;");
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(words_[lane], lane ^ 4);
}

TEST_F(DeviceCodeTest, MasksMayInterleave) {
  Run("and.b32 %r3, %r1, 1; mov.u32 %r4, 0x55555555; shl.b32 %r4, %r4, %r3;\n"
      "shfl.sync.bfly.b32 %r5, %r1, 2, 0x1f, %r4; st.global.u32 [%rd2], %r5;");
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(words_[lane], lane ^ 2);
}

TEST_F(DeviceCodeTest, LanesVoteWithinTheirMask) {
  Run(std::string(kTile) +
      "setp.gt.u32 %p1, %r1, 10; vote.sync.ballot.b32 %r5, %p1, %r4; st.global.u32 [%rd2], %r5;");
  EXPECT_EQ(words_[0], 0u);
  EXPECT_EQ(words_[8], 0xf800u);
  EXPECT_EQ(words_[31], 0xff000000u);
}

TEST_F(DeviceCodeTest, LanesReduceWithinTheirMask) {
  Run(std::string(kTile) + "redux.sync.add.s32 %r5, %r1, %r4; st.global.u32 [%rd2], %r5;");
  EXPECT_EQ(words_[0], 28u);
  EXPECT_EQ(words_[8], 92u);
  EXPECT_EQ(words_[31], 220u);
}

TEST_F(DeviceCodeTest, LanesMatchWithinTheirMask) {
  Run(std::string(kTile) +
      "and.b32 %r5, %r1, 1; match.any.sync.b32 %r6, %r5, %r4; st.global.u32 [%rd2], %r6;");
  EXPECT_EQ(words_[0], 0x55u);
  EXPECT_EQ(words_[9], 0xaa00u);
  EXPECT_EQ(words_[31], 0xaa000000u);
}

TEST_F(DeviceCodeTest, WarpBarriersHoldTheirMask) {
  Run(std::string(kTile) + "bar.warp.sync %r4; st.global.u32 [%rd2], %r4;");
  EXPECT_EQ(words_[0], 0xffu);
  EXPECT_EQ(words_[31], 0xff000000u);
}

// Lanes that have ended are not waited for.
TEST_F(DeviceCodeTest, LanesThatEndedAreNotWaitedFor) {
  Run("setp.ge.u32 %p1, %r1, 16; @%p1 exit; vote.sync.ballot.b32 %r5, 1, 0xffffffff;\n"
      "st.global.u32 [%rd2], %r5;");
  EXPECT_EQ(words_[0], 0xffffu);
}

TEST_F(DeviceCodeTest, ConstantsAreToldFromGlobals) {
  const auto ask = [](const char* address) {
    return std::string(address) +
           " isspacep.const %p1, %rd4; isspacep.global %p2, %rd4; selp.u32 %r3, 1, 0, %p1;\n"
           "selp.u32 %r4, 2, 0, %p2; add.u32 %r3, %r3, %r4; st.global.u32 [%rd1], %r3;\n"
           "add.u64 %rd1, %rd1, 4;\n";
  };
  Run(ask("mov.u64 %rd3, c; cvta.const.u64 %rd4, %rd3;") +
          ask("mov.u64 %rd3, g; cvta.global.u64 %rd4, %rd3;") +
          ask("mov.u64 %rd3, s; cvta.shared.u64 %rd4, %rd3;") +
          "mov.u64 %rd3, c; cvta.const.u64 %rd4, %rd3; ld.u32 %r3, [%rd4+4];\n"
          "st.global.u32 [%rd1], %r3;",
      1, ".const .align 4 .b32 c[2] = {5, 6};\n.global .align 8 .b64 g[4];\n.shared .b32 s[4];\n");
  EXPECT_EQ(words_[0], 1u);
  EXPECT_EQ(words_[1], 2u);
  EXPECT_EQ(words_[2], 0u);
  EXPECT_EQ(words_[3], 6u);
}

TEST_F(DeviceCodeTest, AnElementOfAVariableHasAnAddress) {
  Run("mov.u64 %rd3, g; mov.u64 %rd4, g[2]; sub.u64 %rd5, %rd4, %rd3; st.global.u64 [%rd1], %rd5;\n"
      "mov.u64 %rd3, m; mov.u64 %rd4, m[2]; sub.u64 %rd5, %rd4, %rd3;\n"
      "st.global.u64 [%rd1+8], %rd5;",
      1, ".global .align 8 .b64 g[4];\n.global .align 8 .u32 m[3][5];\n");
  EXPECT_EQ(words_[0], 16u);
  EXPECT_EQ(words_[2], 8u);
}

// Shared variables lie behind what the system takes.
TEST_F(DeviceCodeTest, SharedVariablesLieBehindWhatIsReserved) {
  Run("mov.u32 %r3, %reserved_smem_offset_begin; mov.u32 %r4, %reserved_smem_offset_end;\n"
      "mov.u32 %r5, %reserved_smem_offset_cap; mov.u32 %r6, s;\n"
      "st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};",
      1, ".shared .align 4 .b32 s[4];\n");
  EXPECT_LE(words_[0], words_[1]);
  EXPECT_LE(words_[1], words_[2]);
  EXPECT_EQ(words_[2], words_[3]);
}

// %total_smem_size is rounded up to what is given out, %aggr_smem_size has what is reserved, too.
// What a kernel has reaches to where shared memory of no size begins, if it names that.
TEST_F(DeviceCodeTest, SizesOfSharedMemoryAreTold) {
  int major = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            CUDA_SUCCESS);
  if (major < 9) GTEST_SKIP() << "%aggr_smem_size is there from sm_90 on";
  target_ = ".version 8.1\n.target sm_90";
  const std::string shared = ".shared .align 1 .b8 s[1]; st.shared.u8 [s], %r1;\n";
  const std::string sizes =
      "mov.u32 %r3, %total_smem_size; mov.u32 %r4, %aggr_smem_size;\n"
      "mov.u32 %r5, %dynamic_smem_size; mov.u32 %r6, %reserved_smem_offset_cap;\n"
      "sub.u32 %r4, %r4, %r6; st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};";
  Run(shared + sizes, 1, "", 128);
  EXPECT_EQ(words_[0], 256u);
  EXPECT_EQ(words_[1], 1u + 128u);
  EXPECT_EQ(words_[2], 128u);
  EXPECT_EQ(SharedBytes(), 1);
  ASSERT_EQ(Unload("cuModuleUnload")(module_), CUDA_SUCCESS);
  Run(shared + "st.shared.u8 [d], %r1;\n" + sizes, 1, ".extern .shared .align 4 .b8 d[];\n", 100);
  EXPECT_EQ(words_[0], 128u);
  EXPECT_EQ(words_[1], 16u + 100u);
  EXPECT_EQ(words_[2], 100u);
  EXPECT_EQ(SharedBytes(), 16);
}

// Each block adds 1, all wait for each other as cooperative groups do, and read the sum; twice.
std::string GridSync() {
  const auto round = [](const std::string& label, int at) {
    const std::string sum = "[%rd1+" + std::to_string(at) + "]";
    return "@!%p1 bra B" + label + "; red.global.add.u32 " + sum + ", 1; membar.gl;\n" +
           "atom.global.add.u32 %r5, [%rd3+4], %r4;\nL" + label +
           ": ld.volatile.global.u32 %r6, [%rd3+4]; xor.b32 %r6, %r6, %r5;\n"
           "and.b32 %r6, %r6, 0x80000000; setp.eq.u32 %p2, %r6, 0; @%p2 bra L" +
           label + "; membar.gl;\nB" + label + ": bar.sync 0; ld.volatile.global.u32 %r7, " + sum +
           ";\n";
  };
  return "mov.b64 %rd3, {%envreg2, %envreg1}; setp.eq.u64 %p3, %rd3, 0; @%p3 trap;\n"
         "ld.global.u32 %r8, [%rd3]; setp.eq.u32 %p1, %r1, 0; mov.u32 %r3, %nctaid.x;\n"
         "sub.u32 %r3, 0x80000001, %r3; setp.eq.u32 %p2, %r2, 0; selp.u32 %r4, %r3, 1, %p2;\n" +
         round("0", 0) + "mov.u32 %r9, %r7;\n" + round("1", 4) +
         "add.u32 %r7, %r7, %r9; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd4, %rd1, %rd4;\n"
         "st.global.u32 [%rd4+64], %r7; st.global.u32 [%rd1+8], %r8;";
}

TEST_F(DeviceCodeTest, ACooperativeGridSynchronises) {
  LoadKernel(GridSync());
  CUdeviceptr at = memory_->address();
  void* arguments[] = {&at};
  ASSERT_EQ(LaunchCooperative("cuLaunchCooperativeKernel")(kernel_, 20, 1, 1, 64, 1, 1, 0, nullptr,
                                                           arguments),
            CUDA_SUCCESS);
  ReadBack();
  for (unsigned block = 0; block < 20; ++block) EXPECT_EQ(words_[16 + block], 40u);
  EXPECT_EQ(words_[2], 16u);
}

// So does one that is launched with the attribute.
TEST_F(DeviceCodeTest, AGridWithTheAttributeSynchronises) {
  struct Attribute {
    int id;
    char pad[4];
    union {
      uint64_t words[8];
      int cooperative;
    } value;
  };
  struct Description {
    unsigned int grid[3];
    unsigned int block[3];
    unsigned int shared_bytes;
    CUstream stream;
    Attribute* attributes;
    unsigned int attribute_count;
  };
  constexpr int kCooperative = 2;
  LoadKernel(GridSync());
  Attribute attribute = {kCooperative, {}, {}};
  attribute.value.cooperative = 1;
  const Description launch = {{20, 1, 1}, {64, 1, 1}, 0, nullptr, &attribute, 1};
  CUdeviceptr at = memory_->address();
  void* arguments[] = {&at};
  const Function<CUresult(const Description*, void*, void**, void**)> launch_ex("cuLaunchKernelEx");
  ASSERT_EQ(launch_ex(&launch, kernel_, arguments, nullptr), CUDA_SUCCESS);
  ReadBack();
  for (unsigned block = 0; block < 20; ++block) EXPECT_EQ(words_[16 + block], 40u);
}

}  // namespace
}  // namespace twinmmu::abi
