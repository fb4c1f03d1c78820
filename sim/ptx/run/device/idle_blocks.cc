#include "sim/ptx/run/device/idle_blocks.h"

#include <algorithm>
#include <iterator>
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

std::unique_ptr<Residents> IdleBlocks::Take(const BlockShape& shape) {
  const std::lock_guard lock(mutex_);
  for (auto it = idle_.rbegin(); it != idle_.rend(); ++it) {
    if (!((*it)->shape == shape)) continue;
    std::unique_ptr<Residents> taken = std::move(*it);
    idle_.erase(std::next(it).base());
    return taken;
  }
  return nullptr;
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
  const auto is_alike = [&](const std::unique_ptr<Residents>& other) {
    return other->shape == residents->shape;
  };
  auto oldest = std::find_if(idle_.begin(), idle_.end(), is_alike);
  if (oldest == idle_.end() && idle_.size() == kMostShapes) oldest = idle_.begin();
  if (oldest != idle_.end()) {
    forgotten = std::move(*oldest);
    idle_.erase(oldest);
  }
  idle_.push_back(std::move(residents));
}

// One after the other, so that it needs no memory.
void IdleBlocks::Forget(const Program* program) {
  const auto is_of_it = [&](const std::unique_ptr<Residents>& residents) {
    return residents->shape.program.get() == program;
  };
  for (;;) {
    std::unique_ptr<Residents> forgotten;  // beyond the lock
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(idle_.begin(), idle_.end(), is_of_it);
    if (found == idle_.end()) return;
    forgotten = std::move(*found);
    idle_.erase(found);
  }
}

}  // namespace twinmmu::ptx
