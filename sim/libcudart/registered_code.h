// The device code of the program, as the compilers register it: fat binaries, and their kernels and
// variables by the address that stands for each on the host. Nothing is loaded before it is used,
// or before LoadAll; the driver then loads it in each context where it is.

#ifndef TWINMMU_SIM_LIBCUDART_REGISTERED_CODE_H_
#define TWINMMU_SIM_LIBCUDART_REGISTERED_CODE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "third_party/cuda_abi/cudart_abi.h"

namespace twinmmu::cudart {

struct FatBinary;

FatBinary* AddFatBinary(const void* image);
// With all that was registered of it.
void RemoveFatBinary(FatBinary* binary);
void AddKernel(FatBinary* binary, const void* host, const char* name);
void AddVariable(FatBinary* binary, const void* host, const char* name);
// A variable that both sides use: `pointer` gets its address when the binary is loaded.
void AddManaged(FatBinary* binary, void** pointer, const char* name);
// A variable of the host that device code declares, and uses where it lies.
void AddHostVariable(FatBinary* binary, const char* name, void* host);
// A texture or surface of old. `as_floats`: a texture that gives integers as floats.
void AddReference(FatBinary* binary, const void* host, const char* name, bool as_floats);

// Loads it, and fills the pointers to its managed variables.
cudaError_t LoadFatBinary(FatBinary* binary);
// Loads all fat binaries in the current context. What cannot be loaded is an error when it is used.
void LoadAll();

// The kernel of a host function. cudaErrorInvalidDeviceFunction: it is none.
cudaError_t FindKernelOf(const void* function, cudaKernel_t* kernel);
// The same, or the kernel whose handle is given as such. What is neither is taken for a handle that
// is wrong since CUDA 13: cudaErrorInvalidResourceHandle.
cudaError_t FindKernel(const void* function, cudaKernel_t* kernel);
// From now on `kernel` is known as such a handle.
void KnowKernel(cudaKernel_t kernel);
// As FindKernel, in the current context.
cudaError_t FindFunction(const void* function, cudaFunction_t* result);
// What FindFunction finds that function by, in the current context; the function itself if by
// nothing.
void* HostFunctionOf(cudaFunction_t function);
// A variable in the current context. cudaErrorInvalidSymbol: nothing of that address.
cudaError_t FindVariable(const void* symbol, void** address, size_t* size);
// Where `offset` of it is. cudaErrorInvalidMemcpyDirection: it is not copied the right way, which
// counts before cudaErrorInvalidValue: `size` bytes from there are not inside it.
cudaError_t FindPartOfVariable(const void* symbol, size_t size, size_t offset, bool is_right_way,
                               char** address);

// What the driver knows a reference by, in the current context.
struct FoundReference {
  void* module = nullptr;
  std::string name;
  bool as_floats = false;
};
// cudaErrorInvalidSymbol: none of that address.
cudaError_t FindReference(const void* host, FoundReference* reference);
bool IsReference(const void* host);
// How far behind its beginning the memory is that a texture shows; nullopt: it shows none.
void SetOffset(const void* host, std::optional<size_t> offset);
std::optional<size_t> OffsetOf(const void* host);

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_REGISTERED_CODE_H_
