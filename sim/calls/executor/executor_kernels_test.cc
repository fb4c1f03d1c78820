// Modules and launches: what is refused, how kernels end, and what is said of their faults.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/testing/diagnostic_matchers.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Module text with these kernels.
std::string Ptx(const std::string& body) {
  return ".version 7.5\n.target sm_70\n.address_size 64\n" + body;
}

// A store of 7, in line 9 of the module; a wait for a word to be no longer 0, which then is added
// up at another; a loop without end; a trap; a load, followed by a wait; and loops that sleep,
// store, or keep a part of the block from a barrier.
const char kKernels[] = R"(
.visible .entry store(.param .u64 at) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [at];
  mov.u64 %rd1, %rd1;
  st.global.u32 [%rd1], 7;
  ret;
}
.visible .entry wait(.param .u64 flag, .param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
again:
  ld.acquire.sys.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  st.release.sys.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry forever() {
again:
  bra again;
}
.visible .entry fail() {
  trap;
}
.visible .entry bounded() .maxntid 64, 1, 1 { ret; }
.visible .entry look_and_wait(.param .u64 word, .param .u64 flag) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [word];
  ld.param.u64 %rd2, [flag];
  ld.global.u32 %r1, [%rd1];
again:
  ld.acquire.sys.global.u32 %r1, [%rd2];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  ret;
}
.visible .entry sleep() {
again:
  nanosleep.u32 1000;
  bra again;
}
.visible .entry count(.param .u64 at) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [at];
again:
  red.global.add.u32 [%rd1], 1;
  bra again;
}
.visible .entry store_forever(.param .u64 at) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [at];
again:
  st.global.u32 [%rd1], 1;
  bra again;
}
.visible .entry persist(.param .u64 at) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<3>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [at];
  mov.u32 %r1, 10;
tile:
  mov.u32 %r2, 3000000;
again:
  sub.u32 %r2, %r2, 1;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra again;
  st.global.u32 [%rd1], %r1;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra tile;
  ret;
}
.visible .entry leave_barrier() {
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra again;
  bar.sync 0;
again:
  bra again;
}
)";

Profile WithPolicy(StreamPolicy policy) {
  Profile profile = Profile::ReferenceH200(2);
  profile.stream_policy = policy;
  profile.kernel_instruction_budget = 20'000'000;
  return profile;
}

class KernelsTest : public MachineTest, public testing::WithParamInterface<StreamPolicy> {
 protected:
  KernelsTest() : MachineTest(WithPolicy(GetParam())) {}

  void SetUp() override {
    const auto module = executor().LoadModule(kDevice0, Ptx(kKernels));
    ASSERT_THAT(module, IsOk());
    module_ = *module;
  }
  Kernel Get(const std::string& name) {
    const auto kernel = executor().GetKernel(module_, name);
    EXPECT_THAT(kernel, IsOk());
    return kernel.value_or(Kernel());
  }
  absl::Status Launch(const std::string& name, const std::vector<DeviceAddress>& arguments,
                      Stream stream = Stream(kDevice0), const LaunchConfig& config = {}) {
    std::vector<const void*> pointers;
    for (const DeviceAddress& argument : arguments) pointers.push_back(&argument);
    return executor().Launch(stream, Get(name), config, pointers);
  }
  DeviceAddress Allocate() {
    const auto made = linear().Allocate({kDevice0}, Bytes(256));
    EXPECT_THAT(made, IsOk());
    EXPECT_THAT(executor().Fill(kDevice0, *made, {0, Bytes(4)}, 64), IsOk());
    EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());  // before any stream's work
    return *made;
  }
  uint32_t WordAt(DeviceAddress address) {
    uint32_t word = 0;
    EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, address, Bytes(4)), IsOk());
    return word;
  }

  Module module_;
};

INSTANTIATE_TEST_SUITE_P(Policies, KernelsTest,
                         testing::Values(StreamPolicy::kEager, StreamPolicy::kDeferred,
                                         StreamPolicy::kSeeded));

