// What a failed call becomes: a status whose message names the call, every argument and the
// driver's code. All of it runs on the failing path only.

#ifndef TWINMMU_BACKEND_ERROR_H_
#define TWINMMU_BACKEND_ERROR_H_

#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "api/sparse_arrays.h"
#include "backend/driver_table.h"

namespace twinmmu {

// "cuMemUnmap(ptr=0x7f0000200000, size=2097152) failed: CUDA_ERROR_INVALID_VALUE (1)". `arguments`
// are texts in the order of the parameters; an empty one is an output and is left out.
absl::Status FailedCall(Symbol symbol, cuda_abi::CUresult result,
                        const std::vector<std::string>& arguments);

// Unimplemented, from the loader: the function is null in `table`.
absl::Status MissingSymbol(const DriverTable& table, Symbol symbol);

// `status` with `text` behind its message, and the same payload.
absl::Status Append(const absl::Status& status, absl::string_view text);

// The text of one argument: addresses, handles and pointers hexadecimal, numbers decimal.
std::string ArgumentText(DeviceAddress address);
std::string ArgumentText(Bytes bytes);
std::string ArgumentText(AllocationHandle handle);
std::string ArgumentText(Stream stream);
std::string ArgumentText(Event event);
std::string ArgumentText(Module module);
std::string ArgumentText(Kernel kernel);
std::string ArgumentText(Array array);
std::string ArgumentText(MipmappedArray mipmap);
std::string ArgumentText(const cuda_abi::CUDA_ARRAY3D_DESCRIPTOR* descriptor);
std::string ArgumentText(const cuda_abi::CUDA_MEMCPY3D* copy);
std::string ArgumentText(const void* pointer);
inline std::string ArgumentText(void* pointer) {
  return ArgumentText(const_cast<const void*>(pointer));
}
std::string ArgumentText(const char* text);
std::string ArgumentText(cuda_abi::CUcontext context);
std::string ArgumentText(const cuda_abi::CUmemLocation* location);
std::string ArgumentText(const cuda_abi::CUmemAllocationProp* prop);
std::string ArgumentText(const cuda_abi::CUlaunchConfig* config);
std::string ArgumentText(const cuda_abi::CUmulticastObjectProp* prop);
std::string ArgumentText(absl::Span<const cuda_abi::CUmemAccessDesc> array);
// Every other pointer to what the driver may write is an output.
template <typename T>
std::string ArgumentText(T* /*output*/) {
  return "";
}
template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
std::string ArgumentText(T number) {
  return absl::StrCat(number);
}

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_ERROR_H_
