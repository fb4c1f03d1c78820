// Accesses of kernels to memory: what they see, and where they fault.

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::ElementsAre;

// Each width is loaded with its sign, or zeros above.
TEST_F(GridTest, ExtendsWhatItLoads) {
  Write<uint64_t>(0, 0x8081'8283'8485'8687u);
  RunKernel(
      "ld.global.s8 %r2, [%rd1]; ld.global.u8 %r3, [%rd1]; ld.global.s16 %r4, [%rd1];\n"
      "ld.global.u16 %r5, [%rd1]; ld.global.s32 %rd3, [%rd1]; ld.global.b8 %h1, [%rd1+7];\n"
      "st.global.u32 [%rd1+16], %r2; st.global.u32 [%rd1+20], %r3; st.global.u32 [%rd1+24], %r4;\n"
      "st.global.u32 [%rd1+28], %r5; st.global.u64 [%rd1+32], %rd3; st.global.u16 [%rd1+40], %h1;",
      1);
  EXPECT_EQ(Read(4), 0xffffff87u);
  EXPECT_EQ(Read(5), 0x87u);
  EXPECT_EQ(Read(6), 0xffff8687u);
  EXPECT_EQ(Read(7), 0x8687u);
  EXPECT_EQ(Read<uint64_t>(4), 0xffffffff84858687u);
  EXPECT_EQ(Read(10), 0x80u);
}

// Vectors have their elements one behind the other, and one can be left out.
TEST_F(GridTest, LoadsAndStoresVectors) {
  for (uint32_t i = 0; i < 4; ++i) Write(i, i + 1);
  RunKernel(
      "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1]; ld.global.v2.u32 {_, %r6}, [%rd1+8];\n"
      "st.global.v4.u32 [%rd1+16], {%r5, %r4, %r6, 9};",
      1);
  EXPECT_THAT(ReadAll(8), ElementsAre(1, 2, 3, 4, 4, 3, 4, 9));
}

// Each of shared and local memory is found by its own addresses and by generic ones.
TEST_F(GridTest, FindsSpacesByGenericAddresses) {
  RunKernel(
      ".shared .align 4 .b32 s[64]; .local .align 4 .b32 l[4];\n"
      "mov.u64 %rd3, l; mov.u64 %rd4, s;\n"
      "st.local.u32 [%rd3+4], %r1; cvta.local.u64 %rd5, %rd3; ld.u32 %r2, [%rd5+4];\n"
      "cvta.shared.u64 %rd6, %rd4; mul.wide.u32 %rd7, %r1, 4; add.s64 %rd8, %rd6, %rd7;\n"
      "st.u32 [%rd8], %r2; add.s64 %rd9, %rd4, %rd7; ld.shared.u32 %r3, [%rd9];\n"
      "isspacep.shared %p1, %rd8; isspacep.global %p2, %rd8; isspacep.local %p3, %rd5;\n"
      "isspacep.global %p4, %rd1;\n"
      "selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 10, 0, %p2; selp.u32 %r6, 100, 0, %p3;\n"
      "selp.u32 %r7, 1000, 0, %p4; add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6;\n"
      "add.u32 %r4, %r4, %r7; cvta.to.shared.u64 %rd10, %rd8; setp.eq.u64 %p5, %rd10, %rd9;\n"
      "@%p5 add.u32 %r3, %r3, %r4; st.global.u32 [%rd2], %r3;");
  EXPECT_EQ(Read(0), 1101u);
  EXPECT_EQ(Read(31), 1132u);
}

// The lanes of a warp may be at any distance from each other, in each space.
TEST_F(GridTest, AccessesMemoryAtAnyDistance) {
  for (const int stride : {0, 4, 8, 12, 128, -4}) {
    const std::string place = absl::StrCat("mad.lo.s32 %r2, %r1, ", stride, ", 1024;\n");
    RunKernel(absl::StrCat(
        ".shared .align 4 .b8 s[8192]; .local .align 4 .b8 l[8192];\n", place,
        "cvt.u64.u32 %rd3, %r2; add.s64 %rd4, %rd1, %rd3; mov.u64 %rd5, s; mov.u64 %rd6, l;\n"
        "add.s64 %rd5, %rd5, %rd3; add.s64 %rd6, %rd6, %rd3; mov.u32 %r3, s;\n"
        "add.u32 %r3, %r3, %r2; add.u32 %r4, %r1, 100;\n"
        "st.shared.u32 [%rd5], %r4; st.local.u32 [%rd6], %r4; st.global.u32 [%rd4], %r4;\n"
        "ld.shared.u32 %r5, [%r3]; ld.local.u32 %r6, [%rd6]; ld.global.u32 %r7, [%rd4];\n"
        "add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; st.global.u32 [%rd2], %r5;\n"));
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t last = stride == 0 ? 131 : 100 + lane;  // who stored there last
      EXPECT_EQ(Read(lane), last + (100 + lane) + last) << stride;
      EXPECT_EQ(Read(256 + static_cast<uint32_t>(stride / 4) * lane), last) << stride;
    }
  }
}