// What a kernel stores is there after a synchronise.
TEST_P(KernelsTest, Store) {
  const DeviceAddress word = Allocate();
  EXPECT_THAT(Launch("store", {word}), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_EQ(WordAt(word), 7u);
}

// A kernel that waits for a flag ends when a later copy on another stream sets it.
TEST_P(KernelsTest, MayWaitForALaterCopy) {
  const DeviceAddress flag = Allocate();
  const DeviceAddress out = Allocate();
  const Stream waiting = *executor().CreateStream(kDevice0);
  const Stream setting = *executor().CreateStream(kDevice0);
  EXPECT_THAT(Launch("wait", {flag, out}, waiting), IsOk());
  const uint32_t set = 5;
  EXPECT_THAT(executor().CopyHostToDevice(setting, flag, &set, Bytes(4)), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(waiting), IsOk());
  EXPECT_EQ(WordAt(out), 5u);
}

// The same for a flag in memory of the host, which the CPU sets and where it polls for the answer,
// without any call.
TEST_P(KernelsTest, MayWaitForTheCpu) {
  const auto memory = linear().AllocateHost({kDevice0}, Bytes(256), 0);
  ASSERT_THAT(memory, IsOk());
  auto* const words = static_cast<std::atomic<uint32_t>*>(*memory);
  words[0] = words[1] = 0;
  const DeviceAddress flag(reinterpret_cast<uint64_t>(*memory));
  EXPECT_THAT(Launch("wait", {flag, flag + Bytes(4)}), IsOk());
  words[0] = 9;
  while (words[1] != 9) std::this_thread::yield();
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
}

// A kernel that never ends is ended by the budget of the profile: LAUNCH_TIMEOUT, for good.
TEST_P(KernelsTest, EndByTheirBudget) {
  EXPECT_THAT(Launch("forever", {}), IsOk());
  const absl::Status ended = executor().SynchronizeDevice(kDevice0);
  EXPECT_THAT(ended, HasDriverCode(DriverCode::kLaunchTimeout));
  EXPECT_THAT(std::string(ended.message()), HasSubstr("kernel forever is still running after"));
  EXPECT_THAT(executor().CreateStream(kDevice1), HasDriverCode(DriverCode::kLaunchTimeout));
}

// Kernels of 1024 threads that never end, each in its own way.
class EndlessKernelsTest : public KernelsTest {
 protected:
  // A fiftieth of the usual budget is over in a fifth of a second, and in three under
  // ThreadSanitizer beside other work.
  void ExpectEndsInTime(const std::string& name, const std::vector<DeviceAddress>& arguments = {}) {
    LaunchConfig config;
    config.block.x = 1024;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(Launch(name, arguments, Stream(kDevice0), config), IsOk());
    const absl::Status ended = executor().SynchronizeDevice(kDevice0);
    EXPECT_THAT(ended, HasDriverCode(DriverCode::kLaunchTimeout));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
    words_ = std::string(ended.message());
  }
  std::string words_;
};

INSTANTIATE_TEST_SUITE_P(Policies, EndlessKernelsTest,
                         testing::Values(StreamPolicy::kEager, StreamPolicy::kDeferred,
                                         StreamPolicy::kSeeded));

// The budget is one of all threads together, so that many threads do not make it last longer.
TEST_P(EndlessKernelsTest, OfManyThreadsEnd) { ExpectEndsInTime("forever"); }

// The time in which all of them sleep counts too.
TEST_P(EndlessKernelsTest, ThatSleepEnd) { ExpectEndsInTime("sleep"); }

// An access counts for each lane, because each takes the host time.
TEST_P(EndlessKernelsTest, ThatCountEnd) { ExpectEndsInTime("count", {Allocate()}); }

// What stores results has more time, but not for ever.
TEST_P(EndlessKernelsTest, ThatStoreEnd) { ExpectEndsInTime("store_forever", {Allocate()}); }

// Ten results of 9 million instructions each, with a budget of 20 million.
TEST_P(EndlessKernelsTest, MayStoreOneResultAfterTheOther) {
  EXPECT_THAT(Launch("persist", {Allocate()}), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
}

// What is said of the end names the threads that wait, for what, and those that go on.
TEST_P(EndlessKernelsTest, SayWhoWaits) {
  ExpectEndsInTime("leave_barrier");
  EXPECT_THAT(words_,
              AllOf(HasSubstr("kernel_instruction_budget of the profile: block (0, 0, 0) has "),
                    HasSubstr("32 threads, the first (0, 0, 0), waiting at PTX line "),
                    HasSubstr("bar.sync, for barrier 0, which has 32 of 1024 threads"),
                    HasSubstr("992 threads, the first (32, 0, 0), at PTX line ")));
}

// A fault names kernel, line, instruction, thread and address, and what was there; it ends all
// contexts.
TEST_P(KernelsTest, FaultsAreExplained) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(Launch("store", {range.base + Bytes(8)}), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(DriverCode::kIllegalAddress));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice1), HasDriverCode(DriverCode::kIllegalAddress));
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, SizeIs(1));
  EXPECT_THAT(noticed[0], AllOf(IsDiagnostic(DiagnosticKind::kFaultOfKernel),
                                DiagnosticCallIs("cuLaunchKernel"), DiagnosticDeviceIs(kDevice0)));
  EXPECT_THAT(noticed[0].message,
              AllOf(HasSubstr("kernel store, PTX line 9"), HasSubstr("st.global.u32"),
                    HasSubstr("thread (0, 0, 0) of block (0, 0, 0)"),
                    HasSubstr(ToString(range.base + Bytes(8))), HasSubstr("unmapped by call")));
}

