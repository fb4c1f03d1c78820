#include "sim/ptx/fuzz/ptx_machine.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "api/sparse_arrays.h"
#include "sim/host/window.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/fuzz/random_ptx.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/run/grid.h"
#include "sim/ptx/tensors/tensor_map.h"
#include "sim/ptx/text/module.h"
#include "sim/ptx/textures/texture.h"

namespace twinmmu::ptx {
namespace {

constexpr Bytes kGranule = MiB(2);
constexpr uint64_t kImageAt = kRandomPtxMemory;  // variables of the module
constexpr uint64_t kHeapAt = 2 * kRandomPtxMemory;
constexpr uint64_t kTexelsAt = 4 * kRandomPtxMemory;
constexpr uint64_t kSlice = 20'000;  // thread-instructions
constexpr int kSlices = 3;

Profile MachineWith(coherence::Policy policy) {
  Profile profile = Profile::ReferenceH200();
  profile.alias_policy = policy;
  profile.window.size = TiB(1);  // many machines share a process
  return profile;
}

void Must(const absl::Status& status) {
  if (!status.ok()) std::abort();
}
template <typename T>
T Must(absl::StatusOr<T> result) {
  Must(result.status());
  return *std::move(result);
}

// Elements of an array, of which only a few are kept.
class FewTexels : public TexelMemory {
 public:
  bool gone() const override { return false; }
  char* ElementAt(uint32_t level, uint64_t layer, const ArrayExtent& at) const override {
    return memory_->data() + (level + layer * 2 + at.x * 3 + at.y * 5 + at.z * 7) % 64 * 16;
  }

 private:
  const std::unique_ptr<std::array<char, 1024>> memory_ =
      std::make_unique<std::array<char, 1024>>();
};

}  // namespace

PtxMachine::PtxMachine(coherence::Policy policy, bool aliased)
    : profile_(MachineWith(policy)),
      state_(profile_, *Window::Make(profile_.window, profile_.default_alignment(),
                                     LinearMemory::AddressesFor(profile_))),
      cache_(state_.mmu, DeviceOrdinal(0)) {
  range_ = Must(vmm_.AddressReserve(2 * kGranule));
  const AllocationHandle handle = Must(vmm_.Create(kGranule, {}, 0));
  const uint64_t mappings = aliased ? 2 : 1;
  for (uint64_t i = 0; i < mappings; ++i) {
    Must(vmm_.Map(range_.subrange(i * kGranule, kGranule), handle, Bytes(0), 0));
  }
  const std::array grants{AccessGrant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite}};
  Must(vmm_.SetAccess(range_.subrange(Bytes(0), mappings * kGranule), grants));
  MakeTextures();
}

void PtxMachine::Reset() {
  heap_ = std::make_shared<DeviceHeap>(
      AddressRange{range_.base + Bytes(kHeapAt), Bytes(kRandomPtxMemory), {}});
  {
    const std::shared_lock lock(state_.mmu.mutex);
    for (uint64_t at = 0; at < kRandomPtxMaps; at += sizeof(uint64_t)) {
      if (!cache_.Store(range_.base + Bytes(at), uint64_t{0})) std::abort();
    }
  }
  WriteMaps();
}

void PtxMachine::WriteMaps() {
  TensorMap map;
  map.element = TensorElement::kU32;
  map.address = (range_.base + Bytes(kTexelsAt)).value();
  map.dims = {16, 8, 4, 2, 2};
  map.strides = {64, 512, 2048, 4096};
  map.box = {8, 2, 1, 1, 1};
  std::array<TensorMap, 4> maps;
  maps.fill(map);
  maps[0].rank = 1;
  maps[1].rank = 2;
  maps[2].rank = 2;
  maps[2].swizzle = TensorSwizzle::k32;
  maps[3].rank = 3;
  maps[3].im2col = true;
  maps[3].pixels = 4;
  for (size_t i = 0; i < maps.size(); ++i) {
    const TensorMapBits bits = Encode(maps[i]);
    const std::shared_lock lock(state_.mmu.mutex);
    for (size_t word = 0; word < bits.size(); ++word) {
      const Bytes at(kRandomPtxMaps + i * 128 + word * 8);
      if (!cache_.Store(range_.base + at, bits[word])) std::abort();
    }
  }
}

