// How fast kernels run.

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/coherence/model/vector_clock.h"
#include "sim/host/window.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/run/grid.h"
#include "sim/ptx/text/module.h"
#include "sim/state/simulator_state.h"

namespace twinmmu::ptx {
namespace {

// A kernel of one parameter, an address, in %rd1; the index of the thread is in %r1, of all in %r3,
// their number in %r4, and the address of its word at %rd3.
std::string Kernel(const std::string& body) {
  return absl::StrCat(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .f32 %f<10>;\n"
      "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
      "mad.lo.u32 %r3, %r2, %r4, %r1; mov.u32 %r5, %nctaid.x; mul.lo.u32 %r4, %r4, %r5;\n"
      "mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2;\n",
      body, "\nret;\n}\n");
}

// What has two addresses; or all memory is watched for races.
enum Aliased { kNothing, kMemory, kOtherMemory, kWatched };

Profile ProfileOf(Aliased aliased) {
  Profile profile = Profile::ReferenceH200(1);
  profile.race_check = aliased == kWatched;
  return profile;
}

// A machine with 1 GiB at memory().
class Workload {
 public:
  explicit Workload(Aliased aliased = kNothing) : profile_(ProfileOf(aliased)) {
    range_ = *vmm_.AddressReserve(GiB(1));
    auto handle = vmm_.Create(GiB(1), {}, 0);
    const std::array grants{AccessGrant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite}};
    if (!vmm_.Map(range_, *handle, Bytes(0), 0).ok() || !vmm_.SetAccess(range_, grants).ok()) {
      std::abort();
    }
    if (aliased == kNothing || aliased == kWatched) return;
    if (aliased == kOtherMemory) {
      handle = vmm_.Create(GiB(1), {}, 0);
      if (!vmm_.Map(*vmm_.AddressReserve(GiB(1)), *handle, Bytes(0), 0).ok()) std::abort();
    }
    if (!vmm_.Map(*vmm_.AddressReserve(GiB(1)), *handle, Bytes(0), 0).ok()) std::abort();
  }
  uint64_t memory() const { return range_.base.value(); }

  void Run(const std::string& body, uint32_t blocks, uint32_t threads, int workers) {
    if (program_ == nullptr) program_ = *MakeProgram(*Parse(Kernel(body)));
    Launch launch;
    launch.program = program_;
    launch.kernel = program_->FindKernel("k");
    launch.config = LaunchConfig{Dim3{blocks, 1, 1}, Dim3{threads, 1, 1}, 0};
    const uint64_t address = memory();
    launch.parameters.resize(sizeof(address));
    std::memcpy(launch.parameters.data(), &address, sizeof(address));
    Grid grid({&mmu_, &state_.sites, &state_.aliases}, std::move(launch), workers);
    grid.StartAfter(clocks_);
    while (grid.Run(uint64_t{1} << 40) == Grid::State::kRunning) {
    }
    clocks_ = grid.clocks();
    state_.aliases.HostWaited(clocks_);
  }

