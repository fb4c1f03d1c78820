// Random calls from several threads at once; most telling under the thread sanitizer.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/instances/random/random_sim.h"
#include "conformance/random/checker.h"
#include "conformance/random/generator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance::random {
namespace {

// Keeps the reservations of one thread together, far from those of others, so that no call reaches
// a neighbour's. For machines that take any hint.
class Territory : public ForwardingVmm {
 public:
  Territory(Vmm* vmm, const AddressRange& own) : ForwardingVmm(vmm), own_(own), next_(own.base) {}

  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override {
    ReserveOptions inside = options;
    const Bytes step = std::max(options.alignment, MiB(2));
    if (!own_.contains(options.hint) && IsPowerOfTwo(step) && step <= GiB(1)) {
      inside.hint = DeviceAddress(RoundUp(Bytes(next_.value()), step).value());
    }
    const absl::StatusOr<AddressRange> range = ForwardingVmm::AddressReserve(size, inside);
    if (!range.ok()) return range;
    if (own_.contains(*range)) {
      next_ = std::max(next_, range->base + RoundUp(range->size, MiB(2)) + GiB(1));
      return range;
    }
    EXPECT_THAT(AddressFree(*range), IsOk());
    if (own_.contains(options.hint)) {  // which was taken
      return AddressReserve(size, {options.alignment, DeviceAddress(0), options.flags});
    }
    return MakeDriverStatus({DriverCode::kOutOfMemory, ErrorOrigin::kDriver, ""}, "not inside");
  }

 private:
  const AddressRange own_;
  DeviceAddress next_;
};

// Threads with reservations of their own do not see each other, whatever they do.
TEST(RandomThreadsTest, WorkWithReservationsOfTheirOwn) {
  const absl::StatusOr<Subject> subject = SimSubject(*Profile::Named("strict"))();
  ASSERT_THAT(subject, IsOk());
  Vmm& vmm = **subject->driver->vmm();
  ModelParameters parameters = subject->parameters;
  parameters.sole_user = false;
  const DeviceAddress first = vmm.AddressReserve(MiB(2))->base;
  std::vector<std::thread> threads;
  for (uint64_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      Territory own(&vmm, {first + (id + 1) * GiB(256), GiB(256), Bytes(0)});
      Checker checker(&own, *subject->driver->executor(), parameters, true);
      SeededChoices choices(id + 1);
      Generator generator(&choices, &checker);
      for (int i = 0; i < 300; ++i) {
        const auto difference = checker.DoAndCheck(generator.Next());
        ASSERT_FALSE(difference.has_value()) << difference->what << ", call " << i;
      }
      const auto left = checker.CleanUp();
      EXPECT_FALSE(left.has_value()) << left->what;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(vmm.GetMemoryInfo(DeviceOrdinal(0))->free, subject->parameters.devices[0].free);
}

// Notes what the calls of a thread answer, or answers as was noted without making the call.
class Recorder : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;

  // Of the calling thread.
  static thread_local absl::Status* note;
  static thread_local const absl::Status* answer;

  absl::Status AddressFree(const AddressRange& range) override {
    return Through([&] { return ForwardingVmm::AddressFree(range); });
  }
  absl::Status Release(AllocationHandle handle) override {
    return Through([&] { return ForwardingVmm::Release(handle); });
  }
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override {
    return Through([&] { return ForwardingVmm::Map(range, handle, offset, flags); });
  }
  absl::Status Unmap(const AddressRange& range) override {
    return Through([&] { return ForwardingVmm::Unmap(range); });
  }
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    return Through([&] { return ForwardingVmm::SetAccess(range, grants); });
  }

 private:
  template <typename Body>
  static absl::Status Through(const Body& body) {
    if (answer != nullptr) return *answer;
    const absl::Status status = body();
    if (note != nullptr) *note = status;
    return status;
  }
};
thread_local absl::Status* Recorder::note = nullptr;
thread_local const absl::Status* Recorder::answer = nullptr;

struct Racer {
  Call call;
  absl::Status status;
};

// A call of those that the recorder knows.
Call ChooseRacer(Generator& generator, const Checker& checker) {
  while (true) {
    const Call call = generator.Next();
    switch (call.kind) {
      case CallKind::kMap:
        // A large one the checker would leave out.
        if (checker.model().SizeOf(checker.Value(call.handle)) > MiB(64)) continue;
        return call;
      case CallKind::kAddressFree:
      case CallKind::kRelease:
      case CallKind::kUnmap:
      case CallKind::kSetAccess:
        return call;
      default:
        continue;
    }
  }
}

// Makes both calls at once.
void Race(const Checker& checker, Racer& a, Racer& b) {
  std::atomic<int> ready = 0;
  const auto run = [&](Racer* racer) {
    Checker own = checker;  // its answer does not matter, and its model is forgotten
    Recorder::note = &racer->status;
    for (++ready; ready < 2;) {
    }
    own.Do(racer->call);
  };
  std::thread other(run, &b);
  std::thread one(run, &a);
  other.join();
  one.join();
}

// Whether the answers, and the state now, are as if `first` came before `second`.
bool IsExplained(const Checker& before, const Racer& first, const Racer& second) {
  Checker checker = before;
  for (const Racer* racer : {&first, &second}) {
    Recorder::answer = &racer->status;
    const Step step = checker.Do(racer->call);
    Recorder::answer = nullptr;
    if (!step.difference.empty()) return false;
  }
  return !checker.CheckState().has_value();
}

// Of two calls at once, one is first. Each round has a machine of its own: where both orders
// explain what is seen, it is not known which one it was.
TEST(RandomThreadsTest, TwoCallsAtOnceTakeEffectInSomeOrder) {
  SeededChoices choices(1);
  for (int round = 0; round < 100; ++round) {
    const absl::StatusOr<Subject> subject = SimSubject(Profile::ReferenceH200(2))();
    ASSERT_THAT(subject, IsOk());
    Recorder recorder(*subject->driver->vmm());
    Checker checker(&recorder, *subject->driver->executor(), subject->parameters, false);
    Generator generator(&choices, &checker);
    for (int i = 0; i < 20; ++i) {
      const std::optional<Difference> difference = checker.DoAndCheck(generator.Next());
      ASSERT_FALSE(difference.has_value()) << "round " << round << ": " << difference->what;
    }
    Racer a{ChooseRacer(generator, checker), absl::OkStatus()};
    Racer b{ChooseRacer(generator, checker), absl::OkStatus()};
    if (a.call.address.slot != kNoSlot && !choices.OneIn(4)) b.call.address = a.call.address;
    Race(checker, a, b);
    EXPECT_TRUE(IsExplained(checker, a, b) || IsExplained(checker, b, a))
        << "round " << round << ": " << a.status << " and " << b.status;
  }
}

}  // namespace
}  // namespace twinmmu::conformance::random
