#include "sim/libcuda/report/report_reader.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sim/libcuda/report/report_layout.h"

namespace twinmmu::libcuda {
namespace {

constexpr uint64_t kMaxCalls = 4096;
constexpr uint64_t kMaxUnits = uint64_t{1} << 31;

class Reader {
 public:
  Reader(const char* memory, uint64_t size) : memory_(memory), size_(size) {}

  absl::Status Check() {
    const absl::Status none = absl::InvalidArgumentError("this is not a report of twinmmu");
    if (size_ < 2 * kChunk) return none;
    const ReportHeader& header = At<ReportHeader>(0);
    if (header.magic.load(std::memory_order_acquire) != kReportMagic) return none;
    shape_ = header.shape;
    const bool fits = shape_.calls <= kMaxCalls && Fits(shape_.reservations) &&
                      Fits(shape_.mappings) && ReportLayout(shape_).size() <= size_ &&
                      ReportLayout(shape_).fits();
    if (!fits) return none;
    layout_ = ReportLayout(shape_);
    return absl::OkStatus();
  }

  ProcessReport Read() {
    const ReportHeader& header = At<ReportHeader>(0);
    report_.pid = header.pid;
    report_.parent = header.parent;
    report_.finished = Load(header.finished) != 0;
    report_.lost_objects = Load(header.lost_objects);
    report_.lost_records = Load(header.lost_records);
    report_.failure_count = Load(header.injected);
    report_.asked_count = Load(header.asked);
    window_ = Load(header.window);
    ReadSites();
    ReadLog();
    ReadKinds(header);
    ReadRows();
    ReadUnits();
    ReadAllocations();
    ReadObjects(Load(header.objects));
    return std::move(report_);
  }

 private:
  // Of what is alive: its kind, call and site.
  using Group = std::tuple<DiagnosticKind, uint32_t, uint32_t>;

  static bool Fits(const UnitGrid& grid) {
    return grid.units <= kMaxUnits && grid.shift >= 0 && grid.shift < 48;
  }
  template <typename T>
  const T& At(uint64_t offset) const {
    return *reinterpret_cast<const T*>(memory_ + offset);
  }
  template <typename T>
  static T Load(const std::atomic<T>& value) {
    return value.load(std::memory_order_acquire);
  }
  bool IsReady(uint64_t offset) const {
    const auto& state =
        At<std::atomic<ChunkState>>(ReportLayout::chunks() + (offset >> kChunkShift));
    return Load(state) == ChunkState::kReady;
  }
  // Calls visit(record, text) for each record that is whole.
  template <typename Visit>
  void ForEachRecord(const Visit& visit) const {
    for (uint64_t offset = 0; offset + sizeof(Record) <= kLogSize;) {
      const uint64_t place = layout_.log() + offset;
      if (!IsReady(place) || !IsReady(place + sizeof(Record) - 1)) return;
      const Record& record = At<Record>(place);
      const uint64_t size = Load(record.size);
      if (size < sizeof(Record) || size % 8 != 0 || size > kLogSize - offset) return;
      if (Load(record.type) != RecordType::kNone && record.length <= size - sizeof(Record)) {
        visit(record, absl::string_view(memory_ + place + sizeof(Record), record.length));
      }
      offset += size;
    }
  }
  // Calls visit(offset) for each of `count` slots, of that size and one behind the other, for which
  // there is memory.
  template <typename Visit>
  void ForEachSlot(uint64_t begin, uint64_t count, uint64_t size, const Visit& visit) const {
    const uint64_t end = begin + count * size;
    for (uint64_t offset = begin; offset < end;) {
      if (!IsReady(offset)) {
        offset += (kChunk - offset % kChunk + size - 1) / size * size;
        continue;
      }
      visit(offset);
      offset += size;
    }
  }

