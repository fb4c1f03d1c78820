// Asynchronous operations, mbarriers and barriers of clusters in litmus tests.
//
// An asynchronous operation is a thread of its own. It waits for the instruction that asks for it,
// and whoever waits for it meets it at a barrier, where it arrives once it is done.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sim/coherence/litmus/litmus_builder.h"

namespace twinmmu::coherence {
namespace {

constexpr int kClusterBarrier = 16;  // behind those of CTAs
constexpr int kFirstMeeting = 32;

Instruction Meet(Instruction::Kind kind, int number, Semantics semantics, Scope scope) {
  Instruction barrier;
  barrier.kind = kind;
  barrier.meeting = Instruction::kOnce;
  barrier.barrier = number;
  barrier.semantics = semantics;
  barrier.scope = scope;
  return barrier;
}

Instruction Completion(int number) {
  Instruction arrival = Meet(Instruction::kBarrierArrive, number, Semantics::kRelease, Scope::kSys);
  arrival.completes = true;
  return arrival;
}

Instruction Only(Instruction::Kind kind) {
  Instruction instruction;
  instruction.kind = kind;
  return instruction;
}

}  // namespace

int ProgramBuilder::MeetingNumber(absl::string_view name) {
  const int next = kFirstMeeting + static_cast<int>(meetings_.size());
  return meetings_.emplace(std::string(name), next).first->second;
}

absl::StatusOr<int> ProgramBuilder::FindProxyAddress(absl::string_view name, Proxy proxy,
                                                     const Place& place) {
  const absl::StatusOr<int> generic = FindAddress(name, false, place);
  if (!generic.ok() || proxy == Proxy::kGeneric) return generic;
  std::vector<Address>& all = program_.addresses;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Address& address) {
    return address.generic == *generic && address.proxy == proxy;
  });
  if (found != all.end()) return static_cast<int>(found - all.begin());
  Address address = all[static_cast<size_t>(*generic)];
  address.proxy = proxy;
  address.generic = *generic;
  all.push_back(std::move(address));
  return static_cast<int>(all.size()) - 1;
}

// The operation is `body`; it meets those who wait at `meeting`.
Instruction ProgramBuilder::Ask(absl::string_view text, std::vector<Instruction> body, int meeting,
                                const Thread& thread) {
  const int asked = MeetingNumber(absl::StrCat("asked ", operations_.size()));
  Thread operation;
  operation.name = absl::StrCat(thread.name, ".", operations_.size());
  operation.process = thread.process;
  operation.place = thread.place;
  operation.issuer = thread.process;
  operation.issuer_index = static_cast<int>(thread.instructions.size());
  operation.registers = {"%copied"};
  operation.instructions.push_back(
      Meet(Instruction::kBarrierWait, asked, Semantics::kAcquire, Scope::kSys));
  for (Instruction& instruction : body) {
    operation.instructions.push_back(std::move(instruction));
  }
  operation.instructions.push_back(Completion(meeting));
  for (Instruction& instruction : operation.instructions) instruction.text = std::string(text);
  operations_.push_back(std::move(operation));
  return Meet(Instruction::kBarrierArrive, asked, Semantics::kRelease, Scope::kSys);
}