 private:
  const Profile profile_;
  SimulatorState state_{profile_, *Window::Make(profile_.window, profile_.default_alignment())};
  Mmu& mmu_ = state_.mmu;
  SimulatedVmm vmm_{&state_};
  AddressRange range_;
  std::shared_ptr<const Program> program_;
  coherence::Clocks clocks_;
};

// A loop of 64 instructions that compute, half of them on floats, by blocks of 256 threads.
void BM_Compute(benchmark::State& state) {
  std::string body = "mov.u32 %r6, 0; mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f3f000000;\nL:\n";
  for (int i = 0; i < 15; ++i) {
    absl::StrAppend(&body,
                    "mad.lo.u32 %r7, %r7, %r3, %r6; fma.rn.f32 %f3, %f1, %f2, %f3;\n"
                    "xor.b32 %r8, %r7, %r1; add.f32 %f1, %f1, %f2;\n");
  }
  absl::StrAppend(&body, "add.u32 %r6, %r6, 1; xor.b32 %r9, %r7, %r8; setp.lt.u32 %p1, %r6, 100;\n",
                  "@%p1 bra L; st.global.u32 [%rd3], %r9;");
  Workload workload;
  constexpr uint32_t kBlocks = 64;
  for (auto _ : state) workload.Run(body, kBlocks, 256, static_cast<int>(state.range(0)));
  state.counters["instructions"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kBlocks * 256 * 6400), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Compute)
    ->RangeMultiplier(2)
    ->Range(1, 8)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// A loop of 32 loads and 32 stores of 4 bytes, one word a thread.
void BM_Access(benchmark::State& state) {
  std::string body = "mov.u32 %r6, 0;\nL:\n";
  for (int i = 0; i < 32; ++i) {
    absl::StrAppend(&body, "ld.global.u32 %r7, [%rd3+", 4096 * i, "];\nst.global.u32 [%rd3+",
                    4096 * i + 1024, "], %r7;\n");
  }
  absl::StrAppend(&body, "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 100; @%p1 bra L;");
  Workload workload;
  constexpr uint32_t kBlocks = 64;
  for (auto _ : state) workload.Run(body, kBlocks, 256, static_cast<int>(state.range(0)));
  state.counters["accesses"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kBlocks * 256 * 6400), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Access)->RangeMultiplier(2)->Range(1, 8)->UseRealTime()->Unit(benchmark::kMillisecond);

// The inner loop of a product of matrices, whose tiles of 16 by 16 words are in shared memory: of
// one tile the lanes of a warp load two words, of the other one two rows.
void BM_Tiles(benchmark::State& state) {
  std::string body =
      ".shared .align 16 .b8 s[2048]; and.b32 %r6, %r1, 15; shr.u32 %r7, %r1, 4;\n"
      "mov.u32 %r8, s; mad.lo.u32 %r9, %r7, 64, %r8; mad.lo.u32 %r10, %r6, 4, %r8;\n"
      "mad.lo.u32 %r11, %r1, 4, %r8; mov.u32 %r12, 0;\nL: st.shared.u32 [%r11], %r12;\n"
      "st.shared.u32 [%r11+1024], %r12; bar.sync 0;\n";
  for (int i = 0; i < 16; ++i) {
    absl::StrAppend(&body, "ld.shared.f32 %f1, [%r9+", 4 * i, "]; ld.shared.f32 %f2, [%r10+",
                    1024 + 64 * i, "]; fma.rn.f32 %f3, %f1, %f2, %f3;\n");
  }
  absl::StrAppend(&body,
                  "bar.sync 0; add.u32 %r12, %r12, 1; setp.lt.u32 %p1, %r12, 100; @%p1 bra L;\n"
                  "st.global.f32 [%rd3], %f3;");
  Workload workload;
  constexpr uint32_t kBlocks = 16;
  for (auto _ : state) workload.Run(body, kBlocks, 256, 1);
  state.counters["loads"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kBlocks * 256 * 3200), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Tiles)->Unit(benchmark::kMillisecond);

// Sums of 256 words in shared memory, half as many of them at each of eight steps.
void BM_Reduction(benchmark::State& state) {
  constexpr uint32_t kRounds = 100;
  const std::string body = absl::StrCat(
      ".shared .align 4 .b8 s[1024]; mov.u32 %r8, s; mad.lo.u32 %r9, %r1, 4, %r8;\n"
      "mov.u32 %r6, 0;\nL: st.shared.u32 [%r9], %r1; mov.u32 %r7, 128;\n"
      "S: bar.sync 0; setp.ge.u32 %p1, %r1, %r7; @%p1 bra N; mad.lo.u32 %r10, %r7, 4, %r9;\n"
      "ld.shared.u32 %r11, [%r10]; ld.shared.u32 %r12, [%r9]; add.u32 %r12, %r12, %r11;\n"
      "st.shared.u32 [%r9], %r12;\nN: shr.u32 %r7, %r7, 1; setp.ne.u32 %p2, %r7, 0;\n"
      "@%p2 bra S; bar.sync 0; add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, ",
      kRounds, "; @%p3 bra L;\n");
  Workload workload;
  constexpr uint32_t kBlocks = 16;
  for (auto _ : state) workload.Run(body, kBlocks, 256, 1);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kBlocks * kRounds * 256);
}
BENCHMARK(BM_Reduction)->Unit(benchmark::kMillisecond);

