// Fills of rows and of memory as a whole.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

template <typename Value>
void Fill(Trial& trial, const char* symbol) {
  CUdeviceptr address = Memory();
  Value value = 1;
  size_t count = 16;
  trial.Offset(kBytes, FIELD(address));
  trial.Any(FIELD(value));
  trial.Size(FIELD(count));
  trial.Answer(Call(symbol, address, value, count));
}
void Fill8(Trial& trial) { Fill<unsigned char>(trial, "cuMemsetD8_v2"); }
void Fill16(Trial& trial) { Fill<unsigned short>(trial, "cuMemsetD16_v2"); }
void Fill32(Trial& trial) { Fill<unsigned int>(trial, "cuMemsetD32_v2"); }

struct Rows {
  CUdeviceptr address = Memory();
  size_t pitch = 512;
  size_t width = 100;
  size_t height = 4;
};
Rows RowsIn(Trial& trial, size_t height) {
  Rows rows;
  rows.height = height;
  trial.Offset(kBytes, FIELD(rows.address));
  trial.Size(FIELD(rows.pitch));
  trial.Size(FIELD(rows.width));
  trial.Size(FIELD(rows.height));
  return rows;
}
void FillRows(Trial& trial, const char* symbol) {
  const Rows rows = RowsIn(trial, 4);
  trial.Answer(Call(symbol, rows.address, rows.pitch, 1, rows.width, rows.height));
}
void FillRows8(Trial& trial) { FillRows(trial, "cuMemsetD2D8_v2"); }
void FillRows16(Trial& trial) { FillRows(trial, "cuMemsetD2D16_v2"); }
void FillRows32(Trial& trial) { FillRows(trial, "cuMemsetD2D32_v2"); }
void FillOneRow(Trial& trial) {
  const Rows rows = RowsIn(trial, 1);
  trial.Answer(
      Call("cuMemsetD2D32Async", rows.address, rows.pitch, 1, rows.width, rows.height, Stream()));
}

}  // namespace

std::vector<Case> FillCases() {
  return {{"cuMemsetD8", Fill8},
          {"cuMemsetD16", Fill16},
          {"cuMemsetD32", Fill32},
          {"cuMemsetD2D8", FillRows8},
          {"cuMemsetD2D16", FillRows16},
          {"cuMemsetD2D32", FillRows32},
          {"cuMemsetD2D32Async/one-row", FillOneRow}};
}

}  // namespace twinmmu::abi
