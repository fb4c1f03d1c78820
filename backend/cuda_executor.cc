#include "backend/cuda_executor.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/driver_error.h"

namespace twinmmu {
namespace {

// The driver has a function for each width and none for others, so nobody else can refuse.
absl::Status NoSuchWidth(const FillPattern& pattern) {
  return MakeDriverStatus(
      {DriverCode::kInvalidValue, ErrorOrigin::kLoader, "cuMemsetD8"},
      absl::StrCat("the driver has no fill of elements of ", pattern.width.value(), " bytes"));
}

}  // namespace

// --- Copies and fills ----------------------------------------------------------------------------

absl::Status CudaExecutor::CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination,
                                            const void* source, Bytes size) {
  return CallOn<Symbol::cuMemcpyHtoD>(contexts_, device, destination, source, size);
}

absl::Status CudaExecutor::CopyDeviceToHost(DeviceOrdinal device, void* destination,
                                            DeviceAddress source, Bytes size) {
  return CallOn<Symbol::cuMemcpyDtoH>(contexts_, device, destination, source, size);
}

absl::Status CudaExecutor::CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                              DeviceAddress source, Bytes size) {
  return CallOn<Symbol::cuMemcpyDtoD>(contexts_, device, destination, source, size);
}

absl::Status CudaExecutor::Fill(DeviceOrdinal device, DeviceAddress destination,
                                const FillPattern& pattern, uint64_t count) {
  switch (pattern.width.value()) {
    case 1:
      return CallOn<Symbol::cuMemsetD8>(contexts_, device, destination,
                                        static_cast<unsigned char>(pattern.value), count);
    case 2:
      return CallOn<Symbol::cuMemsetD16>(contexts_, device, destination,
                                         static_cast<unsigned short>(pattern.value), count);
    case 4:
      return CallOn<Symbol::cuMemsetD32>(contexts_, device, destination, pattern.value, count);
    default:
      return NoSuchWidth(pattern);
  }
}

absl::Status CudaExecutor::CopyHostToDevice(Stream stream, DeviceAddress destination,
                                            const void* source, Bytes size) {
  return CallOn<Symbol::cuMemcpyHtoDAsync>(contexts_, stream.device(), destination, source, size,
                                           stream);
}

absl::Status CudaExecutor::CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                            Bytes size) {
  return CallOn<Symbol::cuMemcpyDtoHAsync>(contexts_, stream.device(), destination, source, size,
                                           stream);
}

absl::Status CudaExecutor::CopyDeviceToDevice(Stream stream, DeviceAddress destination,
                                              DeviceAddress source, Bytes size) {
  return CallOn<Symbol::cuMemcpyDtoDAsync>(contexts_, stream.device(), destination, source, size,
                                           stream);
}

absl::Status CudaExecutor::Fill(Stream stream, DeviceAddress destination,
                                const FillPattern& pattern, uint64_t count) {
  switch (pattern.width.value()) {
    case 1:
      return CallOn<Symbol::cuMemsetD8Async>(contexts_, stream.device(), destination,
                                             static_cast<unsigned char>(pattern.value), count,
                                             stream);
    case 2:
      return CallOn<Symbol::cuMemsetD16Async>(contexts_, stream.device(), destination,
                                              static_cast<unsigned short>(pattern.value), count,
                                              stream);
    case 4:
      return CallOn<Symbol::cuMemsetD32Async>(contexts_, stream.device(), destination,
                                              pattern.value, count, stream);
    default:
      return NoSuchWidth(pattern);
  }
}

// --- Streams and events --------------------------------------------------------------------------

absl::StatusOr<Stream> CudaExecutor::CreateStream(DeviceOrdinal device) {
  cuda_abi::CUstream stream = nullptr;
  const absl::Status status =
      CallOn<Symbol::cuStreamCreate>(contexts_, device, &stream, cuda_abi::CU_STREAM_NON_BLOCKING);
  if (!status.ok()) return status;
  return Stream(device, FromAbi(stream));
}

absl::Status CudaExecutor::DestroyStream(Stream stream) {
  return CallOn<Symbol::cuStreamDestroy>(contexts_, stream.device(), stream);
}

absl::StatusOr<bool> CudaExecutor::QueryStream(Stream stream) {
  return CallQueryOn<Symbol::cuStreamQuery>(contexts_, stream.device(), stream);
}