// Each thread loads a word and adds it to another one, anywhere in 1 MiB.
void BM_Scattered(benchmark::State& state) {
  const std::string body =
      "mov.u32 %r6, 0; mov.u32 %r7, %r3;\nL: mad.lo.u32 %r7, %r7, 1664525, 1013904223;\n"
      "shr.u32 %r8, %r7, 14; mul.wide.u32 %rd4, %r8, 4; add.s64 %rd4, %rd1, %rd4;\n"
      "ld.global.u32 %r9, [%rd4]; add.u32 %r9, %r9, 1; st.global.u32 [%rd4], %r9;\n"
      "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 1000; @%p1 bra L;";
  Workload workload;
  constexpr uint32_t kBlocks = 16;
  for (auto _ : state) workload.Run(body, kBlocks, 256, 1);
  state.counters["accesses"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kBlocks * 256 * 2000), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Scattered)->Unit(benchmark::kMillisecond);

// 1 GiB, each thread a word at a time.
void BM_Fill(benchmark::State& state) {
  const std::string body =
      "mul.wide.u32 %rd4, %r4, 4; mov.u32 %r6, %r3;\nL: st.global.u32 [%rd3], %r6;\n"
      "add.s64 %rd3, %rd3, %rd4; add.u32 %r6, %r6, %r4; setp.lt.u32 %p1, %r6, 268435456;\n"
      "@%p1 bra L;";
  Workload workload;
  for (auto _ : state) workload.Run(body, 1056, 256, static_cast<int>(state.range(0)));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) << 30);
}
BENCHMARK(BM_Fill)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

// The same of 16 MiB, and a loop that loads, adds, and stores again: of memory with one address,
// with two, with one beside other memory with two, and where all is watched.
void BM_Aliased(benchmark::State& state, const char* body) {
  Workload workload(static_cast<Aliased>(state.range(0)));
  const std::string loop = absl::StrCat(
      "mul.wide.u32 %rd4, %r4, 4; mov.u32 %r6, %r3;\nL: ", body,
      "add.s64 %rd3, %rd3, %rd4; add.u32 %r6, %r6, %r4; setp.lt.u32 %p1, %r6, 4194304;\n",
      "@%p1 bra L;");
  for (auto _ : state) workload.Run(loop, 66, 256, 1);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) << 22);
}
BENCHMARK_CAPTURE(BM_Aliased, Fill, "st.global.u32 [%rd3], %r6;\n")
    ->DenseRange(kNothing, kWatched)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Aliased, Increment,
                  "ld.global.u32 %r7, [%rd3]; add.u32 %r7, %r7, 1; st.global.u32 [%rd3], %r7;\n")
    ->DenseRange(kNothing, kWatched)
    ->Unit(benchmark::kMillisecond);

// Threads that do one thing each: 2^20 of them.
void BM_ManyBlocks(benchmark::State& state) {
  Workload workload(static_cast<Aliased>(state.range(0)));
  for (auto _ : state) workload.Run("st.global.u32 [%rd3], %r3;", 4096, 256, 1);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) << 20);
}
BENCHMARK(BM_ManyBlocks)
    ->Arg(kNothing)
    ->Arg(kWatched)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Copies of 32 KiB to shared memory and back: in bulk, by one thread; and of 16 bytes, by 256.
