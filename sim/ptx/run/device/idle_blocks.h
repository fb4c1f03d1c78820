// IdleBlocks: blocks of grids that have ended, for the next launch of the same kernel.
//
// To make blocks, with their warps and registers, takes as long as to run a short kernel.

#ifndef TWINMMU_SIM_PTX_RUN_DEVICE_IDLE_BLOCKS_H_
#define TWINMMU_SIM_PTX_RUN_DEVICE_IDLE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "api/address.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/run/block.h"

namespace twinmmu::ptx {

class Cluster;

// What blocks are made for.
struct BlockShape {
  std::shared_ptr<const Program> program;
  const KernelInfo* kernel = nullptr;  // of the program
  DeviceOrdinal device;
  Dim3 threads;
  Dim3 cluster;
  uint32_t dynamic_shared_bytes = 0;

  bool operator==(const BlockShape& other) const;
};

// Blocks that are not started, and what they see of their grid.
struct Residents {
  explicit Residents(BlockShape of) : shape(std::move(of)) {}
  const BlockShape shape;
  GridContext context;
  std::vector<std::unique_ptr<Cluster>> unused;
};

// Thread-safe.
class IdleBlocks {
 public:
  // How many shapes it remembers, those that were given last, and what blocks of one may take.
  static constexpr size_t kMostShapes = 8;
  static constexpr uint64_t kMostBytes = 256 << 10;

  IdleBlocks() { idle_.reserve(kMostShapes); }

  // Some of that shape, which it then has no more; null: it has none.
  std::unique_ptr<Residents> Take(const BlockShape& shape);
  // Keeps what is small of them. Throws nothing.
  void Give(std::unique_ptr<Residents> residents);
  // Keeps none of this program's.
  void Forget(const Program* program);

 private:
  // The first one whose shape `is`; null: none. With the lock.
  template <typename Is>
  std::unique_ptr<Residents> TakeFirst(const Is& is);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Residents>> idle_;  // the last one was given last
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_DEVICE_IDLE_BLOCKS_H_
