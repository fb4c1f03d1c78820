// Kernels: typed launchers for the device code of this folder.
//
// The device code is PTX, linked into this library as text: no file is needed at run time, and no
// CUDA toolkit at build time. It runs on every implementation whose Executor loads modules.

#ifndef TWINMMU_KERNELS_KERNELS_H_
#define TWINMMU_KERNELS_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "kernels/common.h"

namespace twinmmu {

// The kernels on one device: load once, launch often.
//
// Launches are asynchronous: a result in device memory is valid once the stream's work is done, and
// the Executor reports a kernel's fault. Launches on one stream run in order.
//
// Access. The device needs read-write access to what a kernel writes, and read access to what it
// reads. Without it, the launch succeeds and the kernel faults.
//
// Errors. Besides its own errors, each launch returns the status of Executor::Launch unchanged.
// FailedPrecondition: closed, or moved from. After an error nothing was launched, unless a call
// says otherwise.
//
// Thread safety: launches may run concurrently with each other; Close, moves and destruction may
// not run concurrently with anything.
class Kernels {
 public:
  // Loads all kernels into the primary context of `device`. `executor` must outlive the result.
  // After an error nothing stays loaded. Errors: those of Executor::LoadModule and GetKernel,
  // unchanged; so Unimplemented if the implementation lacks something. InvalidArgument: null
  // executor.
  static absl::StatusOr<Kernels> Load(Executor* executor, DeviceOrdinal device);

  Kernels(Kernels&& other) noexcept;
  Kernels& operator=(Kernels&& other) noexcept;  // closes what it held
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // Closes, ignoring the status. Like Close, requires that no kernel is running.
  ~Kernels();

  // Unloads all modules, even after an error, and returns the first error of UnloadModule. Closing
  // again does nothing. Undefined while a kernel is running: synchronise first.
  absl::Status Close();

  // The device on which the kernels are loaded. Each stream below must be one of its streams.
  DeviceOrdinal device() const { return device_; }

  // Writes FillWord(seed, i) to the i-th 4-byte word of `range`, for each word. The range may span
  // any number of mappings. An empty range does nothing.
  // InvalidArgument: range.base or range.size is not a multiple of 4 bytes.
  absl::Status Fill(Stream stream, AddressRange range, uint64_t seed) const;

  // Counts the words of `range` that differ from what Fill writes for `seed`, and writes a
  // VerifyResult to `result`. An empty range has no mismatches.
  // Two launches: if the second one fails, *result says "no mismatches" and must not be believed.
  // InvalidArgument: range.base or range.size is not a multiple of 4 bytes, or `result` not of 8.
  // Undefined: `result` lies in the range.
  absl::Status Verify(Stream stream, AddressRange range, uint64_t seed, DeviceAddress result) const;

  // One access to the 32-bit word at `address` by one thread. Addresses are passed unchanged, so
  // bad ones can be tested; a word not aligned to 4 bytes faults on the device. Load32: stores the
  // word at `address` to the word at `out`.
  absl::Status Load32(Stream stream, DeviceAddress address, DeviceAddress out) const;
  // Store32: stores `value` to `address`.
  absl::Status Store32(Stream stream, DeviceAddress address, uint32_t value) const;
  // AtomicAdd32: adds `value` to the word at `address` in one atomic step, modulo 2^32; stores the
  // old value to the word at `out`.
  absl::Status AtomicAdd32(Stream stream, DeviceAddress address, uint32_t value,
                           DeviceAddress out) const;

  // `blocks` blocks of kThreadsPerBlock threads add 1 to a word `rounds` times each, with
  // system-scope atomics: half of the threads at `a`, half at `b`. These may be aliases of one
  // word, or the same address.
  absl::Status Count(Stream stream, DeviceAddress a, DeviceAddress b, uint32_t blocks,
                     uint32_t rounds) const;

  // In one thread, `rounds` times: loads the 32-bit word at `b` (only if `warm`: its line is then
  // in the L1 cache), stores its value plus one through `a`, executes fence.proxy.alias (only if
  // `fence`), and loads through `b`. Writes an AliasResult to `result`. `a` and `b` are aliases of
  // one word, or the same address. Another alias fence separates the rounds. The word ends `rounds`
  // higher than it began (modulo 2^32). Without `fence` the memory model allows any number of stale
  // reads; with it none. Wrong reads are never allowed.
  // InvalidArgument: `a` or `b` is not a multiple of 4 bytes, or `result` not of 8.
  // Undefined: `result` overlaps the word.
  absl::Status AliasWriteThenRead(Stream stream, DeviceAddress a, DeviceAddress b, uint64_t rounds,
                                  bool warm, bool fence, DeviceAddress result) const;

  // The same in two threads of one block, with a block barrier between load, store and load: the
  // last thread loads, the first one stores, and `fence` says which one fences.
  absl::Status AliasWriteThenReadInBlock(Stream stream, DeviceAddress a, DeviceAddress b,
                                         uint64_t rounds, bool warm, AliasFence fence,
                                         DeviceAddress result) const;

  // The same in two threads that take turns by a system-scope release and acquire of the word at
  // `turn`, which both access at this address, and which must be 0 at first. With kBoth they are
  // two blocks of one launch. Otherwise each is its own launch, on two devices or streams, with its
  // own view of the word: `a` is for the writer, `b` and `result` are for the reader. A thread
  // whose partner does not come gives up after polling a million times: fewer rounds are then done.
  enum class AliasRole : uint32_t { kBoth, kWriter, kReader };
  absl::Status AliasWriteThenReadInTurns(Stream stream, AliasRole role, DeviceAddress a,
                                         DeviceAddress b, DeviceAddress turn, uint64_t rounds,
                                         bool warm, AliasFence fence, DeviceAddress result) const;

  // Runs one thread until the OrderBoard at `board` says Order::kStop, for at most `rounds` rounds;
  // meanwhile it does to `word` what the board says, and reports there what it did.
  // InvalidArgument: `board` is not a multiple of 4 bytes.
  absl::Status Obey(Stream stream, DeviceAddress word, DeviceAddress board, uint64_t rounds) const;

  static constexpr uint32_t kThreadsPerBlock = 256;  // unless a call says otherwise

  // The PTX texts that Load loads, one per module, for readers and tools.
  static absl::Span<const absl::string_view> PtxTexts();

 private:
  // In the order of the table in kernels.cc.
  enum Entry {
    kFill,
    kVerifyReset,
    kVerify,
    kLoad32,
    kStore32,
    kAtomicAdd32,
    kCount,
    kAliasUnfenced,
    kAliasFenced,
    kAliasBlock,
    kAliasPair,
    kObey,
    kEntryCount,
  };

  Kernels(Executor* executor, DeviceOrdinal device) : executor_(executor), device_(device) {}

  absl::Status LoadAll();

  // Each argument must have exactly the type of the kernel's parameter.
  template <typename... Arguments>
  absl::Status Launch(Entry entry, Stream stream, const LaunchConfig& config,
                      const Arguments&... arguments) const;

  Executor* executor_;  // null once closed or moved from
  DeviceOrdinal device_;
  std::vector<Module> modules_;
  std::array<Kernel, kEntryCount> kernels_;
};

}  // namespace twinmmu

#endif  // TWINMMU_KERNELS_KERNELS_H_
