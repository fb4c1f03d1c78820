// Report: what a process did with the simulated driver, kept where another process can read it.

#ifndef TWINMMU_SIM_LIBCUDA_REPORT_REPORT_H_
#define TWINMMU_SIM_LIBCUDA_REPORT_REPORT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/diagnostics.h"
#include "sim/base/caller.h"
#include "sim/libcuda/injector.h"
#include "sim/libcuda/report/report_layout.h"
#include "sim/libcuda/report/report_memory.h"
#include "sim/libcuda/report/sites.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

struct ReportOptions {
  // The names of all functions; a function goes by its index there. They must outlive the report.
  absl::Span<const char* const> calls;
  // Where the memory becomes a file, for another process to read, at the first call. Empty, or a
  // folder that cannot be written: it is memory of this process.
  std::string folder;
  // What Finish writes to, as JSON Lines; and in words to stderr. Empty: nothing.
  std::string file;
  // What is to be said of the process from the start, in words.
  std::vector<std::string> warnings;
  // False: nobody will look at it, and nothing is kept.
  bool wanted = true;
};

// Counts calls, and knows what is wrong and what is alive, so that all of it is there however the
// process ends. A call costs some nanoseconds more, and no lock where it maps memory.
//
// The place from which the program made the call that runs in a thread is the place of all that is
// told here by that thread. What finds no room is only counted. Nothing here fails, throws, or
// changes what a call does. Thread-safe, but for AfterFork.
class Report {
 public:
  // `profile`: the machine, which says how much room its addresses need.
  Report(ReportOptions options, const Profile& profile);
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // In a child made by fork, before anything else: its report is a new one.
  void AfterFork();
  // Where device addresses begin; before the first of them is told.
  void SetWindow(DeviceAddress base);

  // A call begins, made from there; it ends. One at a time in a thread. ReportedCall does both.
  void Begin(size_t call, const void* return_address) {
    Thread& thread = thread_;
    if (thread.generation != generation_.load(std::memory_order_relaxed)) Enter(thread);
    thread.call = call;
    caller_of_call = return_address;
    if (thread.row == nullptr) return;
    // Which of its functions the runtime runs is known now only.
    if (ABSL_PREDICT_FALSE(runtime_call.caller != nullptr)) {
      caller_of_call = PlaceOfCall(runtime_call);
      Site();
    }
    thread.row->from.store(reinterpret_cast<uintptr_t>(caller_of_call), std::memory_order_relaxed);
    thread.row->call.store(call + 1, std::memory_order_relaxed);
    Increment(thread, CountsOf(thread)[call].calls);
  }
  // What this thread tells from now on is about a call that was made there, earlier.
  void Resume(size_t call, const void* return_address) {
    Thread& thread = thread_;
    if (thread.generation != generation_.load(std::memory_order_relaxed)) Enter(thread);
    thread.call = call;
    caller_of_call = return_address;
  }
  // Where the program made the call that runs in this thread, or its last one; null: it made none.
  static const void* Caller() { return AddressOf(caller_of_call); }
  void End(bool failed) {
    const Thread& thread = thread_;
    if (thread.row == nullptr) return;
    if (failed) Increment(thread, CountsOf(thread)[thread.call].failures);
    thread.row->call.store(0, std::memory_order_relaxed);
  }

  // Something is wrong. All are counted, and the first of each kind kept in full.
  void Add(const Diagnostic& diagnostic);
  // The same, where nobody made words for it.
  void Count(DiagnosticKind kind);
  void Add(const InjectedFailure& failure);
  // The program asked whether there is a function, and there is none in this version. `later`: a
  // later one has it.
  void AddAsked(absl::string_view function, int version, bool later);
  // Something to be said of the process, in words.
  void Warn(absl::string_view words);

  // --- What is alive. Told when it is done, by the thread that did it.

  // A reservation. Its addresses can be another thread's as soon as it is freed; so it is found
  // before that, and what was found is removed after it.
  using Reservation = uint64_t;
  void AddReservation(const AddressRange& range);
  Reservation FindReservation(DeviceAddress base) const;
  void RemoveReservation(DeviceAddress base, Reservation found);

  // A mapping. Then all that begin in a range for which cuMemUnmap succeeded.
  void AddMapping(const AddressRange& range, AllocationHandle handle);
  void RemoveMappings(const AddressRange& range);

