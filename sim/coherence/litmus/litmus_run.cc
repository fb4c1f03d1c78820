#include "sim/coherence/litmus/litmus_run.h"

#include <algorithm>

namespace twinmmu::coherence {
namespace {

constexpr uint32_t kLocationBytes = 4;

// Of a location of the test.
LocationId LocationOf(size_t index) { return index * kLocationBytes; }

}  // namespace

LitmusRun::LitmusRun(const LitmusTest& test, const Modes& modes)
    : test_(&test), program_(&test.program), ordering_(modes) {
  for (size_t i = 0; i < program_->addresses.size(); ++i) {
    const Address& address = program_->addresses[i];
    ordering_.SetAddress(static_cast<AddressId>(i), address.multicast, address.device);
    if (address.proxy == Proxy::kGeneric) continue;
    ordering_.SetProxy(static_cast<AddressId>(i), address.proxy,
                       static_cast<AddressId>(address.generic));
  }
  for (size_t i = 0; i < program_->locations.size(); ++i) {
    view_.SetInitial(LocationOf(i), program_->locations[i].initial);
  }
  threads_.resize(program_->threads.size());
  for (size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].registers.resize(program_->threads[t].registers.size());
    if (program_->threads[t].kind != Thread::kResident) continue;
    threads_[t].phase = Phase::kRunning;
    ordering_.Start(static_cast<ThreadId>(t), program_->threads[t].place, Clocks());
  }
}

bool LitmusRun::CanStep(int t) const {
  const ThreadState& state = threads_[t];
  const Thread& thread = program_->threads[t];
  const auto ended = [&](int other) { return threads_[other].phase == Phase::kEnded; };
  if (state.phase == Phase::kEnded) return false;
  if (state.phase == Phase::kWaiting) {
    return std::all_of(thread.after.begin(), thread.after.end(), ended) &&
           std::all_of(thread.after_start.begin(), thread.after_start.end(),
                       [&](int other) { return threads_[other].phase != Phase::kWaiting; }) &&
           std::all_of(thread.after_trigger.begin(), thread.after_trigger.end(),
                       [&](int other) { return threads_[other].triggered || ended(other); });
  }
  if (state.next == thread.instructions.size()) return thread.kind != Thread::kResident;
  const Instruction& instruction = thread.instructions[state.next];
  if (instruction.kind == Instruction::kGridWait) {
    return std::all_of(thread.after_trigger.begin(), thread.after_trigger.end(), ended);
  }
  if (instruction.kind == Instruction::kBarrierWait ||
      (instruction.kind == Instruction::kBarrier && state.arrived)) {
    return IsComplete(KeyOf(t, instruction), instruction);
  }
  return true;
}

bool LitmusRun::IsDone() const {
  for (size_t t = 0; t < threads_.size(); ++t) {
    const bool resident = program_->threads[t].kind == Thread::kResident;
    const bool at_end = threads_[t].next == program_->threads[t].instructions.size();
    if (resident ? !at_end : threads_[t].phase != Phase::kEnded) return false;
  }
  return true;
}

void LitmusRun::Begin(int t, Chooser* chooser) {
  const Thread& thread = program_->threads[t];
  Clocks clocks;
  for (const int before : thread.after) clocks.Join(threads_[before].clocks);
  ordering_.Start(static_cast<ThreadId>(t), thread.place, clocks);
  threads_[t].phase = Phase::kRunning;
  chooser->Started(thread.place);
}

bool LitmusRun::Step(int t, Chooser* chooser) {
  ThreadState& state = threads_[t];
  const Thread& thread = program_->threads[t];
  const auto id = static_cast<ThreadId>(t);
  if (state.phase == Phase::kWaiting) {
    Begin(t, chooser);
    return true;
  }
  if (state.next == thread.instructions.size()) {
    ordering_.End(id, &state.clocks);
    state.phase = Phase::kEnded;
    return true;
  }
  const Instruction& instruction = thread.instructions[state.next];
  const Strength strength{instruction.semantics, instruction.scope};
  switch (instruction.kind) {
    case Instruction::kLoad:
    case Instruction::kStore:
    case Instruction::kAtomic:
      if (!Access(t, instruction, chooser)) return false;
      break;
    case Instruction::kFence:
      ordering_.Fence(id, strength, instruction.sequential);
      break;
    case Instruction::kAliasFence:
      ordering_.AliasFence(id);
      break;
    case Instruction::kAliasReleaseFence:
      ordering_.AliasReleaseFence(id);
      break;
    case Instruction::kAliasAcquireFence:
      ordering_.AliasAcquireFence(id);
      break;
    case Instruction::kAsyncFence:
      ordering_.AsyncFence(id);
      break;
    case Instruction::kBarrier:
    case Instruction::kBarrierArrive:
    case Instruction::kBarrierWait:
      return StepBarrier(t, instruction);
    case Instruction::kTrigger:
      state.triggered = true;
      break;
    case Instruction::kGridWait:
      for (const int primary : thread.after_trigger) {
        ordering_.Boundary(id, threads_[primary].clocks);
      }
      break;
  }
  chooser->Done(thread.place, instruction);
  ++state.next;
  return true;
}

