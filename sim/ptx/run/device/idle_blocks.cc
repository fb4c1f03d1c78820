#include "sim/ptx/run/device/idle_blocks.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/ptx/run/async/cluster.h"

namespace twinmmu::ptx {
namespace {

auto InOrder(const Dim3& extent) { return std::tie(extent.x, extent.y, extent.z); }

}  // namespace

bool BlockShape::operator==(const BlockShape& other) const {
  return kernel == other.kernel && device == other.device &&
         InOrder(threads) == InOrder(other.threads) && InOrder(cluster) == InOrder(other.cluster) &&
         dynamic_shared_bytes == other.dynamic_shared_bytes;
}

template <typename Is>
std::unique_ptr<Residents> IdleBlocks::TakeFirst(const Is& is) {
  const auto found =
      std::find_if(idle_.begin(), idle_.end(), [&](const auto& idle) { return is(idle->shape); });
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<Residents> taken = std::move(*found);
  idle_.erase(found);
  return taken;
}

std::unique_ptr<Residents> IdleBlocks::Take(const BlockShape& shape) {
  const std::lock_guard lock(mutex_);
  return TakeFirst([&](const BlockShape& other) { return other == shape; });
}

void IdleBlocks::Give(std::unique_ptr<Residents> residents) {
  std::vector<std::unique_ptr<Cluster>>& unused = residents->unused;
  uint64_t bytes = 0;
  size_t kept = 0;
  while (kept < unused.size() && (bytes += unused[kept]->bytes()) <= kMostBytes) ++kept;
  unused.resize(kept);
  if (kept == 0) return;
  std::unique_ptr<Residents> forgotten;  // beyond the lock
  const std::lock_guard lock(mutex_);
  forgotten = TakeFirst([&](const BlockShape& other) { return other == residents->shape; });
  if (idle_.size() == kMostShapes) forgotten = TakeFirst([](const BlockShape&) { return true; });
  idle_.push_back(std::move(residents));
}

// One after the other, so that it needs no memory.
void IdleBlocks::Forget(const Program* program) {
  std::unique_ptr<Residents> forgotten;  // beyond the lock
  do {
    forgotten.reset();
    const std::lock_guard lock(mutex_);
    forgotten = TakeFirst([&](const BlockShape& of) { return of.program.get() == program; });
  } while (forgotten != nullptr);
}

}  // namespace twinmmu::ptx