// So may elements of each width, and vectors of them.
TEST_F(GridTest, AccessesElementsSideBySide) {
  RunKernel(
      "cvt.u64.u32 %rd3, %r1; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd4, %rd3;\n"
      "mul.wide.u32 %rd6, %r1, 8; add.s64 %rd6, %rd1, %rd6; mul.wide.u32 %rd7, %r1, 16;\n"
      "add.s64 %rd7, %rd1, %rd7; sub.u32 %r2, 0, %r1; add.u32 %r3, %r1, 70000;\n"
      "st.global.u8 [%rd4], %r2; ld.global.s8 %r4, [%rd4]; ld.global.u8 %r5, [%rd4];\n"
      "st.global.u16 [%rd5+64], %r2; ld.global.s16 %r6, [%rd5+64]; cvt.s64.s32 %rd8, %r2;\n"
      "st.global.u64 [%rd6+128], %rd8; ld.global.u64 %rd9, [%rd6+128];\n"
      "st.global.v4.u32 [%rd7+512], {%r1, %r2, %r3, 7};\n"
      "ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd7+512]; ld.global.v2.u64 {%rd10, %rd11}, "
      "[%rd7+512];\ncvt.u32.u64 %r11, %rd9; cvt.u32.u64 %r12, %rd11; add.u32 %r4, %r4, %r5;\n"
      "add.u32 %r4, %r4, %r6; add.u32 %r4, %r4, %r11; add.u32 %r4, %r4, %r7;\n"
      "add.u32 %r4, %r4, %r8; add.u32 %r4, %r4, %r9; add.u32 %r4, %r4, %r10;\n"
      "add.u32 %r4, %r4, %r12; st.global.u32 [%rd2+1024], %r4;");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t least = (0 - lane) & 0xff;
    EXPECT_EQ(Read<uint8_t>(lane), least);
    EXPECT_EQ(Read<uint16_t>(32 + lane), (0 - lane) & 0xffff);
    EXPECT_EQ(Read<uint64_t>(16 + lane), 0 - uint64_t{lane});
    const uint32_t sum = 3 * (0 - lane) + least + 0 + 2 * (70000 + lane) + 7;
    EXPECT_EQ(Read(256 + lane), sum) << lane;
  }
}

// Where one lane of many leaves the memory, it is the one that faults, and none has stored.
TEST_F(GridTest, FindsTheLaneThatLeavesTheMemory) {
  EXPECT_EQ(FaultOf("st.global.u32 [%rd2+2097088], 1;"), GridFault::kIllegalAddress);
  EXPECT_EQ(fault_.thread.x, 16u);
  EXPECT_EQ(fault_.address, memory() + kGranule);
  EXPECT_EQ(Read((2097152 - 64) / 4), 0u);
  EXPECT_EQ(FaultOf(".shared .align 4 .b8 s[64]; mov.u64 %rd3, s; mul.wide.u32 %rd4, %r1, 4;\n"
                    "add.s64 %rd3, %rd3, %rd4; ld.shared.u32 %r2, [%rd3];"),
            GridFault::kIllegalAddress);
  EXPECT_EQ(fault_.thread.x, 16u);
  EXPECT_EQ(FaultOf("ld.global.u32 %r2, [%rd2+2];"), GridFault::kMisalignedAddress);
  EXPECT_EQ(fault_.thread.x, 0u);
}

// The lanes of one access may go to two mappings.
TEST_F(GridTest, AccessesTwoMappingsAtOnce) {
  MapGranule(1, Access::kReadWrite);
  RunKernel(
      "st.global.u32 [%rd2+2097088], %r1; ld.global.u32 %r2, [%rd2+2097088];\n"
      "st.global.u32 [%rd2], %r2;");
  EXPECT_EQ(Read(31), 31u);
  EXPECT_EQ(Read((2097152 - 64) / 4 + 16), 16u);
}