LitmusRun::BarrierKey LitmusRun::KeyOf(int t, const Instruction& instruction) const {
  const auto found = threads_[t].turns.find(instruction.barrier);
  int turn = found == threads_[t].turns.end() ? 0 : found->second;
  // The turn is over with the arrival, which comes before the wait.
  if (instruction.kind == Instruction::kBarrierWait) --turn;
  return MeetingOf(program_->threads[t].place, instruction, turn);
}

// How many arrivals there are in that turn: one of each thread, or all.
int LitmusRun::Participants(const BarrierKey& key, const Instruction& barrier) const {
  int participants = 0;
  for (const Thread& thread : program_->threads) {
    int turn = 0;
    for (const Instruction& instruction : thread.instructions) {
      if (!instruction.Arrives() || instruction.barrier != barrier.barrier) continue;
      participants += MeetingOf(thread.place, instruction, turn++) == key ? 1 : 0;
    }
  }
  return participants;
}

bool LitmusRun::IsComplete(const BarrierKey& key, const Instruction& barrier) const {
  const auto found = meetings_.find(key);
  const int arrived = found == meetings_.end() ? 0 : found->second.arrived;
  return arrived == Participants(key, barrier);
}

void LitmusRun::Arrive(int t, const Instruction& instruction, Meeting* meeting) {
  ++meeting->arrived;
  Gathering* gathering = &meeting->gathering;
  if (instruction.meeting != Instruction::kOfCta) {
    meeting->arrivals.push_back({t, &instruction, Gathering()});
    gathering = &meeting->arrivals.back().gathering;
  }
  ordering_.Arrive(static_cast<ThreadId>(t), gathering);
}

void LitmusRun::Leave(int t, const Instruction& instruction, Meeting* meeting) {
  const auto id = static_cast<ThreadId>(t);
  if (instruction.meeting == Instruction::kOfCta) ordering_.Leave(id, &meeting->gathering);
  for (Arrival& arrival : meeting->arrivals) {
    if (Orders(*arrival.instruction, program_->threads[arrival.thread].place, instruction,
               program_->threads[t].place)) {
      ordering_.Leave(id, &arrival.gathering);
    }
  }
}

bool LitmusRun::StepBarrier(int t, const Instruction& instruction) {
  ThreadState& state = threads_[t];
  Meeting& meeting = meetings_[KeyOf(t, instruction)];
  if (instruction.Arrives() && !state.arrived) {
    Arrive(t, instruction, &meeting);
    if (instruction.kind == Instruction::kBarrier) {
      state.arrived = true;
      return true;
    }
  } else {
    Leave(t, instruction, &meeting);
  }
  state.arrived = false;
  if (instruction.Arrives()) ++state.turns[instruction.barrier];
  ++state.next;
  return true;
}

uint64_t LitmusRun::Operand(int t, const Value& value) const {
  return value.reg < 0 ? value.constant : threads_[t].registers[value.reg];
}

void LitmusRun::Check(const Instruction& instruction, LocationId location, const AccessEvent& event,
                      bool writes) {
  const Strength strength{instruction.semantics, instruction.scope};
  std::vector<HazardReport> reports;
  checker_.Check(ordering_, location, kLocationBytes, event, strength, writes, &reports);
  for (const HazardReport& report : reports) hazards_.insert(report.hazard);
}

