#include "sim/libcuda/graphs/semaphore_nodes.h"

namespace twinmmu::libcuda {

CUresult MakeSemaphores(const CUDA_EXT_SEM_NODE_PARAMS& given,
                        std::shared_ptr<const SemaphoreList>* made) {
  constexpr unsigned int kMost = 1u << 16;  // more are no list, whatever lies there
  const bool missing = given.extSemArray == nullptr || given.paramsArray == nullptr;
  if (given.numExtSems > kMost || (given.numExtSems != 0 && missing)) return kInvalidValue;
  auto list = std::make_shared<SemaphoreList>();
  if (given.numExtSems != 0) {
    list->semaphores.assign(given.extSemArray, given.extSemArray + given.numExtSems);
    list->params.assign(given.paramsArray, given.paramsArray + given.numExtSems);
  }
  *made = std::move(list);
  return CUDA_SUCCESS;
}

CUresult Submit(const SemaphoreList& list) {
  return list.semaphores.empty() ? CUDA_SUCCESS : kInvalidValue;
}

}  // namespace twinmmu::libcuda