// Lanes of one access may go to different spaces.
TEST_F(GridTest, AccessesSeveralSpacesAtOnce) {
  RunKernel(
      ".shared .align 4 .b32 s; mov.u64 %rd3, s; cvta.shared.u64 %rd3, %rd3;\n"
      "setp.eq.u32 %p1, %r1, 1; selp.u64 %rd4, %rd3, %rd2, %p1; add.u32 %r2, %r1, 5;\n"
      "st.u32 [%rd4], %r2; ld.u32 %r3, [%rd4]; st.global.u32 [%rd2+16], %r3;",
      2);
  EXPECT_THAT(ReadAll(6), ElementsAre(5, 0, 0, 0, 5, 6));
}

// Variables of a module begin with what they are initialised with, addresses included.
TEST_F(GridTest, InitialisesVariables) {
  EXPECT_EQ(Run(".global .align 4 .u32 a[3] = {5, 6};\n.const .align 8 .u64 b = generic(a);\n" +
                    Kernel("ld.const.u64 %rd3, [b]; ld.u32 %r2, [%rd3+4]; ld.global.u32 %r3, "
                           "[a+8];\nst.global.u32 [%rd1], %r2; st.global.u32 [%rd1+4], %r3;"),
                Dim3(), Dim3()),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(2), ElementsAre(6, 0));
}

// Each atomic operation leaves the new value and gives the old one.
TEST_F(GridTest, DoesAtomicOperations) {
  Write<uint32_t>(0, 10);
  Write<uint32_t>(1, 0x7fffffff);
  Write<float>(2, 1.5f);
  Write<uint32_t>(3, 4);
  Write<uint32_t>(4, 4);
  Write<uint64_t>(3, 100);
  RunKernel(
      "atom.global.cas.b32 %r2, [%rd1], 10, 11; atom.global.min.s32 %r3, [%rd1+4], -1;\n"
      "mov.f32 %f1, 0f40000000; atom.global.add.f32 %f2, [%rd1+8], %f1;\n"
      "atom.global.inc.u32 %r4, [%rd1+12], 4; red.global.dec.u32 [%rd1+16], 2;\n"
      "atom.global.gpu.acq_rel.exch.b64 %rd3, [%rd1+24], 7; st.global.u32 [%rd1+32], %r2;\n"
      "st.global.u32 [%rd1+36], %r3; st.global.f32 [%rd1+40], %f2; st.global.u32 [%rd1+44], %r4;\n"
      "st.global.u64 [%rd1+48], %rd3;",
      1);
  EXPECT_EQ(Read(0), 11u);
  EXPECT_EQ(Read(1), ~0u);
  EXPECT_EQ(Read<float>(2), 3.5f);
  EXPECT_EQ(Read(3), 0u);
  EXPECT_EQ(Read(4), 2u);
  EXPECT_EQ(Read<uint64_t>(3), 7u);
  EXPECT_EQ(Read(8), 10u);
  EXPECT_EQ(Read(9), 0x7fffffffu);
  EXPECT_EQ(Read<float>(10), 1.5f);
  EXPECT_EQ(Read(11), 4u);
  EXPECT_EQ(Read<uint64_t>(6), 100u);
}

// Two halves are added each on its own.
TEST_F(GridTest, AddsHalvesAtomically) {
  Write<uint32_t>(0, 0x3c004000);                                                    // 1, 2
  RunKernel("mov.b32 %r2, 0x40004200; red.global.add.noftz.f16x2 [%rd1], %r2;", 1);  // 2, 3
  EXPECT_EQ(Read(0), 0x42004500u);
}

// --- Faults ---

// A fault says where it was, who did it, and what was touched.
TEST_F(GridTest, SaysWhereAFaultWas) {
  EXPECT_EQ(FaultOf("setp.ge.u32 %p1, %r1, 37;\n@%p1 st.global.u32 [%rd2+8388608], %r1;", 64),
            GridFault::kIllegalAddress);
  EXPECT_EQ(fault_.kernel, "k");
  EXPECT_EQ(fault_.place.position.line, 12);
  EXPECT_EQ(fault_.place.instruction, "st.global.u32");
  EXPECT_EQ(fault_.thread.x, 37u);
  EXPECT_EQ(fault_.address, memory() + 4 * kGranule + Bytes(37 * 4));
  EXPECT_EQ(fault_.size, Bytes(4));
  EXPECT_EQ(fault_.access, Access::kReadWrite);
}

