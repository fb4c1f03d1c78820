// Instructions of litmus tests: PTX with bare names for addresses.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sim/coherence/litmus/litmus_builder.h"

namespace twinmmu::coherence {
namespace {

constexpr char kKnown[] =
    "known are ld, st, atom, red (weak, relaxed, acquire, release, acq_rel, volatile, with .cta, "
    ".cluster, .gpu, .sys), fence.{sc,acq_rel,acquire,release}, membar, fence.proxy.alias, "
    "bar.sync, "
    "bar.arrive, multimem.{st,red,ld_reduce}, griddepcontrol, spin ... until, tex, suld, sust, "
    "fence.proxy.async, cp.async, cp.async.bulk, cp.reduce.async.bulk, st.async, red.async, "
    "wgmma.mma_async, mbarrier.{arrive,try_wait} and barrier.cluster.{arrive,wait}";

// Modifiers that change nothing for the memory model.
bool IsIgnored(absl::string_view part) {
  static constexpr const char* kIgnored[] = {
      "global",  "ca",    "cg",      "cs",  "cv",          "lu",
      "wb",      "wt",    "b32",     "u32", "s32",         "cta_group",
      "aligned", "noftz", "generic", "L1",  "evict_first", "evict_last"};
  for (const char* ignored : kIgnored) {
    if (part == ignored) return true;
  }
  return false;
}

Proxy ProxyOf(absl::string_view text) {
  if (absl::StartsWith(text, "tex")) return Proxy::kTexture;
  if (absl::StartsWith(text, "suld") || absl::StartsWith(text, "sust")) return Proxy::kSurface;
  return Proxy::kGeneric;
}

absl::Status Unknown(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("unknown: ", what, "; ", kKnown));
}

}  // namespace

bool FindScope(absl::string_view part, Scope* scope) {
  if (part == "cta")
    *scope = Scope::kCta;
  else if (part == "cluster")
    *scope = Scope::kCluster;
  else if (part == "gpu" || part == "gl")
    *scope = Scope::kGpu;
  else if (part == "sys")
    *scope = Scope::kSys;
  else
    return false;
  return true;
}

bool FindArithmetic(absl::string_view part, Arithmetic* operation) {
  static constexpr struct {
    const char* name;
    Arithmetic operation;
  } kOperations[] = {
      {"add", Arithmetic::kAdd},
      {"exch", Arithmetic::kExchange},
      {"cas", Arithmetic::kCompareAndSwap},
      {"min", Arithmetic::kMin},
      {"max", Arithmetic::kMax},
      {"and", Arithmetic::kAnd},
      {"or", Arithmetic::kOr},
      {"xor", Arithmetic::kXor},
      {"inc", Arithmetic::kIncrement},
      {"dec", Arithmetic::kDecrement},
  };
  for (const auto& candidate : kOperations) {
    if (part != candidate.name) continue;
    *operation = candidate.operation;
    return true;
  }
  return false;
}

absl::Status ProgramBuilder::ParseModifiers(const std::vector<absl::string_view>& parts,
                                            Instruction* out) {
  const bool atomic = out->kind == Instruction::kAtomic;
  const bool fence = out->kind == Instruction::kFence;
  bool has_semantics = false;
  bool has_scope = false;
  const auto set = [&](Semantics semantics) {
    out->semantics = semantics;
    has_semantics = true;
  };
  for (const absl::string_view part : parts) {
    if (IsIgnored(part)) continue;
    if (FindScope(part, &out->scope)) {
      has_scope = true;
    } else if (part == "weak" && !atomic && !fence) {
      set(Semantics::kWeak);
    } else if (part == "relaxed" && !fence) {
      set(Semantics::kRelaxed);
    } else if ((part == "volatile" || part == "mmio") && !atomic && !fence) {
      set(Semantics::kRelaxed);
      out->scope = Scope::kSys;
      has_scope = true;
    } else if (part == "acquire" && out->kind != Instruction::kStore) {
      set(Semantics::kAcquire);
    } else if (part == "release" && out->kind != Instruction::kLoad) {
      set(Semantics::kRelease);
    } else if (part == "acq_rel" && (atomic || fence)) {
      set(Semantics::kAcquireRelease);
    } else if (part == "sc" && fence) {
      set(Semantics::kAcquireRelease);
      out->sequential = true;
    } else if (!FindArithmetic(part, &out->operation)) {
      return Unknown(absl::StrCat("modifier .", part));
    }
  }
  // What PTX takes where it is not said.
  if (atomic && !has_semantics) out->semantics = Semantics::kRelaxed;
  if (fence && !has_semantics) out->semantics = Semantics::kAcquireRelease;
  if (!has_scope) out->scope = atomic ? Scope::kGpu : Scope::kSys;
  return absl::OkStatus();
}

