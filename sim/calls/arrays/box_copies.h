// BoxCopies: the driver's calls that copy and fill boxes, which api/ has no place for: in two and
// three dimensions, from and to arrays, and many at once.

#ifndef TWINMMU_SIM_CALLS_ARRAYS_BOX_COPIES_H_
#define TWINMMU_SIM_CALLS_ARRAYS_BOX_COPIES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/executor.h"
#include "api/sparse_arrays.h"
#include "sim/base/call_guard.h"
#include "sim/calls/executor/copy_operation.h"
#include "sim/calls/executor/simulated_copies.h"

namespace twinmmu {

struct SimulatorState;
class SimulatedSparseArrays;

// Where a box lies, as a program describes it.
struct BoxEnd {
  // The driver's numbers.
  enum Memory { kHost = 1, kDevice = 2, kArray = 3, kAnywhere = 4 };
  int memory = 0;
  DeviceOrdinal device;  // whose access counts
  DeviceAddress base;    // unless it is an array
  Array array;
  ArrayExtent offset;   // x is in bytes
  uint64_t pitch = 0;   // from a row to the next, in bytes; 0: the next follows at once
  uint64_t height = 0;  // from a layer to the next, in rows; 0: there is one layer
  uint64_t level = 0;   // of a mipmapped array; only 0 works
};
struct BoxCopy {
  BoxEnd to;
  BoxEnd from;
  CopyShape shape;
  bool reads_at_call = false;
};

// Each box becomes one operation of SimulatedCopies. All errors are INVALID_VALUE, which is the
// only code that the documentation has for them; which of several errors a driver would tell was
// not measured. A box of which one is told is not begun, nor are those behind it.
//
// Offsets and sizes that 64 bits do not hold are refused. An H200 computes modulo 2^64, and copies
// what remains.
class BoxCopies {
 public:
  // All must outlive this object.
  BoxCopies(SimulatorState* state, SimulatedCopies* copies, SimulatedSparseArrays* arrays)
      : state_(*state), copies_(*copies), arrays_(*arrays) {}

  // A box without bytes is done, wherever its memory is. `failed` gets the number of the box
  // whose memory is to blame for an error, if any is.
  absl::Status Copy(const SimulatedCopies::Asked& asked, absl::Span<const BoxCopy> boxes,
                    size_t* failed = nullptr);
  // `width` elements of the pattern in each of `height` rows. The pitch does not matter for one.
  absl::Status Fill(const SimulatedCopies::Asked& asked, DeviceAddress destination, uint64_t pitch,
                    const FillPattern& pattern, uint64_t width, uint64_t height);

  // The operations that these would be, of whatever memory.
  absl::StatusOr<CopyOperation> Describe(const char* call, const BoxCopy& box);
  absl::StatusOr<CopyOperation> DescribeFill(const char* call, DeviceOrdinal device,
                                             DeviceAddress destination, uint64_t pitch,
                                             const FillPattern& pattern, uint64_t width,
                                             uint64_t height);

  // INVALID_VALUE for what is wrong in a way that only the caller can see.
  absl::Status Refuse(const char* call, const char* reason);

 private:
  absl::StatusOr<CopyOperation> FillOf(const char* call, DeviceOrdinal device,
                                       DeviceAddress destination, uint64_t pitch,
                                       const FillPattern& pattern, uint64_t width, uint64_t height);
  absl::StatusOr<CopyOperation> OperationOf(const char* call, const BoxCopy& box);
  // `side`: what it is called.
  absl::StatusOr<CopySide> SideOf(const char* call, const char* side, const BoxEnd& end,
                                  const CopyShape& shape);
  // Whether a driver takes rows that begin anywhere there: it does so for memory that is mapped, as
  // that of pools is, too. Source: an H200 with driver 580.159.
  bool IsMapped(const BoxEnd& end) const;
  absl::StatusOr<CopySide> RowsOf(const char* call, const char* side, const BoxEnd& end,
                                  const CopyShape& shape);

  SimulatorState& state_;
  SimulatedCopies& copies_;
  SimulatedSparseArrays& arrays_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_ARRAYS_BOX_COPIES_H_