// Read access is enough for a load, not for a store or an atomic operation.
TEST_F(GridTest, NeedsTheAccessToWrite) {
  MapGranule(1, Access::kRead);
  RunKernel("ld.global.u32 %r2, [%rd1+2097152];");
  EXPECT_EQ(FaultOf("st.global.u32 [%rd1+2097152], 1;"), GridFault::kIllegalAddress);
  EXPECT_EQ(FaultOf("red.global.add.u32 [%rd1+2097152], 1;"), GridFault::kIllegalAddress);
}

// A prefetch may go anywhere, as on an H100; what changes how memory is cached may not.
TEST_F(GridTest, NeedsTheMemoryToChangeHowItIsCached) {
  RunKernel("prefetch.global.L2 [%rd1+8388608];");
  RunKernel("applypriority.global.L2::evict_normal [%rd1], 128;");
  EXPECT_EQ(FaultOf("applypriority.global.L2::evict_normal [%rd1+8388608], 128;"),
            GridFault::kIllegalAddress);
  EXPECT_EQ(FaultOf("discard.global.L2 [%rd1+8388608], 128;"), GridFault::kIllegalAddress);
}

// An address that is not a multiple of the size is that before anything else.
TEST_F(GridTest, FindsMisalignedAddresses) {
  EXPECT_EQ(FaultOf("ld.global.u32 %r2, [%rd1+2];"), GridFault::kMisalignedAddress);
  EXPECT_EQ(FaultOf("ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+8];"),
            GridFault::kMisalignedAddress);
  EXPECT_EQ(FaultOf("ld.global.u32 %r2, [%rd1+8388609];"), GridFault::kMisalignedAddress);
}

// What lies outside shared or local memory is nowhere, null is too.
TEST_F(GridTest, FindsNothingOutsideItsSpaces) {
  EXPECT_EQ(FaultOf(".shared .b32 s[4]; st.shared.u32 [s+16], 1;"), GridFault::kIllegalAddress);
  EXPECT_EQ(FaultOf(".local .b32 l[4]; st.local.u32 [l+65536], 1;"), GridFault::kIllegalAddress);
  EXPECT_EQ(FaultOf("mov.u64 %rd3, 0; ld.u32 %r2, [%rd3];"), GridFault::kIllegalAddress);
}

// What is unmapped while a kernel runs is not there for its next access.
TEST_F(GridTest, SeesWhatIsUnmappedMeanwhile) {
  MapGranule(1, Access::kReadWrite);
  const auto program =
      Load(Module(Kernel("L: ld.volatile.global.u32 %r2, [%rd1+2097152]; bra L;")));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3(), Dim3(), {memory().value()});
  EXPECT_EQ(grid->Run(100'000), Grid::State::kWaiting);
  EXPECT_THAT(vmm_.Unmap(Granule(1)), IsOk());
  EXPECT_EQ(grid->Run(100'000), Grid::State::kFaulted);
  EXPECT_EQ(grid->fault().address, memory() + kGranule);
}

// Linear memory of the device is there until it is freed.
TEST_F(GridTest, UsesLinearMemoryUntilItIsFreed) {
  LinearAllocation wanted;
  const AddressRange linear = *mmu_.linear.Allocate(Bytes(64), wanted);
  const auto program = Load(Module(
      Kernel("L: ld.volatile.global.u32 %r2, [%rd1+60]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;")));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3(), Dim3(), {linear.base.value()});
  EXPECT_EQ(grid->Run(100'000), Grid::State::kWaiting);
  {
    const std::unique_lock lock(mmu_.mutex);
    mmu_.linear.Free(linear.base);
  }
  EXPECT_EQ(grid->Run(100'000), Grid::State::kFaulted);
  EXPECT_EQ(grid->fault().kind, GridFault::kIllegalAddress);
}

// Linear memory of another device takes peer access.
TEST_F(GridTest, ReachesLinearMemoryOfPeersIfEnabled) {
  LinearAllocation wanted;
  wanted.device = DeviceOrdinal(1);
  const AddressRange linear = *mmu_.linear.Allocate(Bytes(64), wanted);
  const auto program = Load(Module(Kernel("st.global.u32 [%rd1], 1;")));
  ASSERT_NE(program, nullptr);
  const auto run = [&] {
    return MakeGrid(program, Dim3(), Dim3(), {linear.base.value()})->Run(1000);
  };
  EXPECT_EQ(run(), Grid::State::kFaulted);
  mmu_.linear.AddPeerAccess(1, DeviceOrdinal(0), DeviceOrdinal(1));
  EXPECT_EQ(run(), Grid::State::kDone);
}

}  // namespace
}  // namespace twinmmu::ptx
