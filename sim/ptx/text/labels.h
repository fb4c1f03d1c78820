// Labels: where the labels of a function are, for the branches to them.

#ifndef TWINMMU_SIM_PTX_TEXT_LABELS_H_
#define TWINMMU_SIM_PTX_TEXT_LABELS_H_

#include <cstddef>
#include <map>
#include <vector>

#include "absl/strings/string_view.h"
#include "sim/ptx/text/cursor.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

// A branch may come before its label, so it is resolved when the block { } that it is in ends.
// Names are parts of a text that outlives this object.
class Labels {
 public:
  // A use of a label: operand `part` of an instruction of the body, or element `part` of a list.
  struct Use {
    absl::string_view name;
    Position position;
    bool of_list = false;
    size_t index = 0;  // of the instruction, or of the list
    size_t part = 0;
  };

  void Enter() { scopes_.emplace_back(); }
  // False: the block has a label of that name.
  bool Add(absl::string_view name, int instruction);
  void Refer(const Use& use);
  // Ends the innermost block: writes what its labels mean into `function`; the uses of others are
  // left to the block around it. Fails if there is none.
  void Leave(Function* function, Cursor* cursor);

 private:
  struct Scope {
    std::map<absl::string_view, int> labels;
    std::vector<Use> uses;
  };
  std::vector<Scope> scopes_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_LABELS_H_
