#include "conformance/abi/values/cases/all_cases.h"

namespace twinmmu::abi {

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const auto cases : {FillCases,
                           CopyCases,
                           BatchCases,
                           AllocationCases,
                           MappingCases,
                           ManagedCases,
                           PoolCases,
                           PointerCases,
                           SharingCases,
                           ArrayCases,
                           SparseArrayCases,
                           TextureCases,
                           TextureReferenceCases,
                           StreamCases,
                           ContextCases,
                           DeviceCases,
                           FunctionCases,
                           LaunchCases,
                           GraphCases,
                           GraphNodeCases,
                           NodeAttributeCases,
                           TensorCases}) {
    for (const Case& one : cases()) all.push_back(one);
  }
  return all;
}

}  // namespace twinmmu::abi