absl::Status CudaExecutor::SynchronizeStream(Stream stream) {
  return CallOn<Symbol::cuStreamSynchronize>(contexts_, stream.device(), stream);
}

absl::StatusOr<Event> CudaExecutor::CreateEvent(DeviceOrdinal device) {
  cuda_abi::CUevent event = nullptr;
  const absl::Status status =
      CallOn<Symbol::cuEventCreate>(contexts_, device, &event, cuda_abi::CU_EVENT_DEFAULT);
  if (!status.ok()) return status;
  return Event(device, FromAbi(event));
}

absl::Status CudaExecutor::DestroyEvent(Event event) {
  return CallOn<Symbol::cuEventDestroy>(contexts_, event.device(), event);
}

absl::Status CudaExecutor::RecordEvent(Event event, Stream stream) {
  return CallOn<Symbol::cuEventRecord>(contexts_, stream.device(), event, stream);
}

absl::Status CudaExecutor::WaitEvent(Stream stream, Event event) {
  return CallOn<Symbol::cuStreamWaitEvent>(contexts_, stream.device(), stream, event,
                                           cuda_abi::CU_EVENT_WAIT_DEFAULT);
}

absl::StatusOr<bool> CudaExecutor::QueryEvent(Event event) {
  return CallQueryOn<Symbol::cuEventQuery>(contexts_, event.device(), event);
}

absl::Status CudaExecutor::SynchronizeEvent(Event event) {
  return CallOn<Symbol::cuEventSynchronize>(contexts_, event.device(), event);
}

absl::Status CudaExecutor::SynchronizeDevice(DeviceOrdinal device) {
  return CallOn<Symbol::cuCtxSynchronize>(contexts_, device);
}

// --- Kernels -------------------------------------------------------------------------------------

absl::StatusOr<Module> CudaExecutor::LoadModule(DeviceOrdinal device, absl::string_view ptx) {
  const std::string text(ptx);  // the driver wants a NUL behind it
  std::array<char, 8192> log = {};
  std::array<cuda_abi::CUjit_option, 2> options = {cuda_abi::CU_JIT_ERROR_LOG_BUFFER,
                                                   cuda_abi::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // An option's number is passed as if it were a pointer.
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size())};
  cuda_abi::CUmodule module = nullptr;
  const absl::Status status = CallOn<Symbol::cuModuleLoadDataEx>(
      contexts_, device, &module, static_cast<const void*>(text.c_str()),
      static_cast<unsigned int>(options.size()), options.data(), values.data());
  if (status.ok()) return Module(device, FromAbi(module));
  log.back() = '\0';
  return log.front() == '\0' ? status : Append(status, absl::StrCat("\n", log.data()));
}

absl::Status CudaExecutor::UnloadModule(Module module) {
  return CallOn<Symbol::cuModuleUnload>(contexts_, module.device(), module);
}

absl::StatusOr<Kernel> CudaExecutor::GetKernel(Module module, absl::string_view name) {
  const std::string text(name);
  cuda_abi::CUfunction function = nullptr;
  const absl::Status status = CallOn<Symbol::cuModuleGetFunction>(contexts_, module.device(),
                                                                  &function, module, text.c_str());
  if (!status.ok()) return status;
  return Kernel(module.device(), FromAbi(function));
}

absl::Status CudaExecutor::Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                                  absl::Span<const void* const> arguments) {
  // The driver only reads them, but its signature does not say so.
  void** parameters = const_cast<void**>(arguments.data());
  void** no_extra = nullptr;
  if (config.programmatic_stream_serialization) {
    cuda_abi::CUlaunchAttribute attribute = {};
    attribute.id = cuda_abi::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    const cuda_abi::CUlaunchConfig extended = {config.grid.x,
                                               config.grid.y,
                                               config.grid.z,
                                               config.block.x,
                                               config.block.y,
                                               config.block.z,
                                               config.dynamic_shared_bytes,
                                               ToAbi(stream),
                                               &attribute,
                                               1};
    return CallOn<Symbol::cuLaunchKernelEx>(contexts_, stream.device(), &extended, kernel,
                                            parameters, no_extra);
  }
  return CallOn<Symbol::cuLaunchKernel>(contexts_, stream.device(), kernel, config.grid.x,
                                        config.grid.y, config.grid.z, config.block.x,
                                        config.block.y, config.block.z, config.dynamic_shared_bytes,
                                        stream, parameters, no_extra);
}

}  // namespace twinmmu
