#include "sim/ptx/decode/link.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sim/ptx/decode/decode.h"

namespace twinmmu::ptx {
namespace {

// As of one module.
constexpr uint64_t kMostBytes = uint64_t{1} << 52;

template <typename Symbol>
constexpr bool kIsFunction = std::is_same_v<Symbol, Function>;

// Dynamic shared memory, which each input may declare, and none defines.
bool IsDynamicShared(const Variable& variable) {
  return variable.external && variable.space == Space::kShared && variable.count == 0;
}
bool IsDynamicShared(const Function& /*function*/) { return false; }

bool IsOffered(const Variable& variable) {
  return !variable.external && variable.visibility != Visibility::kPrivate;
}
bool IsOffered(const Function& function) {
  return !function.external && (function.entry || function.visibility != Visibility::kPrivate);
}

uint64_t SizeOf(const Variable& variable) { return variable.size(); }
uint64_t SizeOf(const Function& /*function*/) { return 0; }

bool SameShape(const Variable& a, const Variable& b) {
  const bool known_sizes = a.count != 0 && b.count != 0;
  return a.space == b.space && (a.size() == b.size() || !known_sizes);
}
bool SameSizes(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Variable& x, const Variable& y) { return x.size() == y.size(); });
}
bool SameShape(const Function& a, const Function& b) {
  return a.entry == b.entry && SameSizes(a.parameters, b.parameters) &&
         SameSizes(a.results, b.results);
}

// "//linked 120 85": what follows are texts of 120 and 85 bytes.
constexpr absl::string_view kJoined = "//linked ";

}  // namespace

class Linker::State {
 public:
  absl::Status Add(LinkInput input) {
    inputs_.push_back(std::move(input));
    states_.emplace_back();
    ForEachKind(inputs_.size() - 1, [&](size_t at, size_t index, auto& symbol, Place&, auto&) {
      Offer(at, index, symbol);
    });
    return TakeErrors();
  }

  absl::StatusOr<Module> Run() {
    module_.files.emplace_back();
    ForAll([&](size_t input, size_t index, auto& symbol, Place& place, auto& all) {
      Take(input, index, symbol, &place, &all);
    });
    ForAll([&](size_t input, size_t, auto& symbol, Place& place, auto& all) {
      if (place.index < 0) place.index = Find(input, symbol, &all);
    });
    for (size_t input = 0; input < inputs_.size(); ++input) MergeHeader(input);
    ForAll([&](size_t input, size_t, auto& symbol, Place& place, auto& all) {
      if (!place.owned) return;
      Renumber(input, &symbol);
      symbol.name = all[static_cast<size_t>(place.index)].name;
      all[static_cast<size_t>(place.index)] = std::move(symbol);
    });
    const absl::Status status = TakeErrors();
    if (!status.ok()) return status;
    uint64_t bytes = 0;
    for (const Variable& variable : module_.variables) bytes += variable.size();
    if (bytes <= kMostBytes) return std::move(module_);
    return absl::ResourceExhaustedError("the variables of all inputs together are too large");
  }

 private:
  // A symbol that other inputs see: its definition, or the first mention of it.
  struct Mention {
    size_t input = 0;
    size_t index = 0;
    bool is_function = false;
    Visibility visibility = Visibility::kVisible;
    uint64_t size = 0;

    bool gives_way() const {
      return visibility == Visibility::kWeak || visibility == Visibility::kCommon;
    }
  };
  // Where a symbol of an input is in module_.
  struct Place {
    int index = -1;
    bool owned = false;  // it goes there; else it stands for what is there
  };
  struct Input {
    std::vector<Place> variables;
    std::vector<Place> functions;
    std::map<std::string, std::string> new_names;
    int earlier_files = 0;
    int earlier_calls = 0;  // that are inlined
  };

  // Calls visit(input, index, symbol, its place, all of its kind in module_).
  template <typename Visit>
  void ForAll(const Visit& visit) {
    for (size_t i = 0; i < inputs_.size(); ++i) ForEachKind(i, visit);
  }
  template <typename Visit>
  void ForEachKind(size_t input, const Visit& visit) {
    Module& module = inputs_[input].module;
    ForEach(input, &module.variables, &states_[input].variables, &module_.variables, visit);
    ForEach(input, &module.functions, &states_[input].functions, &module_.functions, visit);
  }
  template <typename Symbol, typename Visit>
  static void ForEach(size_t input, std::vector<Symbol>* symbols, std::vector<Place>* places,
                      std::vector<Symbol>* all, const Visit& visit) {
    places->resize(symbols->size());
    for (size_t i = 0; i < symbols->size(); ++i) visit(input, i, (*symbols)[i], (*places)[i], *all);
  }

