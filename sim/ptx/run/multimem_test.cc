// Accesses of multicast addresses: what they do to the memory of each device, where they fault, and
// what is refused.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sim/calls/multicast/multicast_calls.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using coherence::AliasHazard;
using coherence::Hazard;
using coherence::MulticastMode;
using coherence::Policy;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kTeam = 3;

Profile ProfileOf(Policy policy, MulticastMode mode) {
  Profile profile = Profile::ReferenceH200(kTeam);
  profile.alias_policy = policy;
  profile.alias_multicast = mode;
  return profile;
}

// Three devices have a granule each, zeros, at %rd3, %rd4 and %rd5; %rd6 is the multicast address
// of all three. Device 0 runs the kernels.
class MultimemTest : public GridTest {
 protected:
  explicit MultimemTest(Policy policy = Policy::kCoherent,
                        MulticastMode mode = MulticastMode::kGuide)
      : GridTest(ProfileOf(policy, mode)) {
    state_.on_alias_hazard = [this](const AliasHazard& hazard) {
      hazards_.push_back(hazard.hazard);
    };
    team_ = *vmm_.AddressReserve((kTeam + 2) * kGranule);
    object_ = *multicast_.Create({kTeam, 2 * kGranule, HandleType::kNone, 0});
    for (int i = 0; i < kTeam; ++i) {
      EXPECT_THAT(multicast_.AddDevice(object_, DeviceOrdinal(i)), IsOk());
    }
    for (int i = 0; i < kTeam; ++i) {
      AllocationProperties properties;
      properties.location = Location::Device(DeviceOrdinal(i));
      const AllocationHandle memory = *vmm_.Create(kGranule, properties);
      MapFor(static_cast<uint64_t>(i), 1, memory, Access::kReadWrite);
      EXPECT_THAT(multicast_.BindMemory(object_, Bytes(0), memory, Bytes(0), kGranule), IsOk());
    }
    MapFor(kTeam, 2, object_, Access::kReadWrite);
  }

  AddressRange Part(uint64_t first, uint64_t count) const {
    return team_.subrange(first * kGranule, count * kGranule);
  }
  void MapFor(uint64_t first, uint64_t count, AllocationHandle handle, Access access) {
    EXPECT_THAT(vmm_.Map(Part(first, count), handle, Bytes(0), 0), IsOk());
    Grant(first, count, access);
  }
  void Grant(uint64_t first, uint64_t count, Access access) {
    const std::array grants{AccessGrant{Location::Device(DeviceOrdinal(0)), access}};
    EXPECT_THAT(vmm_.SetAccess(Part(first, count), grants), IsOk());
  }

  std::string Body(absl::string_view body) const {
    std::string text = "mov.u32 %r39, 0;\n";
    for (int i = 0; i <= kTeam; ++i) {
      absl::StrAppend(&text, "mov.u64 %rd", 3 + i, ", ",
                      Part(static_cast<uint64_t>(i), 1).base.value(), ";\n");
    }
    absl::StrAppend(&text, body);
    return text;
  }
  // Each starts after the one before.
  void Do(absl::string_view body, uint32_t threads = 1) {
    grid_ =
        MakeGrid(Load(Module(Kernel(Body(body)))), Dim3(), Dim3{threads, 1, 1}, {memory().value()});
    grid_->StartAfter(clocks_);
    ASSERT_EQ(grid_->Run(kEnough), Grid::State::kDone)
        << grid_->fault().place.instruction << ": " << grid_->fault().words;
    clocks_ = grid_->clocks();
  }
  GridFault Fault(absl::string_view body) {
    FaultOf(Body(body), 1);
    return fault_;
  }
  static absl::Status Refusal(
      const std::string& instruction,
      absl::string_view header = ".version 8.1\n.target sm_90\n.address_size 64\n") {
    const auto parsed = Parse(absl::StrCat(header, Kernel(instruction)));
    EXPECT_THAT(parsed, IsOk());
    const auto program = MakeProgram(*parsed);
    if (!program.ok()) return program.status();
    const std::string& refusal = (*program)->FindKernel("k")->refusal;
    return refusal.empty() ? absl::OkStatus() : absl::UnimplementedError(refusal);
  }

