// What programs of kernels and streams have in common. All of their kernels have the parameters
// (at, n, value), and touch n words at most, each from one thread, so that no launch of any size
// does anything that is a matter of luck.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_KERNELS_LAUNCH_WORLD_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_KERNELS_LAUNCH_WORLD_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {

// `cluster`: kernels that say something of their clusters.
std::string RandomKernelText(bool cluster);
// The name of a kernel or variable of these texts, or of none.
const char* AnyNameOfRandomKernels(ProgramWorld& world);

// Adds a handle that may be there already. Its name.
template <typename Handle>
std::string NameOrAdd(RandomObjects<Handle>& objects, Handle handle, const std::string& owner) {
  const std::string known = objects.NameOf(handle);
  return known == "unknown" ? objects.Add(handle, owner) : known;
}

template <typename Handle>
void ForgetObjectsOf(RandomObjects<Handle>& objects, const std::string& owner) {
  for (size_t i = objects.size(); i-- > 0;) {
    if (objects[i].kind == owner) objects.Remove(std::string(objects[i].name));
  }
}

// The names of what was listed, sorted: the order is the driver's business, and so is which there
// are where not all had room.
template <typename Handle, size_t size, typename GetName>
void GiveNames(ProgramWorld& world, const Handle (&listed)[size], unsigned room,
               const GetName& get_name) {
  std::vector<std::string> names;
  for (const Handle& each : listed) {
    const char* name = "";
    if (each != nullptr && get_name(&name, each) == CUDA_SUCCESS) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  world.Gave(names.size());
  for (const std::string& name : names) {
    if (room == size) world.Gave(name);
  }
}

// A function, or a kernel of a library, of which some calls take either: one of these in `one_in`.
// False: there is none.
struct AnyKernel {
  CUfunction handle = nullptr;
  std::string name;
};
bool FindAnyKernel(ProgramWorld& world, AnyKernel* found, size_t one_in = 3);

// A stream, or one of the default ones by any of their names.
CUstream StreamFor(ProgramWorld& world, std::string* name);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_KERNELS_LAUNCH_WORLD_H_