// A fault where nothing lies names the eight variables and pieces of memory that are nearest.
TEST_P(KernelsTest, FaultsNameWhatIsNearest) {
  const auto module = executor().LoadModule(
      kDevice0, Ptx(".global .align 4 .b8 first[12];\n"
                    ".visible .global .align 4 .b8 counts[12];\n"
                    ".visible .entry k(.param .u64 at) {\n.reg .b64 %rd<2>;\n"
                    "ld.param.u64 %rd1, [at];\nst.global.u32 [%rd1], 7;\nret;\n}\n"));
  ASSERT_THAT(module, IsOk());
  const AddressRange counts =
      *simulator_->kernels().FindGlobal("cuModuleGetGlobal", *module, "counts");
  for (int i = 0; i < 10; ++i) Allocate();
  const DeviceAddress at = counts.end() + Bytes(4);
  EXPECT_THAT(executor().Launch(Stream(kDevice0), *executor().GetKernel(*module, "k"), {}, {&at}),
              IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(DriverCode::kIllegalAddress));
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, SizeIs(1));
  EXPECT_THAT(noticed[0].message,
              HasSubstr(absl::StrCat("; nearest: 4 B after variable counts, ", InWords(counts))));
  size_t pieces = 0;
  for (size_t found = noticed[0].message.find("memory of cuMemAlloc, call ");
       found != std::string::npos;
       found = noticed[0].message.find("memory of cuMemAlloc, call ", found + 1)) {
    ++pieces;
  }
  EXPECT_EQ(pieces, 6u);
}

// A machine on which a kernel runs that has loaded from one mapping, and waits for another word.
class RunningKernelTest : public KernelsTest {
 protected:
  void SetUp() override {
    KernelsTest::SetUp();
    word_ = Ready(1);
    flag_ = Allocate();
    stream_ = *executor().CreateStream(kDevice0);
    EXPECT_THAT(Launch("look_and_wait", {word_.base, flag_}, stream_), IsOk());
    EXPECT_THAT(executor().QueryStream(stream_), IsOkAndHolds(false));  // it has begun
  }
  // The kernel ends.
  void Finish() {
    const uint32_t set = 1;
    const Stream other = *executor().CreateStream(kDevice0);
    EXPECT_THAT(executor().CopyHostToDevice(other, flag_, &set, Bytes(4)), IsOk());
    EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
  }
  std::vector<Diagnostic> Noticed() const { return simulator_->diagnostics(); }

