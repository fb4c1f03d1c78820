// The softmax of each row, a warp a row, in one pass over the row for sum and maximum together.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cmath>

namespace cg = cooperative_groups;

extern "C" __global__ void softmax(const float* __restrict__ in, float* __restrict__ out, int rows,
                                   int columns) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = static_cast<int>(blockIdx.x * warp.meta_group_size() + warp.meta_group_rank());
  if (row >= rows) return;
  in += static_cast<size_t>(row) * columns;
  out += static_cast<size_t>(row) * columns;
  float most = -INFINITY;
  float sum = 0;
  for (int i = static_cast<int>(warp.thread_rank()); i < columns; i += 32) {
    const float value = in[i];
    const float higher = fmaxf(most, value);
    sum = sum * __expf(most - higher) + __expf(value - higher);
    most = higher;
  }
  const float row_most = cg::reduce(warp, most, cg::greater<float>());
  sum = most == -INFINITY ? 0 : sum * __expf(most - row_most);
  const float scale = 1 / cg::reduce(warp, sum, cg::plus<float>());
  for (int i = static_cast<int>(warp.thread_rank()); i < columns; i += 32) {
    out[i] = __expf(in[i] - row_most) * scale;
  }
}
