#include "sim/libcuda/report/report.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/diagnostics_json.h"
#include "sim/host/write_file.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/report/report_words.h"

namespace twinmmu::libcuda {
namespace {

constexpr uint64_t kMaxKeptOfKind = 256;
constexpr uint64_t kMaxKeptFailures = 4096;
constexpr uint64_t kMaxKeptAsked = 1024;
constexpr uint64_t kRecordAlignment = 8;
constexpr size_t kMaxText = size_t{1} << 16;
constexpr uint64_t kLastAddress = ~uint64_t{0};

std::atomic<uint64_t> generations{0};

int ShiftOf(Bytes power_of_two) {
  int shift = 0;
  while (power_of_two.value() >> (shift + 1) != 0) ++shift;
  return shift;
}

UnitGrid GridOf(Bytes window, Bytes unit) { return UnitGrid{window / unit, ShiftOf(unit)}; }

ReportShape ShapeOf(size_t calls, const Profile& profile) {
  ReportShape shape;
  shape.calls = calls;
  shape.reservations = GridOf(profile.window.size, profile.reservation_granularity);
  shape.mappings = GridOf(profile.window.size, profile.minimum_granularity);
  return shape;
}

std::string ProgramPath() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

int64_t ThisThread() { return syscall(SYS_gettid); }
bool IsAlive(int64_t thread) {
  return syscall(SYS_tgkill, getpid(), thread, 0) == 0 || errno != ESRCH;
}

}  // namespace

thread_local Report::Thread Report::thread_ = {};

Report::Report(ReportOptions options, const Profile& profile)
    : options_(std::move(options)),
      shape_(ShapeOf(options_.calls.size(), profile)),
      generation_(++generations) {}

// What the parent left here may be locked, and is memory that the parent shares: it is abandoned,
// not destroyed.
void Report::AfterFork() {
  new (&now_) State();
  generation_ = ++generations;
}

void Report::SetWindow(DeviceAddress base) {
  now_.window.store(base.value(), std::memory_order_release);
  if (ready()) now_.memory.header()->window.store(base.value(), std::memory_order_release);
}

// --- The beginning

// Once per process and thread.
void Report::Enter(Thread& thread) {
  const int before = errno;
  thread = Thread{};
  if (Start()) thread.row = TakeRow(&thread.shared);
  thread.generation = generation_.load(std::memory_order_relaxed);
  errno = before;
}

bool Report::Start() {
  if (ready() || !options_.wanted) return ready();
  const std::lock_guard lock(now_.start);
  if (ready() || now_.failed) return ready();
  now_.failed = true;
  try {
    if (!now_.memory.Start(options_.folder, shape_)) return false;
    ReportHeader& header = *now_.memory.header();
    header.shape = shape_;
    header.pid = getpid();
    header.parent = getppid();
    header.window.store(now_.window.load(), std::memory_order_relaxed);
    now_.ready.store(true, std::memory_order_release);
    Append({}, RecordType::kProgram, ProgramPath());
    Append({}, RecordType::kCalls, absl::StrJoin(options_.calls, "\n"));
    for (const std::string& warning : options_.warnings) {
      Append({}, RecordType::kWarning, warning);
    }
    header.magic.store(kReportMagic, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    return ready();
  }
  return true;
}

// A row that nobody has, or whose thread is gone; else the last one, which is for all others.
ThreadRow* Report::TakeRow(bool* shared) {
  const int64_t self = ThisThread();
  const auto row_at = [this](uint64_t index) -> ThreadRow* {
    const uint64_t offset = now_.memory.layout().row(index);
    const uint64_t size = sizeof(ThreadRow) + shape_.calls * sizeof(CallCount);
    return now_.memory.MakeReady(offset, size) ? now_.memory.At<ThreadRow>(offset) : nullptr;
  };
  for (uint64_t index = 0; index + 1 < kRows; ++index) {
    ThreadRow* const row = row_at(index);
    if (row == nullptr) return nullptr;
    int64_t owner = row->thread.load(std::memory_order_relaxed);
    if (owner != 0 && owner != self && IsAlive(owner)) continue;
    if (row->thread.compare_exchange_strong(owner, self)) return row;
  }
  *shared = true;
  return row_at(kRows - 1);
}

// --- Records

// Where a record of this size can be written: nobody else writes there. 0: there is no room.
uint64_t Report::NextRecord(uint32_t size) {
  const ReportLayout& layout = now_.memory.layout();
  uint64_t offset = now_.log_end.load(std::memory_order_relaxed);
  while (offset + size + sizeof(Record) <= kLogSize) {
    // One record more than needed, so that the end of the log can be read.
    if (!now_.memory.MakeReady(layout.log() + offset, size + sizeof(Record))) return 0;
    uint32_t found = 0;
    auto& taken = now_.memory.At<Record>(layout.log() + offset)->size;
    if (taken.compare_exchange_strong(found, size)) {
      now_.log_end.store(offset + size, std::memory_order_relaxed);
      return layout.log() + offset;
    }
    offset += found;
  }
  return 0;
}

bool Report::Append(const Record& fields, RecordType type, absl::string_view text) {
  if (!ready()) return false;
  if (text.size() > kMaxText) return false;
  const uint64_t size = sizeof(Record) + text.size();
  const uint64_t offset = NextRecord(
      static_cast<uint32_t>((size + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment));
  if (offset == 0) {
    now_.memory.header()->lost_records.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  Record& record = *now_.memory.At<Record>(offset);
  record.site = fields.site;
  record.call = fields.call;
  record.detail = fields.detail;
  record.number = fields.number;
  record.length = static_cast<uint32_t>(text.size());
  std::memcpy(now_.memory.At<char>(offset + sizeof(Record)), text.data(), text.size());
  record.type.store(type, std::memory_order_release);
  return true;
}

void Report::Describe(uint32_t site, const void* place) {
  const int before = errno;
  try {
    Record fields = {};
    fields.site = site;
    fields.number = reinterpret_cast<uintptr_t>(place);
    Append(fields, RecordType::kSite, DescribePlace(place));
  } catch (const std::bad_alloc&) {
    // A place without a name.
  }
  errno = before;
}

uint64_t Report::SiteAndCall() {
  const uint32_t site = Site();
  return (site == Sites::kNone ? 0 : uint64_t{thread_.call} + 1) << 32 | site;
}

// In words; 0; as JSON; 0; of calls of its history the place each, as "CALL SITE".
std::string Report::TextOf(const Diagnostic& diagnostic) {
  std::string text = ToString(diagnostic);
  text.push_back('\0');
  text += ToJson(diagnostic);
  text.push_back('\0');
  for (const HistoryEntry& entry : diagnostic.history) {
    const uint32_t site = SiteOf(entry.caller);
    if (site != Sites::kNone) absl::StrAppend(&text, entry.call, " ", site, "\n");
  }
  return text;
}

void Report::Count(DiagnosticKind kind) {
  const auto index = static_cast<uint64_t>(kind);
  if (!ready() || index >= kMaxKinds) return;
  now_.memory.header()->diagnostics[index].fetch_add(1, std::memory_order_relaxed);
}

void Report::Add(const Diagnostic& diagnostic) {
  const auto index = static_cast<uint64_t>(diagnostic.kind);
  if (!ready() || index >= kMaxKinds) return;
  const uint64_t earlier =
      now_.memory.header()->diagnostics[index].fetch_add(1, std::memory_order_relaxed);
  if (earlier >= kMaxKeptOfKind) return;
  try {
    Record fields = {};
    const uint64_t place = SiteAndCall();
    fields.site = static_cast<uint32_t>(place);
    fields.call = static_cast<uint32_t>(place >> 32);
    fields.detail = static_cast<uint32_t>(index) << 8 | static_cast<uint32_t>(diagnostic.severity);
    if (Append(fields, RecordType::kDiagnostic, TextOf(diagnostic))) return;
    // Perhaps the history was too long.
    Diagnostic shorter = diagnostic;
    shorter.history.clear();
    Append(fields, RecordType::kDiagnostic, TextOf(shorter));
  } catch (const std::bad_alloc&) {
    // It has been counted.
  }
}

void Report::Add(const InjectedFailure& failure) {
  if (!ready()) return;
  const uint64_t earlier = now_.memory.header()->injected.fetch_add(1, std::memory_order_relaxed);
  if (earlier >= kMaxKeptFailures) return;
  Record fields = {};
  fields.site = Site();
  fields.call = static_cast<uint32_t>(failure.call) + 1;
  fields.detail = static_cast<uint32_t>(failure.code);
  fields.number = failure.number;
  Append(fields, RecordType::kInjected, failure.rule);
}

void Report::AddAsked(absl::string_view function, int version, bool later) {
  if (!ready()) return;
  const uint64_t earlier = now_.memory.header()->asked.fetch_add(1, std::memory_order_relaxed);
  if (earlier >= kMaxKeptAsked) return;
  Record fields = {};
  fields.detail = later ? 1 : 0;
  fields.number = static_cast<uint64_t>(version);
  Append(fields, RecordType::kAsked, function);
}

void Report::Warn(absl::string_view words) {
  if (ready()) Append({}, RecordType::kWarning, words);
}

// --- What is alive

void Report::Lose() { now_.memory.header()->lost_objects.fetch_add(1, std::memory_order_relaxed); }

// Where a mapping or reservation that begins at this address has its slot; 0: nowhere.
template <bool kMapping>
inline uint64_t Report::PlaceOf(DeviceAddress address) const {
  if (!ready()) return 0;
  const UnitGrid& grid = kMapping ? shape_.mappings : shape_.reservations;
  const uint64_t unit =
      (address.value() - now_.window.load(std::memory_order_relaxed)) >> grid.shift;
  if (unit >= grid.units) return 0;
  const ReportLayout& layout = now_.memory.layout();
  return kMapping ? layout.mapping(unit) : layout.reservation(unit);
}

template <bool kMapping>
inline void Report::WriteRange(uint64_t place, uint32_t site, const AddressRange& range,
                               uint64_t detail) {
  UnitSlot& slot = *now_.memory.At<UnitSlot>(place);
  const uint64_t units =
      range.size.value() >> (kMapping ? shape_.mappings : shape_.reservations).shift;
  const uint64_t serial = thread_.serial++ & 0xffff;
  slot.detail.store(detail, std::memory_order_relaxed);
  slot.state.store(units << 32 | uint64_t{site} << 16 | serial, std::memory_order_release);
}

// The usual case by itself: a place and a memory that are known.
template <bool kMapping>
inline void Report::AddRange(const AddressRange& range, uint64_t detail) {
  const uint64_t place = PlaceOf<kMapping>(range.base);
  const uint32_t site = now_.sites.Known(caller_of_call);
  const bool usual = place != 0 && now_.memory.IsReady(place) && site != Sites::kNone &&
                     thread_.generation == generation_.load(std::memory_order_relaxed);
  if (!usual) return AddUnusualRange<kMapping>(range, detail);
  WriteRange<kMapping>(place, site, range, detail);
}

template <bool kMapping>
void Report::AddUnusualRange(const AddressRange& range, uint64_t detail) {
  if (!ready()) return;
  const uint64_t place = PlaceOf<kMapping>(range.base);
  if (place == 0 || !now_.memory.MakeReady(place)) return Lose();
  WriteRange<kMapping>(place, Site(), range, detail);
}

void Report::AddReservation(const AddressRange& range) {
  AddRange<false>(range, range.alignment.value());
}

Report::Reservation Report::FindReservation(DeviceAddress base) const {
  const uint64_t place = PlaceOf<false>(base);
  if (place == 0 || !now_.memory.IsReady(place)) return 0;
  return now_.memory.At<UnitSlot>(place)->state.load(std::memory_order_relaxed);
}

void Report::RemoveReservation(DeviceAddress base, Reservation found) {
  const uint64_t place = found == 0 ? 0 : PlaceOf<false>(base);
  if (place != 0) now_.memory.At<UnitSlot>(place)->state.compare_exchange_strong(found, 0);
}

void Report::AddMapping(const AddressRange& range, AllocationHandle handle) {
  AddRange<true>(range, handle.value());
}

// The usual case by itself: one mapping, which is all of the range.
void Report::RemoveMappings(const AddressRange& range) {
  const uint64_t place = PlaceOf<true>(range.base);
  if (place == 0 || !now_.memory.IsReady(place)) return RemoveUnusualMappings(range);
  auto& state = now_.memory.At<UnitSlot>(place)->state;
  const uint64_t units = state.load(std::memory_order_relaxed) >> 32;
  if (units == 0 || units != range.size.value() >> shape_.mappings.shift) {
    return RemoveUnusualMappings(range);
  }
  state.store(0, std::memory_order_release);
}

// As cuMemUnmap takes a range: one that wraps has nothing in it, and one that begins at the last
// address has all up to its end.
void Report::RemoveUnusualMappings(const AddressRange& range) {
  if (!ready()) return;
  const UnitGrid& grid = shape_.mappings;
  const uint64_t window = now_.window.load(std::memory_order_relaxed);
  const uint64_t end = range.base.value() + range.size.value();
  const uint64_t first = range.base.value() == kLastAddress ? window : range.base.value();
  if (end <= first || first < window) return;
  const uint64_t last = std::min((end - window - 1) >> grid.shift, grid.units - 1);
  for (uint64_t unit = (first - window) >> grid.shift; unit <= last;) {
    const uint64_t place = now_.memory.layout().mapping(unit);
    if (!now_.memory.IsReady(place)) {
      unit += (kChunk - place % kChunk) / sizeof(UnitSlot);
      continue;
    }
    auto& state = now_.memory.At<UnitSlot>(place)->state;
    const uint64_t units = state.load(std::memory_order_relaxed) >> 32;
    if (units != 0) state.store(0, std::memory_order_release);
    unit += std::max<uint64_t>(units, 1);
  }
}

AllocationSlot* Report::SlotOf(AllocationHandle handle) {
  const uint64_t index = (handle.value() & 0xffff'ffff) - 1;
  if (!ready() || index >= kAllocations) return nullptr;
  const uint64_t place = now_.memory.layout().allocation(index);
  return now_.memory.MakeReady(place) ? now_.memory.At<AllocationSlot>(place) : nullptr;
}

void Report::AddAllocation(AllocationHandle handle, Bytes size, AllocationKind kind) {
  if (!ready()) return;
  AllocationSlot* const slot = SlotOf(handle);
  if (slot == nullptr) return Lose();
  slot->made.store(uint64_t{static_cast<uint32_t>(kind)} << 48 | SiteAndCall(),
                   std::memory_order_relaxed);
  slot->kept.store(0, std::memory_order_relaxed);
  slot->size.store(size.value(), std::memory_order_relaxed);
  slot->state.store((handle.value() >> 32) << 32 | 1, std::memory_order_release);
}

// The handle may be another one's by now: of this generation or nobody's.
void Report::ChangeReferences(AllocationSlot* slot, AllocationHandle handle, int change) {
  uint64_t state = slot->state.load(std::memory_order_relaxed);
  uint64_t changed = 0;
  do {
    const auto references = static_cast<uint32_t>(state);
    if (state >> 32 != handle.value() >> 32 || (change < 0 && references == 0)) return;
    changed = (state >> 32) << 32 | static_cast<uint32_t>(references + change);
  } while (!slot->state.compare_exchange_weak(state, changed));
}

void Report::AddReference(AllocationHandle handle) {
  AllocationSlot* const slot = SlotOf(handle);
  if (slot == nullptr) return;
  slot->kept.store(SiteAndCall(), std::memory_order_relaxed);
  ChangeReferences(slot, handle, 1);
}

void Report::RemoveReference(AllocationHandle handle) {
  AllocationSlot* const slot = SlotOf(handle);
  if (slot != nullptr) ChangeReferences(slot, handle, -1);
}

// The slot of a new object. Throws where there is no memory to remember it; 0: no room.
uint64_t Report::TakeObject(ObjectKind kind, uint64_t value) {
  const std::lock_guard lock(now_.objects_mutex);
  const ReportLayout& layout = now_.memory.layout();
  auto& used = now_.memory.header()->objects;
  const bool again = !now_.free_objects.empty();
  const uint64_t index = again ? now_.free_objects.back() : used.load(std::memory_order_relaxed);
  if (index >= kObjects || !now_.memory.MakeReady(layout.object(index))) return 0;
  if (now_.free_objects.capacity() <= index) now_.free_objects.reserve(2 * index + 16);
  now_.objects.emplace(std::pair(kind, value), index);
  if (again) {
    now_.free_objects.pop_back();
  } else {
    used.store(index + 1, std::memory_order_release);
  }
  return layout.object(index);
}

void Report::AddObject(ObjectKind kind, uint64_t value, Bytes size, int device) {
  if (!ready()) return;
  try {
    const uint64_t place = TakeObject(kind, value);
    if (place == 0) return Lose();
    ObjectSlot& slot = *now_.memory.At<ObjectSlot>(place);
    slot.value.store(value, std::memory_order_relaxed);
    slot.size.store(size.value(), std::memory_order_relaxed);
    slot.device.store(device, std::memory_order_relaxed);
    slot.state.store(uint64_t{static_cast<uint32_t>(kind)} << 48 | SiteAndCall(),
                     std::memory_order_release);
  } catch (const std::bad_alloc&) {
    Lose();
  }
}

void Report::RemoveObject(ObjectKind kind, uint64_t value) {
  if (!ready()) return;
  const std::lock_guard lock(now_.objects_mutex);
  const auto oldest = now_.objects.lower_bound(std::pair(kind, value));
  if (oldest == now_.objects.end() || oldest->first != std::pair(kind, value)) return;
  const uint64_t index = oldest->second;
  now_.memory.At<ObjectSlot>(now_.memory.layout().object(index))
      ->state.store(0, std::memory_order_release);
  now_.objects.erase(oldest);
  now_.free_objects.push_back(index);  // there is room: see TakeObject
}

// --- The end

void Report::Finish() {
  if (!ready() || now_.finished.exchange(true)) return;
  now_.memory.header()->finished.store(1, std::memory_order_release);
  if (options_.file.empty() || !options_.folder.empty()) return;
  try {
    WriteOut();
  } catch (const std::bad_alloc&) {
    constexpr char kWords[] =
        "TwinMMU: no report: the host has no memory for it. Run the program again with more, or "
        "with fewer calls.\n";
    std::fputs(kWords, stderr);
  }
}

void Report::WriteOut() const {
  const absl::StatusOr<ProcessReport> read =
      ReadReport(now_.memory.data(), now_.memory.layout().size());
  if (!read.ok()) return;
  const WritesWithoutSignals without_signals;
  WriteAll(STDERR_FILENO, InWords(*read, ""));
  const int file = open(options_.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool written = file >= 0 && WriteAll(file, ToJsonLines(*read, ""));
  if (!written) {
    WriteAll(STDERR_FILENO, absl::StrCat("twinmmu: cannot write ", options_.file, ": ",
                                         std::strerror(errno), "\n"));
  }
  if (file >= 0) close(file);
}

}  // namespace twinmmu::libcuda
