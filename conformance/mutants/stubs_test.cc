// How many tests reject a stub. A test that accepts one cannot see what the stub lacks: each is
// named here, with the reason why it need not.

#include "conformance/mutants/stubs.h"

#include <atomic>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "conformance/mutants/framework/mutant.h"
#include "conformance/mutants/framework/simulated_target.h"
#include "conformance/mutants/framework/trials.h"

namespace twinmmu::conformance {
namespace {

using Names = std::set<std::string>;

// What the tests do on a machine that is right, so that it is known which of them a stub concerns.
class Watch : public Real {
 public:
  Watch(Vmm* vmm, Executor* executor, Names* read_data, Names* meet_access)
      : Real(vmm, executor), read_data_(*read_data), meet_access_(*meet_access) {}

  // Data is read.
  CALL(Read) override {
    const absl::Status status = Real::Read(work, destination, source, size);
    if (status.ok() && size != Bytes(0)) Note(read_data_);
    return NoteRefusal(work, {source, size, Bytes(0)}, status);
  }

  // Access that is less than read-write is reported, or an access is refused for the want of one.
  CALL(Write) override {
    const absl::Status status = Real::Write(work, destination, source, size);
    return NoteRefusal(work, {destination, size, Bytes(0)}, status);
  }
  CALL(GetAccess) override {
    const auto access = Real::GetAccess(location, address);
    const bool lacks_access = access.ok() && *access != Access::kReadWrite;
    if (lacks_access && address != state_asked_at_) Note(meet_access_);
    return access;
  }
  CALL(GetAddressRange) override {
    const auto range = Real::GetAddressRange(device, address);
    if (!range.ok() && IsMapped(address)) Note(meet_access_);
    return range;
  }

  // Access that is asked for together with the handle is only compared with itself, before and
  // after a call that is refused: StateOf in fixtures.cc.
  CALL(RetainAllocationHandle) override {
    state_asked_at_ = address;
    return Real::RetainAllocationHandle(address);
  }
  CALL(Map) override {
    state_asked_at_ = DeviceAddress(0);
    return Real::Map(range, handle, offset, flags);
  }

 private:
  absl::Status NoteRefusal(const Work& work, const AddressRange& range,
                           const absl::Status& status) {
    const bool is_mapped = IsMapped(range.base) && IsMapped(range.end() - Bytes(1));
    if (!status.ok() && is_mapped && work.device.value() < 2) Note(meet_access_);
    return status;
  }
  static void Note(Names& names) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    names.insert(::testing::UnitTest::GetInstance()->current_test_info()->name());
  }

