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
      : operations_(operations), placed_(operations.size(), 0) {}

  void From(const Checker& checker) {
    if (std::count(placed_.begin(), placed_.end(), 0) == 0) return AtTheEnd(checker);
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (placed_[i] != 0 || !CanBeNext(operations_[i])) continue;
      Checker next = checker;
      if (!Agrees(next, operations_[i])) continue;
      placed_[i] = 1;
      From(next);
      placed_[i] = 0;
    }
  }
  Orders Take() { return std::move(orders_); }

 private:
  // Whether nobody who is not placed had ended before it began.
  bool CanBeNext(const Operation& operation) const {
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (placed_[i] == 0 && operations_[i].end < operation.begin) return false;
    }
    return true;
  }
  bool Agrees(Checker& checker, Operation& operation) {
    ++orders_.tried;
    const Tape::Inserted inserted(&operation.tape, true);
    return checker.Do(operation.call).difference.empty();
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
  std::vector<char> placed_;  // whether it is
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