  template <typename T>
  void Set(int device, T value, uint64_t index = 0) {
    const std::shared_lock lock(mmu_.mutex);
    const DeviceAddress base = Part(static_cast<uint64_t>(device), 1).base;
    EXPECT_TRUE(cache_.Store(base + Bytes(index * sizeof(T)), value));
  }
  template <typename T>
  T Get(int device, uint64_t index = 0) {
    const std::shared_lock lock(mmu_.mutex);
    const DeviceAddress base = Part(static_cast<uint64_t>(device), 1).base;
    return *cache_.Load<T>(base + Bytes(index * sizeof(T)));
  }
  template <typename T>
  std::vector<T> GetAll(uint64_t index = 0) {
    return {Get<T>(0, index), Get<T>(1, index), Get<T>(2, index)};
  }
  // What `load`, an instruction without its operands, gives of these.
  uint32_t Reduce32(absl::string_view load, const std::array<uint32_t, kTeam>& values) {
    for (int i = 0; i < kTeam; ++i) Set(i, values[static_cast<size_t>(i)]);
    Do(absl::StrCat(load, " %r2, [%rd6]; st.global.u32 [%rd1], %r2;"));
    return Read<uint32_t>(0);
  }
  uint64_t Reduce64(absl::string_view load, const std::array<uint64_t, kTeam>& values) {
    for (int i = 0; i < kTeam; ++i) Set(i, values[static_cast<size_t>(i)]);
    Do(absl::StrCat(load, " %rd7, [%rd6]; st.global.u64 [%rd1], %rd7;"));
    return Read<uint64_t>(0);
  }

  MulticastCalls multicast_{&state_};
  AllocationHandle object_;
  AddressRange team_;
  std::vector<Hazard> hazards_;
  coherence::Clocks clocks_;
};

uint32_t BitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
uint64_t BitsOfDouble(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// --- Stores ---

// A store reaches the memory of every device.
TEST_F(MultimemTest, StoresToAllReplicas) {
  Do("multimem.st.global.u32 [%rd6], 7; multimem.st.relaxed.sys.b64 [%rd6+8], 0x100000002;\n"
     "multimem.st.weak.global.v4.f32 [%rd6+16], {1.0, 2.0, 3.0, 4.0};");
  EXPECT_THAT(GetAll<uint32_t>(0), Each(7u));
  EXPECT_THAT(GetAll<uint64_t>(1), Each(uint64_t{0x100000002}));
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(GetAll<float>(4 + i), Each(static_cast<float>(i + 1)));
  }
}

// Eight halves have registers of their own, and lie one behind the other.
TEST_F(MultimemTest, StoresAndLoadsVectorsOfEight) {
  Do("mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x4000;\n"
     "multimem.st.v8.f16 [%rd6], {%h1, %h2, %h1, %h1, %h1, %h1, %h1, %h2};\n"
     "multimem.ld_reduce.add.v8.f16 {%h3, %h4, %h5, %h6, %h7, %h8, %h9, %h10}, [%rd6];\n"
     "mov.b32 %r2, {%h3, %h4}; mov.b32 %r3, {%h9, %h10}; st.global.v2.u32 [%rd1], {%r2, %r3};");
  EXPECT_THAT(GetAll<uint32_t>(0), Each(0x40003c00u));
  EXPECT_THAT(GetAll<uint32_t>(3), Each(0x40003c00u));
  EXPECT_THAT(ReadAll(2), ElementsAre(0x46004200u, 0x46004200u));  // 3 and 6
}

