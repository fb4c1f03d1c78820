// What a program hands to the driver as an image: PTX, a fat binary with PTX in it, or neither.

#ifndef TWINMMU_SIM_PTX_TEXT_FAT_BINARY_H_
#define TWINMMU_SIM_PTX_TEXT_FAT_BINARY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu::ptx {

// The PTX of an image, without a NUL at its end. An image is one of:
//
// * PTX: text whose first word, after blanks and comments, is .version;
// * a fat binary: a container of PTX and machine code for several targets, some of it compressed;
// * machine code (ELF), which gives NotFound.
//
// Of the PTX in a fat binary, the best for a device of `compute_capability` (90 for 9.0) is taken:
// that of the highest target not above it. What is written for one architecture only (sm_90a) goes
// before the rest on a device of that target, and is not taken on others. Where there is none, but
// machine code that the device runs (as nvcc -arch=all-major makes it), the PTX of the lowest
// target above stands for that: it was made of the same source. Its target becomes the device's.
//
// NotFound: it is an image, but has no PTX that the device takes. InvalidArgument: it is no image.
// DataLoss: it is a fat binary, but is cut off or damaged. ResourceExhausted: the PTX is larger
// than 256 MiB. What the PTX says is not looked at.

// `image` as the content of a file.
absl::StatusOr<std::string> PtxIn(absl::string_view image, int compute_capability);

// `image` as a pointer, whose end is not known; or a pointer to the wrapper with which nvcc refers
// to a fat binary. Trusted are: that `image` is not null; that text ends with a NUL; that a pointer
// in a wrapper is null or points to an image; and that a fat binary is as long as its first header
// says. All else is checked.
absl::StatusOr<std::string> PtxAt(const void* image, int compute_capability);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_FAT_BINARY_H_