void BM_CopyInBulk(benchmark::State& state) {
  constexpr int kRounds = 200;
  Workload workload;
  const std::string body = absl::StrCat(
      ".shared .align 128 .b8 s[32768]; .shared .align 8 .b64 m; mov.u32 %r6, 0;\n"
      "mov.u32 %r8, s; mov.u32 %r9, m; mbarrier.init.shared.b64 [%r9], 1; fence.proxy.async;\n"
      "L: mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 32768; and.b32 %r7, %r6, 1;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd1], 32768, "
      "[%r9];\nW: mbarrier.try_wait.parity.shared.b64 %p1, [%r9], %r7;\n@!%p1 bra W;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1+32768], [%r8], 32768;\n"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
      "add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, ",
      kRounds, "; @%p2 bra L;");
  for (auto _ : state) workload.Run(body, 1, 1, 1);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kRounds * 2 * 32768);
}
BENCHMARK(BM_CopyInBulk)->Unit(benchmark::kMillisecond);

void BM_CopyAsync(benchmark::State& state) {
  constexpr int kRounds = 200;
  Workload workload;
  const std::string body = absl::StrCat(
      ".shared .align 128 .b8 s[4096]; mov.u32 %r6, 0; mov.u32 %r8, s;\n"
      "mad.lo.u32 %r8, %r1, 16, %r8; mul.wide.u32 %rd4, %r1, 16; add.u64 %rd4, %rd1, %rd4;\n"
      "L: cp.async.cg.shared.global [%r8], [%rd4], 16; cp.async.commit_group;\n"
      "cp.async.wait_group 0; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, ",
      kRounds, "; @%p2 bra L;");
  for (auto _ : state) workload.Run(body, 1, 256, 1);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kRounds * 4096);
}
BENCHMARK(BM_CopyAsync)->Unit(benchmark::kMillisecond);

// The same bytes as BM_CopyInBulk, by the host.
void BM_HostCopy(benchmark::State& state) {
  constexpr int kRounds = 200;
  std::vector<char> global(65536), shared(32768);
  for (auto _ : state) {
    for (int i = 0; i < kRounds; ++i) {
      std::memcpy(shared.data(), global.data(), shared.size());
      benchmark::ClobberMemory();
      std::memcpy(global.data() + 32768, shared.data(), shared.size());
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kRounds * 2 * 32768);
}
BENCHMARK(BM_HostCopy)->Unit(benchmark::kMillisecond);

// Products of matrices by eight warps of a block; `products` of numbers in an instruction.
void BM_Mma(benchmark::State& state, const std::string& instruction, int products) {
  constexpr int kRounds = 100, kWarps = 8;
  Workload workload;
  const std::string body = absl::StrCat(
      "mov.u32 %r6, 0; mov.u32 %r7, 0x3c00bc01; mov.u32 %r8, 0x38013c02; mov.u32 %r9, 0x3c01b803;\n"
      "mov.u32 %r10, 0x3e013c01; mov.u32 %r11, 0x3c013a00; mov.u32 %r12, 0x38023c03;\n"
      "mov.b32 %r13, 0; mov.b32 %r14, 0; mov.b32 %r15, 0; mov.b32 %r16, 0;\n"
      "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\nL: ",
      instruction, "\nadd.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, ", kRounds, "; @%p2 bra L;");
  for (auto _ : state) workload.Run(body, 1, 32 * kWarps, 1);
  const int64_t rounds = static_cast<int64_t>(state.iterations()) * kRounds * kWarps;
  state.SetItemsProcessed(rounds * products);
}
BENCHMARK_CAPTURE(BM_Mma, f16,
                  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, "
                  "{%r7, %r8, %r9, %r10}, {%r11, %r12}, {%f1, %f2, %f3, %f4};",
                  16 * 8 * 16)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Mma, tf32,
                  "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, "
                  "{%r7, %r8, %r9, %r10}, {%r11, %r12}, {%f1, %f2, %f3, %f4};",
                  16 * 8 * 8)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Mma, s8,
                  "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r13, %r14, %r15, %r16}, "
                  "{%r7, %r8, %r9, %r10}, {%r11, %r12}, {%r13, %r14, %r15, %r16};",
                  16 * 8 * 32)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace twinmmu::ptx

BENCHMARK_MAIN();
