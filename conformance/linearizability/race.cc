#include "conformance/linearizability/race.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "conformance/linearizability/thread_history.h"
#include "conformance/random/checker.h"
#include "conformance/random/generator.h"
#include "conformance/random/print_sequence.h"

namespace twinmmu::conformance::linearizability {
namespace {

using random::Call;
using random::CallKind;
using random::Checker;
using random::Choices;
using random::Generator;
using random::Slots;

constexpr uint64_t kMostThreads = 4;
constexpr uint64_t kMostCalls = 12;  // of all threads
// Slots up to here are of the calls before the race; each thread has one more of each kind.
constexpr int kReservationsBefore = Slots::kReservations - static_cast<int>(kMostThreads);
constexpr int kHandlesBefore = Slots::kHandles - static_cast<int>(kMostThreads);

enum class Gives { kNothing, kReservation, kHandle, kShareable };

Gives WhatItGives(CallKind kind) {
  switch (kind) {
    case CallKind::kAddressReserve:
      return Gives::kReservation;
    case CallKind::kCreate:
    case CallKind::kRetain:
    case CallKind::kImport:
      return Gives::kHandle;
    case CallKind::kExport:
      return Gives::kShareable;
    default:
      return Gives::kNothing;
  }
}

bool TakesRange(CallKind kind) {
  return kind == CallKind::kAddressFree || kind == CallKind::kUnmap || kind == CallKind::kSetAccess;
}

// Small enough for the model, whatever becomes of it, and of the driver.
bool IsModest(const Call& call) {
  const bool is_large =
      call.kind == CallKind::kCreate && (call.size.eighths != 0 || call.size.granules > 8);
  return !is_large && call.kind != CallKind::kCloseDescriptor;
}

// Whether it may change what is mapped or who has access.
bool ChangesMappings(CallKind kind) {
  return WhatItGives(kind) != Gives::kNothing || TakesRange(kind) || kind == CallKind::kMap ||
         kind == CallKind::kRelease;
}

// A call before the race, into slots that are not the threads'.
Call ChooseBefore(Generator& generator) {
  while (true) {
    const Call call = generator.Next();
    if (!IsModest(call) || !ChangesMappings(call.kind)) continue;
    const Gives gives = WhatItGives(call.kind);
    if (gives == Gives::kReservation && call.result >= kReservationsBefore) continue;
    if (gives == Gives::kHandle && call.result >= kHandlesBefore) continue;
    if (gives == Gives::kShareable) continue;  // each slot is of a thread
    return call;
  }
}

// The calls of one thread.
class Chooser {
 public:
  Chooser(Choices& choices, Generator& generator, int thread)
      : choices_(choices), generator_(generator), thread_(thread) {}

  // `rivals`: calls of other threads, near which many a call should be.
  Call Next(const std::vector<Call>& rivals) {
    while (true) {
      Call call = generator_.Next();
      if (!IsModest(call) || !Take(call)) continue;
      if (!rivals.empty() && !choices_.OneIn(4)) MeetRival(call, rivals);
      StayOutOfOthersSlots(call);
      return call;
    }
  }

 private:
  // Gives the result its slot, of which there is one of each kind. Bytes that two threads write at
  // once may be of both, so that only one thread copies.
  bool Take(Call& call) {
    if (IsTransfer(call.kind)) return thread_ == 0;
    switch (WhatItGives(call.kind)) {
      case Gives::kNothing:
        return true;
      case Gives::kReservation:
        call.result = kReservationsBefore + thread_;
        return !std::exchange(has_reservation_, true);
      case Gives::kHandle:
        call.result = kHandlesBefore + thread_;
        return !std::exchange(has_handle_, true);
      case Gives::kShareable:
        call.result = thread_;
        return !std::exchange(has_shareable_, true);
    }
    return false;
  }
  void MeetRival(Call& call, const std::vector<Call>& rivals) {
    const Call& rival = rivals[choices_.Below(rivals.size())];
    if (call.kind == CallKind::kAddressReserve) return;  // its address is a hint
    if (rival.kind != CallKind::kAddressReserve && rival.address.slot != random::kNoSlot) {
      call.address = rival.address;
      if (TakesRange(call.kind) && TakesRange(rival.kind)) call.size = rival.size;
    }
    const bool of_handles = rival.handle.slot != random::kNoSlot;
    if (of_handles && rival.handle.slot < kHandlesBefore) call.handle = rival.handle;
  }

