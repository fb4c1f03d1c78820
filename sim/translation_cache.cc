#include "sim/translation_cache.h"

#include <algorithm>

namespace twinmmu {

char* TranslationCache::Walk(DeviceAddress address, uint64_t size, Access access) {
  if (!mmu_.window.range().contains(address)) return nullptr;
  const uint64_t page = mmu_.PageOf(address);
  const PageRun run = mmu_.table.Find(page);
  if (!run.entry.mapped()) return nullptr;
  const MappingRecord& mapping = mmu_.mappings[run.entry.index()];
  Entry& entry = entries_[page % kEntries];
  entry.base = mmu_.AddressOf(page);
  entry.size = mmu_.SizeOf(std::min(run.end, mapping.end()) - page).value();
  entry.generation = mmu_.table.generation();
  entry.memory = mmu_.MemoryOf(mapping) + mmu_.SizeOf(page - mapping.first_page).value();
  entry.access = run.entry.access(device_.value());
  const uint64_t offset = (address - entry.base).value();
  const bool allowed = size <= entry.size - offset && Covers(entry.access, access);
  return allowed ? entry.memory + offset : nullptr;
}

}  // namespace twinmmu
