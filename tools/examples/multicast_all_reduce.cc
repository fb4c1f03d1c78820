// An all-reduce over eight devices by multicast: each has a vector, and all get the sum.
//
// Every device binds its vector to a multicast object, so that one address stands for all eight. A
// kernel on each of them sums up its own eighth of the vector: multimem.ld_reduce adds the eight
// words at an address, multimem.st stores the sum to all of them. Before and after that, the
// kernels wait for each other.
//
// A multicast address is one more address of the memory under it. So where a kernel writes through
// the one and it, or another kernel, reads through the other, there is a fence.proxy.alias on the
// way: behind the write and before the signal to the others that it is done.
//
// The signal can go either way, see the two barriers below. This program tries both, each on the
// simulated machine that it is right for.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulator.h"

using namespace twinmmu;

namespace {

constexpr uint32_t kWords = 4096;  // of the vector
constexpr uint32_t kThreads = 128;
constexpr Bytes kFlags(kWords * sizeof(float));  // where the counter of arrivals lies

// %rd1 the vector, %rd2 the same by its multicast address; both on this device. %rd3 where devices
// say that they have come, %rd4 where they look how many have. %r1 thread, %r2 this device, %r3
// devices. `BARRIER n` waits until all of them have come for the n-th time.
constexpr char kKernel[] = R"(
.version 8.1
.target sm_90
.address_size 64
.visible .entry all_reduce(.param .u64 vector, .param .u64 multicast, .param .u64 arrive,
                           .param .u64 look, .param .u32 device, .param .u32 devices,
                           .param .u32 words) {
  .reg .b64 %rd<10>;
  .reg .b32 %r<20>;
  .reg .f32 %f<5>;
  .reg .pred %p<4>;
  ld.param.u64 %rd1, [vector];
  ld.param.u64 %rd2, [multicast];
  ld.param.u64 %rd3, [arrive];
  ld.param.u64 %rd4, [look];
  ld.param.u32 %r2, [device];
  ld.param.u32 %r3, [devices];
  ld.param.u32 %r4, [words];
  mov.u32 %r1, %tid.x;
  mov.u32 %r5, %ntid.x;

  // Its own vector: word i is (device + 1) * (i % 7 + 1).
  mov.u32 %r6, %r1;
fill:
  rem.u32 %r7, %r6, 7;
  add.u32 %r7, %r7, 1;
  add.u32 %r8, %r2, 1;
  mul.lo.u32 %r7, %r7, %r8;
  cvt.rn.f32.u32 %f1, %r7;
  mul.wide.u32 %rd5, %r6, 4;
  add.s64 %rd5, %rd5, %rd1;
  st.global.f32 [%rd5], %f1;
  add.u32 %r6, %r6, %r5;
  setp.lt.u32 %p1, %r6, %r4;
  @%p1 bra fill;

  // Others are about to read it by the multicast address.
  FENCE
  BARRIER 1

  // The sum of its part of the vector, four words at a time.
  div.u32 %r9, %r4, %r3;
  mul.lo.u32 %r10, %r9, %r2;
  mul.lo.u32 %r6, %r1, 4;
sum:
  add.u32 %r7, %r6, %r10;
  mul.wide.u32 %rd5, %r7, 4;
  add.s64 %rd5, %rd5, %rd2;
  multimem.ld_reduce.weak.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];
  multimem.st.weak.global.v4.f32 [%rd5], {%f1, %f2, %f3, %f4};
  mad.lo.u32 %r6, %r5, 4, %r6;
  setp.lt.u32 %p1, %r6, %r9;
  @%p1 bra sum;

  // Others are about to read their vectors by the addresses that these have by themselves.
  fence.proxy.alias;
  BARRIER 2

  // Each device goes on with the sum.
  mov.u32 %r6, %r1;
use:
  mul.wide.u32 %rd5, %r6, 4;
  add.s64 %rd5, %rd5, %rd1;
  ld.global.f32 %f1, [%rd5];
  neg.f32 %f1, %f1;
  st.global.f32 [%rd5], %f1;
  add.u32 %r6, %r6, %r5;
  setp.lt.u32 %p1, %r6, %r4;
  @%p1 bra use;
  ret;
}
)";

