// Book: what the checkers of one Vmm know together.

#ifndef TWINMMU_API_TESTING_CHECKED_BOOK_H_
#define TWINMMU_API_TESTING_CHECKED_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "api/diagnostic_log.h"
#include "api/diagnostics.h"
#include "api/testing/checked/history.h"
#include "api/testing/checked/state.h"

namespace twinmmu::checked {

// `mutex` guards `state` and `history`, and is not held while a call is passed on; `log` guards
// itself.
struct Book {
  Book(size_t calls_remembered, size_t diagnostics_kept, DiagnosticObserver observer)
      : history(calls_remembered), log(diagnostics_kept, std::move(observer)) {}

  std::mutex mutex;
  TrackedState state;
  CallHistory history;
  DiagnosticLog log;
};

// With book.mutex held, all of these.

// The calls that had to do with it, oldest first; no more than some.
std::vector<HistoryEntry> HistoryOf(const Book& book, DeviceAddress address);
std::vector<HistoryEntry> HistoryOf(const Book& book, AllocationHandle handle);

// The newest call of that name that has done something at `address` since it was last reserved, or
// that released `handle`: its id, 0 if none is remembered.
uint64_t NewestAt(const Book& book, DriverCall name, DeviceAddress address);
uint64_t NewestRelease(const Book& book, AllocationHandle handle);

// What is left.
std::vector<Diagnostic> LeaksOf(const Book& book);

}  // namespace twinmmu::checked

#endif  // TWINMMU_API_TESTING_CHECKED_BOOK_H_