  void ReadSites() {
    ForEachRecord([&](const Record& record, absl::string_view text) {
      if (record.type != RecordType::kSite) return;
      const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
      if (lines.size() != 4) return;
      places_[record.number] = record.site;
      Site& site = sites_[record.site];
      site.address = AddressOf(record.number);
      site.module = std::string(lines[0]);
      if (!absl::SimpleHexAtoi(lines[1], &site.offset)) site.offset = 0;
      site.symbol = std::string(lines[2]);
      site.function = std::string(lines[3]);
    });
  }
  // A site that the process had no time to describe is still a place.
  Site SiteOf(uint32_t number) const {
    const auto found = sites_.find(number);
    return found == sites_.end() ? Site{} : found->second;
  }
  std::string NameOf(uint64_t call_plus_one) const {
    return call_plus_one - 1 < names_.size() ? names_[call_plus_one - 1] : "";
  }
  CallPlace PlaceOf(uint64_t call_plus_one, uint32_t site) const {
    return CallPlace{NameOf(call_plus_one), SiteOf(site)};
  }

  void ReadLog() {
    ForEachRecord([&](const Record& record, absl::string_view text) {
      switch (record.type.load(std::memory_order_relaxed)) {
        case RecordType::kProgram:
          report_.program = std::string(text);
          break;
        case RecordType::kCalls:
          names_ = absl::StrSplit(text, '\n');
          break;
        case RecordType::kWarning:
          report_.warnings.emplace_back(text);
          break;
        case RecordType::kDiagnostic:
          ReadDiagnostic(record, text);
          break;
        case RecordType::kAsked:
          ReadAsked(record, text);
          break;
        case RecordType::kInjected:
          report_.failures.push_back(ReportedFailure{PlaceOf(record.call, record.site),
                                                     record.number, DriverCode(record.detail),
                                                     std::string(text)});
          break;
        default:
          break;
      }
    });
  }

  void ReadDiagnostic(const Record& record, absl::string_view text) {
    const size_t end = text.find('\0');
    if (end == absl::string_view::npos) return;
    const auto kind = static_cast<DiagnosticKind>(record.detail >> 8);
    const auto severity = static_cast<Severity>(record.detail & 0xff);
    const auto [found, is_new] =
        seen_.emplace(Group(kind, record.call, record.site), report_.diagnostics.size());
    if (!is_new) {
      ++report_.diagnostics[found->second].count;
      return;
    }
    const absl::string_view behind = text.substr(end + 1);
    const size_t json_end = std::min(behind.find('\0'), behind.size());
    report_.diagnostics.push_back(ReportedDiagnostic{
        kind, severity, std::string(text.substr(0, end)), std::string(behind.substr(0, json_end)),
        PlaceOf(record.call, record.site), ReadHistory(behind.substr(json_end))});
  }
  std::map<uint64_t, Site> ReadHistory(absl::string_view text) const {
    std::map<uint64_t, Site> places;
    absl::ConsumePrefix(&text, absl::string_view("\0", 1));
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> numbers = absl::StrSplit(line, ' ');
      uint64_t call = 0;
      uint32_t site = 0;
      if (absl::SimpleAtoi(numbers.first, &call) && absl::SimpleAtoi(numbers.second, &site)) {
        places.emplace(call, SiteOf(site));
      }
    }
    return places;
  }

  void ReadAsked(const Record& record, absl::string_view function) {
    const auto version = static_cast<int>(record.number);
    for (AskedFunction& asked : report_.asked) {
      if (asked.function != function || asked.version != version) continue;
      ++asked.count;
      return;
    }
    report_.asked.push_back({std::string(function), version, record.detail != 0, 1});
  }

  void ReadKinds(const ReportHeader& header) {
    for (uint64_t kind = 0; kind < kMaxKinds; ++kind) {
      const uint64_t count = Load(header.diagnostics[kind]);
      if (count != 0) report_.counts[static_cast<DiagnosticKind>(kind)] = count;
    }
  }

