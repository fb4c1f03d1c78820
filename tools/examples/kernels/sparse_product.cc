// A sparse matrix whose rows have from none to a hundred values, all whole: sums are exact.

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/sparse_product.inc"
    ;

constexpr int kRows = 1003;
constexpr int kColumns = 500;

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<double> factors;
  for (int i = 0; i < kColumns; ++i) factors.push_back(numbers.Between(-100, 100));
  std::vector<int> row_begins = {0};
  std::vector<int> columns;
  std::vector<double> values;
  std::vector<double> expected;
  for (int row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int left = row % 7 == 0 ? 0 : numbers.Between(0, row % 10 == 0 ? 100 : 12); left > 0;
         --left) {
      columns.push_back(numbers.Between(0, kColumns - 1));
      values.push_back(numbers.Between(-9, 9));
      sum += values.back() * factors[static_cast<size_t>(columns.back())];
    }
    row_begins.push_back(static_cast<int>(columns.size()));
    expected.push_back(sum);
  }
  const DeviceArray<int> begins_of_rows(row_begins);
  const DeviceArray<int> columns_of_values(columns);
  const DeviceArray<double> matrix(values);
  const DeviceArray<double> vector(factors);
  const DeviceArray<double> product(kRows);
  module.Launch("sparse_product", {(kRows + 15) / 16, 128}, begins_of_rows.address(),
                columns_of_values.address(), matrix.address(), vector.address(), product.address(),
                kRows);
  return Compare("sums", product.Read(), expected);
}
