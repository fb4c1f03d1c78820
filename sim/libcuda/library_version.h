// Which driver a build of the library is.

#ifndef TWINMMU_SIM_LIBCUDA_LIBRARY_VERSION_H_
#define TWINMMU_SIM_LIBCUDA_LIBRARY_VERSION_H_

namespace twinmmu::libcuda {

// The CUDA version that this build of the library is of: 13000 is 13.0.
int LibraryVersion();

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_LIBRARY_VERSION_H_