bool LitmusRun::AccessOne(int t, const Instruction& instruction, LocationId location,
                          Chooser* chooser, uint64_t* old) {
  const auto id = static_cast<ThreadId>(t);
  const auto address = static_cast<AddressId>(instruction.address);
  const Strength strength{instruction.semantics, instruction.scope};
  const uint64_t compare = Operand(t, instruction.compare);
  const AccessEvent event = ordering_.Next(id, address);
  int source = OperationalModel::kInitialWrite;
  if (instruction.Reads()) {
    const std::vector<int> candidates = view_.Candidates(ordering_, location, id, address);
    const int newest = *std::max_element(candidates.begin(), candidates.end());
    source =
        chooser->ChooseRead({&instruction, program_->threads[t].place, location, address,
                             view_.AreStrong(ordering_, location, newest, id, address, strength)},
                            candidates);
    *old = view_.ValueOf(location, source);
  }
  // Where the comparison fails, it is a read.
  const bool fails = instruction.kind == Instruction::kAtomic &&
                     instruction.operation == Arithmetic::kCompareAndSwap && *old != compare;
  const bool writes = instruction.Writes() && !fails;
  if (instruction.Reads()) {
    Check(instruction, location, event, /*writes=*/false);
    std::vector<AccessEvent> observed;
    view_.Load(&ordering_, location, strength, source, event, &observed);
    checker_.Observe(location, kLocationBytes, observed, event);
  }
  if (!writes) return true;
  chooser->Stored(program_->threads[t].place, location, address);
  // Of an atomic operation, what it has read may order its write.
  Check(instruction, location, event, /*writes=*/true);
  const uint64_t after =
      chooser->ChooseAfter(view_.Open(ordering_, location, id, address, strength));
  const uint64_t operand = Operand(t, instruction.value);
  if (!instruction.Reads()) {
    return view_.Store(&ordering_, location, strength, operand, event, after);
  }
  return view_.Store(&ordering_, location, strength,
                     Apply(instruction.operation, *old, operand, compare), event, after, source);
}

bool LitmusRun::Access(int t, const Instruction& instruction, Chooser* chooser) {
  bool first = true;
  uint64_t result = 0;
  for (const int location : program_->addresses[instruction.address].locations) {
    uint64_t old = 0;
    if (!AccessOne(t, instruction, LocationOf(static_cast<size_t>(location)), chooser, &old))
      return false;
    result = first ? old : Apply(instruction.operation, result, old, 0);
    first = false;
  }
  if (instruction.until &&
      !Compare(result, instruction.until->comparison, instruction.until->value)) {
    return false;
  }
  if (instruction.result >= 0) threads_[t].registers[instruction.result] = result;
  return true;
}

std::vector<Outcome> LitmusRun::Outcomes() const {
  std::vector<Outcome> outcomes{Outcome()};
  for (const Observable& observable : test_->observables) {
    const std::vector<uint64_t> choices =
        observable.thread >= 0
            ? std::vector<uint64_t>{threads_[observable.thread].registers[observable.index]}
            : view_.FinalValues(LocationOf(static_cast<size_t>(observable.index)));
    std::vector<Outcome> longer;
    for (const Outcome& outcome : outcomes) {
      for (const uint64_t choice : choices) {
        longer.push_back(outcome);
        longer.back().push_back(choice);
      }
    }
    outcomes = std::move(longer);
  }
  return outcomes;
}

std::vector<uint64_t> LitmusRun::Key() {
  std::vector<uint64_t> key;
  uint64_t hazards = 0;
  for (const Hazard hazard : hazards_) hazards |= uint64_t{1} << static_cast<int>(hazard);
  key.push_back(hazards);
  for (const ThreadState& state : threads_) {
    key.push_back(static_cast<uint64_t>(state.phase) << 40 | uint64_t{state.triggered} << 34 |
                  uint64_t{state.arrived} << 33 | state.next);
    key.insert(key.end(), state.registers.begin(), state.registers.end());
    if (state.phase == Phase::kEnded) state.clocks.AppendTo(&key);
  }
  for (auto& [where, meeting] : meetings_) {
    key.push_back(static_cast<uint64_t>(meeting.arrived));
    meeting.gathering.AppendTo(&key);
    for (Arrival& arrival : meeting.arrivals) arrival.gathering.AppendTo(&key);
  }
  ordering_.AppendTo(&key);
  view_.AppendTo(&key);
  checker_.AppendTo(&key);
  return key;
}

}  // namespace twinmmu::coherence