absl::StatusOr<Value> ProgramBuilder::ParseValue(absl::string_view text, Thread* thread) {
  text = absl::StripAsciiWhitespace(text);
  Value value;
  if (!text.empty() && absl::ascii_isdigit(text[0])) {
    uint32_t number = 0;
    const bool hex = absl::StartsWithIgnoreCase(text, "0x");
    if (!(hex ? absl::SimpleHexAtoi(text, &number) : absl::SimpleAtoi(text, &number))) {
      return absl::InvalidArgumentError(absl::StrCat(text, " is not a number of 32 bits"));
    }
    value.constant = number;
    return value;
  }
  for (size_t i = 0; i < thread->registers.size(); ++i) {
    if (thread->registers[i] == text) value.reg = static_cast<int>(i);
  }
  if (value.reg < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is neither a number nor a register that was loaded before"));
  }
  return value;
}

absl::Status ProgramBuilder::ParseOperands(absl::string_view text, bool multimem, bool has_result,
                                           Thread* thread, Instruction* out) {
  const std::vector<absl::string_view> operands = SplitOutsideBrackets(text, ',');
  size_t values = out->kind == Instruction::kLoad ? 0 : 1;
  if (out->kind == Instruction::kAtomic && out->operation == Arithmetic::kCompareAndSwap)
    values = 2;
  const size_t needed = (has_result ? 1 : 0) + 1 + values;
  if (operands.size() != needed) {
    return absl::InvalidArgumentError(
        absl::StrCat(operands.size(), " operands, where ", needed, " are needed"));
  }
  size_t next = has_result ? 1 : 0;
  const absl::string_view operand = operands[next++];
  const Proxy proxy = ProxyOf(out->text);
  const absl::StatusOr<int> address = proxy == Proxy::kGeneric
                                          ? FindAddress(operand, multimem, thread->place)
                                          : FindProxyAddress(operand, proxy, thread->place);
  if (!address.ok()) return address.status();
  out->address = *address;
  for (size_t i = 0; i < values; ++i) {
    const absl::StatusOr<Value> value = ParseValue(operands[next++], thread);
    if (!value.ok()) return value.status();
    (values == 2 && i == 0 ? out->compare : out->value) = *value;
  }
  if (!has_result || operands[0] == "_") return absl::OkStatus();
  const std::string name(operands[0]);
  for (size_t i = 0; i < thread->registers.size(); ++i) {
    if (thread->registers[i] == name) out->result = static_cast<int>(i);
  }
  if (out->result < 0) {
    out->result = static_cast<int>(thread->registers.size());
    thread->registers.push_back(name);
  }
  return absl::OkStatus();
}

absl::Status ProgramBuilder::ParseSpin(absl::string_view text, Thread* thread, Instruction* out) {
  if (absl::StartsWith(text, "spin")) return absl::InvalidArgumentError("spin of a spin");
  const size_t until = text.find(" until ");
  if (until == absl::string_view::npos) {
    return absl::InvalidArgumentError("spin LOAD until VALUE: there is no until");
  }
  const absl::string_view load = absl::StripAsciiWhitespace(text.substr(0, until));
  absl::string_view value = absl::StripAsciiWhitespace(text.substr(until + 7));
  // "spin ld.acquire.sys flag until 1": nobody wants the value.
  const size_t blank = load.find(' ');
  const bool has_result = absl::StrContains(load, ',');
  const std::string whole = has_result || blank == absl::string_view::npos
                                ? std::string(load)
                                : absl::StrCat(load.substr(0, blank), " _,", load.substr(blank));
  absl::StatusOr<Instruction> inner = ParseInstruction(whole, thread);
  if (!inner.ok()) return inner.status();
  if (!inner->Reads()) return absl::InvalidArgumentError("spin needs a load");
  *out = *std::move(inner);
  Until condition;
  static constexpr struct {
    const char* name;
    Comparison comparison;
  } kComparisons[] = {
      {"==", Comparison::kEqual},     {"!=", Comparison::kNotEqual},
      {"<=", Comparison::kLessEqual}, {">=", Comparison::kGreaterEqual},
      {"<", Comparison::kLess},       {">", Comparison::kGreater},
  };
  for (const auto& candidate : kComparisons) {
    if (!absl::ConsumePrefix(&value, candidate.name)) continue;
    condition.comparison = candidate.comparison;
    break;
  }
  value = absl::StripAsciiWhitespace(value);
  // "until n": all that the program adds there.
  if (!absl::SimpleAtoi(value, &condition.value)) next_is_counted_ = true;
  out->until = condition;
  return absl::OkStatus();
}