  void ReadRows() {
    std::vector<CallTotal> totals(shape_.calls);
    for (uint64_t index = 0; index < kRows; ++index) {
      const uint64_t offset = layout_.row(index);
      if (!IsReady(offset) || !IsReady(layout_.row(index + 1) - 1)) continue;
      const ThreadRow& row = At<ThreadRow>(offset);
      for (uint64_t call = 0; call < shape_.calls; ++call) {
        const auto& count = At<CallCount>(offset + sizeof(ThreadRow) + call * sizeof(CallCount));
        totals[call].calls += Load(count.calls);
        totals[call].failures += Load(count.failures);
      }
      const uint64_t running = Load(row.call);
      if (running != 0) report_.running.push_back({NameOf(running), SiteAt(Load(row.from))});
    }
    for (uint64_t call = 0; call < shape_.calls; ++call) {
      if (totals[call].calls == 0) continue;
      totals[call].call = NameOf(call + 1);
      report_.calls.push_back(totals[call]);
    }
  }
  Site SiteAt(uint64_t place) const {
    const auto found = places_.find(place);
    if (found != places_.end()) return SiteOf(found->second);
    Site site;
    site.address = AddressOf(place);
    return site;
  }

  // One more of its group; true for the first one, which is then to be described.
  bool AddAlive(DiagnosticKind kind, uint64_t call_plus_one, uint32_t site, uint64_t size,
                LiveObjects** group) {
    const Group key(kind, static_cast<uint32_t>(call_plus_one), site);
    const auto [found, is_new] = groups_.emplace(key, report_.alive.size());
    if (is_new) {
      LiveObjects& made = report_.alive.emplace_back();
      made.kind = kind;
      made.place = PlaceOf(call_plus_one, site);
    }
    *group = &report_.alive[found->second];
    ++(*group)->count;
    (*group)->size = (*group)->size + Bytes(size);
    return is_new;
  }

  void ReadUnits() {
    ReadUnits(shape_.mappings, layout_.mapping(0), DiagnosticKind::kLeakedMapping);
    ReadUnits(shape_.reservations, layout_.reservation(0), DiagnosticKind::kLeakedReservation);
  }
  void ReadUnits(const UnitGrid& grid, uint64_t begin, DiagnosticKind kind) {
    const bool mappings = kind == DiagnosticKind::kLeakedMapping;
    const uint64_t call = CallNumber(mappings ? "cuMemMap" : "cuMemAddressReserve");
    ForEachSlot(begin, grid.units, sizeof(UnitSlot), [&](uint64_t offset) {
      const auto& slot = At<UnitSlot>(offset);
      const uint64_t state = Load(slot.state);
      if (state == 0) return;
      const uint64_t size = (state >> 32) << grid.shift;
      LiveObjects* group = nullptr;
      if (!AddAlive(kind, call, state >> 16 & 0xffff, size, &group)) return;
      const uint64_t unit = (offset - begin) / sizeof(UnitSlot);
      group->range =
          AddressRange{DeviceAddress(window_ + (unit << grid.shift)), Bytes(size), Bytes(0)};
      if (mappings) group->handle = AllocationHandle(Load(slot.detail));
    });
  }
  uint64_t CallNumber(absl::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return found == names_.end() ? 0 : static_cast<uint64_t>(found - names_.begin()) + 1;
  }

  void ReadAllocations() {
    ForEachSlot(layout_.allocation(0), kAllocations, sizeof(AllocationSlot), [&](uint64_t offset) {
      const auto& slot = At<AllocationSlot>(offset);
      const uint64_t state = Load(slot.state);
      const uint64_t references = state & 0xffff'ffff;
      if (references == 0) return;
      const uint64_t place = Load(slot.made);
      LiveObjects* group = nullptr;
      const bool is_multicast =
          place >> 48 == static_cast<uint32_t>(AllocationKind::kMulticastObject);
      if (!AddAlive(is_multicast ? DiagnosticKind::kLeakedMulticastObject
                                 : DiagnosticKind::kLeakedAllocation,
                    place >> 32 & 0xffff, static_cast<uint32_t>(place), Load(slot.size), &group)) {
        return;
      }
      const uint64_t index = (offset - layout_.allocation(0)) / sizeof(AllocationSlot);
      group->handle = AllocationHandle((state >> 32) << 32 | (index + 1));
      group->references = references;
      const uint64_t kept = Load(slot.kept);
      group->retained = PlaceOf(kept >> 32, static_cast<uint32_t>(kept));
    });
  }