  // Where it has one of another thread, it takes its own.
  void StayOutOfOthersSlots(Call& call) const {
    if (call.handle.slot >= kHandlesBefore) call.handle.slot = kHandlesBefore + thread_;
    if (call.shareable != random::kNoSlot) call.shareable = thread_;
    for (random::Place* place : {&call.address, &call.source}) {
      if (place->slot >= kReservationsBefore) place->slot = kReservationsBefore + thread_;
    }
  }

  Choices& choices_;
  Generator& generator_;
  const int thread_;
  bool has_reservation_ = false;
  bool has_handle_ = false;
  bool has_shareable_ = false;
};

std::vector<std::vector<Call>> ChooseThreads(Choices& choices, Generator& generator) {
  const uint64_t count = 2 + choices.Below(kMostThreads - 1);
  std::vector<std::vector<Call>> threads(count);
  std::vector<Call> rivals;
  for (uint64_t id = 0; id < count; ++id) {
    Chooser chooser(choices, generator, static_cast<int>(id));
    const uint64_t calls = kMostCalls / count;
    for (uint64_t i = 0; i < calls; ++i) threads[id].push_back(chooser.Next(rivals));
    rivals.insert(rivals.end(), threads[id].begin(), threads[id].end());
  }
  return threads;
}

bool Overlap(const std::vector<Operation>& operations) {
  for (const Operation& a : operations) {
    for (const Operation& b : operations) {
      if (a.thread != b.thread && a.begin < b.end && b.begin < a.end) return true;
    }
  }
  return false;
}

// The state before, as a test that makes it, and the history.
std::string Words(const std::string& what, std::vector<Call> before,
                  const std::vector<Operation>& operations, const random::OpenSubject& open) {
  std::string words = absl::StrCat(what, "\n", Print(operations));
  for (const Operation& operation : operations) before.push_back(operation.call);
  const absl::StatusOr<random::Subject> subject = open();
  if (!subject.ok()) return words;
  Checker checker(*subject->driver->vmm(), *subject->driver->executor(), subject->parameters,
                  false);
  return absl::StrCat(words, "The calls, one after the other:\n",
                      random::PrintTest(before, checker));
}

absl::Status RunRace(const random::OpenSubject& open, uint64_t seed, const Wrap& wrap,
                     uint64_t calls_before, Races& races) {
  const absl::StatusOr<random::Subject> subject = open();
  if (!subject.ok()) return subject.status();
  const absl::StatusOr<Vmm*> vmm = subject->driver->vmm();
  if (!vmm.ok()) return vmm.status();
  const std::unique_ptr<Vmm> wrapped = wrap != nullptr ? wrap(*vmm) : nullptr;
  TapedVmm taped(wrapped != nullptr ? wrapped.get() : *vmm);
  TapedExecutor executor(*subject->driver->executor());
  Checker checker(&taped, &executor, subject->parameters, false);
  random::SeededChoices choices(seed);
  Generator generator(&choices, &checker);
  std::vector<Call> before;
  for (uint64_t i = 0; i < calls_before; ++i) {
    before.push_back(ChooseBefore(generator));
    const random::Step step = checker.Do(before.back());
    if (!step.difference.empty()) return absl::InternalError(step.difference);
  }
  std::vector<Operation> operations = Record(checker, ChooseThreads(choices, generator));
  Orders orders = Explain(checker, operations);
  ++races.histories;
  races.operations += operations.size();
  races.overlapping += Overlap(operations) ? 1 : 0;
  races.tried += orders.tried;
  if (orders.ends.empty()) {
    races.unexplained =
        Words(absl::StrCat("Seed ", seed, ": no order explains"), before, operations, open);
  } else if (orders.ends.size() == 1) {
    const std::optional<random::Difference> left = orders.ends[0].CleanUp();
    if (left.has_value()) {
      races.unexplained =
          Words(absl::StrCat("Seed ", seed, ": at the end ", left->what), before, operations, open);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Races> RunRaces(const random::OpenSubject& open, const random::Seeds& seeds,
                               const Wrap& wrap) {
  Races races;
  for (uint64_t seed = seeds.first; seed <= seeds.last && races.unexplained.empty(); ++seed) {
    if (seeds.begin != nullptr) seeds.begin(seed);
    const absl::Status run = RunRace(open, seed, wrap, seeds.calls, races);
    if (!run.ok()) return run;
  }
  return races;
}

}  // namespace twinmmu::conformance::linearizability