// cp.async.bulk d, s [, mbarrier]; cp.reduce.async.bulk.OP d, s [, mbarrier]; cp.async d, s
absl::StatusOr<Instruction> ProgramBuilder::ParseCopy(absl::string_view text, Parts parts,
                                                      absl::string_view rest, Thread* thread) {
  const bool reduces = parts.Take("reduce");
  const bool bulk = std::count(parts.list.begin(), parts.list.end(), "bulk") != 0;
  const Proxy proxy = bulk ? Proxy::kAsync : Proxy::kGeneric;
  const std::vector<absl::string_view> operands = SplitOutsideBrackets(rest, ',');
  if (operands.size() < 2 || operands.size() > 3 || (!bulk && operands.size() == 3)) {
    return absl::InvalidArgumentError(
        "the operands are a target, a source, and for bulk copies that "
        "have one, an mbarrier");
  }
  Instruction read = Only(Instruction::kLoad);
  Instruction write = Only(reduces ? Instruction::kAtomic : Instruction::kStore);
  const absl::StatusOr<int> target = FindProxyAddress(operands[0], proxy, thread->place);
  const absl::StatusOr<int> source = FindProxyAddress(operands[1], proxy, thread->place);
  if (!target.ok()) return target.status();
  if (!source.ok()) return source.status();
  read.address = *source;
  read.result = 0;
  write.address = *target;
  write.value.reg = 0;
  if (reduces) {
    write.semantics = Semantics::kRelaxed;
    write.scope = Scope::kGpu;
    for (const absl::string_view part : parts.list) FindArithmetic(part, &write.operation);
  }
  std::vector<Instruction> body = {read};
  // What comes behind the end of a bulk copy, or of its reads, is behind a fence of its own.
  if (bulk && operands.size() == 2) {
    body.push_back(Only(Instruction::kAsyncFence));
    body.push_back(Completion(GroupOf(*thread, "reads")));
  }
  body.push_back(write);
  if (bulk) body.push_back(Only(Instruction::kAsyncFence));
  const int meeting = operands.size() == 3 ? MeetingNumber(absl::StrCat("mbarrier ", operands[2]))
                                           : GroupOf(*thread, bulk ? "bulk" : "copies");
  return Ask(text, std::move(body), meeting, *thread);
}

// st.async d, value, mbarrier; red.async.OP d, value, mbarrier
absl::StatusOr<Instruction> ProgramBuilder::ParseRemoteStore(absl::string_view text, Parts parts,
                                                             absl::string_view rest,
                                                             Thread* thread) {
  const std::vector<absl::string_view> operands = SplitOutsideBrackets(rest, ',');
  if (operands.size() != 3) {
    return absl::InvalidArgumentError("the operands are a target, a number and an mbarrier");
  }
  Instruction write =
      Only(absl::StartsWith(text, "red") ? Instruction::kAtomic : Instruction::kStore);
  if (write.kind == Instruction::kAtomic) {
    write.semantics = Semantics::kRelaxed;
    write.scope = Scope::kCluster;
    for (const absl::string_view part : parts.list) FindArithmetic(part, &write.operation);
  }
  const absl::StatusOr<int> target = FindAddress(operands[0], false, thread->place);
  const absl::StatusOr<Value> value = ParseValue(operands[1], thread);
  if (!target.ok()) return target.status();
  if (!value.ok()) return value.status();
  if (value->reg >= 0) return absl::InvalidArgumentError("the value is not a number");
  write.address = *target;
  write.value = *value;
  return Ask(text, {write}, MeetingNumber(absl::StrCat("mbarrier ", operands[2])), *thread);
}

// wgmma.mma_async r, s: a product that reads s.
absl::StatusOr<Instruction> ProgramBuilder::ParseProduct(absl::string_view text,
                                                         absl::string_view rest, Thread* thread) {
  const std::vector<absl::string_view> operands = SplitOutsideBrackets(rest, ',');
  if (operands.size() != 2)
    return absl::InvalidArgumentError("the operands are a register and a source");
  const absl::StatusOr<int> source = FindProxyAddress(operands[1], Proxy::kAsync, thread->place);
  if (!source.ok()) return source.status();
  Instruction read = Only(Instruction::kLoad);
  read.address = *source;
  read.result = 0;
  const Instruction asks =
      Ask(text, {read, Only(Instruction::kAsyncFence)}, GroupOf(*thread, "products"), *thread);
  operations_.back().registers = {std::string(operands[0])};
  return asks;
}

int ProgramBuilder::GroupOf(const Thread& thread, absl::string_view kind) {
  const std::string name = absl::StrCat(thread.name, " ", kind);
  return MeetingNumber(absl::StrCat(name, " ", waits_[name]));
}

Instruction ProgramBuilder::WaitForGroup(const Thread& thread, absl::string_view kind) {
  const Instruction wait =
      Meet(Instruction::kBarrierWait, GroupOf(thread, kind), Semantics::kAcquire, Scope::kSys);
  ++waits_[absl::StrCat(thread.name, " ", kind)];
  return wait;
}

