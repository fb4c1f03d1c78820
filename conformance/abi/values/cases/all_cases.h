// The cases, by what they are about.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_CASES_ALL_CASES_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_CASES_ALL_CASES_H_

#include <vector>

#include "conformance/abi/values/trial.h"

namespace twinmmu::abi {

std::vector<Case> FillCases();
std::vector<Case> CopyCases();
std::vector<Case> BatchCases();
std::vector<Case> AllocationCases();
std::vector<Case> MappingCases();
std::vector<Case> ManagedCases();
std::vector<Case> PoolCases();
std::vector<Case> PointerCases();
std::vector<Case> SharingCases();
std::vector<Case> ArrayCases();
std::vector<Case> SparseArrayCases();
std::vector<Case> TextureCases();
std::vector<Case> TextureReferenceCases();
std::vector<Case> StreamCases();
std::vector<Case> ContextCases();
std::vector<Case> DeviceCases();
std::vector<Case> FunctionCases();
std::vector<Case> LaunchCases();
std::vector<Case> GraphCases();
std::vector<Case> GraphNodeCases();
std::vector<Case> NodeAttributeCases();
std::vector<Case> TensorCases();

std::vector<Case> AllCases();

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_CASES_ALL_CASES_H_
