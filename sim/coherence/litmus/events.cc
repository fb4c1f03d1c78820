#include "sim/coherence/litmus/events.h"

namespace twinmmu::coherence {
namespace {

bool IsStrong(const Event& event) {
  const Instruction& instruction = *event.instruction;
  return instruction.IsFence() || (instruction.IsAccess() && instruction.IsStrong());
}

bool IsAccess(const Event& event) {
  return event.kind == Event::kRead || event.kind == Event::kWrite;
}

void AddInstruction(const Program& program, int thread, int index, std::vector<Event>* events) {
  const Instruction& instruction = program.threads[thread].instructions[index];
  Event event;
  event.thread = thread;
  event.index = index;
  event.instruction = &instruction;
  if (instruction.IsBarrier()) {
    event.kind = Event::kArrive;
    if (instruction.Arrives()) events->push_back(event);
    event.kind = Event::kDepart;
    if (instruction.kind != Instruction::kBarrierArrive) events->push_back(event);
    return;
  }
  if (!instruction.IsAccess()) {
    events->push_back(event);
    return;
  }
  event.address = instruction.address;
  for (const int location : program.addresses[instruction.address].locations) {
    event.location = location;
    event.partner = -1;
    const int first = static_cast<int>(events->size());
    if (instruction.Reads()) {
      event.kind = Event::kRead;
      if (instruction.Writes()) event.partner = first + 1;
      events->push_back(event);
    }
    if (instruction.Writes()) {
      event.kind = Event::kWrite;
      if (instruction.Reads()) event.partner = first;
      events->push_back(event);
    }
  }
}

}  // namespace

void Close(Relation* relation) {
  Relation& rows = *relation;
  for (size_t through = 0; through < rows.size(); ++through) {
    for (uint64_t& row : rows) {
      if ((row >> through & 1) != 0) row |= rows[through];
    }
  }
}

bool IsIrreflexive(const Relation& relation) {
  for (size_t i = 0; i < relation.size(); ++i) {
    if ((relation[i] >> i & 1) != 0) return false;
  }
  return true;
}

std::vector<Event> EventsOf(const Program& program) {
  std::vector<Event> events;
  for (size_t t = 0; t < program.threads.size(); ++t) {
    const Thread& thread = program.threads[t];
    const int size = static_cast<int>(thread.instructions.size());
    Event boundary;
    boundary.thread = static_cast<int>(t);
    boundary.kind = Event::kStart;
    if (thread.kind != Thread::kResident) events.push_back(boundary);
    for (int i = 0; i < size; ++i) AddInstruction(program, static_cast<int>(t), i, &events);
    boundary.kind = Event::kEnd;
    boundary.index = size;
    if (thread.kind != Thread::kResident) events.push_back(boundary);
  }
  return events;
}

bool IsProgramOrdered(const Event& a, const Event& b) {
  if (a.thread != b.thread) return false;
  if (a.index != b.index) return a.index < b.index;
  if (a.kind == Event::kArrive) return b.kind == Event::kDepart;
  return a.kind == Event::kRead && b.kind == Event::kWrite && a.location == b.location;
}

bool IsSameAddress(const Event& a, const Event& b) {
  return a.location == b.location && a.address == b.address;
}

bool IsMulticastPair(const Program& program, const Event& a, const Event& b, const Modes& modes) {
  return modes.multicast == MulticastMode::kGuide && a.location == b.location &&
         program.addresses[a.address].multicast != program.addresses[b.address].multicast;
}

bool IsMorallyStrong(const Program& program, const Event& a, const Event& b, const Modes& modes) {
  if (a.thread != b.thread) {
    const Place& place_a = program.threads[a.thread].place;
    const Place& place_b = program.threads[b.thread].place;
    if (!IsStrong(a) || !IsStrong(b) || !Includes(a.instruction->scope, place_a, place_b) ||
        !Includes(b.instruction->scope, place_b, place_a)) {
      return false;
    }
  }
  if (!IsAccess(a) || !IsAccess(b) || IsSameAddress(a, b)) return true;
  return IsStrong(a) && IsStrong(b) && IsMulticastPair(program, a, b, modes);
}

}  // namespace twinmmu::coherence
