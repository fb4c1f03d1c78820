// GridTest: a fixture that runs PTX on a simulated machine.

#ifndef TWINMMU_SIM_TESTING_TEST_GRID_H_
#define TWINMMU_SIM_TESTING_TEST_GRID_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/host/window.h"
#include "sim/mmu/translation_cache.h"
#include "sim/profile/profile.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/run/grid.h"
#include "sim/ptx/text/module.h"
#include "sim/state/simulator_state.h"

namespace twinmmu::ptx {

inline Profile WithPolicy(coherence::Policy policy) {
  Profile profile = Profile::ReferenceH200(2);
  profile.alias_policy = policy;
  return profile;
}

// Two devices; work is done by device 0, and its memory begins at memory(), all zeros.
class GridTest : public testing::Test {
 protected:
  static constexpr Bytes kGranule = MiB(2);
  static constexpr uint64_t kEnough = uint64_t{1} << 26;

  explicit GridTest(const Profile& profile = Profile::ReferenceH200(2)) : profile_(profile) {
    range_ = *vmm_.AddressReserve(4 * kGranule);
    MapGranule(0, Access::kReadWrite);
  }

  DeviceAddress memory() const { return range_.base; }
  AddressRange Granule(uint64_t i) const { return range_.subrange(i * kGranule, kGranule); }
  void MapGranule(uint64_t i, Access access) {
    EXPECT_THAT(vmm_.Map(Granule(i), *vmm_.Create(kGranule, {}, 0), Bytes(0), 0), IsOk());
    const std::array grants{AccessGrant{Location::Device(DeviceOrdinal(0)), access}};
    EXPECT_THAT(vmm_.SetAccess(Granule(i), grants), IsOk());
  }

  template <typename T = uint32_t>
  T Read(uint64_t index) {
    const std::shared_lock lock(mmu_.mutex);
    return *cache_.Load<T>(memory() + Bytes(index * sizeof(T)));
  }
  template <typename T>
  void Write(uint64_t index, T value) {
    const std::shared_lock lock(mmu_.mutex);
    EXPECT_TRUE(cache_.Store(memory() + Bytes(index * sizeof(T)), value));
  }
  std::vector<uint32_t> ReadAll(uint64_t count) {
    std::vector<uint32_t> all;
    for (uint64_t i = 0; i < count; ++i) all.push_back(Read(i));
    return all;
  }

  // Makes a program of a whole module.
  static std::shared_ptr<const Program> Load(absl::string_view text) {
    const auto parsed = Parse(text);
    EXPECT_THAT(parsed, IsOk());
    if (!parsed.ok()) return nullptr;
    auto program = MakeProgram(*parsed);
    EXPECT_THAT(program, IsOk());
    return program.ok() ? *program : nullptr;
  }
  static std::string Module(absl::string_view functions, absl::string_view version = "8.1") {
    return absl::StrCat(".version ", version, "\n.target sm_90\n.address_size 64\n", functions);
  }
  // A kernel `k` whose parameter, the address of the memory, is in %rd1, %tid.x in %r1, and whose
  // own word, by %tid.x, is at %rd2. Line 1 of `body` is line 11 of the module.
  static std::string Kernel(absl::string_view body) {
    return absl::StrCat(
        ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<10>; .reg .b16 %h<20>;\n"
        ".reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<10>; .reg .f64 %fd<10>;\n"
        "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
        "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;\n",
        body, "\nret;\n}\n");
  }

  std::unique_ptr<Grid> MakeGrid(const std::shared_ptr<const Program>& program, const Dim3& grid,
                                 const Dim3& block, const std::vector<uint64_t>& arguments,
                                 absl::string_view name = "k", int threads = 1, uint32_t shared = 0,
                                 DeviceOrdinal device = DeviceOrdinal(0)) {
    Launch launch;
    launch.program = program;
    launch.device = device;
    launch.kernel = program->FindKernel(name);
    launch.config = LaunchConfig{grid, block, shared};
    launch.parameters.resize(launch.kernel->parameter_bytes);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const KernelInfo::Parameter& parameter = launch.kernel->parameters[i];
      std::memcpy(launch.parameters.data() + parameter.offset, &arguments[i], parameter.size);
    }
    const std::array<uint32_t, 3>& cluster = launch.kernel->cluster;
    if (cluster[0] != 0) launch.cluster = Dim3{cluster[0], cluster[1], cluster[2]};
    launch.explicit_cluster = cluster[0] != 0;
    launch.textures = textures_;
    launch.launched = textures_->Now();
    launch.image = memory() + kGranule / 2;
    std::vector<char> image(program->image_bytes());
    program->WriteImages({launch.image, image.data()}, {});
    for (size_t i = 0; i < image.size(); ++i) Write<char>(kGranule.value() / 2 + i, image[i]);
    GridEnvironment environment{&mmu_, &state_.sites, &state_.aliases};
    environment.on_async_hazard = [this](const AsyncHazard& hazard) { hazards_.push_back(hazard); };
    environment.idle = idle_;
    return std::make_unique<Grid>(environment, launch, threads);
  }
  // Runs kernel `k` to its end.
  Grid::State Run(const std::string& functions, const Dim3& grid, const Dim3& block) {
    const std::shared_ptr<const Program> program = Load(Module(functions));
    if (program == nullptr) return Grid::State::kRunning;
    grid_ = MakeGrid(program, grid, block, {memory().value()});
    const Grid::State state = grid_->Run(kEnough);
    if (state == Grid::State::kFaulted) fault_ = grid_->fault();
    return state;
  }
  // The same of one that ends well.
  void RunKernel(absl::string_view body, uint32_t threads = 32, uint32_t blocks = 1) {
    EXPECT_EQ(Run(Kernel(body), Dim3{blocks, 1, 1}, Dim3{threads, 1, 1}), Grid::State::kDone)
        << fault_.place.instruction << ": " << fault_.words;
  }
  GridFault::Kind FaultOf(absl::string_view body, uint32_t threads = 32) {
    EXPECT_EQ(Run(Kernel(body), Dim3(), Dim3{threads, 1, 1}), Grid::State::kFaulted);
    return fault_.kind;
  }

  const Profile profile_;
  SimulatorState state_{profile_, *Window::Make(profile_.window, profile_.default_alignment(),
                                                LinearMemory::AddressesFor(profile_))};
  Mmu& mmu_ = state_.mmu;
  SimulatedVmm vmm_{&state_};
  TranslationCache cache_{mmu_, DeviceOrdinal(0)};
  AddressRange range_;
  const std::shared_ptr<TextureTable> textures_ = std::make_shared<TextureTable>();
  const std::shared_ptr<IdleBlocks> idle_ = MakeIdleBlocks();
  std::unique_ptr<Grid> grid_;
  GridFault fault_;
  std::vector<AsyncHazard> hazards_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_TESTING_TEST_GRID_H_
