// PageModel: what a small VirtualMemoryPool is to answer, by a table of its pages alone, and every
// call of one.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_SEQUENCES_PAGE_MODEL_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_SEQUENCES_PAGE_MODEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/paged_reservation.h"
#include "api/vmm.h"

namespace twinmmu::conformance {

// A pool of three pages that caches one, on a device with room for `memory` pages, and two streams.
struct PageMachine {
  static constexpr uint64_t kPages = 3;
  static constexpr uint64_t kCached = 1;
  static constexpr int kStreams = 2;

  uint64_t memory = kPages + kCached;
  bool has_peer = true;
};

struct PageCall {
  enum class Kind {
    kAllocate,    // `run`
    kDeallocate,  // `run`, at once or after the work of a stream
    kCompact,
    kGrant,   // `access` to the peer
    kHold,    // from now on `stream` has work that is not done
    kFinish,  // all work of `stream` is done
  };
  Kind kind = Kind::kCompact;
  PageRun run;
  std::optional<int> stream;
  Access access = Access::kNone;
};
// "Deallocate pages 0-1 after stream 1".
std::string ToString(const PageCall& call);
// Every call of the machine.
std::vector<PageCall> AllPageCalls(const PageMachine& machine);

class PageModel {
 public:
  explicit PageModel(const PageMachine& machine) : machine_(machine) {}

  // What a call is to give.
  struct Answer {
    absl::StatusCode code = absl::StatusCode::kOk;
    DriverCallCounts calls;  // of the driver; unless memory runs out, where it tries first
    Bytes compacted;         // in pages
  };
  Answer Do(const PageCall& call);

  // Where later calls are answered alike.
  std::string Shape() const;

  PageState StateOf(uint64_t page) const { return pages_[page].state; }
  uint64_t Count(PageState state) const;
  uint64_t cached() const { return cached_; }
  Access peer_access() const { return peer_access_; }

 private:
  struct Page {
    PageState state = PageState::kFree;
    int departure = 0;             // of a page that leaves: those that go together have the same
    std::optional<int> waits_for;  // the stream whose work is not done
  };

  void Allocate(const PageRun& run, Answer& answer);
  void Deallocate(const PageCall& call, Answer& answer);
  void Finish(int stream);
  // Unmaps the leaving pages whose work is done.
  void Collect(Answer& answer);
  // Memory that no page has any more.
  void PutAside(uint64_t pages, Answer& answer);
  // The contiguous runs of pages that are mapped.
  uint64_t MappedRuns() const;

  const PageMachine machine_;
  std::array<Page, PageMachine::kPages> pages_;
  std::array<bool, PageMachine::kStreams> held_ = {};
  uint64_t cached_ = 0;
  Access peer_access_ = Access::kNone;
  int last_departure_ = 0;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_SEQUENCES_PAGE_MODEL_H_
