#include "sim/ptx/decode/fusions.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace twinmmu::ptx {
namespace {

// Of a product; one that more instructions read stays as it is.
constexpr size_t kMostReaders = 1000;

bool IsOneOf(absl::string_view word, std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What an instruction of floats is, if it has no modifiers but these.
struct Form {
  absl::string_view type;  // empty: it has others
  bool ftz = false;
  bool sat = false;
};

Form FormOf(const Instruction& instruction, size_t operands) {
  Form form;
  if (instruction.operands.size() != operands || instruction.modifiers.empty()) return {};
  for (size_t i = 0; i + 1 < instruction.modifiers.size(); ++i) {
    const std::string& modifier = instruction.modifiers[i];
    if (modifier != "ftz" && modifier != "sat") return {};
    (modifier == "ftz" ? form.ftz : form.sat) = true;
  }
  const std::string& type = instruction.modifiers.back();
  if (!IsOneOf(type, {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})) return {};
  if (instruction.operands[0].kind != Operand::kRegister) return {};
  form.type = type;
  return form;
}

bool IsProduct(const Instruction& instruction) {
  if (instruction.opcode != "mul" || instruction.guard >= 0) return false;
  const Form form = FormOf(instruction, 3);
  return !form.type.empty() && !form.sat;
}

bool IsSumOf(const Instruction& instruction, const Form& product) {
  if (instruction.opcode != "add" && instruction.opcode != "sub") return false;
  const Form form = FormOf(instruction, 3);
  return form.type == product.type && form.ftz == product.ftz;
}

bool IsCopy(const Instruction& instruction) {
  return instruction.opcode == "mov" && instruction.guard < 0 &&
         instruction.operands[0].kind == Operand::kRegister;
}

// Where an instruction has no sign for an operand (pairs of bf16), or would not flush (f16), the
// negative is a value of its own.
bool IsNegativeOf(const Instruction& instruction, const Form& product) {
  if (instruction.opcode != "neg" || instruction.guard >= 0) return false;
  const Form form = FormOf(instruction, 2);
  if (form.type != product.type || form.sat || form.type == "bf16x2") return false;
  return !form.ftz || (product.ftz && form.type == "f32");
}

// What the compiler makes a routine of, with branches.
bool IsRoutine(const Instruction& instruction) {
  const absl::string_view opcode = instruction.opcode;
  if (!IsOneOf(opcode, {"div", "rem", "rcp", "sqrt", "rsqrt"})) return false;
  const std::vector<std::string>& modifiers = instruction.modifiers;
  const absl::string_view type = modifiers.empty() ? "" : absl::string_view(modifiers.back());
  if (opcode == "rsqrt") return type == "f64";
  if (type != "f32" && type != "f64") return type != "u32";
  return std::any_of(modifiers.begin(), modifiers.end(), [](const std::string& modifier) {
    return IsOneOf(modifier, {"rn", "rz", "rm", "rp"});
  });
}

bool EndsBlock(const Instruction& instruction) {
  if (instruction.opcode == "fence") {
    const std::vector<std::string>& modifiers = instruction.modifiers;
    return !modifiers.empty() && IsOneOf(modifiers[0], {"acq_rel", "sc"});
  }
  return IsRoutine(instruction) ||
         IsOneOf(instruction.opcode,
                 {"bra", "brx", "exit", "ret", "trap", "brkpt", "call", "membar", "pmevent"});
}

// To the instruction behind it: no end of a block.
bool GoesOn(const Instruction& instruction, size_t at) {
  return instruction.opcode == "bra" && instruction.guard < 0 && instruction.operands.size() == 1 &&
         instruction.operands[0].index == static_cast<int>(at) + 1;
}

// What has no effect but its result.
bool OnlyComputes(const Instruction& instruction) {
  return IsOneOf(instruction.opcode,
                 {"mov", "cvt", "add", "sub", "mul", "fma", "neg", "abs", "min", "max"}) &&
         !instruction.operands.empty() && instruction.operands[0].kind == Operand::kRegister;
}

// Whether the first operand, if it is a register, is read.
bool ReadsFirst(const Instruction& instruction) {
  return IsOneOf(instruction.opcode, {"st", "red", "call", "brx", "bar", "barrier", "nanosleep",
                                      "stackrestore", "mbarrier", "cp", "wgmma"});
}

// Where a register stands.
struct Occurrence {
  int instruction = 0;
  int operand = -1;  // -1: within one, or as the guard
  bool written = false;
};

// Of a product: a sum that it, or a copy, is an operand of.
struct Use {
  int sum = 0;
  size_t operand = 0;
  bool negated = false;
};

struct Product {
  int instruction = 0;
  Form form;
  std::vector<int> copies;  // and negatives
  std::vector<Use> uses;
  bool fits = true;    // nothing but such sums reads it, and none twice
  bool added = false;  // to another product that went into the sum
};

class FusionFinder {
 public:
  explicit FusionFinder(const Function& function)
      : body_(function.body),
        fusions_(body_.size()),
        read_(function.registers.size()),
        occurrences_(function.registers.size()) {
    FindBlocks(function);
    FindRead();
    FindOccurrences();
    FindExposed();
  }

  std::vector<Fusion> Find() {
    for (int i = 0; i < static_cast<int>(body_.size()); ++i) {
      if (!IsProduct(At(i))) continue;
      Product product;
      product.instruction = i;
      product.form = FormOf(At(i), 3);
      Follow(i, false, &product);
      if (product.fits) products_.push_back(std::move(product));
    }
    for (size_t i = 0; i < products_.size(); ++i) {
      for (const Use& use : products_[i].uses) sums_[use.sum][use.operand] = i + 1;
    }
    for (const auto& [sum, operands] : sums_) Choose(sum, operands);
    for (const Product& product : products_) Finish(product);
    return std::move(fusions_);
  }

 private:
  using Operands = std::map<size_t, size_t>;  // of a sum: which product, counted from 1

  const Instruction& At(int index) const { return body_[static_cast<size_t>(index)]; }
  Fusion& FusionAt(int index) { return fusions_[static_cast<size_t>(index)]; }

  void FindBlocks(const Function& function) {
    std::vector<bool> begins(body_.size() + 1);
    for (size_t i = 0; i < body_.size(); ++i) {
      const Instruction& instruction = body_[i];
      if (!EndsBlock(instruction) || GoesOn(instruction, i)) continue;
      begins[i + 1] = true;
      for (const Operand& operand : instruction.operands) {
        if (operand.kind == Operand::kLabel) begins[static_cast<size_t>(operand.index)] = true;
        if (operand.kind != Operand::kTargets || instruction.opcode != "brx") continue;
        for (const int target : function.target_lists[static_cast<size_t>(operand.index)]) {
          begins[static_cast<size_t>(target)] = true;
        }
      }
    }
    int block = 0;
    for (size_t i = 0; i < body_.size(); ++i) blocks_.push_back(block += begins[i] ? 1 : 0);
  }

  void Note(const Operand& operand, const Occurrence& occurrence) {
    if (operand.kind == Operand::kRegister) {
      occurrences_[static_cast<size_t>(operand.index)].push_back(occurrence);
    }
    for (const Operand& part : operand.parts) Note(part, {occurrence.instruction, -1, false});
  }

  void NoteRead(const Operand& operand) {
    if (operand.kind == Operand::kRegister) read_[static_cast<size_t>(operand.index)] = true;
    for (const Operand& part : operand.parts) NoteRead(part);
  }

  void FindRead() {
    for (const Instruction& instruction : body_) {
      if (instruction.guard >= 0) read_[static_cast<size_t>(instruction.guard)] = true;
      for (size_t i = 0; i < instruction.operands.size(); ++i) {
        if (i != 0 || !OnlyComputes(instruction)) NoteRead(instruction.operands[i]);
      }
    }
  }

  // What an instruction reads comes before what it writes. Those whose results nobody reads are
  // passed over.
  void FindOccurrences() {
    for (size_t i = 0; i < body_.size(); ++i) {
      const Instruction& instruction = body_[i];
      if (OnlyComputes(instruction) && !read_[static_cast<size_t>(instruction.operands[0].index)]) {
        continue;
      }
      const int at = static_cast<int>(i);
      if (instruction.guard >= 0) {
        occurrences_[static_cast<size_t>(instruction.guard)].push_back({at, -1, false});
      }
      for (size_t j = 1; j < instruction.operands.size(); ++j) {
        Note(instruction.operands[j], {at, static_cast<int>(j), false});
      }
      if (instruction.operands.empty()) continue;
      const bool written =
          instruction.operands[0].kind == Operand::kRegister && !ReadsFirst(instruction);
      // Where it is written for some lanes only, the others keep what is there.
      if (written && instruction.guard >= 0) Note(instruction.operands[0], {at, -1, false});
      Note(instruction.operands[0], {at, 0, written});
    }
  }

  // What a block reads before it writes it.
  void FindExposed() {
    for (const std::vector<Occurrence>& all : occurrences_) {
      bool exposed = false;
      int block = -1;
      for (const Occurrence& each : all) {
        const int of_each = blocks_[static_cast<size_t>(each.instruction)];
        exposed |= of_each != block && !each.written;
        block = of_each;
      }
      exposed_.push_back(exposed);
    }
  }

  // Looks at all that reads what instruction `from` writes.
  void Follow(int from, bool negated, Product* product) {
    const auto reg = static_cast<size_t>(At(from).operands[0].index);
    const std::vector<Occurrence>& all = occurrences_[reg];
    auto next = std::upper_bound(
        all.begin(), all.end(), from,
        [](int instruction, const Occurrence& each) { return instruction < each.instruction; });
    const int block = blocks_[static_cast<size_t>(from)];
    for (; product->fits; ++next) {
      if (next == all.end() || blocks_[static_cast<size_t>(next->instruction)] != block) {
        product->fits = !exposed_[reg];
        return;
      }
      if (next->written) return;
      AddReader(*next, negated, product);
    }
  }

  void AddReader(const Occurrence& reader, bool negated, Product* product) {
    const Instruction& instruction = At(reader.instruction);
    const bool negative = IsNegativeOf(instruction, product->form);
    if (reader.operand < 0 || product->copies.size() + product->uses.size() >= kMostReaders) {
      product->fits = false;
    } else if (negative || IsCopy(instruction)) {
      product->copies.push_back(reader.instruction);
      Follow(reader.instruction, negated != negative, product);
    } else if (IsSumOf(instruction, product->form)) {
      for (const Use& use : product->uses) product->fits &= use.sum != reader.instruction;
      product->uses.push_back({reader.instruction, static_cast<size_t>(reader.operand), negated});
    } else {
      product->fits = false;
    }
  }

  // Whether `product` may go into `sum`: neither it nor any other sum that reads the product has
  // another one that fewer sums read. For pairs, only `sum` counts.
  bool MayGo(const Product& product, int sum) const {
    if (product.added) return false;
    const bool pairs = product.form.type == "f16x2" || product.form.type == "bf16x2";
    for (const Use& use : product.uses) {
      if (pairs && use.sum != sum) continue;
      for (const auto& [operand, number] : sums_.at(use.sum)) {
        const Product& other = products_[number - 1];
        if (!other.added && other.uses.size() < product.uses.size()) return false;
      }
    }
    return true;
  }

  void Choose(int sum, const Operands& operands) {
    for (const auto& [operand, number] : operands) {
      Product& product = products_[number - 1];
      if (!MayGo(product, sum)) continue;
      for (const auto& [unused, other] : operands) {
        if (other != number) products_[other - 1].added = true;
      }
      bool negated = false;
      for (const Use& use : product.uses) {
        if (use.sum == sum) negated = use.negated;
      }
      const bool subtracts = At(sum).opcode == "sub";
      Fusion& fusion = FusionAt(sum);
      fusion.product = product.instruction;
      fusion.addend = 3 - operand;
      fusion.negates_product = negated != (subtracts && operand == 2);
      fusion.negates_addend = subtracts && operand == 1;
      FusionAt(product.instruction).goes_into_sums = true;
      return;
    }
  }

  void Finish(const Product& product) {
    Fusion& fusion = FusionAt(product.instruction);
    if (!fusion.goes_into_sums) return;
    int last = 0;
    bool all = true;
    for (const Use& use : product.uses) {
      const bool goes = FusionAt(use.sum).product == product.instruction;
      if (goes) last = std::max(last, use.sum);
      all &= goes;
    }
    fusion.left_out = all;
    for (const int copy : product.copies) FusionAt(copy).left_out = all;
    for (const size_t factor : {1, 2}) {
      const Operand& operand = At(product.instruction).operands[factor];
      if (operand.kind != Operand::kRegister) continue;
      const std::vector<Occurrence>& known = occurrences_[static_cast<size_t>(operand.index)];
      const int begin = product.instruction + (all ? 1 : 0);
      auto each = std::lower_bound(
          known.begin(), known.end(), begin,
          [](const Occurrence& one, int instruction) { return one.instruction < instruction; });
      // What is first, or within a vector or a pair, may be written.
      while (each != known.end() && each->operand > 0) ++each;
      fusion.keeps_factors |= each != known.end() && each->instruction < last;
    }
  }

  const std::vector<Instruction>& body_;
  std::vector<Fusion> fusions_;
  std::vector<bool> read_;                            // by register: at all
  std::vector<std::vector<Occurrence>> occurrences_;  // by register, in the order of the text
  std::vector<int> blocks_;                           // by instruction
  std::vector<bool> exposed_;                         // by register
  std::vector<Product> products_;
  std::map<int, Operands> sums_;
};

}  // namespace

std::vector<Fusion> FindFusions(const Function& function) {
  const bool any = std::any_of(function.body.begin(), function.body.end(), IsProduct);
  return any ? FusionFinder(function).Find() : std::vector<Fusion>();
}

}  // namespace twinmmu::ptx
