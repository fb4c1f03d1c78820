#include "sim/ptx/text/labels.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu::ptx {
namespace {

void Resolve(const Labels::Use& use, int instruction, Function* function) {
  if (use.of_list) {
    function->target_lists[use.index][use.part] = instruction;
  } else {
    function->body[use.index].operands[use.part].index = instruction;
  }
}

}  // namespace

bool Labels::Add(absl::string_view name, int instruction) {
  return scopes_.back().labels.emplace(name, instruction).second;
}

void Labels::Refer(const Use& use) { scopes_.back().uses.push_back(use); }

void Labels::Leave(Function* function, Cursor* cursor) {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (const Use& use : scope.uses) {
    const auto label = scope.labels.find(use.name);
    if (label != scope.labels.end()) {
      Resolve(use, label->second, function);
    } else if (!scopes_.empty()) {
      scopes_.back().uses.push_back(use);
    } else {
      cursor->Fail(use.position, absl::StrCat("there is no label ", Quoted(use.name)));
    }
  }
}

}  // namespace twinmmu::ptx
