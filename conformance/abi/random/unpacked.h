// Recordings, which are packed.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_UNPACKED_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_UNPACKED_H_

#include <string>

namespace twinmmu::abi {

// What a file has that was packed with Zstandard; empty: it is no such file.
std::string Unpacked(const std::string& path);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_UNPACKED_H_
