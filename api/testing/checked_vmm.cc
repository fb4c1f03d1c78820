#include "api/testing/checked_vmm.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/testing/checked/parts.h"

namespace twinmmu {

std::string ToString(const CheckedMapping& mapping) {
  std::string text =
      absl::StrCat(InWords(mapping.range()), ": handle ", ToString(mapping.mapping.allocation),
                   " at offset ", ToString(mapping.allocation_offset));
  for (const AccessGrant& grant : mapping.grants) absl::StrAppend(&text, ", ", ToString(grant));
  return absl::StrCat(text, mapping.grants.empty() ? ", no access" : "", ", by call ",
                      mapping.made_by);
}
std::ostream& operator<<(std::ostream& out, const CheckedMapping& mapping) {
  return out << ToString(mapping);
}

CheckedVmm::CheckedVmm(Vmm* target, CheckedVmmOptions options)
    : ForwardingVmm(target), parts_(std::make_unique<Parts>(target, std::move(options))) {}

CheckedVmm::~CheckedVmm() {
  if (!parts_->options.at_end) return;
  std::vector<Diagnostic> all = diagnostics();
  for (Diagnostic& leak : leaks()) all.push_back(std::move(leak));
  parts_->options.at_end(all);
}

std::vector<Diagnostic> CheckedVmm::diagnostics() const { return parts_->book.log.Kept(); }

uint64_t CheckedVmm::CountOf(DiagnosticKind kind) const { return parts_->book.log.CountOf(kind); }

std::vector<Diagnostic> CheckedVmm::leaks() const {
  const std::lock_guard lock(parts_->book.mutex);
  return LeaksOf(parts_->book);
}

std::vector<HistoryEntry> CheckedVmm::HistoryOf(DeviceAddress address) const {
  const std::lock_guard lock(parts_->book.mutex);
  return checked::HistoryOf(parts_->book, address);
}

std::vector<CheckedMapping> CheckedVmm::mappings() const {
  const std::lock_guard lock(parts_->book.mutex);
  std::vector<CheckedMapping> all;
  for (const auto& [base, mapping] : parts_->book.state.mappings()) {
    CheckedMapping line;
    const auto* const reservation = parts_->book.state.ReservationAt(base);
    line.reservation =
        reservation != nullptr ? reservation->range : AddressRange{base, Bytes(0), Bytes(0)};
    line.mapping = {base - line.reservation.base, mapping.range.size, mapping.allocation->handle,
                    Access::kNone};
    line.allocation_offset = mapping.offset;
    line.made_by = mapping.made_by;
    for (const AccessGrant& grant : mapping.grants) {
      if (grant.access == Access::kNone) continue;
      line.grants.push_back(grant);
      line.mapping.access = std::max(line.mapping.access, grant.access);
    }
    all.push_back(std::move(line));
  }
  return all;
}

}  // namespace twinmmu