  Names& read_data_;
  Names& meet_access_;
  std::atomic<DeviceAddress> state_asked_at_ = DeviceAddress(0);
};

struct Stub {
  std::string suite;
  std::string sentence;
  Names concerned;                              // the tests that it should not pass
  size_t must_reject;                           // as many of them at least
  std::map<std::string, std::string> accepted;  // those that may accept it, and why
};

const std::map<std::string, std::string> kAcceptAllOk = {
    {"DEV_1_TellsVersionAndCount", "a stub has a version and devices"},
    {"DEV_4_SupportsVirtualMemoryManagement", "asks for success only"},
    {"INFO_1_HasMemory", "figures that are possible"},
    {"DEV_6_AnswersWhatConcernsVirtualMemory", "asks for success only"},
    {"GRAN_1_MinimumIsAPowerOfTwo", "a figure that is possible"},
    {"GRAN_2_RecommendedIsAMultipleOfTheMinimum", "a figure that is possible"},
    {"GRAN_4_EveryDeviceAndTheHostHaveOne", "asks for success only"},
    {"GRAN_5_RefusesAnUnknownLocation", "the reference driver answers too"},
    {"RES_2_ReservationsAreDisjoint", "a counter gives addresses that are disjoint"},
    {"RES_10_ATakenHintGivesAnotherPlace", "a counter gives another place"},
    {"RES_16_ReservesAnySizeOrHasNoRoom", "a counter gives addresses of any size"},
    {"RES_17_ManySmallOnesAreDisjoint", "a counter gives addresses that are disjoint"},
    {"RES_14_ReservesFarMoreThanThereIsMemory", "asks for success only"},
    {"CREATE_13_RefusesUnknownHandleTypes", "the reference driver ignores them too"},
    {"CREATE_28_RefusesUnknownUsage", "the reference driver ignores it too"},
    {"DATA_9_NoBytesGoAnywhere", "nothing is to be done"},
    {"STREAM_3_AnEventNeverRecordedIsDone", "nothing is to be done"},
    {"MC_1_RecommendedIsAMultipleOfTheMinimum", "a figure that is possible"},
    {"MC_3_MakesTeamsOfEverySizeWithoutMemory", "asks for success only"},
};

const std::map<std::string, std::string> kAcceptWithoutAccess = {
    {"MC_23_CopiesAndFillsWriteEveryReplica", "what is refused there is refused with every access"},
};

// True if the stub is rejected as it should be.
bool Judge(const Trials& trials, const Stub& stub) {
  size_t rejected = 0;
  bool passed = true;
  std::string accepted;
  for (const auto& [name, outcome] : trials.Of(stub.suite)) {
    if (stub.concerned.count(name) == 0) continue;
    const auto reason = stub.accepted.find(name);
    const bool may_accept = reason != stub.accepted.end();
    if (outcome.failed) ++rejected;
    if (!outcome.failed) {
      accepted += "  accepted by " + name + ": " +
                  (may_accept ? reason->second : "FAILED, it should see it") + "\n";
    } else if (may_accept) {
      accepted += "  FAILED: rejected by " + name + ", which is on the list: take it off\n";
    }
    passed = passed && outcome.failed != may_accept;
  }
  std::cout << stub.sentence << ": rejected by " << rejected << " of " << stub.concerned.size()
            << " tests that concern it\n"
            << accepted;
  if (rejected >= stub.must_reject) return passed;
  std::cout << "  FAILED: at least " << stub.must_reject << " must reject it\n";
  return false;
}

// Of a machine whose addresses are no memory of this process, so that no test touches them.
TargetFactory WithoutAddresses(const TargetFactory& factory) {
  const auto open = [factory]() -> absl::StatusOr<Target> {
    absl::StatusOr<Target> target = factory.open();
    if (target.ok()) target->traits.cpu_sees_host_memory = false;
    return target;
  };
  return TargetFactory{factory.name, open};
}

// The tests of the suite that did test their rule.
Names TestsOf(const Trials& trials, const std::string& suite) {
  Names names;
  for (const auto& [name, outcome] : trials.Of(suite)) {
    if (!outcome.not_applicable) names.insert(name);
  }
  return names;
}

int Main(int argc, char** argv) {
  Trials trials(&argc, argv);
  Names read_data;
  Names meet_access;
  const auto watch = [&](Vmm* vmm, Executor* executor) -> std::unique_ptr<Real> {
    return std::make_unique<Watch>(vmm, executor, &read_data, &meet_access);
  };
  trials.Add("right", SimulatedTarget("reference", watch), AllCases());
  trials.Add("all_ok", WithoutAddresses(SimulatedTarget("reference", &MakeMutant<AllOk>)),
             AllCases());
  trials.Add("without_memory", SimulatedTarget("reference", &MakeMutant<WithoutMemory>),
             AllCases());
  trials.Add("without_access", SimulatedTarget("reference", &MakeMutant<WithoutAccess>),
             AllCases());
  trials.Run();
  bool passed = true;
  for (const Stub& stub : {
           Stub{"all_ok", "Every call succeeds and does nothing", TestsOf(trials, "all_ok"), 200,
                kAcceptAllOk},
           Stub{"without_memory", "Bookkeeping without memory", read_data, 60, {}},
           Stub{"without_access", "Memory without access", meet_access, 20, kAcceptWithoutAccess},
       }) {
    passed = Judge(trials, stub) && passed;
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace twinmmu::conformance

int main(int argc, char** argv) { return twinmmu::conformance::Main(argc, argv); }