absl::Status ProgramBuilder::ParseFence(Parts parts, absl::string_view text, Instruction* out) {
  if (!parts.Take("proxy")) {
    out->kind = Instruction::kFence;
    std::vector<absl::string_view> modifiers = parts.list;
    if (absl::StartsWith(text, "membar")) modifiers.push_back("sc");
    return ParseModifiers(modifiers, out);
  }
  if (!parts.Take("alias")) return Unknown(absl::StrCat("proxy fence ", text));
  out->kind = Instruction::kAliasFence;
  if (parts.list.empty()) return absl::OkStatus();
  if (parts.Take("release")) {
    out->kind = Instruction::kAliasReleaseFence;
    out->semantics = Semantics::kRelease;
  } else if (parts.Take("acquire")) {
    out->kind = Instruction::kAliasAcquireFence;
    out->semantics = Semantics::kAcquire;
  }
  if (out->kind == Instruction::kAliasFence || !parts.Take("sys") || !parts.list.empty()) {
    return Unknown(absl::StrCat(text, " (there is fence.proxy.alias.{acquire,release}.sys)"));
  }
  return absl::OkStatus();
}

absl::Status ProgramBuilder::ParseBarrier(Parts parts, absl::string_view text,
                                          absl::string_view rest, Instruction* out) {
  out->kind = Instruction::kBarrier;
  if (text == "__syncthreads()") return absl::OkStatus();
  parts.Take("cta");
  if (parts.Take("arrive")) {
    out->kind = Instruction::kBarrierArrive;
  } else if (!parts.Take("sync")) {
    return Unknown(text);
  }
  const std::vector<absl::string_view> operands = SplitOutsideBrackets(rest, ',');
  if (operands.empty() || !absl::SimpleAtoi(operands[0], &out->barrier) || out->barrier < 0 ||
      out->barrier > 15) {
    return absl::InvalidArgumentError("the number of a barrier is from 0 to 15");
  }
  return absl::OkStatus();
}

absl::Status ProgramBuilder::ParseAccess(absl::string_view opcode, Parts parts,
                                         absl::string_view rest, Thread* thread, Instruction* out) {
  const bool multimem = opcode == "multimem";
  const auto is = [&](absl::string_view plain, absl::string_view of_multimem) {
    return multimem ? parts.Take(of_multimem) : opcode == plain;
  };
  bool has_result = false;
  if (is("ld", "ld_reduce") || opcode == "tex" || opcode == "suld") {
    has_result = true;
  } else if (is("st", "st") || opcode == "sust") {
    out->kind = Instruction::kStore;
  } else if (is("red", "red") || opcode == "atom") {
    out->kind = Instruction::kAtomic;
    has_result = opcode == "atom";
  } else {
    return Unknown(absl::StrCat("instruction ", opcode,
                                parts.list.empty() ? "" : absl::StrCat(".", parts.list[0])));
  }
  if (std::count(parts.list.begin(), parts.list.end(), "nc") != 0) {
    return absl::UnimplementedError("ld.global.nc is outside of the model (R13)");
  }
  // The scope of the device is what the others have where none is said.
  if (multimem) parts.list.insert(parts.list.begin(), "sys");
  const absl::Status modifiers = ParseModifiers(parts.list, out);
  return modifiers.ok() ? ParseOperands(rest, multimem, has_result, thread, out) : modifiers;
}

absl::StatusOr<Instruction> ProgramBuilder::ParseInstruction(absl::string_view text,
                                                             Thread* thread) {
  Instruction result;
  text = absl::StripAsciiWhitespace(text);
  result.text = std::string(text);
  const size_t blank = std::min(text.find_first_of(" \t"), text.size());
  const absl::string_view word = text.substr(0, blank);
  const absl::string_view rest = absl::StripAsciiWhitespace(text.substr(blank));
  Parts parts{absl::StrSplit(word, '.')};
  const absl::string_view opcode = parts.list.front();
  parts.list.erase(parts.list.begin());
  absl::Status status;
  if (IsAsynchronous(word)) {
    absl::StatusOr<Instruction> asynchronous = ParseAsynchronous(text, word, parts, rest, thread);
    if (!asynchronous.ok()) return asynchronous.status();
    asynchronous->text = std::string(text);
    return asynchronous;
  }
  if (word == "spin") {
    status = ParseSpin(rest, thread, &result);
    result.text = std::string(text);
  } else if (opcode == "fence" || opcode == "membar") {
    status = ParseFence(parts, text, &result);
  } else if (opcode == "bar" || opcode == "barrier" || opcode == "__syncthreads()") {
    status = ParseBarrier(parts, text, rest, &result);
  } else if (word == "griddepcontrol.launch_dependents") {
    result.kind = Instruction::kTrigger;
  } else if (word == "griddepcontrol.wait") {
    result.kind = Instruction::kGridWait;
  } else {
    status = ParseAccess(opcode, parts, rest, thread, &result);
  }
  if (!status.ok()) return status;
  return result;
}

}  // namespace twinmmu::coherence