  std::optional<DiagnosticKind> LeakOf(uint64_t kind) const {
    switch (static_cast<ObjectKind>(kind)) {
      case ObjectKind::kMemory:
        return DiagnosticKind::kLeakedMemory;
      case ObjectKind::kHostMemory:
      case ObjectKind::kRegisteredMemory:
        return DiagnosticKind::kLeakedHostMemory;
      case ObjectKind::kStream:
        return DiagnosticKind::kLeakedStream;
      case ObjectKind::kEvent:
        return DiagnosticKind::kLeakedEvent;
      case ObjectKind::kContext:
        return DiagnosticKind::kLeakedContext;
      case ObjectKind::kArray:
      case ObjectKind::kMipmappedArray:
        return DiagnosticKind::kLeakedArray;
      case ObjectKind::kPool:
        return DiagnosticKind::kLeakedPool;
      case ObjectKind::kDescriptor:
        if (!report_.finished) break;
        return DiagnosticKind::kLeakedDescriptor;
    }
    return std::nullopt;
  }
  void ReadObjects(uint64_t used) {
    const uint64_t count = std::min(used, kObjects);
    ForEachSlot(layout_.object(0), count, sizeof(ObjectSlot), [&](uint64_t offset) {
      const auto& slot = At<ObjectSlot>(offset);
      const uint64_t state = Load(slot.state);
      const std::optional<DiagnosticKind> kind = LeakOf(state >> 48);
      if (!kind.has_value()) return;
      const uint64_t size = Load(slot.size);
      LiveObjects* group = nullptr;
      if (!AddAlive(*kind, state >> 32 & 0xffff, static_cast<uint32_t>(state), size, &group)) {
        return;
      }
      group->value = Load(slot.value);
      group->device = static_cast<int>(Load(slot.device));
      if (size != 0)
        group->range = AddressRange{DeviceAddress(group->value), Bytes(size), Bytes(0)};
    });
  }

  const char* const memory_;
  const uint64_t size_;
  ReportShape shape_;
  ReportLayout layout_;
  uint64_t window_ = 0;
  std::vector<std::string> names_;  // of functions
  std::map<uint32_t, Site> sites_;
  std::map<uint64_t, uint32_t> places_;  // of sites
  std::map<Group, size_t> seen_;         // places of diagnostics
  std::map<Group, size_t> groups_;       // places of what is alive
  ProcessReport report_;
};

}  // namespace

absl::StatusOr<ProcessReport> ReadReport(const char* memory, uint64_t size) {
  Reader reader(memory, size);
  const absl::Status checked = reader.Check();
  if (!checked.ok()) return checked;
  return reader.Read();
}

std::vector<Site*> SitesOf(ProcessReport& report) {
  std::vector<Site*> sites;
  const auto add_site = [&](Site& site) {
    if (site.address != 0) sites.push_back(&site);
  };
  const auto add = [&](CallPlace& place) { add_site(place.site); };
  for (ReportedDiagnostic& diagnostic : report.diagnostics) {
    add(diagnostic.place);
    for (auto& [call, site] : diagnostic.history) add_site(site);
  }
  for (ReportedFailure& failure : report.failures) add(failure.place);
  for (LiveObjects& objects : report.alive) {
    add(objects.place);
    add(objects.retained);
  }
  for (CallPlace& place : report.running) add(place);
  return sites;
}

}  // namespace twinmmu::libcuda