// One thread of each device adds to the counters of all devices at once, and waits for its own.
// That a device sees by one address what others added by the other one orders them, as the
// programming guide has it; before it looks by an address at what it added itself, there is a
// fence.
constexpr char kMulticastSignal[] =
    "multimem.red.release.sys.global.add.u32 [%rd3], 1;\n"
    "  fence.proxy.alias;";

// By the memory model alone, nothing orders two operations by different addresses. So all devices
// count at one address: in the memory of the first device, which the others reach as its peers.
constexpr char kUnicastSignal[] = "red.release.sys.global.add.u32 [%rd3], 1;";

std::string BarrierOf(const std::string& number, const std::string& signal) {
  return "bar.sync 0;\n"
         "  setp.ne.u32 %p2, %r1, 0;\n"
         "  @%p2 bra met" +
         number +
         ";\n"
         "  " +
         signal +
         "\n"
         "  mul.lo.u32 %r11, %r3, " +
         number +
         ";\n"
         "look" +
         number +
         ":\n"
         "  ld.acquire.sys.global.u32 %r12, [%rd4];\n"
         "  setp.lt.u32 %p3, %r12, %r11;\n"
         "  @%p3 bra look" +
         number +
         ";\n"
         "met" +
         number +
         ":\n"
         "  bar.sync 0;\n";
}

void Replace(const std::string& word, const std::string& with, std::string* text) {
  text->replace(text->find(word), word.size(), with);
}

std::string KernelWith(const std::string& signal) {
  std::string text = kKernel;
#ifndef PLANTED_BUG
  Replace("FENCE", "fence.proxy.alias;", &text);
#else
  // Wrong: the others may sum up what was in the vector before.
  Replace("FENCE", "", &text);
#endif
  Replace("BARRIER 1\n", BarrierOf("1", signal), &text);
  Replace("BARRIER 2\n", BarrierOf("2", signal), &text);
  return text;
}

// A vector of each device, and one address for all of them.
class Team {
 public:
  explicit Team(Driver& driver)
      : vmm_(*driver.vmm().value()), multicast_(*driver.multicast().value()) {
    devices_ = static_cast<uint32_t>(vmm_.GetDeviceCount().value());
    MulticastProperties properties;
    properties.device_count = devices_;
    properties.size = multicast_.GetGranularity(properties, Granularity::kMinimum).value();
    const AllocationHandle object = multicast_.Create(properties).value();
    // A device binds memory once all of them are in the team.
    for (uint32_t i = 0; i < devices_; ++i) Check(multicast_.AddDevice(object, Ordinal(i)));
    for (uint32_t i = 0; i < devices_; ++i) {
      AllocationProperties of_device;
      of_device.location = Location::Device(Ordinal(i));
      const AllocationHandle memory = vmm_.Create(properties.size, of_device).value();
      vectors_.push_back(Map(memory, properties.size));
      Check(multicast_.BindMemory(object, Bytes(0), memory, Bytes(0), properties.size));
      Check(vmm_.Release(memory));
    }
    all_ = Map(object, properties.size);
    Check(vmm_.Release(object));
  }

  ~Team() {
    vectors_.push_back(all_);
    for (const AddressRange& range : vectors_) {
      Check(vmm_.Unmap(range));
      Check(vmm_.AddressFree(range));
    }
  }

  static DeviceOrdinal Ordinal(uint32_t i) { return DeviceOrdinal(static_cast<int>(i)); }
  static void Check(const absl::Status& status) {
    if (status.ok()) return;
    std::cerr << status << "\n";
    std::exit(1);
  }

  uint32_t devices() const { return devices_; }
  DeviceAddress vector(uint32_t device) const { return vectors_[device].base; }
  DeviceAddress all() const { return all_.base; }

