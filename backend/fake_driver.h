// FakeDriver: a DriverTable of functions that write down how they were called. For tests.
//
// It is generated from functions.inc, so a function added there is in every test at once. What a
// function puts into its outputs: the first gets 0xa1, the second 0xa2; those that need more are in
// fake_driver.cc.

#ifndef TWINMMU_BACKEND_FAKE_DRIVER_H_
#define TWINMMU_BACKEND_FAKE_DRIVER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backend/driver_table.h"

namespace twinmmu {

// One lives at a time: the functions of a table have nothing else to tell them apart. Its functions
// may be called from any thread.
class FakeDriver {
 public:
  FakeDriver();
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  // All functions there are.
  static DriverTable Table();
  // All but `symbol`.
  static DriverTable TableWithout(Symbol symbol);

  // Makes `symbol` return `result` and do nothing. 0 makes it work again.
  void SetResult(Symbol symbol, cuda_abi::CUresult result);

  // The calls since the last time, in order, arguments as the driver saw them, numbers hexadecimal:
  // "cuMemGetAccess(out, {1 0}, 0x1000)".
  std::vector<std::string> TakeCalls();

  // The contexts of the calling thread, the current one last; the driver's own bottom is empty.
  static std::vector<cuda_abi::CUcontext>& ContextStack();
  // The primary context of a device, and how often it is retained now.
  static cuda_abi::CUcontext PrimaryContext(cuda_abi::CUdevice device);
  int RetainCount(cuda_abi::CUdevice device);

  // What cuMemExportToShareableHandle and cuPointerGetAttribute write.
  std::vector<uint8_t> output_bytes;
  // What cuModuleLoadDataEx writes into the error log when it fails, and the image it was given.
  std::string jit_log;
  std::string jit_image;

  // For the functions of the table.
  static FakeDriver& Current();
  cuda_abi::CUresult Record(Symbol symbol, std::string call);
  void AddRetain(cuda_abi::CUdevice device, int change);

 private:
  std::mutex mutex_;
  std::map<Symbol, cuda_abi::CUresult> results_;
  std::map<cuda_abi::CUdevice, int> retains_;
  std::vector<std::string> calls_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_FAKE_DRIVER_H_
