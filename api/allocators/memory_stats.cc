#include "api/allocators/memory_stats.h"

namespace twinmmu {

std::ostream& operator<<(std::ostream& out, const DriverCallCounts& counts) {
  return out << "create " << counts.create << ", release " << counts.release << ", map "
             << counts.map << ", unmap " << counts.unmap << ", set access " << counts.set_access;
}

std::ostream& operator<<(std::ostream& out, const MemoryStats& stats) {
  return out << stats.in_use << " in use (peak " << stats.peak << "), " << stats.leaving
             << " leaving, " << stats.cached << " cached; " << stats.calls;
}

}  // namespace twinmmu
