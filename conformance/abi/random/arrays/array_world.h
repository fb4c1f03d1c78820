// Arrays of random programs: one of them, or a level of a mipmapped one, with its size.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_ARRAYS_ARRAY_WORLD_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_ARRAYS_ARRAY_WORLD_H_

#include <cstddef>
#include <string>
#include <vector>

#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {

struct RandomArray {
  std::string name;  // none: there are no arrays
  CUarray handle = nullptr;
  size_t row = 0;  // bytes
  size_t rows = 1;
  size_t layers = 1;  // or slices
  size_t element = 1;
  bool has_rows = false;  // more dimensions than one
};

// Of an array that can be made, or not; `words` say it.
CUDA_ARRAY3D_DESCRIPTOR AnyDescriptor(ProgramWorld& world, std::string* words);
// The size of the array, or of a level of the mipmap, that `descriptor` describes.
RandomArray SizeOf(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned level = 0);
RandomArray AnyArray(ProgramWorld& world);

// Bytes that depend on the dice.
std::vector<unsigned char> AnyBytes(ProgramWorld& world, size_t size);

// What a texture or surface object shows.
struct Shown {
  std::string name;   // of the array, mipmap or block
  std::string words;  // none: there is nothing to show
  CUDA_RESOURCE_DESC resource = {};
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  bool has_view = false;  // could have
};

std::string ResourceWords(const CUDA_RESOURCE_DESC& resource);
// Rather of an array with that flag.
Shown AnyResource(ProgramWorld& world, unsigned flag = 0);

// Memory of the program that copies read and write.
inline constexpr size_t kHostBytes = 1 << 20;
extern unsigned char host_from[kHostBytes];
extern unsigned char host_to[kHostBytes];
// The first `size` bytes of the one, and 64 more of the other.
void FillHost(ProgramWorld& world, size_t size);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_ARRAYS_ARRAY_WORLD_H_