// Each lane has its own address; lanes whose guard does not hold do nothing.
TEST_F(MultimemTest, StoresLaneByLane) {
  Do("mul.wide.u32 %rd7, %r1, 4; add.s64 %rd7, %rd6, %rd7; setp.ne.u32 %p1, %r1, 2;\n"
     "@%p1 multimem.st.u32 [%rd7], %r1;",
     4);
  for (const uint32_t i : {1u, 3u}) EXPECT_THAT(GetAll<uint32_t>(i), Each(i));
  EXPECT_THAT(GetAll<uint32_t>(2), Each(0u));
}

// PTX leaves plain stores there undefined; programs make them, for they reach every device, too.
TEST_F(MultimemTest, PlainStoresReachAllReplicas) {
  Do("st.global.u32 [%rd6], 7; st.u32 [%rd6+4], 8; st.relaxed.sys.global.u64 [%rd6+8], 9;\n"
     "mov.b16 %h1, 0x1234; st.global.u16 [%rd6+16], %h1; st.global.u8 [%rd6+18], %h1;\n"
     "st.volatile.global.u32 [%rd6+20], 10;");
  EXPECT_THAT(GetAll<uint32_t>(0), Each(7u));
  EXPECT_THAT(GetAll<uint32_t>(1), Each(8u));
  EXPECT_THAT(GetAll<uint64_t>(1), Each(uint64_t{9}));
  EXPECT_THAT(GetAll<uint32_t>(4), Each(0x00341234u));
  EXPECT_THAT(GetAll<uint32_t>(5), Each(10u));
}

TEST_F(MultimemTest, PlainStoresOfVectorsReachAllReplicas) {
  Do("mov.b64 %rd7, 5; mov.b64 %rd8, 6; st.global.v2.u64 [%rd6], {%rd7, %rd8};\n"
     "st.global.v4.f32 [%rd6+16], {1.0, 2.0, 3.0, 4.0};");
  EXPECT_THAT(GetAll<uint64_t>(0), Each(uint64_t{5}));
  EXPECT_THAT(GetAll<uint64_t>(1), Each(uint64_t{6}));
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(GetAll<float>(4 + i), Each(static_cast<float>(i + 1)));
  }
}

// A warp side by side, and one of which only some lanes have multicast addresses.
TEST_F(MultimemTest, PlainStoresOfAWarpReachAllReplicas) {
  Do("mul.wide.u32 %rd7, %r1, 4; add.s64 %rd7, %rd6, %rd7; st.global.u32 [%rd7], %r1;", 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_THAT(GetAll<uint32_t>(i), Each(i));
  Do("setp.eq.u32 %p1, %r1, 1; selp.u64 %rd7, %rd1, %rd6, %p1; st.global.u32 [%rd7], 9;", 2);
  EXPECT_THAT(GetAll<uint32_t>(0), Each(9u));
  EXPECT_EQ(Read<uint32_t>(0), 9u);
}

// And so do bulk copies, and their sums.
TEST_F(MultimemTest, BulkCopiesReachAllReplicas) {
  const std::string copy =
      ".shared .align 16 .b8 s[32];\n"
      "mov.u32 %r3, s; st.shared.v4.u32 [%r3], {1, 2, 3, 4}; st.shared.v4.u32 [%r3+16], {5, 6, 7, "
      "8};\n"
      "fence.proxy.async;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r3], 32;\n"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n";
  Do(copy);
  for (uint32_t i = 0; i < 8; ++i) EXPECT_THAT(GetAll<uint32_t>(i), Each(i + 1));
  Do(copy +
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd6], [%r3], 16;\n"
     "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n");
  EXPECT_THAT(GetAll<uint32_t>(3), Each(8u));
  EXPECT_EQ(Fault(".shared .align 16 .b8 s[32]; mov.u32 %r3, s;\n"
                  "cp.async.bulk.global.shared::cta.bulk_group [%rd6+2097152], [%r3], 32;\n"
                  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n")
                .kind,
            GridFault::kIllegalAddress);
}

// --- Loads ---

TEST_F(MultimemTest, ReducesIntegers) {
  EXPECT_EQ(Reduce32("multimem.ld_reduce.add.u32", {0xffffffff, 3, 4}), 6u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.weak.global.add.s32", {1, 2, 3}), 6u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.min.u32", {5, 0xffffffff, 9}), 5u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.min.s32", {5, 0xffffffff, 9}), 0xffffffffu);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.max.u32", {5, 0xffffffff, 9}), 0xffffffffu);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.acquire.sys.global.max.s32", {5, 0xffffffff, 9}), 9u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.and.b32", {7, 14, 6}), 6u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.relaxed.gpu.or.b32", {1, 4, 8}), 13u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.xor.b32", {1, 3, 8}), 10u);
  EXPECT_EQ(Reduce64("multimem.ld_reduce.add.u64", {uint64_t{1} << 40, 1, 1}),
            (uint64_t{1} << 40) + 2);
  EXPECT_EQ(Reduce64("multimem.ld_reduce.min.s64", {1, ~uint64_t{0}, 9}), ~uint64_t{0});
  EXPECT_EQ(Reduce64("multimem.ld_reduce.max.u64", {1, ~uint64_t{0}, 9}), ~uint64_t{0});
  EXPECT_EQ(Reduce64("multimem.ld_reduce.xor.b64", {1, 3, uint64_t{1} << 63}),
            2 + (uint64_t{1} << 63));
}

