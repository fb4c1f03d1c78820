#include "conformance/abi/driver_under_test.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "gtest/gtest.h"

namespace twinmmu::abi {
namespace {

// Not destroyed: tests make calls when static objects are gone.
std::string& Name() {
  static auto* const name = new std::string("libcuda.so.1");
  return *name;
}

std::mutex opening;
std::atomic<void*> opened{nullptr};

}  // namespace

void SetDriver(const std::string& library) { Name() = library; }
const std::string& DriverName() { return Name(); }

void* OpenedDriver() {
  if (opened == nullptr) {
    const std::lock_guard lock(opening);
    if (opened == nullptr) opened = dlopen(Name().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      std::fprintf(stderr, "cannot open the driver: %s\n", dlerror());
      std::_Exit(2);
    }
  }
  return opened;
}

void CloseDriver() {
  const std::lock_guard lock(opening);
  dlclose(opened.exchange(nullptr));
}

void* FindSymbol(const char* symbol) { return dlsym(OpenedDriver(), symbol); }

CUresult MissingSymbol(const char* symbol) {
  ADD_FAILURE() << "the driver does not export " << symbol;
  return CUDA_ERROR_STUB_LIBRARY;
}

}  // namespace twinmmu::abi

void PrintTo(CUresult result, std::ostream* out) {
  const char* name = nullptr;
  twinmmu::abi::cuGetErrorName(result, &name);
  *out << (name != nullptr ? name : "no result of a driver") << " (" << static_cast<int>(result)
       << ")";
}
