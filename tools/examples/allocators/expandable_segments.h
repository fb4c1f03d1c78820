// ExpandableSegments: a caching allocator, as frameworks for machine learning have it. Each stream
// has a segment, which reserves far more addresses than it will have memory and grows at its tail;
// so what was freed and what is new always make one span, and nothing is lost between segments.
//
//   auto memory = ExpandableSegments::Make(vmm, executor).value();
//   DeviceAddress block = memory->Allocate(MiB(3), stream).value();
//   ...                                           // work on `stream`, and some on `other`
//   absl::Status status = memory->Free(block, {other});
//   block = memory->Allocate(MiB(3), stream).value();  // elsewhere, until `other` is done
//   status = memory->Free(block);                      // only `stream` used it
//   block = memory->Allocate(MiB(2), stream).value();  // there again: no call of the driver
//   status = memory->Trim();                           // pages without a block go
//
// A block that only its stream used is free at once, since that stream's later work waits for its
// earlier work. For the same reason its pages go only when the stream has done that work.

#ifndef TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_EXPANDABLE_SEGMENTS_H_
#define TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_EXPANDABLE_SEGMENTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocators/last_use.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/paged_reservation.h"
#include "api/allocators/sparse_buffer.h"
#include "api/allocators/work_tracker.h"
#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu::examples {

// Errors leave blocks, contents and use of memory as they were; those of the driver keep its code.
// Every call fails with FailedPrecondition after Close. Thread safety: calls take turns.
class ExpandableSegments {
 public:
  struct Options {
    PageOptions pages;  // their location is a device: that of all streams
    // Addresses of a segment, at most twice the device's memory. Where so many are not left, half
    // of them, and again half, but no less than 1 GiB.
    Bytes segment_size = GiB(256);
    std::vector<DeviceOrdinal> peers;  // devices that may use all blocks as well
  };
  struct Stats {
    Bytes in_use;    // in blocks, which are multiples of 512 bytes
    Bytes waiting;   // in blocks that were freed, and that other streams may still use
    Bytes physical;  // what the device lacks because of this allocator
    DriverCallCounts calls;
  };

  // Makes no call of the driver: segments are made when they are needed. Both `vmm` and `executor`
  // must outlive the allocator, and so must the streams for which it allocated.
  // InvalidArgument: one of them is null, or the location is not a device.
  static absl::StatusOr<std::unique_ptr<ExpandableSegments>> Make(Vmm* vmm, Executor* executor,
                                                                  Options options);
  static absl::StatusOr<std::unique_ptr<ExpandableSegments>> Make(Vmm* vmm, Executor* executor) {
    return Make(vmm, executor, Options());
  }
  // As Close; errors go to the hook of destructor_errors.h. Where it cannot wait for the work, the
  // memory stays for good.
  ~ExpandableSegments();

  // A block for the work of `stream`, aligned to 512 bytes, with undefined contents: the smallest
  // free one that has memory, else the smallest that has addresses. Where the device has no more
  // memory, all pages without a block are given back first, after waiting for their streams.
  // Driver calls: those of SparseBuffer::Commit for the pages that have no memory.
  // InvalidArgument: size 0, a stream of another device. ResourceExhausted: no memory, or no such
  // span of addresses.
  absl::StatusOr<DeviceAddress> Allocate(Bytes size, Stream stream);

  // Ends a block. other_uses: streams that used it beside its own, or events behind that use; the
  // addresses are not given out again before that is done.
  // NotFound: no block begins at `block`, or it was freed before.
  absl::Status Free(DeviceAddress block, absl::Span<const LastUse> other_uses = {});

  // Gives back all pages in which no block lies, after what is in their stream by now: at once, or
  // in a later call that finds it done. An error: some pages are not given back.
  absl::Status Trim();

  // Waits for the streams and for all other uses, and returns memory and addresses. Where the
  // driver refuses, Close can be called again; where it cannot wait, nothing has gone. OK if
  // closed.
  absl::Status Close();

  Stats GetStats() const;

 private:
  enum class State { kInUse, kWaiting, kFree };
  struct Block {
    Bytes size;
    State state = State::kFree;
    WorkTracker::Mark other_uses;
  };
  using Blocks =
      std::map<Bytes, Block>;  // by offset; they fill the segment, two free ones never meet
  struct Segment {
    Stream stream;
    std::unique_ptr<SparseBuffer> memory;
    Blocks blocks;
  };

  ExpandableSegments(Vmm* vmm, Executor* executor, Options options);

  absl::Status CheckOpen() const;
  absl::StatusOr<Segment*> SegmentOf(Stream stream);
  Segment* SegmentAt(DeviceAddress address);
  absl::StatusOr<std::unique_ptr<SparseBuffer>> MakeSegmentMemory();
  // The end of `blocks` if there is none.
  static Blocks::iterator FindFree(Segment& segment, Bytes size);
  // A free block whose first `size` bytes have memory.
  static absl::StatusOr<Blocks::iterator> FindAndCommit(Segment& segment, Bytes size);
  static absl::Status CommitPages(Segment& segment, Bytes offset, Bytes size);
  static void MakeFree(Blocks& blocks, Blocks::iterator block);
  void CollectWaiting(Segment& segment);
  // Gives back the pages of free blocks after that work.
  absl::Status TrimSegment(Segment& segment, absl::Span<const LastUse> after);
  // Waits for everything, then trims everything: blocks may join.
  void Reclaim();
  // OK also where all work is lost. An error: some may still run.
  absl::Status WaitForAll();

  Vmm* const vmm_;
  Executor* const executor_;
  const Options options_;
  mutable std::mutex mutex_;  // guards the rest
  WorkTracker tracker_;
  std::vector<Segment> segments_;
  bool open_ = true;
};

}  // namespace twinmmu::examples

#endif  // TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_EXPANDABLE_SEGMENTS_H_
