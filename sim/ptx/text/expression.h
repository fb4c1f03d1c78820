// Constant expressions of PTX.

#ifndef TWINMMU_SIM_PTX_TEXT_EXPRESSION_H_
#define TWINMMU_SIM_PTX_TEXT_EXPRESSION_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sim/ptx/text/cursor.h"

namespace twinmmu::ptx {

struct Constant {
  enum Kind : uint8_t { kInteger, kF32, kF64 };
  Kind kind = kInteger;
  bool is_unsigned = false;  // of an integer: .u64, else .s64
  uint64_t bits = 0;
};

// Whether a constant expression may start with the cursor's token.
bool StartsConstant(const Token& token);

// The expression at the cursor: integers with all operators; of floats, one number, with + or -
// before it unless it is 0f... After an error: 0.
Constant ParseConstant(Cursor* cursor);

// The same up to an operator that binds less than * and /: what may follow `name +`.
Constant ParseTerm(Cursor* cursor);

// ParseConstant, where an integer is needed.
uint64_t ParseInteger(Cursor* cursor, absl::string_view expected);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_EXPRESSION_H_
