#include "sim/libcudart/driver_functions.h"

#include <dlfcn.h>

namespace twinmmu::cudart {
namespace {

// Its parameters stay where the caller put them.
cudaError_t Missing() { return cudaErrorCallRequiresNewerDriver; }

ReportedPlace* NobodyReads() {
  static thread_local ReportedPlace place = {};
  return &place;
}

cudaError_t NobodyTells(CUcontext* /*current*/) { return cudaErrorNotReady; }

// Null as `otherwise`: a driver without it says so when it is called.
template <typename Function>
void Find(void* library, const char* symbol, Function** function, Function* otherwise = nullptr) {
  if (otherwise == nullptr) {
    otherwise = reinterpret_cast<Function*>(reinterpret_cast<void*>(&Missing));
  }
  void* const found = library != nullptr ? dlsym(library, symbol) : nullptr;
  *function = found != nullptr ? reinterpret_cast<Function*>(found) : otherwise;
}

}  // namespace

bool FindDriver(DriverFunctions& table) {
  // Never closed: the program may call to the very end.
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#define TWINMMU_CUDART_DRIVER(symbol, parameters) Find(library, #symbol, &table.symbol);
#include "sim/libcudart/driver_functions.inc"
#define TWINMMU_CUDART_FORWARD(first, last, where, name, driver, parameters, arguments) \
  Find(library, #driver, &table.driver);
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"
  Find(library, "twinmmuWarn", &table.twinmmuWarn);
  Find(library, "twinmmuCaller", &table.twinmmuCaller, NobodyReads);
  Find(library, "twinmmuContext", &table.twinmmuContext, NobodyTells);
  table.is_simulated = table.twinmmuCaller != NobodyReads;
  return library != nullptr;
}

}  // namespace twinmmu::cudart
