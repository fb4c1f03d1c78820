#include "sim/libcuda/library_version.h"

namespace twinmmu::libcuda {

int LibraryVersion() { return TWINMMU_LIBRARY_VERSION; }

}  // namespace twinmmu::libcuda