absl::StatusOr<Instruction> ProgramBuilder::ParseMbarrier(Parts parts, absl::string_view rest) {
  const bool arrives = parts.Take("arrive");
  if (!arrives && !parts.Take("try_wait") && !parts.Take("test_wait")) {
    return absl::InvalidArgumentError("known are mbarrier.arrive, .try_wait and .test_wait");
  }
  Instruction barrier = Meet(arrives ? Instruction::kBarrierArrive : Instruction::kBarrierWait,
                             MeetingNumber(absl::StrCat("mbarrier ", rest)),
                             arrives ? Semantics::kRelease : Semantics::kAcquire, Scope::kCta);
  for (const absl::string_view part : parts.list) {
    if (part == "relaxed") barrier.semantics = Semantics::kRelaxed;
    FindScope(part, &barrier.scope);
  }
  return barrier;
}

absl::StatusOr<Instruction> ProgramBuilder::ParseClusterBarrier(Parts parts) {
  const bool arrives = parts.Take("arrive");
  if (!arrives && !parts.Take("wait")) {
    return absl::InvalidArgumentError("known are barrier.cluster.arrive and .wait");
  }
  Instruction barrier =
      Meet(arrives ? Instruction::kBarrierArrive : Instruction::kBarrierWait, kClusterBarrier,
           arrives ? Semantics::kRelease : Semantics::kAcquire, Scope::kCluster);
  barrier.meeting = Instruction::kOfCluster;
  if (parts.Take("relaxed")) barrier.semantics = Semantics::kRelaxed;
  return barrier;
}

bool ProgramBuilder::IsAsynchronous(absl::string_view word) {
  for (const char* begin : {"cp.", "st.async", "red.async", "wgmma.", "mbarrier.",
                            "barrier.cluster.", "fence.proxy.async"}) {
    if (absl::StartsWith(word, begin)) return true;
  }
  return false;
}

absl::StatusOr<Instruction> ProgramBuilder::ParseAsynchronous(absl::string_view text,
                                                              absl::string_view word, Parts parts,
                                                              absl::string_view rest,
                                                              Thread* thread) {
  if (word == "fence.proxy.async") return Only(Instruction::kAsyncFence);
  if (thread->kind != Thread::kResident) {
    return absl::UnimplementedError(
        "asynchronous operations and mbarriers are for tests of threads");
  }
  if (absl::StartsWith(word, "mbarrier.")) return ParseMbarrier(parts, rest);
  if (absl::StartsWith(word, "barrier.cluster.")) {
    parts.Take("cluster");
    return ParseClusterBarrier(parts);
  }
  if (absl::EndsWith(word, ".commit_group") || word == "wgmma.fence") {
    return Only(Instruction::kTrigger);  // nothing for memory
  }
  if (absl::StartsWith(word, "wgmma.wait_group")) return WaitForGroup(*thread, "products");
  if (absl::StartsWith(word, "cp.async.bulk.wait_group.read"))
    return WaitForGroup(*thread, "reads");
  if (absl::StartsWith(word, "cp.async.bulk.wait_group")) return WaitForGroup(*thread, "bulk");
  if (absl::StartsWith(word, "cp.async.wait_")) return WaitForGroup(*thread, "copies");
  if (absl::StartsWith(word, "cp.async.mbarrier.arrive")) {
    Instruction wait = WaitForGroup(*thread, "copies");
    return Ask(text, {wait}, MeetingNumber(absl::StrCat("mbarrier ", rest)), *thread);
  }
  if (absl::StartsWith(word, "wgmma.mma_async")) return ParseProduct(text, rest, thread);
  if (absl::StartsWith(word, "cp.async") || absl::StartsWith(word, "cp.reduce.async.bulk")) {
    return ParseCopy(text, parts, rest, thread);
  }
  if (absl::StartsWith(word, "st.async") || absl::StartsWith(word, "red.async")) {
    return ParseRemoteStore(text, parts, rest, thread);
  }
  return absl::InvalidArgumentError("there is no such asynchronous operation");
}

}  // namespace twinmmu::coherence