  AddressRange word_;
  DeviceAddress flag_;
  Stream stream_;
};

INSTANTIATE_TEST_SUITE_P(Policies, RunningKernelTest,
                         testing::Values(StreamPolicy::kEager, StreamPolicy::kDeferred,
                                         StreamPolicy::kSeeded));

// To unmap what a kernel has used that runs is told at the call, with its stream and launch.
TEST_P(RunningKernelTest, UnmapOfWhatItHasUsedIsTold) {
  EXPECT_THAT(vmm().Unmap(word_), IsOk());
  EXPECT_THAT(Noticed(),
              ElementsAre(AllOf(
                  IsDiagnostic(DiagnosticKind::kUnmapUnderRunningKernel), DiagnosticRuleIs("RUN-2"),
                  DiagnosticSeverityIs(Severity::kWarning), DiagnosticCallIs("cuMemUnmap"),
                  DiagnosticDeviceIs(kDevice0), DiagnosticRangeIs(word_),
                  DiagnosticMessageIs(
                      AllOf(HasSubstr(absl::StrCat("stream ", stream_.value(), " of device 0")),
                            HasSubstr(ToString(word_.base)), HasSubstr("launched by call "))))));
  Finish();
}

// Nothing is said of memory that it has not used, of what a kernel behind it is to use, or of
// memory that was mapped later where it has used another.
TEST_P(RunningKernelTest, UnmapOfOtherMemoryIsNotTold) {
  const AddressRange other = Ready(1);
  EXPECT_THAT(vmm().Unmap(other), IsOk());
  const AddressRange later = Ready(1);
  EXPECT_THAT(Launch("look_and_wait", {later.base, flag_}, stream_), IsOk());
  const AllocationHandle kept = *vmm().RetainAllocationHandle(later.base);
  EXPECT_THAT(vmm().Unmap(later), IsOk());
  EXPECT_THAT(vmm().Map(later, kept), IsOk());
  Grant(later, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(vmm().Unmap(word_), IsOk());
  EXPECT_THAT(vmm().Map(word_, kept), IsOk());
  EXPECT_THAT(vmm().Unmap(word_), IsOk());
  EXPECT_THAT(Noticed(), SizeIs(1));
  Finish();
}

// Nor is anything said once the kernel is done.
TEST_P(RunningKernelTest, UnmapAfterItIsNotTold) {
  Finish();
  EXPECT_THAT(vmm().Unmap(word_), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

// A misaligned address and a trap have codes of their own.
TEST_P(KernelsTest, FaultsHaveCodes) {
  EXPECT_THAT(Launch("fail", {}), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(DriverCode::kLaunchFailed));
}
TEST_P(KernelsTest, MisalignmentHasACode) {
  EXPECT_THAT(Launch("store", {Allocate() + Bytes(2)}), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0),
              HasDriverCode(DriverCode::kMisalignedAddress));
}

// Sizes that a device or the kernel does not take, and arguments that are not those of the kernel,
// are refused, and nothing runs.
TEST_P(KernelsTest, RefuseWrongLaunches) {
  const DeviceAddress word = Allocate();
  const Stream stream(kDevice0);
  const auto refused = HasDriverCode(DriverCode::kInvalidValue);
  for (const Dim3& grid : {Dim3{0, 1, 1}, Dim3{1, 65536, 1}, Dim3{1, 1, 65536}}) {
    EXPECT_THAT(Launch("store", {word}, stream, {grid, {}, 0}), refused);
  }
  for (const Dim3& block : {Dim3{1, 1, 0}, Dim3{1025, 1, 1}, Dim3{1, 1, 65}, Dim3{64, 32, 1}}) {
    EXPECT_THAT(Launch("store", {word}, stream, {{}, block, 0}), refused);
  }
  EXPECT_THAT(Launch("bounded", {}, stream, {{}, {65, 1, 1}, 0}), refused);
  EXPECT_THAT(Launch("store", {word}, stream, {{}, {}, (48 << 10) + 1}), refused);
  EXPECT_THAT(Launch("store", {}), refused);
  EXPECT_THAT(Launch("store", {word, word}), refused);
  EXPECT_THAT(executor().Launch(stream, Get("store"), {}, {nullptr}), refused);
  EXPECT_THAT(Launch("store", {word}, Stream(kDevice1)), HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_EQ(WordAt(word), 0u);
}

// More shared memory than 48 KiB has to be asked for.
TEST_P(KernelsTest, MayAskForMoreSharedMemory) {
  const Kernel kernel = Get("bounded");
  const LaunchConfig config{{}, {}, 200 << 10};
  EXPECT_THAT(executor().Launch(Stream(kDevice0), kernel, config, {}),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(simulator_->kernels().Set(kernel, KernelSetting::kDynamicShared, 200 << 10), IsOk());
  EXPECT_THAT(executor().Launch(Stream(kDevice0), kernel, config, {}), IsOk());
  EXPECT_THAT(simulator_->kernels().Set(kernel, KernelSetting::kDynamicShared, 300 << 10),
              HasDriverCode(DriverCode::kInvalidValue));
}

// Modules and kernels that are gone are refused, and a diagnostic says so.
TEST_P(KernelsTest, RefuseWhatIsGone) {
  const Kernel kernel = Get("forever");
  EXPECT_THAT(executor().UnloadModule(module_), IsOk());
  const auto refused = HasDriverCode(DriverCode::kInvalidHandle);
  EXPECT_THAT(executor().Launch(Stream(kDevice0), kernel, {}, {}), refused);
  EXPECT_THAT(executor().GetKernel(module_, "store"), refused);
  EXPECT_THAT(executor().UnloadModule(module_), refused);
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUseOfUnknownKernel), 1u);
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUseOfUnknownModule), 2u);
}

