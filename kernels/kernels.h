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
// Rights. The device needs read-write access to what a kernel writes, and read access to what it
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
  // so Unimplemented where the implementation runs no kernels. InvalidArgument: null executor.
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
    kAliasUnfenced,
    kAliasFenced,
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
