// The tables of the benchmark, one function each. `cuda` is null where there is no GPU: what it
// would have shown is left out.

#ifndef TWINMMU_TOOLS_BENCHMARK_SECTIONS_H_
#define TWINMMU_TOOLS_BENCHMARK_SECTIONS_H_

#include "api/driver.h"
#include "backend/driver_table.h"
#include "tools/benchmark/table.h"

namespace twinmmu {

struct Drivers {
  const DriverTable* table = nullptr;  // the functions that `cuda` calls
  Driver* cuda = nullptr;
  Driver* sim = nullptr;
};

// Each call straight through the driver's functions and through the interface, by turns.
Table MeasureCalls(const Drivers& drivers);

// Each call beside many live mappings.
Table MeasureGrowth(const Drivers& drivers);

// Map, set access and unmap in several threads.
Table MeasureThreads(const Drivers& drivers);

// The kernels fill and verify beside the driver's own copy and fill.
Table MeasureBandwidth(Driver& cuda);

// Allocating and freeing with VirtualMemoryPool, and without.
Table MeasurePool(const Drivers& drivers);

// The next two need a GPU.

// Growing by GrowableBuffer, and by a copy.
Table MeasureGrowthInPlace(const Drivers& drivers);

// Giving memory back and getting it again, with SleepingBuffer and without.
Table MeasureWake(const Drivers& drivers);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_BENCHMARK_SECTIONS_H_