// In the order of devices, each sum is rounded.
TEST_F(MultimemTest, ReducesFloats) {
  EXPECT_EQ(Reduce32("multimem.ld_reduce.add.f32",
                     {BitsOfFloat(16777216), BitsOfFloat(1), BitsOfFloat(1)}),
            BitsOfFloat(16777216));
  EXPECT_EQ(Reduce32("multimem.ld_reduce.add.f32",
                     {BitsOfFloat(1), BitsOfFloat(1), BitsOfFloat(16777216)}),
            BitsOfFloat(16777218));
  EXPECT_EQ(Reduce64("multimem.ld_reduce.add.f64",
                     {BitsOfDouble(0.5), BitsOfDouble(0.25), BitsOfDouble(4)}),
            BitsOfDouble(4.75));
}

// 2048 + 1 + 1 and 256 + 1 + 1: a half loses each of them, an f32 keeps them.
TEST_F(MultimemTest, AccumulatesHalvesAsTheInstructionSays) {
  const std::array<uint32_t, kTeam> halves{0x68006800, 0x3c003c00, 0x3c003c00};
  EXPECT_EQ(Reduce32("multimem.ld_reduce.add.f16x2", halves), 0x68006800u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.add.acc::f32.f16x2", halves), 0x68016801u);
  const std::array<uint32_t, kTeam> bfloats{0x43804380, 0x3f803f80, 0x3f803f80};
  EXPECT_EQ(Reduce32("multimem.ld_reduce.add.bf16x2", bfloats), 0x43804380u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.add.acc::f32.bf16x2", bfloats), 0x43814381u);
}

// The two halves of a pair are reduced apart; a NaN loses; -0 is less than +0.
TEST_F(MultimemTest, FindsTheExtremesOfHalves) {
  const std::array<uint32_t, kTeam> halves{0x3c00'8000, 0xc000'0000, 0x7e00'0000};
  EXPECT_EQ(Reduce32("multimem.ld_reduce.min.f16x2", halves), 0xc000'8000u);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.max.f16x2", halves), 0x3c00'0000u);
  const std::array<uint32_t, kTeam> bfloats{0x3f80'7fc0, 0xc000'7fc0, 0x7fc0'7fc0};
  EXPECT_EQ(Reduce32("multimem.ld_reduce.min.bf16x2", bfloats), 0xc000'7fffu);
  EXPECT_EQ(Reduce32("multimem.ld_reduce.max.bf16x2", bfloats), 0x3f80'7fffu);
}

TEST_F(MultimemTest, LoadsVectors) {
  for (int i = 0; i < kTeam; ++i) {
    for (uint64_t word = 0; word < 4; ++word) Set(i, static_cast<float>(word + 1), word);
  }
  Do("multimem.ld_reduce.add.v4.f32 {%f1, _, %f3, %f4}, [%rd6];\n"
     "st.global.v4.f32 [%rd1], {%f1, %f3, %f4, %f4};");
  EXPECT_EQ(Read<float>(0), 3.0f);
  EXPECT_EQ(Read<float>(1), 9.0f);
  EXPECT_EQ(Read<float>(2), 12.0f);
}

// --- Reductions in memory ---

// Each replica gets the operand on top of what it had.
TEST_F(MultimemTest, ReducesInAllReplicas) {
  for (int i = 0; i < kTeam; ++i) Set(i, uint32_t{10} * static_cast<uint32_t>(i));
  Do("multimem.red.add.u32 [%rd6], 1; multimem.red.release.sys.global.max.s64 [%rd6+8], 5;\n"
     "multimem.red.relaxed.gpu.or.b32 [%rd6+16], %r1;");
  EXPECT_THAT(GetAll<uint32_t>(0), ElementsAre(1, 11, 21));
  EXPECT_THAT(GetAll<uint64_t>(1), Each(5u));
}

// All lanes of a warp add up, and each element of a vector by itself.
TEST_F(MultimemTest, ReducesVectorsOfAllLanes) {
  Do("multimem.red.add.v2.f32 [%rd6], {1.0, 0.5};\n"
     "multimem.red.add.v4.f16x2 [%rd6+16], {0x3c003c00, 0, 0, 0x40003c00};",
     32);
  EXPECT_THAT(GetAll<float>(0), Each(32.0f));
  EXPECT_THAT(GetAll<float>(1), Each(16.0f));
  EXPECT_THAT(GetAll<uint32_t>(4), Each(0x50005000u));
  EXPECT_THAT(GetAll<uint32_t>(7), Each(0x54005000u));
}

// --- Faults ---

// PTX defines nothing of multimem on an ordinary address.
TEST_F(MultimemTest, FaultsOnUnicastAddresses) {
  for (const char* body : {"multimem.st.u32 [%rd3], 1;", "multimem.red.add.u32 [%rd4], 1;",
                           "multimem.ld_reduce.add.u32 %r2, [%rd1];"}) {
    EXPECT_EQ(Fault(body).kind, GridFault::kNoMulticastAddress) << body;
  }
  EXPECT_EQ(fault_.address, memory());
  EXPECT_EQ(Get<uint32_t>(0), 0u);
}

// Nor of ordinary loads and atomics on a multicast address.
TEST_F(MultimemTest, FaultsOnOrdinaryLoadsAndAtomics) {
  for (const char* body :
       {"ld.global.u32 %r2, [%rd6];", "ld.u32 %r2, [%rd6];", "atom.global.add.u32 %r2, [%rd6], 1;",
        "red.global.add.u32 [%rd6], 1;", "atom.global.exch.b32 %r2, [%rd6], 1;"}) {
    EXPECT_EQ(Fault(body).kind, GridFault::kMulticastAddress) << body;
  }
  EXPECT_THAT(GetAll<uint32_t>(), Each(0u));
}

// Where nothing is mapped, where something is not bound, and where the access is missing.
TEST_F(MultimemTest, FaultsWhereThereIsNothing) {
  EXPECT_EQ(Fault("multimem.st.u32 [0], 1;").kind, GridFault::kIllegalAddress);
  EXPECT_EQ(Fault("multimem.st.u32 [%rd6+2097152], 1;").kind, GridFault::kIllegalAddress);
  EXPECT_THAT(fault_.words, HasSubstr("bound no memory"));
  Grant(kTeam, 2, Access::kRead);
  EXPECT_EQ(Fault("multimem.st.u32 [%rd6], 1;").kind, GridFault::kIllegalAddress);
  Do("multimem.ld_reduce.add.u32 %r2, [%rd6];");
}

TEST_F(MultimemTest, FaultsOnMisalignedAddresses) {
  EXPECT_EQ(Fault("multimem.st.v4.f32 [%rd6+8], {1.0, 1.0, 1.0, 1.0};").kind,
            GridFault::kMisalignedAddress);
}

// A fault in one lane: no lane has done anything.
TEST_F(MultimemTest, DoesNothingWhereOneLaneFaults) {
  FaultOf(Body("setp.eq.u32 %p1, %r1, 1; selp.u64 %rd7, %rd1, %rd6, %p1;\n"
               "multimem.st.u32 [%rd7], 9;"),
          2);
  EXPECT_EQ(fault_.thread.x, 1u);
  EXPECT_THAT(GetAll<uint32_t>(), Each(0u));
}

// Nor by plain stores.
TEST_F(MultimemTest, PlainStoresDoNothingWhereOneLaneFaults) {
  FaultOf(Body("setp.eq.u32 %p1, %r1, 1; selp.u64 %rd7, 0, %rd6, %p1; st.global.u32 [%rd7], 9;"),
          2);
  EXPECT_EQ(fault_.kind, GridFault::kIllegalAddress);
  EXPECT_THAT(GetAll<uint32_t>(), Each(0u));
  EXPECT_EQ(Fault("st.global.u32 [%rd6+2097152], 1;").kind, GridFault::kIllegalAddress);
  EXPECT_THAT(fault_.words, HasSubstr("bound no memory"));
  EXPECT_EQ(Fault("st.global.v4.f32 [%rd6+8], {1.0, 1.0, 1.0, 1.0};").kind,
            GridFault::kMisalignedAddress);
  Grant(kTeam, 2, Access::kRead);
  EXPECT_EQ(Fault("st.global.u32 [%rd6], 1;").kind, GridFault::kIllegalAddress);
}

// --- What is refused when a module is loaded ---

TEST_F(MultimemTest, NeedsItsVersionAndTarget) {
  const std::string store = "multimem.st.u32 [%rd1], 1;";
  EXPECT_THAT(Refusal(store), IsOk());
  for (const char* header : {".version 8.0\n.target sm_90\n.address_size 64\n",
                             ".version 8.1\n.target sm_89\n.address_size 64\n"}) {
    const absl::Status status = Refusal(store, header);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("line 11"), HasSubstr("PTX 8.1 and sm_90")));
  }
}

TEST_F(MultimemTest, RefusesFormsThatPtxHasNot) {
  for (const char* body :
       {"multimem.ld_reduce.min.f32 %f1, [%rd1];", "multimem.ld_reduce.and.u32 %r1, [%rd1];",
        "multimem.ld_reduce.add.f16 %h1, [%rd1];", "multimem.st.v2.u32 [%rd1], {%r1, %r2};",
        "multimem.st.v2.f64 [%rd1], {%fd1, %fd2};", "multimem.red.min.f16x2 [%rd1], %r1;",
        "multimem.red.weak.add.u32 [%rd1], %r1;", "multimem.ld_reduce.u32 %r1, [%rd1];",
        "multimem.ld_reduce.min.acc::f32.f16x2 %r1, [%rd1];",
        "multimem.st.v4.f32 [%rd1], {%f1, %f2};", "multimem.st.shared.u32 [%rd1], %r1;",
        "multimem.ld_reduce.release.sys.add.u32 %r1, [%rd1];", "multimem.st.u8 [%rd1], %h1;"}) {
    EXPECT_FALSE(Refusal(body).ok()) << body;
  }
}

// Sums of values of 8 bits need another target.
TEST_F(MultimemTest, RefusesValuesOfEightBits) {
  const absl::Status status = Refusal("multimem.ld_reduce.add.acc::f16.e4m3x4 %r1, [%rd1];");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("line 11"), HasSubstr("sm_100a")));
}

// --- Order ---

class StaleMultimemTest : public MultimemTest {
 protected:
  explicit StaleMultimemTest(MulticastMode mode = MulticastMode::kGuide)
      : MultimemTest(Policy::kStale, mode) {}

  // By two threads that nothing orders.
  void RedAndLoad() {
    Do("setp.eq.u32 %p1, %r1, 0; @%p1 multimem.red.relaxed.sys.add.u32 [%rd6], 1;\n"
       "@!%p1 ld.relaxed.sys.global.u32 %r2, [%rd3];",
       2);
  }
};

// What was stored through the multicast address is not there for a unicast one.
TEST_F(StaleMultimemTest, StoresNeedAFenceBeforeUnicastLoads) {
  Do("multimem.st.u32 [%rd6], 7; ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;");
  EXPECT_EQ(Read(0), 0u);
  EXPECT_THAT(hazards_, ElementsAre(Hazard::kAlias));
  hazards_.clear();
  Do("multimem.st.u32 [%rd6+4], 7; fence.proxy.alias; ld.global.u32 %r2, [%rd4+4];\n"
     "st.global.u32 [%rd1], %r2;");
  EXPECT_EQ(Read(0), 7u);
  EXPECT_THAT(hazards_, IsEmpty());
}

TEST_F(StaleMultimemTest, PlainStoresNeedAFenceBeforeUnicastLoads) {
  Do("st.global.u32 [%rd6], 7; ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd1], %r2;");
  EXPECT_EQ(Read(0), 0u);
  EXPECT_THAT(hazards_, ElementsAre(Hazard::kAlias));
  hazards_.clear();
  Do("st.global.u32 [%rd6+4], 7; fence.proxy.alias; ld.global.u32 %r2, [%rd4+4];\n"
     "st.global.u32 [%rd1], %r2;");
  EXPECT_EQ(Read(0), 7u);
  EXPECT_THAT(hazards_, IsEmpty());
}

// Nor what was stored through a unicast address for a multicast one.
TEST_F(StaleMultimemTest, LoadsNeedAFenceBehindUnicastStores) {
  Do("st.global.u32 [%rd5], 7; multimem.ld_reduce.add.u32 %r2, [%rd6];\n"
     "st.global.u32 [%rd1], %r2;");
  EXPECT_EQ(Read(0), 0u);
  EXPECT_THAT(hazards_, ElementsAre(Hazard::kAlias));
  Do("st.global.u32 [%rd5+4], 7; fence.proxy.alias; multimem.ld_reduce.add.u32 %r2, [%rd6+4];\n"
     "st.global.u32 [%rd1], %r2;");
  EXPECT_EQ(Read(0), 7u);
}

// Accesses by one multicast address are in order by themselves.
TEST_F(StaleMultimemTest, AreInOrderThroughOneAddress) {
  Do("multimem.st.u32 [%rd6], 7; multimem.red.add.u32 [%rd6], 1;\n"
     "multimem.ld_reduce.add.u32 %r2, [%rd6]; st.global.u32 [%rd1], %r2;");
  EXPECT_EQ(Read(0), 24u);
  EXPECT_THAT(hazards_, IsEmpty());
}

// Strong accesses are no race with those of the unicast address...
TEST_F(StaleMultimemTest, StrongAccessesMeetAcrossAddresses) {
  RedAndLoad();
  EXPECT_THAT(hazards_, IsEmpty());
}

// ... but they are where the formal model is taken at its word.
class StrictMultimemTest : public StaleMultimemTest {
 protected:
  StrictMultimemTest() : StaleMultimemTest(MulticastMode::kStrict) {}
};
TEST_F(StrictMultimemTest, StrongAccessesAreAliasesLikeOthers) {
  RedAndLoad();
  EXPECT_THAT(hazards_, ElementsAre(Hazard::kAlias));
}

}  // namespace
}  // namespace twinmmu::ptx
