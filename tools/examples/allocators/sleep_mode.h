// SleepMode: blocks of device memory that sleep together, as inference servers do it between two
// uses of a model. Each block has a tag, which decides what becomes of its contents.
//
//   auto memory = SleepMode::Make(vmm, executor).value();
//   DeviceAddress weights = memory->Allocate(GiB(14), "weights").value();
//   DeviceAddress kv_cache = memory->Allocate(GiB(60), "kv_cache").value();
//   ...                                                        // work on `stream`
//   absl::Status status = memory->Sleep({"weights"}, {stream});  // saves them, discards the rest
//   ...                                                        // others use the device's memory
//   status = memory->Wake({"weights"});  // same address, same contents
//   status = memory->Wake();             // all the others, with undefined contents
//
// A wake that finds no memory for one block wakes none, and keeps what was saved: try again later.

#ifndef TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_SLEEP_MODE_H_
#define TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_SLEEP_MODE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocators/last_use.h"
#include "api/allocators/paged_reservation.h"
#include "api/allocators/sleeping_buffer.h"
#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu::examples {

// Errors leave blocks and contents as they were, unless a call says otherwise; those of the driver
// keep its code. Thread safety: calls take turns.
class SleepMode {
 public:
  struct Options {
    PageOptions pages;                 // their location is a device
    std::vector<DeviceOrdinal> peers;  // devices that may use all blocks as well
  };
  struct Stats {
    Bytes awake;  // in blocks, in whole pages
    Bytes asleep;
    Bytes saved;     // in host memory
    Bytes physical;  // what the device lacks: beside `awake`, what waits for work
  };
  using Tags = absl::Span<const absl::string_view>;

  // Makes no call of the driver. Both must outlive the allocator.
  // InvalidArgument: `vmm` or `executor` is null.
  static absl::StatusOr<std::unique_ptr<SleepMode>> Make(Vmm* vmm, Executor* executor,
                                                         Options options);
  static absl::StatusOr<std::unique_ptr<SleepMode>> Make(Vmm* vmm, Executor* executor) {
    return Make(vmm, executor, Options());
  }
  // Frees all blocks; waits for the work that Sleep and Free were given. Errors go to the hook of
  // destructor_errors.h.
  ~SleepMode() = default;

  // A block that is awake, in whole pages, with undefined contents. Errors: those of
  // SleepingBuffer::Make; ResourceExhausted: out of memory, or of addresses.
  absl::StatusOr<DeviceAddress> Allocate(Bytes size, absl::string_view tag);

  // Ends a block, awake or asleep. Its memory goes when `after` is done, in a later call, or at
  // once without. NotFound: no block begins at `block`, or it was freed before.
  absl::Status Free(DeviceAddress block, absl::Span<const LastUse> after = {});

  // Puts all blocks to sleep that are awake. Those with a tag of `saved` keep their contents; those
  // asleep are left alone, with what was saved. With `after`, memory goes when that is done.
  // After an error some blocks sleep, as they were asked to; Sleep goes on with the rest, Wake
  // undoes it. NotFound: no block has that tag. ResourceExhausted: no host memory.
  absl::Status Sleep(Tags saved, absl::Span<const LastUse> after = {});

  // Wakes the sleeping blocks with a tag of `tags`, or all: at their addresses, with what was
  // saved. All of them or none: after an error, memory that was got goes at once or in a later
  // call. OK if none sleeps.
  // NotFound: no block has that tag. ResourceExhausted: out of memory.
  absl::Status Wake(Tags tags = {});

  Stats GetStats() const;

 private:
  struct Block {
    std::string tag;
    std::unique_ptr<SleepingBuffer> memory;
  };
  struct Sleeper {
    SleepingBuffer* memory;
    Contents contents;
  };

  SleepMode(Vmm* vmm, Executor* executor, Options options);

  absl::Status CheckTags(Tags tags) const;
  static absl::Status WakeAll(const std::vector<Sleeper>& sleepers);
  // Gives back memory whose work is done. Closes blocks that were freed and have none left.
  void Collect();

  Vmm* const vmm_;
  Executor* const executor_;
  const Options options_;
  mutable std::mutex mutex_;  // guards the rest
  std::map<DeviceAddress, Block> blocks_;
  std::vector<std::unique_ptr<SleepingBuffer>> freed_;  // asleep
};

}  // namespace twinmmu::examples

#endif  // TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_SLEEP_MODE_H_