  absl::Status TakeErrors() {
    if (errors_.empty()) return absl::OkStatus();
    const std::string words = absl::StrJoin(errors_, "\n");
    errors_.clear();
    return absl::InvalidArgumentError(words);
  }

  // The first step: which definition stands for each name, and whether all mentions agree.
  template <typename Symbol>
  void Offer(size_t input, size_t index, const Symbol& symbol) {
    if (!IsOffered(symbol) && (!symbol.external || IsDynamicShared(symbol))) return;
    names_.insert(symbol.name);
    const Mention mention{input, index, kIsFunction<Symbol>, symbol.visibility, SizeOf(symbol)};
    const auto [first, is_first] = mentions_.emplace(symbol.name, mention);
    if (!is_first && !Agree(first->second, symbol)) {
      errors_.push_back(absl::StrCat("'", symbol.name, "' is in '", inputs_[input].name,
                                     "' another thing than in '", inputs_[first->second.input].name,
                                     "'"));
    }
    if (!IsOffered(symbol)) return;
    const auto [at, is_new] = definitions_.emplace(symbol.name, mention);
    Mention& known = at->second;
    if (is_new) return;
    if (!known.gives_way() && !mention.gives_way()) {
      errors_.push_back(absl::StrCat("'", symbol.name, "' is defined in '",
                                     inputs_[known.input].name, "' and again in '",
                                     inputs_[input].name, "'"));
    } else if (!mention.gives_way() ||
               (known.visibility == Visibility::kCommon && mention.size > known.size)) {
      known = mention;
    }
  }
  template <typename Symbol>
  bool Agree(const Mention& first, const Symbol& symbol) const {
    if (first.is_function != kIsFunction<Symbol>) return false;
    const Module& module = inputs_[first.input].module;
    if constexpr (kIsFunction<Symbol>) {
      return SameShape(module.functions[first.index], symbol);
    } else {
      const Variable& variable = module.variables[first.index];
      const bool any_size =
          symbol.visibility == Visibility::kCommon && variable.visibility == Visibility::kCommon;
      return any_size ? variable.space == symbol.space : SameShape(variable, symbol);
    }
  }

  // The second: the places of what stays.
  template <typename Symbol>
  void Take(size_t input, size_t index, const Symbol& symbol, Place* place,
            std::vector<Symbol>* all) {
    const bool is_private = !IsOffered(symbol) && (!symbol.external || IsDynamicShared(symbol));
    if (!is_private) {
      const auto found = definitions_.find(symbol.name);
      if (found == definitions_.end() || found->second.input != input ||
          found->second.index != index || found->second.is_function != kIsFunction<Symbol>) {
        return;
      }
    }
    *place = {static_cast<int>(all->size()), true};
    all->emplace_back();
    all->back().name = symbol.name;
    // A private name that others have too becomes one that no text can have.
    if (is_private && !names_.insert(symbol.name).second) {
      absl::StrAppend(&all->back().name, "#", input + 1);
      states_[input].new_names[symbol.name] = all->back().name;
    }
  }

  // The third: the index of what a declaration, or a definition that gave way, stands for.
  template <typename Symbol>
  int Find(size_t input, const Symbol& symbol, std::vector<Symbol>* all) {
    const auto found = definitions_.find(symbol.name);
    if (found != definitions_.end()) {
      const Input& other = states_[found->second.input];
      if constexpr (kIsFunction<Symbol>) return other.functions[found->second.index].index;
      if constexpr (!kIsFunction<Symbol>) return other.variables[found->second.index].index;
    }
    // One declaration stands for all.
    const auto [at, is_new] = undefined_.emplace(symbol.name, static_cast<int>(all->size()));
    if (is_new) all->push_back(symbol);
    if (!kIsFunction<Symbol>) CheckDefined(input, symbol.name);
    return at->second;
  }
  void CheckDefined(size_t input, const std::string& name) {
    if (undefined_.count(name) == 0 || IsKnownFunction(name) || !missed_.insert(name).second)
      return;
    errors_.push_back(
        absl::StrCat("'", name, "', of '", inputs_[input].name, "', is nowhere defined"));
  }

  void MergeHeader(size_t input) {
    const Module& module = inputs_[input].module;
    module_.version = std::max(module_.version, module.version);
    module_.target = std::max(module_.target, module.target);
    module_.of_one_target |= module.of_one_target;
    module_.debug |= module.debug;
    module_.separate_samplers |= module.separate_samplers;
    states_[input].earlier_files = static_cast<int>(module_.files.size()) - 1;
    for (size_t i = 1; i < module.files.size(); ++i) module_.files.push_back(module.files[i]);
    const int functions = static_cast<int>(module_.inlined_functions.size());
    states_[input].earlier_calls = static_cast<int>(module_.inlined_calls.size());
    module_.inlined_functions.insert(module_.inlined_functions.end(),
                                     module.inlined_functions.begin(),
                                     module.inlined_functions.end());
    for (InlinedCall call : module.inlined_calls) {
      call.function += functions;
      Renumber(input, &call.at);
      module_.inlined_calls.push_back(call);
    }
  }

