// The product of a sparse matrix (compressed rows) and a vector, eight lanes a row.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void sparse_product(const int* __restrict__ row_begins,
                                          const int* __restrict__ columns,
                                          const double* __restrict__ values,
                                          const double* __restrict__ vector, double* product,
                                          int rows) {
  const auto lanes = cg::tiled_partition<8>(cg::this_thread_block());
  const int row = static_cast<int>(blockIdx.x * lanes.meta_group_size() + lanes.meta_group_rank());
  if (row >= rows) return;
  double sum = 0;
  const int end = row_begins[row + 1];
  for (int i = row_begins[row] + static_cast<int>(lanes.thread_rank()); i < end; i += 8) {
    sum += values[i] * __ldg(vector + columns[i]);
  }
  sum = cg::reduce(lanes, sum, cg::plus<double>());
  if (lanes.thread_rank() == 0) product[row] = sum;
}