 private:
  // For all devices.
  AddressRange Map(AllocationHandle handle, Bytes size) {
    const AddressRange range = vmm_.AddressReserve(size).value();
    Check(vmm_.Map(range, handle));
    std::vector<AccessGrant> grants;
    for (uint32_t i = 0; i < devices_; ++i) {
      grants.push_back({Location::Device(Ordinal(i)), Access::kReadWrite});
    }
    Check(vmm_.SetAccess(range, grants));
    return range;
  }

  Vmm& vmm_;
  Multicast& multicast_;
  uint32_t devices_ = 0;
  std::vector<AddressRange> vectors_;
  AddressRange all_;
};

// Kernels on all devices, which meet.
void AllReduce(Executor& executor, const Team& team, bool multicast_signal) {
  const std::string text = KernelWith(multicast_signal ? kMulticastSignal : kUnicastSignal);
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  for (uint32_t i = 0; i < team.devices(); ++i) {
    const uint32_t zero = 0;
    Team::Check(executor.CopyHostToDevice(Team::Ordinal(i), team.vector(i) + kFlags, &zero,
                                          Bytes(sizeof(zero))));
    modules.push_back(executor.LoadModule(Team::Ordinal(i), text).value());
    kernels.push_back(executor.GetKernel(modules.back(), "all_reduce").value());
  }
  LaunchConfig config;
  config.block.x = kThreads;
  for (uint32_t i = 0; i < team.devices(); ++i) {
    const DeviceAddress vector = team.vector(i), all = team.all();
    const DeviceAddress arrive = (multicast_signal ? all : team.vector(0)) + kFlags;
    const DeviceAddress look = team.vector(multicast_signal ? i : 0) + kFlags;
    const uint32_t devices = team.devices();
    const void* const arguments[] = {&vector, &all, &arrive, &look, &i, &devices, &kWords};
    Team::Check(executor.Launch(Stream(Team::Ordinal(i)), kernels[i], config, arguments));
  }
  for (uint32_t i = 0; i < team.devices(); ++i) {
    Team::Check(executor.SynchronizeDevice(Team::Ordinal(i)));
  }
  for (const Module module : modules) Team::Check(executor.UnloadModule(module));
}

// How many words are not what they are to be.
uint32_t CountWrong(Executor& executor, const Team& team) {
  const uint32_t sum = team.devices() * (team.devices() + 1) / 2;
  uint32_t wrong = 0;
  for (uint32_t device = 0; device < team.devices(); ++device) {
    std::vector<float> words(kWords);
    Team::Check(executor.CopyDeviceToHost(Team::Ordinal(device), words.data(), team.vector(device),
                                          Bytes(kWords * sizeof(float))));
    for (uint32_t i = 0; i < kWords; ++i) {
      wrong += words[i] != -static_cast<float>(sum * (i % 7 + 1));
    }
  }
  return wrong;
}

// Whether all is well, on a machine that shows the oldest values that it may.
bool Try(const char* name, coherence::MulticastMode mode, bool multicast_signal) {
  Profile profile = Profile::Named("eight-devices").value();
  Team::Check(profile.SetAliasPolicy("stale"));
  profile.alias_multicast = mode;
  const std::unique_ptr<Simulator> machine = Simulator::Create(profile).value();
  Executor& executor = *machine->executor().value();
  uint32_t wrong = 0;
  {
    const Team team(*machine);
    AllReduce(executor, team, multicast_signal);
    wrong = CountWrong(executor, team);
    std::cout << name << ": of " << kWords << " words on " << team.devices() << " devices, "
              << wrong << " are wrong\n";
  }
  for (const Diagnostic& diagnostic : machine->diagnostics()) std::cerr << diagnostic << "\n";
  return wrong == 0 && machine->diagnostics().empty() && machine->leaks().empty();
}

}  // namespace

int main() {
  const bool guide = Try("signals by the multicast address", coherence::MulticastMode::kGuide,
                         /*multicast_signal=*/true);
  const bool strict = Try("signals by one address for all", coherence::MulticastMode::kStrict,
                          /*multicast_signal=*/false);
  return guide && strict ? 0 : 1;
}
