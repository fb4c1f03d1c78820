// Heat that spreads along a rod, all steps in one launch: a grid that stays, and waits for itself
// after each step.

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void persistent(float* first, float* second, int count, int steps) {
  const cg::grid_group grid = cg::this_grid();
  float* from = first;
  float* to = second;
  for (int step = 0; step < steps; ++step) {
    for (auto i = static_cast<int>(grid.thread_rank()); i < count;
         i += static_cast<int>(grid.size())) {
      const float left = i > 0 ? from[i - 1] : 0;
      const float right = i + 1 < count ? from[i + 1] : 0;
      to[i] = 0.25f * left + 0.5f * from[i] + 0.25f * right;
    }
    grid.sync();
    float* old = from;
    from = to;
    to = old;
  }
}