// Text that cannot be loaded says why: no PTX, wrong PTX, PTX that is too new, PTX for another
// device.
TEST_P(KernelsTest, RefuseWrongText) {
  const auto load = [&](const std::string& text) { return executor().LoadModule(kDevice0, text); };
  EXPECT_THAT(load(""), HasDriverCode(DriverCode::kInvalidImage));
  EXPECT_THAT(load("// only a comment"), HasDriverCode(DriverCode::kInvalidImage));
  EXPECT_THAT(load(Ptx(".entry k() { ret }")), HasDriverCode(DriverCode::kInvalidPtx));
  EXPECT_THAT(load(".version 8.7\n.target sm_100\n.address_size 64\n"),
              HasDriverCode(DriverCode::kInvalidPtx));
}

// What one kernel takes by malloc another one finds, until it is freed; once.
TEST_P(KernelsTest, ShareTheHeapOfTheDevice) {
  const auto module = executor().LoadModule(
      kDevice0, Ptx(".extern .func (.param .b64 r) malloc(.param .b64 s);\n"
                    ".extern .func free(.param .b64 s);\n"
                    ".entry take(.param .u64 at) {\n.reg .b64 %a, %p;\nld.param.u64 %a, [at];\n"
                    "{ .param .b64 s; .param .b64 r; st.param.b64 [s], 64;\n"
                    "call.uni (r), malloc, (s); ld.param.b64 %p, [r]; }\n"
                    "st.u32 [%p+60], 7; st.global.u64 [%a], %p; ret;\n}\n"
                    ".entry give(.param .u64 at) {\n.reg .b64 %a, %p; .reg .b32 %r;\n"
                    "ld.param.u64 %a, [at]; ld.global.u64 %p, [%a]; ld.u32 %r, [%p+60];\n"
                    "st.global.u32 [%a+8], %r;\n"
                    "{ .param .b64 s; st.param.b64 [s], %p; call.uni free, (s); }\nret;\n}\n"));
  ASSERT_THAT(module, IsOk());
  const DeviceAddress words = Allocate();
  const auto launch = [&](const char* name) {
    EXPECT_THAT(
        executor().Launch(Stream(kDevice0), *executor().GetKernel(*module, name), {}, {&words}),
        IsOk());
    return executor().SynchronizeDevice(kDevice0);
  };
  EXPECT_THAT(launch("take"), IsOk());
  EXPECT_THAT(
      simulator_->leaks(),
      Contains(AllOf(IsDiagnostic(DiagnosticKind::kLeakedDeviceHeap), DiagnosticDeviceIs(kDevice0),
                     DiagnosticMessageIs(HasSubstr("kernel take, PTX line 10, call.uni: "
                                                   "1 times, 64 B in all")))));
  EXPECT_THAT(launch("give"), IsOk());
  EXPECT_THAT(simulator_->leaks(), Not(Contains(IsDiagnostic(DiagnosticKind::kLeakedDeviceHeap))));
  EXPECT_EQ(WordAt(words + Bytes(8)), 7u);
  EXPECT_THAT(launch("give"), HasDriverCode(DriverCode::kLaunchFailed));
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kDeviceHeapMisuse), 1u);
}