void PtxMachine::MakeTextures() {
  for (int i = 0; i < kRandomPtxTextures; ++i) {
    const auto texture = std::make_shared<Texture>();
    texture->surface = i % 2 == 1;
    Image& image = texture->image;
    image.format = i / 2 % 2 == 0 ? ArrayFormat::kFloat : ArrayFormat::kUint8;
    image.channels = i % 3 == 0 ? 4 : 1;
    image.extent = {16, 8, 4};
    if (i < 4) {  // linear memory
      image.dimensions = i < 2 ? 1 : 2;
      image.extent.z = 1;
      if (i < 2) image.extent.y = 1;
      image.address = range_.base + Bytes(kTexelsAt);
      image.pitch = 512;
    } else {
      image.dimensions = i < 6 ? 3 : 2;
      image.layered = i >= 6;
      image.layers = image.layered ? 6 : 1;
      image.cube = i == 6;
      if (image.cube) image.layered = false;
      if (i >= 6) image.extent = {8, 8, 1};
      image.levels = texture->surface ? 1 : 3;
      image.elements = std::make_shared<FewTexels>();
    }
    texture->sampling.linear = i % 4 == 0 || i == 6;
    texture->sampling.linear_levels = i == 4;
    texture->sampling.normalized_coordinates = i >= 4;
    texture->sampling.greatest_level = 2;
    texture->sampling.modes.fill(static_cast<AddressMode>(i / 2 % 4));
    textures_->Add(texture);
  }
}

PtxMachine::Result PtxMachine::Run(const std::string& module, uint32_t threads) {
  Reset();
  const absl::StatusOr<Module> parsed = Parse(module);
  if (!parsed.ok()) return {Outcome::kRefused, std::string(parsed.status().message())};
  const auto program = MakeProgram(*parsed);
  if (!program.ok()) return {Outcome::kRefused, std::string(program.status().message())};
  Launch launch;
  launch.program = *program;
  launch.kernel = launch.program->FindKernel("k");
  if (launch.kernel == nullptr) return {Outcome::kEnded, "no kernel"};
  if (!launch.kernel->refusal.empty()) return {Outcome::kRefused, launch.kernel->refusal};
  const std::array<uint32_t, 3>& cluster = launch.kernel->cluster;
  launch.explicit_cluster = cluster[0] != 0;
  if (launch.explicit_cluster) launch.cluster = Dim3{cluster[0], cluster[1], cluster[2]};
  launch.config = LaunchConfig{Dim3{2, 1, 1}, Dim3{threads, 1, 1}, 0};
  launch.parameters.resize(launch.kernel->parameter_bytes);
  const uint64_t address = range_.base.value();
  std::memcpy(launch.parameters.data(), &address, sizeof(address));
  launch.textures = textures_;
  launch.heap = heap_;
  launch.image = range_.base + Bytes(kImageAt);
  std::vector<char> image(launch.program->image_bytes());
  launch.program->WriteImages({launch.image, image.data()}, {});
  {
    const std::shared_lock lock(state_.mmu.mutex);
    for (size_t i = 0; i < image.size(); ++i) {
      if (!cache_.Store(launch.image + Bytes(i), image[i])) std::abort();
    }
  }
  int hazards = 0;
  GridEnvironment environment{&state_.mmu, &state_.sites, &state_.aliases};
  environment.on_async_hazard = [&hazards](const AsyncHazard&) { ++hazards; };
  Grid grid(environment, std::move(launch), 1);
  Grid::State state = Grid::State::kRunning;
  for (int i = 0; i < kSlices && state != Grid::State::kDone && state != Grid::State::kFaulted;
       ++i) {
    state = grid.Run(kSlice);
  }
  if (state != Grid::State::kDone && state != Grid::State::kFaulted) {
    return {Outcome::kStopped, absl::StrCat("not done: ", grid.WhoWaits())};
  }
  // Else the next ones would have all that this one wrote in their past.
  state_.aliases.HostWaited(grid.clocks());
  if (state == Grid::State::kDone) {
    return {Outcome::kEnded, absl::StrCat("done, ", hazards, " hazards")};
  }
  return {Outcome::kEnded, absl::StrCat("fault ", grid.fault().kind, " at ",
                                        grid.fault().place.instruction, ": ", grid.fault().words)};
}

}  // namespace twinmmu::ptx
