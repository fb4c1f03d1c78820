// Random calls, most of them wrong: the simulator answers them all and stays consistent.

#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sim/test_machine.h"

namespace twinmmu {
namespace {

// Draws arguments from what is plausible, what was seen before, and what is absurd.
class Caller {
 public:
  Caller(Simulator& simulator, uint64_t seed)
      : vmm_(**simulator.vmm()), executor_(**simulator.executor()), random_(seed) {}
  ~Caller() {
    for (const int file : files_) close(file);
  }

  void Call() {
    switch (random_() % 13) {
      case 0:
        return Keep(vmm_.AddressReserve(Size(), {Rare() ? Size() : Bytes(0),
                                                 Rare() ? Address() : DeviceAddress(0), Flags()}),
                    ranges_);
      case 1:
        return (void)vmm_.AddressFree(Range());
      case 2:
        return Keep(vmm_.Create(Size(), Properties(), Flags()), handles_);
      case 3:
        return (void)vmm_.Release(Handle());
      case 4:
      case 5:
        return (void)vmm_.Map(Range(), Handle(), Rare() ? Size() : Bytes(0), Flags());
      case 6:
        return (void)vmm_.Unmap(Range());
      case 7:
      case 8:
        return SetAccess();
      case 9:
        return Share();
      case 10:
        return Ask();
      case 11:
        return Order();
      default:
        return Touch();
    }
  }

  // Ends all that is left, as far as it is known.
  void CleanUp() {
    // To the end of all addresses, because mappings may overhang their reservation.
    std::sort(ranges_.begin(), ranges_.end(),
              [](const AddressRange& a, const AddressRange& b) { return a.base < b.base; });
    for (const AddressRange& range : ranges_) (void)vmm_.Unmap(At(range.base, TiB(64)));
    for (const AllocationHandle handle : handles_) {
      while (vmm_.Release(handle).ok()) {
      }
    }
    for (const AddressRange& range : ranges_) (void)vmm_.AddressFree(range);
    for (const int file : files_) close(file);
    files_.clear();
  }

 private:
  bool Rare() { return random_() % 8 == 0; }
  uint64_t Flags() { return Rare() ? random_() : 0; }
  template <typename T>
  static void Keep(const absl::StatusOr<T>& result, std::vector<T>& list) {
    if (result.ok()) list.push_back(*result);
  }
  template <typename T>
  T Seen(const std::vector<T>& list) {
    return list.empty() ? T()
                        : list[list.size() - 1 - random_() % std::min<size_t>(list.size(), 16)];
  }

  Bytes Size() {
    if (!Rare()) return (random_() % 5) * kGranule;
    const uint64_t absurd[] = {0,
                               1,
                               4096,
                               kGranule.value() - 1,
                               uint64_t{1} << 47,
                               uint64_t{1} << 63,
                               ~uint64_t{0},
                               0 - kGranule.value(),
                               random_()};
    return Bytes(absurd[random_() % 9]);
  }
  DeviceAddress Address() {
    if (Rare()) return DeviceAddress(random_() << (random_() % 64));
    DeviceAddress address = Seen(ranges_).base + (random_() % 4) * kGranule;
    return Rare() ? address + Bytes(random_() % 8192) : address;
  }
  AddressRange Range() { return Rare() ? At(Address(), Size()) : Seen(ranges_); }
  AllocationHandle Handle() {
    return Rare() ? AllocationHandle(random_() >> (random_() % 64)) : Seen(handles_);
  }
  int Number() { return Rare() ? static_cast<int>(random_()) : static_cast<int>(random_() % 3); }
  Location Place() {
    if (!Rare()) return Location::Device(DeviceOrdinal(static_cast<int>(random_() % 2)));
    return Location{static_cast<LocationType>(Number() + 1), Number()};
  }
  DeviceOrdinal Device() { return DeviceOrdinal(Number()); }