  // An allocation that was created or imported, with one reference. Another one; one less.
  void AddAllocation(AllocationHandle handle, Bytes size,
                     AllocationKind kind = AllocationKind::kMemory);
  void AddReference(AllocationHandle handle);
  void RemoveReference(AllocationHandle handle);

  // Anything else. `value`: the address or handle that the program has. If it is added again before
  // it is removed, the oldest goes first.
  void AddObject(ObjectKind kind, uint64_t value, Bytes size = Bytes(0), int device = -1);
  void RemoveObject(ObjectKind kind, uint64_t value);

  // The process ends by itself. Writes what ReportOptions::file asks for, the first time. What is
  // told later still gets into the memory.
  void Finish();

  // For a reader in this process; null before the first call, and where the host gave none.
  const ReportMemory* memory() const { return ready() ? &now_.memory : nullptr; }

 private:
  // What a thread knows of the report that it used last.
  struct Thread {
    uint64_t generation;
    ThreadRow* row;  // null: the report has no memory
    bool shared;     // with other threads
    uint32_t serial;
    size_t call;
  };
  // All that a child begins anew.
  struct State {
    std::mutex start;
    std::atomic<bool> ready{false};
    bool failed = false;
    ReportMemory memory;
    std::atomic<uint64_t> window{0};
    std::atomic<uint64_t> log_end{0};
    std::atomic<bool> finished{false};
    Sites sites;
    std::mutex objects_mutex;
    std::multimap<std::pair<ObjectKind, uint64_t>, uint64_t> objects;  // slots, by value
    std::vector<uint64_t> free_objects;
  };

  // A variable of the thread, read without a call even in a shared library.
  [[gnu::tls_model("initial-exec")]] static thread_local Thread thread_;

  static CallCount* CountsOf(const Thread& thread) {
    return reinterpret_cast<CallCount*>(thread.row + 1);
  }
  static void Increment(const Thread& thread, std::atomic<uint64_t>& count) {
    if (thread.shared) {
      count.fetch_add(1, std::memory_order_relaxed);
    } else {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }

  bool ready() const { return now_.ready.load(std::memory_order_acquire); }
  void Enter(Thread& thread);
  bool Start();
  ThreadRow* TakeRow(bool* shared);
  // Of the call that runs in this thread: its place; and with it the call, plus 1, << 32.
  uint32_t Site() {
    const Thread& thread = thread_;
    if (thread.generation != generation_.load(std::memory_order_relaxed)) return Sites::kNone;
    return SiteOf(caller_of_call);
  }
  uint32_t SiteOf(const void* place) {
    bool fresh = false;
    const uint32_t site = now_.sites.IdOf(place, &fresh);
    if (fresh) Describe(site, place);
    return site;
  }
  std::string TextOf(const Diagnostic& diagnostic);
  uint64_t SiteAndCall();
  [[gnu::cold]] void Describe(uint32_t site, const void* place);
  bool Append(const Record& fields, RecordType type, absl::string_view text);
  uint64_t NextRecord(uint32_t size);
  void Lose();
  template <bool kMapping>
  uint64_t PlaceOf(DeviceAddress address) const;
  template <bool kMapping>
  void AddRange(const AddressRange& range, uint64_t detail);
  template <bool kMapping>
  [[gnu::noinline]] void AddUnusualRange(const AddressRange& range, uint64_t detail);
  template <bool kMapping>
  void WriteRange(uint64_t place, uint32_t site, const AddressRange& range, uint64_t detail);
  [[gnu::noinline]] void RemoveUnusualMappings(const AddressRange& range);
  AllocationSlot* SlotOf(AllocationHandle handle);
  static void ChangeReferences(AllocationSlot* slot, AllocationHandle handle, int change);
  uint64_t TakeObject(ObjectKind kind, uint64_t value);
  void WriteOut() const;

  const ReportOptions options_;
  const ReportShape shape_;
  std::atomic<uint64_t> generation_;  // new for each report, and each process that has it
  State now_;
};

// A call, from its first line to its return.
class ReportedCall {
 public:
  ReportedCall(Report& report, size_t call, const void* return_address) : report_(report) {
    report.Begin(call, return_address);
  }
  ~ReportedCall() { report_.End(failed_); }
  ReportedCall(const ReportedCall&) = delete;
  ReportedCall& operator=(const ReportedCall&) = delete;

  // Without it the call has failed: also where it throws.
  void Succeed() { failed_ = false; }

 private:
  Report& report_;
  bool failed_ = true;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_REPORT_REPORT_H_
