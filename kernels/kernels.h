// Kernels: typed launchers for the device code of this folder.
//
// The device code is PTX, linked into this library as text, so that it needs no file at run time
// and no CUDA toolkit at build time. It runs on every implementation whose Executor loads modules.

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

// The kernels, loaded on one device: load once, launch often.
//
// Launches are asynchronous: a result in device memory is there once the stream's work is done, and
// a fault of a kernel shows where the Executor shows it. What is launched on one stream runs in
// order.
//
// Access. The device needs read-write access to what a kernel writes, and read access to what it
// reads. Where it lacks it, the launch succeeds and the kernel faults.
//
// Errors. Each launch gives, besides its own errors, the status of Executor::Launch as it is.
// FailedPrecondition: closed, or moved from. After an error nothing was launched, except where a
// call says otherwise.
//
// Thread safety: launches may run concurrently with each other; Close, moves and destruction may
// not run concurrently with anything.
class Kernels {
 public:
  // Loads all kernels into the primary context of `device`. `executor` must outlive the result.
  // Errors, and then nothing stays loaded: what Executor::LoadModule and GetKernel give, as it is;
  // so Unimplemented where the implementation lacks something. InvalidArgument: null executor.
  static absl::StatusOr<Kernels> Load(Executor* executor, DeviceOrdinal device);

  Kernels(Kernels&& other) noexcept;
  Kernels& operator=(Kernels&& other) noexcept;  // closes what it had
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // Closes, ignoring the status. Requires, as Close does, that no kernel runs any more.
  ~Kernels();

  // Unloads all modules, also after an error, and gives the first error of UnloadModule. Closing
  // again does nothing. Undefined while a kernel is still running: synchronise first.
  absl::Status Close();

  // The device that the kernels are loaded on. Each stream below must be a stream of it.
  DeviceOrdinal device() const { return device_; }

  // Writes FillWord(seed, i) to the i-th 4-byte word of `range`, for each word. The range may cross
  // any number of mappings. An empty range does nothing.
  // InvalidArgument: range.base or range.size is not a multiple of 4 bytes.
  absl::Status Fill(Stream stream, AddressRange range, uint64_t seed) const;

  // Counts the words of `range` that differ from what Fill writes for `seed`, and leaves a
  // VerifyResult at `result`, replacing what was there. An empty range has no mismatches.
  // Two launches: if the second one fails, *result says "no mismatches" and must not be believed.
  // InvalidArgument: range.base or range.size is not a multiple of 4 bytes, or `result` not of 8.
  // Undefined: `result` lies in the range.
  absl::Status Verify(Stream stream, AddressRange range, uint64_t seed, DeviceAddress result) const;

  // One access of the 32-bit word at `address` by one thread. The addresses are passed as they
  // come, so that bad ones can be tested; a word not aligned to 4 bytes faults on the device.
  // Load32: stores the word at `address` to the word at `out`.
  absl::Status Load32(Stream stream, DeviceAddress address, DeviceAddress out) const;
  // Store32: stores `value` to `address`.
  absl::Status Store32(Stream stream, DeviceAddress address, uint32_t value) const;
  // AtomicAdd32: adds `value` to the word at `address` in one atomic step, modulo 2^32; stores
  // what was there before to the word at `out`.
  absl::Status AtomicAdd32(Stream stream, DeviceAddress address, uint32_t value,
                           DeviceAddress out) const;

  // `blocks` blocks of kThreadsPerBlock threads add 1 to a word `rounds` times each, in atomic
  // steps of the whole system: half of the threads at `a`, half at `b`. The addresses may be two of
  // one word, or the same.
  absl::Status Count(Stream stream, DeviceAddress a, DeviceAddress b, uint32_t blocks,
                     uint32_t rounds) const;

  // By one thread, `rounds` times: loads the 32-bit word at `b` (only if `warm`: its line is then
  // in the L1 cache), stores one more than its present value through `a`, executes
  // fence.proxy.alias (only if `fence`), and loads through `b`. Leaves an AliasResult at `result`.
  // `a` and `b` are two addresses of one word, or the same address. The rounds are kept apart by
  // an alias fence of their own. The word starts as it is, and ends `rounds` higher (modulo 2^32).
  // Without `fence` the memory model allows any number of stale reads; with it none. Wrong reads
  // are never allowed.
  // InvalidArgument: `a` or `b` is not a multiple of 4 bytes, or `result` not of 8.
  // Undefined: `result` overlaps the word.
  absl::Status AliasWriteThenRead(Stream stream, DeviceAddress a, DeviceAddress b, uint64_t rounds,
                                  bool warm, bool fence, DeviceAddress result) const;

  // The same by two threads of one block, with a barrier of the block between each two of load,
  // store and load: the last thread loads, the first one stores, and `fence` says whose the fence
  // is.
  absl::Status AliasWriteThenReadInBlock(Stream stream, DeviceAddress a, DeviceAddress b,
                                         uint64_t rounds, bool warm, AliasFence fence,
                                         DeviceAddress result) const;

  // The same by two threads that take turns by a release and an acquire, of the scope of the
  // system, of the word at `turn`, which both reach by this address, and which is 0 before. As
  // kBoth they are two blocks of one launch. Else each is a launch of its own, of two devices or
  // streams, and has its own view of the word: `a` concerns the writer, `b` and `result` the
  // reader. A thread whose partner does not come gives up after a million looks: fewer rounds are
  // then done.
  enum class AliasRole : uint32_t { kBoth, kWriter, kReader };
  absl::Status AliasWriteThenReadInTurns(Stream stream, AliasRole role, DeviceAddress a,
                                         DeviceAddress b, DeviceAddress turn, uint64_t rounds,
                                         bool warm, AliasFence fence, DeviceAddress result) const;

  // Runs one thread until the OrderBoard at `board` says Order::kStop, for `rounds` rounds at most;
  // meanwhile it does to `word` what the board says, and tells there what it did.
  // InvalidArgument: `board` is not a multiple of 4 bytes.
  absl::Status Obey(Stream stream, DeviceAddress word, DeviceAddress board, uint64_t rounds) const;

  static constexpr uint32_t kThreadsPerBlock = 256;  // where a call does not say otherwise

  // The PTX texts that Load loads, one per module, for readers and for tools.
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