  AllocationProperties Properties() {
    AllocationProperties properties;
    properties.location = Place();
    if (Rare()) properties.type = static_cast<AllocationType>(Number());
    if (random_() % 4 == 0) properties.requested_handle_types = static_cast<HandleType>(Number());
    if (Rare()) properties.compression = static_cast<CompressionType>(Number());
    return properties;
  }
  void SetAccess() {
    std::vector<AccessGrant> grants(random_() % 4);
    for (AccessGrant& grant : grants) {
      grant = AccessGrant{Place(), Rare() ? static_cast<Access>(random_()) : Access::kReadWrite};
    }
    (void)vmm_.SetAccess(Range(), grants);
  }
  void Share() {
    const auto type = static_cast<HandleType>(Rare() ? random_() : 1);
    const auto shared = vmm_.ExportShareableHandle(Handle(), type, Flags());
    if (shared.ok()) files_.push_back(shared->file_descriptor);
    const int file = Rare() ? Number() + 10000 : Seen(files_);
    Keep(vmm_.ImportShareableHandle({type, file, {}}), handles_);
    if (files_.size() > 20) {
      close(files_.front());
      files_.erase(files_.begin());
    }
  }
  void Ask() {
    (void)vmm_.GetAccess(Place(), Address());
    (void)vmm_.GetAllocationProperties(Handle());
    (void)vmm_.GetPointerAttribute(Device(), static_cast<PointerAttribute>(random_() % 24),
                                   Address());
    (void)vmm_.GetAddressRange(Device(), Address());
    (void)vmm_.GetMemoryInfo(Device());
    (void)vmm_.GetAllocationGranularity(Properties(), static_cast<Granularity>(Number()));
    (void)vmm_.GetDeviceAttribute(static_cast<DeviceAttribute>(random_() % 200), Device());
    Keep(vmm_.RetainAllocationHandle(Address()), handles_);
  }
  void Touch() {
    const Bytes size = Bytes(random_() % sizeof(data_));
    (void)executor_.CopyHostToDevice(Device(), Address(), data_, size);
    (void)executor_.CopyHostToDevice(AnyStream(), Address(), data_, size);
    (void)executor_.CopyDeviceToHost(AnyStream(), data_, Address(), size);
    (void)executor_.CopyDeviceToDevice(Device(), Address(), Address(), Size());
    (void)executor_.Fill(AnyStream(), Address(), {7, Bytes(random_() % 5)}, random_() % 4096);
    (void)executor_.Fill(Device(), Address(), {7, Bytes(1)}, Rare() ? random_() : 1);
  }
  void Order() {
    Keep(executor_.CreateStream(Device()), streams_);
    Keep(executor_.CreateEvent(Device()), events_);
    (void)executor_.RecordEvent(AnyEvent(), AnyStream());
    (void)executor_.WaitEvent(AnyStream(), AnyEvent());
    (void)executor_.QueryEvent(AnyEvent());
    (void)executor_.QueryStream(AnyStream());
    if (random_() % 4 == 0) (void)executor_.SynchronizeEvent(AnyEvent());
    if (random_() % 4 == 0) (void)executor_.SynchronizeStream(AnyStream());
    if (random_() % 8 == 0) (void)executor_.SynchronizeDevice(Device());
    if (random_() % 2 == 0) (void)executor_.DestroyStream(AnyStream());
    if (random_() % 2 == 0) (void)executor_.DestroyEvent(AnyEvent());
  }
  Stream AnyStream() { return Rare() ? Stream(Device(), Flags()) : Seen(streams_); }
  Event AnyEvent() { return Rare() ? Event(Device(), random_()) : Seen(events_); }

  Vmm& vmm_;
  Executor& executor_;
  std::mt19937_64 random_;
  std::vector<AddressRange> ranges_;
  std::vector<AllocationHandle> handles_;
  std::vector<int> files_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  char data_[64] = {};
};

// No call crashes, whenever work runs, and when all is undone all memory can be had again.
TEST(RandomTest, NeverCrashesAndLosesNothing) {
  for (const StreamPolicyInfo& known : AllStreamPolicies()) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(::testing::Message() << known.name << ", seed " << seed);
      Profile profile = Profile::ReferenceH200(2);
      profile.stream_policy = known.policy;
      profile.stream_seed = seed;
      const auto simulator = *Simulator::Create(profile);
      Vmm& vmm = **simulator->vmm();
      const Bytes free = vmm.GetMemoryInfo(kDevice0)->free;
      Caller caller(*simulator, seed);
      for (int i = 0; i < 5000; ++i) caller.Call();
      caller.CleanUp();
      // A fault of queued work, which ends memory info, is as good as certain.
      if (known.policy == StreamPolicy::kEager) {
        EXPECT_EQ(vmm.GetMemoryInfo(kDevice0)->free, free);
      }
      const Bytes all = (free - profile.devices[0].memory_kept_back) / kGranule * kGranule;
      EXPECT_THAT(vmm.Create(all, {}), IsOk());
    }
  }
}

}  // namespace
}  // namespace twinmmu
