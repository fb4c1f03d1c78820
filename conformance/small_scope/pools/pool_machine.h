// PoolMachine: a driver's pool, two streams and an event, as PoolModel has them.

#ifndef TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_MACHINE_H_
#define TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_MACHINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "conformance/abi/pools/pool_test.h"
#include "conformance/small_scope/pools/pool_model.h"

namespace twinmmu::conformance::small_scope {

// On the driver under test, with the primary context of device 0. A step is made on the pool that
// Begin has made last. Each block has a number of its own written to both of its ends, in the order
// of its stream.
class PoolMachine {
 public:
  PoolMachine();
  virtual ~PoolMachine();
  PoolMachine(const PoolMachine&) = delete;
  PoolMachine& operator=(const PoolMachine&) = delete;

  // A new pool.
  void Begin(const PoolRules& rules);
  virtual PoolAnswer Do(const PoolStep& step);
  // Asks for everything: in which way the state is not that of the model; empty: it is.
  std::string Compare(const PoolModel& model) const;
  // Waits, looks at what is written to blocks, frees and destroys; what was wrong with that.
  std::string End();

 private:
  static constexpr size_t kCellSize = size_t{16} << 20;

  struct Block {
    CUdeviceptr address = 0;
    size_t size = 0;
    uint32_t tag = 0;
  };

  CUdeviceptr AddressOfCell(int cell) const {
    return origin_ + static_cast<size_t>(cell) * kCellSize;
  }
  CUstream StreamOf(const PoolStep& step) const {
    return streams_[static_cast<size_t>(step.stream)];
  }
  PoolAnswer Allocate(CUstream stream, int cells);
  CUresult Free(CUstream stream, int cell);
  CUresult SetNumber(abi::PoolAttributeNumber attribute, uint64_t value);
  std::string CompareAttributes(const PoolModel& model) const;

  CUcontext context_ = nullptr;
  std::array<CUstream, kStreamsOfPool> streams_{};
  CUevent event_ = nullptr;
  abi::CUmemoryPool pool_ = nullptr;
  bool destroyed_ = true;
  size_t memory_ = 0;       // that was free without the pool
  CUdeviceptr origin_ = 0;  // the first cell; 0: not known yet
  std::map<int, Block> blocks_;
  uint32_t last_tag_ = 0;
};

}  // namespace twinmmu::conformance::small_scope

#endif  // TWINMMU_CONFORMANCE_SMALL_SCOPE_POOLS_POOL_MACHINE_H_
