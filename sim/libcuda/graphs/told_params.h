// ToldParams: what GetParams tells of a node by pointers.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_TOLD_PARAMS_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_TOLD_PARAMS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "sim/libcuda/graphs/graph_work.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// It stays where it is, and there is something there, as long as the node is: programs that change
// a part of the parameters set the others by the pointers that they were told.
class ToldParams {
 public:
  cuda_abi::CUDA_KERNEL_NODE_PARAMS Tell(const KernelWork& work);
  cuda_abi::CUDA_BATCH_MEM_OP_NODE_PARAMS Tell(const BatchWork& work);
  cuda_abi::CUDA_EXT_SEM_NODE_PARAMS Tell(const SignalWork& work) { return Tell(*work.list); }
  cuda_abi::CUDA_EXT_SEM_NODE_PARAMS Tell(const AwaitWork& work) { return Tell(*work.list); }

  // The node has other work: what was told is of that now. Of a driver that was not measured.
  void Update(const GraphWork& work);

 private:
  // Where a copy of something lies. A larger one later lies elsewhere, and the first one stays.
  class Place {
   public:
    template <typename T>
    T* Put(const std::vector<T>& values) {
      return static_cast<T*>(Put(values.data(), values.size() * sizeof(T)));
    }

   private:
    void* Put(const void* data, size_t size);

    std::vector<std::unique_ptr<char[]>> rooms_;  // the last one is in use
    size_t size_ = 0;                             // of that
  };

  cuda_abi::CUDA_EXT_SEM_NODE_PARAMS Tell(const SemaphoreList& list);

  Place bytes_;  // of arguments
  Place pointers_;
  Place extra_;
  Place sizes_;
  Place operations_;
  Place semaphores_;
  Place semaphore_params_;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_TOLD_PARAMS_H_
