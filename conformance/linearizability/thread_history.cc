#include "conformance/linearizability/thread_history.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu::conformance::linearizability {
namespace {

using random::Call;
using random::CallKind;
using random::Checker;

const char* NameOf(CallKind kind) {
  static constexpr const char* kNames[] = {
      "AddressReserve", "AddressFree",   "GetGranularity", "Create",           "Release",
      "Retain",         "GetProperties", "GetMemoryInfo",  "CanAccessPeer",    "Map",
      "Unmap",          "SetAccess",     "GetAccess",      "Export",           "CloseDescriptor",
      "Import",         "GetAttribute",  "GetRange",       "CopyHostToDevice", "CopyDeviceToHost",
      "CopyDevice",     "Fill"};
  return kNames[static_cast<size_t>(kind)];
}

// Looks for orders by trying, at each place, every operation that can be next.
class OrderSearch {
 public:
  explicit OrderSearch(std::vector<Operation>& operations)
      : operations_(operations), progress_(operations.size(), Progress::kNone) {}

  void From(const Checker& checker) {
    const auto is_done = [](Progress progress) { return progress == Progress::kDone; };
    if (std::all_of(progress_.begin(), progress_.end(), is_done)) return AtTheEnd(checker);
    // What comes after does not depend on the order in which this was reached; nor do the slots,
    // whose results are on the tapes.
    const std::string done(reinterpret_cast<const char*>(progress_.data()), progress_.size());
    if (!seen_.insert(absl::StrCat(done, checker.model().State())).second) return;
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (!is_done(progress_[i]) && CanBeNext(operations_[i])) Advance(i, checker);
    }
  }
  Orders Take() { return std::move(orders_); }

 private:
  // A call is done at one moment, but work that faults is taken at one and runs at another.
  enum class Progress : char { kNone, kTaken, kDone };

  // Whether nobody who is not done had ended before it began.
  bool CanBeNext(const Operation& operation) const {
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (progress_[i] != Progress::kDone && operations_[i].end < operation.begin) return false;
    }
    return true;
  }
  // All orders in which the next moment is of this operation.
  void Advance(size_t i, const Checker& checker) {
    Checker next = checker;
    const random::Step step = Play(next, operations_[i]);
    if (step.difference.empty()) return Continue(i, Progress::kDone, next);
    if (!HasFault(operations_[i])) return;
    if (progress_[i] == Progress::kTaken) {
      if (!step.expected.no_access) return;
      next.Fault();
      Continue(i, Progress::kDone, next);
    } else if (step.expected.code == DriverCode::kSuccess) {
      Continue(i, Progress::kTaken, checker);
    }
  }
  void Continue(size_t i, Progress progress, const Checker& checker) {
    const Progress before = std::exchange(progress_[i], progress);
    From(checker);
    progress_[i] = before;
  }
  random::Step Play(Checker& checker, Operation& operation) {
    ++orders_.tried;
    const Tape::Inserted inserted(&operation.tape, true);
    return checker.Do(operation.call);
  }
  static bool HasFault(const Operation& operation) {
    const std::vector<DriverCode>& codes = operation.tape.codes();
    return IsTransfer(operation.call.kind) && !codes.empty() &&
           codes.back() == DriverCode::kIllegalAddress;
  }
  void AtTheEnd(const Checker& checker) {
    std::string shape = checker.model().Shape(DeviceAddress(0));
    if (shapes_.count(shape) != 0) return;
    Checker asking = checker;
    if (asking.CheckState().has_value()) return;
    shapes_.insert(std::move(shape));
    orders_.ends.push_back(std::move(asking));
  }

  std::vector<Operation>& operations_;
  std::vector<Progress> progress_;
  std::set<std::string> seen_;  // what is done, and the state then
  std::set<std::string> shapes_;
  Orders orders_;
};

}  // namespace

std::vector<Operation> Record(const Checker& before,
                              const std::vector<std::vector<Call>>& threads) {
  std::vector<std::vector<Operation>> made(threads.size());
  std::atomic<uint64_t> clock{0};
  std::atomic<size_t> ready{0};
  std::vector<std::thread> running;
  for (size_t id = 0; id < threads.size(); ++id) {
    running.emplace_back([&, id] {
      Checker own = before;  // which only finds the operands: its model knows nothing of the others
      made[id].reserve(threads[id].size());
      for (++ready; ready < threads.size();) std::this_thread::yield();
      for (const Call& call : threads[id]) {
        Operation& operation = made[id].emplace_back();
        operation.thread = static_cast<int>(id);
        operation.call = call;
        operation.begin = ++clock;
        {
          const Tape::Inserted inserted(&operation.tape, false);
          own.Do(call);
        }
        operation.end = ++clock;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  std::vector<Operation> all;
  for (std::vector<Operation>& operations : made) {
    std::move(operations.begin(), operations.end(), std::back_inserter(all));
  }
  return all;
}

Orders Explain(const Checker& before, std::vector<Operation>& operations) {
  OrderSearch search(operations);
  search.From(before);
  return search.Take();
}

std::string Print(const std::vector<Operation>& operations) {
  std::string text;
  for (const Operation& operation : operations) {
    const auto name = [](std::string* out, DriverCode code) {
      absl::StrAppend(out, DriverCodeName(code));
    };
    absl::StrAppend(&text, "thread ", operation.thread, ", ", operation.begin, " to ",
                    operation.end, ": ", NameOf(operation.call.kind), " is ",
                    absl::StrJoin(operation.tape.codes(), ", ", name), "\n");
  }
  return text;
}

}  // namespace twinmmu::conformance::linearizability
