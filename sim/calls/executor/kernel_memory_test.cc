// What modules and kernels take of the host's memory.

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

// A thread of `local` has 64 KiB of its own: a block of 1024 threads 64 MiB.
constexpr char kText[] = R"(.version 7.5
.target sm_70
.address_size 64
.visible .global .b8 zeros[536870912];
.visible .global .u32 counter = 5;
.visible .entry local() {
  .local .b8 own[65536];
  .reg .b64 %rd<2>;
  mov.u64 %rd1, own;
  st.local.u8 [%rd1], 1;
  ret;
}
)";

Profile WithLimit(Bytes limit) {
  Profile profile = Profile::ReferenceH200(1);
  profile.host_memory_limit = limit;
  return profile;
}

class KernelMemoryTest : public MachineTest {
 protected:
  explicit KernelMemoryTest(Bytes limit = MiB(96)) : MachineTest(WithLimit(limit)) {}

  absl::Status Run() {
    const auto module = executor().LoadModule(kDevice0, kText);
    if (!module.ok()) return module.status();
    LaunchConfig config;
    config.block = {1024, 1, 1};
    const auto kernel = executor().GetKernel(*module, "local");
    if (!kernel.ok()) return kernel.status();
    const absl::Status launched = executor().Launch(Stream(kDevice0), *kernel, config, {});
    return launched.ok() ? executor().SynchronizeDevice(kDevice0) : launched;
  }
};

// One kernel after the other: what one took is given back.
TEST_F(KernelMemoryTest, KernelsWithinTheLimitRun) {
  EXPECT_THAT(Run(), IsOk());
  EXPECT_THAT(Run(), IsOk());
}

class SmallKernelMemoryTest : public KernelMemoryTest {
 protected:
  SmallKernelMemoryTest() : KernelMemoryTest(MiB(32)) {}
};

TEST_F(SmallKernelMemoryTest, AKernelBeyondTheLimitFailsAndNamesTheSetting) {
  const absl::Status ran = Run();
  EXPECT_THAT(ran, HasDriverCode(DriverCode::kLaunchFailed));
  EXPECT_THAT(std::string(ran.message()), HasSubstr("32 MiB, the host_memory_limit"));
}

// With a comment of `size` bytes.
std::string ModuleOf(Bytes size) {
  return ".version 7.5\n.target sm_70\n.address_size 64\n/*" + std::string(size.value(), '-') +
         "*/";
}

TEST_F(KernelMemoryTest, AModuleBeyondTheLimitIsRefusedAndNamesTheSetting) {
  const auto loaded = executor().LoadModule(kDevice0, ModuleOf(MiB(2)));
  EXPECT_THAT(loaded.status(), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("96 MiB, the host_memory_limit"));
}

// What is loaded is counted until it is unloaded, and leaves less for others, which is said.
TEST_F(KernelMemoryTest, LoadedModulesCount) {
  std::vector<Module> modules;
  absl::Status refused;
  while (modules.size() < 100 && refused.ok()) {
    const auto loaded = executor().LoadModule(kDevice0, ModuleOf(KiB(512)));
    refused = loaded.status();
    if (loaded.ok()) modules.push_back(*loaded);
  }
  EXPECT_THAT(refused, HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("of 96 MiB, the host_memory_limit"));
  EXPECT_EQ(modules.size(), 4u);  // 16 MiB each, and 32 while they are loaded
  EXPECT_THAT(Run(), HasDriverCode(DriverCode::kLaunchFailed));
}

TEST_F(KernelMemoryTest, UnloadedModulesDoNot) {
  for (int i = 0; i < 20; ++i) {
    const auto loaded = executor().LoadModule(kDevice0, ModuleOf(KiB(512)));
    ASSERT_THAT(loaded, IsOk());
    ASSERT_THAT(executor().UnloadModule(*loaded), IsOk());
  }
  EXPECT_THAT(Run(), IsOk());
}

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  int64_t resident = 0;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(KernelMemoryTest, ZerosOfAModuleTakeNoMemory) {
  const int64_t before = ResidentBytes();
  const auto module = executor().LoadModule(kDevice0, kText);
  ASSERT_THAT(module, IsOk());
  EXPECT_LT(ResidentBytes() - before, int64_t{64} << 20);
}

// Small images share blocks: what another one left there is gone.
TEST_F(KernelMemoryTest, AnImageDoesNotShowWhatWasThereBefore) {
  constexpr char kSmall[] =
      ".version 7.5\n.target sm_70\n.address_size 64\n.visible .global .u32 word[64];\n";
  const auto kept = linear().Allocate({kDevice0}, Bytes(256));  // so that the block stays
  ASSERT_THAT(kept, IsOk());
  const auto used = linear().Allocate({kDevice0}, Bytes(256));
  ASSERT_THAT(used, IsOk());
  EXPECT_THAT(executor().Fill(kDevice0, *used, {9, Bytes(1)}, 256), IsOk());
  EXPECT_THAT(linear().Free(*used), IsOk());
  const auto module = executor().LoadModule(kDevice0, kSmall);
  ASSERT_THAT(module, IsOk());
  const auto word = simulator_->kernels().FindGlobal("cuModuleGetGlobal", *module, "word");
  ASSERT_THAT(word, IsOk());
  EXPECT_EQ(word->base, *used);  // or the test shows nothing
  EXPECT_EQ(*Read(kDevice0, word->base), 0u);
}

}  // namespace
}  // namespace twinmmu
