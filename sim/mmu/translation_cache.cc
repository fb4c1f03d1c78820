#include "sim/mmu/translation_cache.h"

#include <algorithm>

#include "sim/host/guarded_access.h"

namespace twinmmu {
namespace {

// The part of `whole` that is in the pages of those bytes.
AddressRange PagesAround(DeviceAddress address, uint64_t size, const AddressRange& whole) {
  constexpr uint64_t kPage = 4096;
  const uint64_t first = address.value() / kPage * kPage;
  const uint64_t end = RoundUp(Bytes(address.value() + size), Bytes(kPage)).value();
  const DeviceAddress base = std::max(DeviceAddress(first), whole.base);
  return AddressRange{base, std::min(DeviceAddress(end), whole.end()) - base, Bytes(0)};
}

}  // namespace

const TranslationCache::Span* TranslationCache::Walk(DeviceAddress address, uint64_t size,
                                                     Access access) {
  if (!mmu_.window.range().contains(address)) return WalkLinear(address, size, access);
  const uint64_t page = mmu_.PageOf(address);
  const PageSpan run = mmu_.table.Find(page);
  if (!run.entry.mapped()) return WalkLinear(address, size, access);
  const MappingRecord& mapping = mmu_.mappings[run.entry.index()];
  if (mapping.multicast) return nullptr;
  Span& span = mapped_[page % kEntries];
  span.base = mmu_.AddressOf(page);
  span.size = mmu_.SizeOf(std::min(run.end, mapping.end()) - page).value();
  span.generation = mmu_.generation();
  span.memory = mmu_.MemorySeen(mapping) + mmu_.SizeOf(page - mapping.first_page).value();
  span.access = run.entry.access(device_.value());
  span.armed = mmu_.AllocationOf(mapping).pages->IsArmed() || mmu_.watched();
  span.address_id = mapping.id;
  if (!Holds(span, address, size, access)) return nullptr;
  if (used_ != nullptr) used_->Add(mapping.id);
  return &span;
}

bool TranslationCache::FindMulticast(DeviceAddress address, uint64_t size, Access access,
                                     Multicast* found) {
  const PageEntry entry = mmu_.At(address);
  if (!entry.mapped() || !mmu_.mappings[entry.index()].multicast) return false;
  if (!Covers(entry.access(device_.value()), access)) return false;
  found->replicas = mmu_.ReplicasAt(address, size);
  if (found->replicas.empty()) {
    found->missing = mmu_.WhyNoReplicas(address, size);
    return false;
  }
  found->address_id = mmu_.mappings[entry.index()].id;
  if (used_ != nullptr) used_->Add(found->address_id);
  return true;
}

const TranslationCache::Span* TranslationCache::WalkLinear(DeviceAddress address, uint64_t size,
                                                           Access access) {
  const LinearAllocation* const allocation = mmu_.linear.Find(address);
  if (allocation == nullptr || !mmu_.linear.CanReach(device_, *allocation)) return nullptr;
  const PooledPiece* const piece =
      allocation->of_pool() ? mmu_.pooled.FindAll({address, Bytes(size), Bytes(0)}) : nullptr;
  Span& span = linear_[(address.value() >> kLinearShift) % kEntries];
  AddressRange range = piece != nullptr ? piece->range : allocation->range;
  const bool is_part = allocation->of_pool() && piece == nullptr;  // of no piece, or of several
  if (!allocation->on_device() || is_part) range = PagesAround(address, size, range);
  // The program can unmap it: page by page, and only what is there.
  const bool can_go = !allocation->on_device() && !allocation->of_pool();
  if (can_go && FindInaccessible(range, access) != nullptr) return nullptr;
  span.base = range.base;
  span.size = range.size.value();
  span.generation = mmu_.generation();
  span.memory = Mmu::MemoryOf(*allocation, range.base);
  span.access = can_go ? access : Access::kReadWrite;
  span.armed = mmu_.watched();
  span.address_id =
      static_cast<uint32_t>(piece != nullptr ? piece->buffer_id : allocation->buffer_id);
  if (!Holds(span, address, size, access)) return nullptr;
  if (piece != nullptr && used_ != nullptr) used_->Add(span.address_id);
  return &span;
}

}  // namespace twinmmu
