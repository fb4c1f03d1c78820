// Types of functions of graphs that our cuda.h does not have.

#ifndef TWINMMU_CONFORMANCE_ABI_GRAPHS_NODE_TYPES_H_
#define TWINMMU_CONFORMANCE_ABI_GRAPHS_NODE_TYPES_H_

#include <cstddef>

#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {

struct EdgeData {
  unsigned char from_port;
  unsigned char to_port;
  unsigned char type;
  unsigned char reserved[5];
};
struct BatchParams {
  CUcontext context;
  unsigned int count;
  CUstreamBatchMemOpParams* operations;
  unsigned int flags;
};
struct AllocParams {
  int type = 1;  // pinned
  int handle_types = 0;
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  void* security_attributes = nullptr;
  size_t most = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
  const CUmemAccessDesc* grants = nullptr;
  size_t grant_count = 0;
  size_t size = 64;
  CUdeviceptr address = 0;
};
// CUlaunchAttributeValue
union NodeAttributeValue {
  alignas(8) char pad[64];
  int cooperative;
  int priority;
  unsigned char domains[2];
  unsigned cluster[3];
};
struct GenericParams {
  int type = 0;
  int reserved0[3] = {};
  long long of_type[29] = {};
  long long reserved2 = 0;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_GRAPHS_NODE_TYPES_H_
