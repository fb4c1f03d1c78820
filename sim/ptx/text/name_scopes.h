// Names: what a name stands for at a place of a PTX text.

#ifndef TWINMMU_SIM_PTX_TEXT_NAME_SCOPES_H_
#define TWINMMU_SIM_PTX_TEXT_NAME_SCOPES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

struct Symbol {
  Operand::Kind kind = Operand::kDiscard;  // one of those that have an index
  int index = -1;
  int count = 1;  // of kVector: so many registers, from `index` on
};

// Scopes, one within the other: the module, a function, and blocks { } in it. An inner name hides
// an outer one. Names are parts of a text that outlives this object.
class Names {
 public:
  Names() : scopes_(1) {}

  void Enter() { scopes_.emplace_back(); }
  void Leave() { scopes_.pop_back(); }
  size_t depth() const { return scopes_.size(); }

  // In the innermost scope. False: it has that name.
  bool Add(absl::string_view name, Symbol symbol);
  // `prefix`0 to `prefix``count - 1`, of registers that are made when they are first looked up: so
  // a range takes no more memory than what is used of it.
  bool AddRange(absl::string_view prefix, Type type, uint64_t count);

  // What the name stands for, from the innermost scope outwards. A register of a range that was
  // not used before is added to `registers`, which may be null where there are none.
  std::optional<Symbol> Find(absl::string_view name, std::vector<Register>* registers);

 private:
  struct Range {
    Type type = Type::kB32;
    uint64_t count = 0;
  };
  // Of the standard library, here and in what follows a text: those of Abseil leak where the host
  // has no memory.
  struct Scope {
    std::map<absl::string_view, Symbol> symbols;
    std::map<absl::string_view, Range> ranges;
  };

  // The range of the scope that has `name`, or null.
  static const Range* FindRange(const Scope& scope, absl::string_view name);

  std::vector<Scope> scopes_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_NAME_SCOPES_H_
