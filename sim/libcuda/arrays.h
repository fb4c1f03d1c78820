// Arrays: which of the program's arrays belong to which context.

#ifndef TWINMMU_SIM_LIBCUDA_ARRAYS_H_
#define TWINMMU_SIM_LIBCUDA_ARRAYS_H_

#include "sim/libcuda/contexts.h"
#include "sim/libcuda/streams.h"

namespace twinmmu::libcuda {

struct ArrayRecord {
  Context* context = nullptr;
};

struct Arrays {
  Records<ArrayRecord> arrays;  // without the levels of the others
  Records<ArrayRecord> mipmaps;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_ARRAYS_H_
