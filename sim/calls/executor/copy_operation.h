// CopyOperation: a copy or a fill of any form, as rows.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_COPY_OPERATION_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_COPY_OPERATION_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"

namespace twinmmu {

// How many rows there are, of as many bytes each.
struct CopyShape {
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t depth = 1;

  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  uint64_t rows() const { return height * depth; }
};

// Rows that have no addresses: a box in an array.
class BoxOfRows {
 public:
  virtual ~BoxOfRows() = default;
  // Calls visit(memory, size) for each piece of the `size` bytes from `offset` on in the row that
  // is at `y` and `z` of the box. Memory that is null is not there: it reads as zeros. Nothing is
  // visited if the array is gone. With Mmu::mutex held, if only shared.
  virtual void ForEachPiece(uint64_t y, uint64_t z, uint64_t offset, uint64_t size,
                            absl::FunctionRef<void(char*, uint64_t)> visit) const = 0;
  // Why no work may access it now; null: it may. With Mmu::mutex held, if only shared.
  virtual const char* WhyNot() const { return nullptr; }
};

// What an operation writes or reads.
struct CopySide {
  enum Kind {
    kNothing,
    // As it is passed:
    kMemory,    // mapped or linear
    kHost,      // a pointer of the host, which may lead to memory of devices
    kAnywhere,  // one or the other
    kArray,
    // What kHost can turn out to be:
    kHostMemory,   // mapped or linear
    kHostPointer,  // of the process, taken at its word
  };
  Kind kind = kNothing;
  DeviceOrdinal device;  // whose access counts
  AddressRange first;    // row
  // From a row to the next, and from a layer of rows to the next: rows never overlap.
  Bytes pitch = {};
  Bytes layer = {};
  std::shared_ptr<const BoxOfRows> array = nullptr;
  Bytes before = {};                 // from the address that was passed to the first row
  bool has_rows_for_layers = false;  // an array of one dimension, and layered

  // The addresses from row `begin` up to row `end`, counted through all layers, with the gaps
  // between them.
  AddressRange Rows(const CopyShape& shape, uint64_t begin, uint64_t end) const {
    const DeviceAddress base = AddressOf(shape, begin);
    const DeviceAddress last = AddressOf(shape, end - 1);
    return AddressRange{base, last - base + first.size, Bytes(0)};
  }
  AddressRange All(const CopyShape& shape) const { return Rows(shape, 0, shape.rows()); }
  DeviceAddress passed() const { return first.base - before; }  // the address that was
  // The same from the address that was passed.
  AddressRange Passed(const CopyShape& shape) const {
    return AddressRange{passed(), All(shape).size + before, Bytes(0)};
  }

 private:
  DeviceAddress AddressOf(const CopyShape& shape, uint64_t row) const {
    if (row < shape.height) return first.base + pitch * row;
    return first.base + pitch * (row % shape.height) + layer * (row / shape.height);
  }
};

// Of at least one byte.
struct CopyOperation {
  enum Kind { kCopy, kFill };
  Kind kind = kCopy;
  CopyShape shape;
  CopySide written;
  CopySide read;
  FillPattern pattern;
  // What is read is read during the call, if it is memory of the host.
  bool reads_at_call = false;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_COPY_OPERATION_H_
