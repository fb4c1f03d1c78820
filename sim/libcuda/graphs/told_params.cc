#include "sim/libcuda/graphs/told_params.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <variant>

#include "api/executor.h"
#include "sim/libcuda/contexts.h"

namespace twinmmu::libcuda {
namespace {

// CU_LAUNCH_PARAM_...
void* const kBufferPointer = reinterpret_cast<void*>(uintptr_t{1});
void* const kBufferSize = reinterpret_cast<void*>(uintptr_t{2});

}  // namespace

void* ToldParams::Place::Put(const void* data, size_t size) {
  if (size == 0) return nullptr;
  if (size > size_) {
    const size_t room = std::max(size, 2 * size_);  // so that few are outgrown
    rooms_.push_back(std::make_unique<char[]>(room));
    size_ = room;
  }
  return std::memcpy(rooms_.back().get(), data, size);
}

cuda_abi::CUDA_KERNEL_NODE_PARAMS ToldParams::Tell(const KernelWork& work) {
  const LaunchConfig& config = work.config;
  cuda_abi::CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = work.function;
  params.gridDimX = config.grid.x;
  params.gridDimY = config.grid.y;
  params.gridDimZ = config.grid.z;
  params.blockDimX = config.block.x;
  params.blockDimY = config.block.y;
  params.blockDimZ = config.block.z;
  params.sharedMemBytes = config.dynamic_shared_bytes;
  const KernelArguments& arguments = *work.arguments;
  char* const bytes = bytes_.Put(arguments.bytes);
  if (arguments.as_buffer) {
    size_t* const size = sizes_.Put(std::vector<size_t>{arguments.bytes.size()});
    params.extra =
        extra_.Put(std::vector<void*>{kBufferSize, size, kBufferPointer, bytes, nullptr});
  } else {
    std::vector<void*> pointers;
    for (const void* const argument : arguments.pointers) {
      pointers.push_back(bytes + (static_cast<const char*>(argument) - arguments.bytes.data()));
    }
    params.kernelParams = pointers_.Put(pointers);
  }
  params.kern = work.kernel;
  params.ctx = work.context->handle();
  return params;
}

cuda_abi::CUDA_BATCH_MEM_OP_NODE_PARAMS ToldParams::Tell(const BatchWork& work) {
  return {work.context->handle(), static_cast<unsigned int>(work.operations->size()),
          operations_.Put(*work.operations), 0};
}

cuda_abi::CUDA_EXT_SEM_NODE_PARAMS ToldParams::Tell(const SemaphoreList& list) {
  return {semaphores_.Put(list.semaphores), semaphore_params_.Put(list.params),
          static_cast<unsigned int>(list.semaphores.size())};
}

void ToldParams::Update(const GraphWork& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) Tell(*kernel);
  if (const auto* const batch = std::get_if<BatchWork>(&work)) Tell(*batch);
  if (const auto* const signal = std::get_if<SignalWork>(&work)) Tell(*signal);
  if (const auto* const awaited = std::get_if<AwaitWork>(&work)) Tell(*awaited);
}

}  // namespace twinmmu::libcuda