// A kernel with an instruction that is not covered is refused when it is launched, which is told;
// the others of its module run.
TEST_P(KernelsTest, AreRefusedForWhatIsNotCovered) {
  const auto module = executor().LoadModule(
      kDevice0,
      Ptx(".entry lacking() {\n  tcgen05.wait::ld.sync.aligned;\n}\n.entry fine() {\n  ret;\n}\n"));
  ASSERT_THAT(module, IsOk());
  const auto launch = [&](const char* name) {
    return executor().Launch(Stream(kDevice0), *executor().GetKernel(*module, name), {}, {});
  };
  const absl::Status refused = launch("lacking");
  EXPECT_THAT(refused, HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("kernel lacking: PTX line 5: `tcgen05.wait::ld.sync.aligned`"));
  EXPECT_THAT(launch("fine"), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(simulator_->diagnostics(),
              ElementsAre(AllOf(IsDiagnostic(DiagnosticKind::kKernelNotCovered),
                                DiagnosticCallIs("cuLaunchKernel"))));
}

// A driver reads no PTX that is newer than itself.
TEST(OlderDriverTest, RefusesNewerPtx) {
  Profile profile = Profile::ReferenceH200();
  profile.driver_version = 12040;
  const auto simulator = Simulator::Create(profile);
  ASSERT_THAT(simulator, IsOk());
  Executor& executor = **(*simulator)->executor();
  const auto load = [&](const std::string& version) {
    return executor.LoadModule(kDevice0, version + "\n.target sm_70\n.address_size 64\n");
  };
  EXPECT_THAT(load(".version 8.4"), IsOk());
  EXPECT_THAT(load(".version 8.5"), HasDriverCode(DriverCode::kUnsupportedPtxVersion));
}

// A variable of a module has its first value, is found by name, and goes with the module.
TEST_P(KernelsTest, ModulesHaveVariables) {
  const auto module = executor().LoadModule(
      kDevice0, Ptx(".visible .global .align 4 .u32 table[3] = {1, 2, 3};\n"));
  ASSERT_THAT(module, IsOk());
  const auto table = simulator_->kernels().FindGlobal("cuModuleGetGlobal", *module, "table");
  ASSERT_THAT(table, IsOk());
  EXPECT_EQ(table->size, Bytes(12));
  EXPECT_EQ(WordAt(table->base + Bytes(8)), 3u);
  EXPECT_THAT(simulator_->kernels().FindGlobal("cuModuleGetGlobal", *module, "chair"),
              HasDriverCode(DriverCode::kNotFound));
  EXPECT_THAT(simulator_->leaks(), SizeIs(0));
  EXPECT_THAT(executor().UnloadModule(*module), IsOk());
  uint32_t word = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, table->base, Bytes(4)),
              HasDriverCode(DriverCode::kInvalidValue));
}

}  // namespace
}  // namespace twinmmu