  void Renumber(size_t input, SourceLine* line) {
    if (line->file != 0) line->file += states_[input].earlier_files;
    if (line->inlined >= 0) line->inlined += states_[input].earlier_calls;
  }

  // The last: what a symbol names by a number of its input, it names by that of module_.
  void Renumber(size_t input, Variable* variable) {
    const std::map<std::string, std::string>& new_names = states_[input].new_names;
    for (Initializer& value : variable->initial) {
      if (value.address_of.empty()) continue;
      const auto changed = new_names.find(value.address_of);
      if (changed != new_names.end()) value.address_of = changed->second;
      CheckDefined(input, value.address_of);
    }
  }
  void Renumber(size_t input, Function* function) {
    std::set<int> callees;  // lists of them
    for (Instruction& instruction : function->body) {
      Renumber(input, &instruction.source);
      for (Operand& operand : instruction.operands) {
        Renumber(input, &operand);
        if (operand.kind == Operand::kTargets && instruction.opcode == "call") {
          callees.insert(operand.index);
        }
      }
    }
    for (const int list : callees) {
      for (int& callee : function->target_lists[static_cast<size_t>(list)]) {
        callee = IndexOf(input, callee, states_[input].functions, module_.functions);
      }
    }
  }
  void Renumber(size_t input, Operand* operand) {
    if (operand->kind == Operand::kVariable) {
      operand->index = IndexOf(input, operand->index, states_[input].variables, module_.variables);
    } else if (operand->kind == Operand::kFunction) {
      operand->index = IndexOf(input, operand->index, states_[input].functions, module_.functions);
    }
    for (Operand& part : operand->parts) Renumber(input, &part);
  }
  template <typename Symbol>
  int IndexOf(size_t input, int index, const std::vector<Place>& places,
              const std::vector<Symbol>& all) {
    const Place& place = places[static_cast<size_t>(index)];
    CheckDefined(input, all[static_cast<size_t>(place.index)].name);
    return place.index;
  }

  std::vector<LinkInput> inputs_;
  std::vector<Input> states_;  // by input
  Module module_;
  std::map<std::string, Mention> mentions_;  // the first of each name
  std::map<std::string, Mention> definitions_;
  std::map<std::string, int> undefined_;  // where they are declared in module_
  std::set<std::string> names_;           // of all symbols of module_
  std::set<std::string> missed_;
  std::vector<std::string> errors_;
};

Linker::Linker() : state_(std::make_unique<State>()) {}
Linker::~Linker() = default;

absl::Status Linker::Add(LinkInput input) { return state_->Add(std::move(input)); }
absl::StatusOr<Module> Linker::Run() { return state_->Run(); }

namespace {

// The lengths of the texts that were joined; none: it is no such text.
std::vector<size_t> LengthsOf(absl::string_view text) {
  std::vector<size_t> lengths;
  if (text.substr(0, kJoined.size()) != kJoined) return lengths;
  const size_t end = text.find('\n');
  if (end == absl::string_view::npos) return lengths;
  size_t left = text.size() - end - 1;
  for (const absl::string_view word :
       absl::StrSplit(text.substr(kJoined.size(), end - kJoined.size()), ' ')) {
    size_t length = 0;
    if (!absl::SimpleAtoi(word, &length) || length > left) return {};
    left -= length;
    lengths.push_back(length);
  }
  return left == 0 ? lengths : std::vector<size_t>();
}

}  // namespace

bool IsJoined(absl::string_view text) { return !LengthsOf(text).empty(); }

std::string JoinTexts(absl::Span<const std::string> texts) {
  const auto append_length = [](std::string* out, const std::string& text) {
    absl::StrAppend(out, text.size());
  };
  return absl::StrCat(kJoined, absl::StrJoin(texts, " ", append_length), "\n",
                      absl::StrJoin(texts, ""));
}

absl::StatusOr<Module> ParseJoined(absl::string_view text) {
  const std::vector<size_t> lengths = LengthsOf(text);
  if (lengths.empty()) return Parse(text);
  text.remove_prefix(text.find('\n') + 1);
  Linker linker;
  for (size_t i = 0; i < lengths.size(); ++i) {
    absl::StatusOr<Module> module = Parse(text.substr(0, lengths[i]));
    if (!module.ok()) return module.status();
    const absl::Status added = linker.Add({absl::StrCat("input ", i + 1), *std::move(module)});
    if (!added.ok()) return added;
    text.remove_prefix(lengths[i]);
  }
  return linker.Run();
}

}  // namespace twinmmu::ptx
