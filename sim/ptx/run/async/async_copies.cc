#include "sim/ptx/run/async/async_copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/ptx/run/block.h"

namespace twinmmu::ptx {
namespace {

// Slices of the block after which a copy gets on though nobody waits for it.
constexpr uint32_t kMostSlices = 4;
constexpr size_t kMostPending = 16384;  // of a block
constexpr uint64_t kLeastStep = 16;     // what bulk copies move is a multiple of it

bool IsOf(const AsyncOperation& operation, int warp, Lanes lanes) {
  return operation.warp == warp && (lanes >> operation.lane & 1) != 0;
}

}  // namespace

AsyncCopies::AsyncCopies(Block* block)
    : block_(*block),
      late_(block->grid().environment.mmu->profile.alias_policy == coherence::Policy::kStale ||
            block->grid().environment.mmu->profile.alias_policy == coherence::Policy::kRandom),
      shuffles_(block->grid().environment.mmu->profile.alias_policy == coherence::Policy::kRandom),
      random_(block->grid().environment.mmu->profile.alias_seed * 0x9e3779b97f4a7c15u +
              block->flat_index()) {}

uint64_t AsyncCopies::Random() {
  random_ += 0x9e3779b97f4a7c15u;
  uint64_t mixed = (random_ ^ (random_ >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

void AsyncCopies::Clear() {
  pending_.clear();
  telling_.clear();
  groups_.clear();
}

bool AsyncCopies::Add(AsyncOperation operation) {
  const bool bulk = operation.kind == AsyncOperation::kBulk;
  if (bulk && block_.proxy_writes() != nullptr && !MeetWrites(&operation)) return false;
  if (!late_) return Do(&operation);
  operation.group = GroupsOf(operation.warp, operation.lane, bulk).committed;
  // What cannot be accessed now is not there later.
  for (const bool of_target : {false, true}) {
    if (operation.kind == AsyncOperation::kArrive) break;
    if (!of_target && operation.kind == AsyncOperation::kStore) continue;
    const uint64_t size = of_target ? operation.size : operation.read;
    Part part;
    for (uint64_t done = 0; done < size; done += part.size) {
      part = At(operation, of_target, done);
      if (part.memory == nullptr) return FaultAt(operation, of_target, done);
    }
  }
  // Nothing is as late as that.
  if (pending_.size() >= kMostPending && !FinishAll()) return false;
  if (operation.has_barrier) ++telling_[operation.barrier];
  pending_.push_back(std::move(operation));
  if (!shuffles_) return true;
  return DoThose([&](const AsyncOperation&) { return Random() % 8 == 0; });
}

AsyncCopies::Groups& AsyncCopies::GroupsOf(int warp, int lane, bool bulk) {
  const size_t index = (static_cast<size_t>(warp) * kLanes + static_cast<size_t>(lane)) * 2 + bulk;
  if (groups_.size() <= index) groups_.resize(index + 1);
  return groups_[index];
}

void AsyncCopies::Commit(int warp, Lanes lanes, bool bulk) {
  if (!late_) return;
  for (; lanes != 0; lanes &= lanes - 1) ++GroupsOf(warp, __builtin_ctz(lanes), bulk).committed;
}

template <typename Chosen>
bool AsyncCopies::DoThose(const Chosen& chosen) {
  std::vector<AsyncOperation> those;
  auto kept = pending_.begin();
  for (AsyncOperation& operation : pending_) {
    if (chosen(operation)) {
      if (operation.has_barrier) --telling_[operation.barrier];
      those.push_back(std::move(operation));
    } else {
      if (&*kept != &operation) *kept = std::move(operation);
      ++kept;
    }
  }
  pending_.erase(kept, pending_.end());
  // Copies have no order among themselves; an arrival comes after the copies of its thread.
  for (size_t i = those.size(); shuffles_ && i > 1; --i) {
    std::swap(those[i - 1], those[static_cast<size_t>(Random() % i)]);
  }
  std::stable_partition(those.begin(), those.end(), [](const AsyncOperation& operation) {
    return operation.kind != AsyncOperation::kArrive;
  });
  return std::all_of(those.begin(), those.end(),
                     [&](AsyncOperation& operation) { return Do(&operation); });
}

bool AsyncCopies::Wait(int warp, Lanes lanes, bool bulk, uint32_t left, bool only_read) {
  const auto waits = [&](const AsyncOperation& operation) {
    const bool of_bulk = operation.kind == AsyncOperation::kBulk && !operation.has_barrier;
    if (!IsOf(operation, warp, lanes)) return false;
    if (bulk ? !of_bulk : operation.kind != AsyncOperation::kCopy) return false;
    const uint64_t committed = GroupsOf(warp, operation.lane, bulk).committed;
    return uint64_t{operation.group} + left < committed;
  };
  if (!only_read) return DoThose(waits);
  for (AsyncOperation& operation : pending_) {
    if (waits(operation) && !operation.was_read && !ReadBulk(&operation)) return false;
  }
  return true;
}

bool AsyncCopies::Drive(uint64_t barrier) {
  // Whoever polls comes here often.
  const auto telling = telling_.find(barrier);
  if (telling == telling_.end() || telling->second == 0) return true;
  const auto tells = [&](const AsyncOperation& operation) {
    return operation.has_barrier && operation.barrier == barrier;
  };
  if (shuffles_ && Random() % 4 != 0) {
    return DoThose([&](const AsyncOperation& operation) {
      return operation.kind == AsyncOperation::kBulk && tells(operation) && Random() % 2 == 0;
    });
  }
  // Of threads that arrive there, their copies come first.
  const auto thread_of = [](const AsyncOperation& operation) {
    return operation.warp * kLanes + operation.lane;
  };
  std::vector<bool> arrives;
  for (const AsyncOperation& operation : pending_) {
    if (operation.kind != AsyncOperation::kArrive || !tells(operation)) continue;
    const auto thread = static_cast<size_t>(thread_of(operation));
    if (arrives.size() <= thread) arrives.resize(thread + 1);
    arrives[thread] = true;
  }
  return DoThose([&](const AsyncOperation& operation) {
    const auto thread = static_cast<size_t>(thread_of(operation));
    const bool is_before =
        operation.kind == AsyncOperation::kCopy && thread < arrives.size() && arrives[thread];
    return is_before || tells(operation);
  });
}

bool AsyncCopies::NextSlice() {
  if (pending_.empty()) return true;
  const bool old = std::any_of(pending_.begin(), pending_.end(), [](AsyncOperation& operation) {
    return ++operation.slices > kMostSlices;
  });
  return old ? FinishAll() : true;
}

bool AsyncCopies::FinishAll() {
  return DoThose([](const AsyncOperation&) { return true; });
}

// --- One operation -------------------------------------------------------------------------------

AsyncCopies::Place AsyncCopies::Locate(const AsyncOperation& operation, bool of_target,
                                       uint64_t offset) {
  const uint64_t begin = of_target ? operation.to : operation.from;
  if (operation.box == nullptr) {
    return {begin + offset, (of_target ? operation.size : operation.read) - offset};
  }
  const TensorRun& run = operation.box->RunAt(offset);
  const uint64_t inside = offset - run.begin;
  const bool shared = of_target ? operation.to_shared : operation.from_shared;
  return {(shared ? begin + run.shared : run.global) + inside, run.size - inside};
}

// From the byte at `offset` of its target, or of its source, on.
AsyncCopies::Part AsyncCopies::At(const AsyncOperation& operation, bool of_target,
                                  uint64_t offset) {
  const auto [address, size] = Locate(operation, of_target, offset);
  Part part;
  part.size = size;
  if (of_target ? operation.to_shared : operation.from_shared) {
    part.memory = block_.SharedAt(address, part.size);
    part.armed = block_.aliases().watches_all();
    part.shared = true;
    return part;
  }
  if (operation.box != nullptr && !operation.box->RunAt(offset).inside) {
    // It is only read.
    part.memory = const_cast<char*>(operation.box->fill.data());
    part.filled = true;
    return part;
  }
  const Access access = of_target ? Access::kReadWrite : Access::kRead;
  const TranslationCache::Span* const span = block_.cache().Find(DeviceAddress(address), 1, access);
  if (span == nullptr) return of_target ? AtReplicas({address, size}) : part;
  const uint64_t inside = address - span->base.value();
  part.memory = span->memory + inside;
  part.size = std::min(part.size, span->size - inside);
  part.armed = span->armed;
  part.address_id = span->address_id;
  return part;
}

AsyncCopies::Part AsyncCopies::AtReplicas(const Place& place) {
  Part part;
  // Where they go on behind the border of a binding, step by step.
  for (const uint64_t size : {place.size, std::min(place.size, kLeastStep)}) {
    TranslationCache::Multicast found;
    if (!block_.cache().FindMulticast(DeviceAddress(place.address), size, Access::kReadWrite,
                                      &found)) {
      continue;
    }
    part.memory = found.replicas.front().memory;
    part.size = size;
    part.armed = IsArmed(found.replicas.front());
    part.address_id = found.address_id;
    part.others.assign(found.replicas.begin() + 1, found.replicas.end());
    break;
  }
  return part;
}

bool AsyncCopies::IsArmed(const Replica& replica) const {
  return replica.pages->IsArmed() || block_.aliases().watches_all();
}

void AsyncCopies::MeetCopies(const ProxyWrites::Copy& copy) {
  const ProxyWrites::Copy* const other = block_.proxy_writes()->FindCopy(copy);
  if (other == nullptr) return;
  AsyncHazard hazard;
  hazard.first_writes = other->writes;
  hazard.second_writes = copy.writes;
  hazard.waits_missing = true;
  hazard.address = DeviceAddress(
      copy.address + static_cast<uint64_t>(std::max<int64_t>(0, other->memory - copy.memory)));
  hazard.shared = copy.shared;
  block_.ReportHazard(other->step, copy.step, hazard);
}

bool AsyncCopies::MeetWrites(AsyncOperation* operation) {
  ProxyWrites& proxy = *block_.proxy_writes();
  bool unseen = false;
  // Who waits at the mbarrier of another block is not seen here.
  const bool known = !operation->has_barrier || block_.OwnerOf(operation->barrier) == &block_;
  for (const bool of_target : {false, true}) {
    ProxyWrites::Copy copy;
    copy.step = {operation->function, operation->instruction, operation->warp, operation->lane};
    copy.shared = of_target ? operation->to_shared : operation->from_shared;
    copy.writes = of_target;
    copy.reduces = of_target && operation->reduce != nullptr;
    copy.by_mbarrier = operation->has_barrier;
    copy.mbarrier = operation->barrier;
    Part part;
    bool reported = false;  // once for a box
    for (uint64_t done = 0; done < operation->size; done += part.size) {
      part = At(*operation, of_target, done);
      if (part.memory == nullptr) return FaultAt(*operation, of_target, done);
      if (part.filled || (reported && operation->box != nullptr)) continue;
      copy.address = Locate(*operation, of_target, done).address;
      uint64_t offset = 0;
      const ExecutedStep* const write = proxy.FindUnseen(part.memory, part.size, &offset);
      if (write != nullptr) {
        AsyncHazard hazard;
        hazard.first_writes = true;
        hazard.second_writes = of_target;
        hazard.address = DeviceAddress(copy.address + offset);
        hazard.shared = copy.shared;
        block_.ReportHazard(*write, copy.step, hazard);
        unseen |= !of_target;
        reported = true;
      }
      copy.memory = part.memory;
      copy.size = part.size;
      if (operation->box != nullptr) continue;
      MeetCopies(copy);
      if (known) proxy.Begin(copy);
    }
    // Of a box, what it has of shared memory: its rows are too many.
    if (operation->box != nullptr && copy.shared && operation->size != 0) {
      copy.address = of_target ? operation->to : operation->from;
      copy.size = operation->box->extent;
      copy.memory = block_.SharedAt(copy.address, copy.size);
      MeetCopies(copy);
      if (known) proxy.Begin(copy);
    }
  }
  // A later fence does not help.
  return !unseen || !late_ || (shuffles_ && Random() % 2 == 0) || ReadBulk(operation);
}

bool AsyncCopies::ReadBulk(AsyncOperation* operation) {
  operation->bytes.resize(operation->read);
  Part part;
  for (uint64_t done = 0; done < operation->read; done += part.size) {
    part = At(*operation, /*of_target=*/false, done);
    if (part.memory == nullptr) return FaultAt(*operation, /*of_target=*/false, done);
    char* const read = operation->bytes.data() + done;
    std::memcpy(read, part.memory, part.size);
    const ProxyWrites* const proxy = block_.proxy_writes();
    if (proxy != nullptr && !part.filled) proxy->PutOlder(part.memory, part.size, read);
  }
  operation->was_read = true;
  return true;
}

// The alias monitor observes it as accesses of the thread that asked.
void AsyncCopies::Write(const AsyncOperation& operation, const Part& to, const Part& from,
                        uint64_t size) {
  const auto move = [&] {
    if (from.memory == nullptr) {
      std::memset(to.memory, 0, size);
    } else if (operation.reduce != nullptr && !from.filled) {
      operation.reduce(to.memory, from.memory, size);
    } else {
      // Who looks at the bytes at the same time on another thread may see any of them first.
      std::memmove(to.memory, from.memory, size);
    }
  };
  if ((!to.armed && !from.armed) || !block_.aliases().active() || !block_.threads().known()) {
    return move();
  }
  const auto access_of = [&](const Part& part) {
    coherence::MonitoredAccess access;
    access.memory = part.memory;
    access.armed = part.armed;
    access.address = part.address_id;
    if (part.shared && &to == &part) access.shared = block_.shared().data();
    access.thread =
        block_.threads().FirstOf(operation.warp) + static_cast<coherence::ThreadId>(operation.lane);
    access.call = block_.grid().launch->call_id;
    const coherence::Site sites = block_.threads().sites();
    if (sites != SiteTable::kUnknown) {
      access.site =
          sites + operation.function->first_site + static_cast<uint32_t>(operation.instruction);
    }
    return access;
  };
  coherence::AliasMonitor::Session session(&block_.aliases());
  if (to.armed) session.BeforeRangeStore(access_of(to), size);
  move();
  if (from.armed) {
    // Older values, if there are any, can only be put where nothing is added to them.
    std::vector<char> read(from.memory, from.memory + size);
    session.AfterRangeLoad(access_of(from), size,
                           operation.reduce == nullptr ? to.memory : read.data());
  }
  if (to.armed) session.AfterRangeStore(access_of(to), size);
}

bool AsyncCopies::Move(AsyncOperation* operation) {
  uint64_t size = 0;
  for (uint64_t done = 0; done < operation->size; done += size) {
    Part to = At(*operation, /*of_target=*/true, done);
    if (to.memory == nullptr) return FaultAt(*operation, /*of_target=*/true, done);
    Part from;
    from.size = operation->size - done;
    if (done < operation->read) {
      from.size = operation->read - done;
      if (operation->kind == AsyncOperation::kStore) {
        from.memory = operation->value.data() + done;
      } else if (operation->was_read) {
        from.memory = operation->bytes.data() + done;
        from.filled = operation->box != nullptr && !operation->box->RunAt(done).inside;
      } else {
        from = At(*operation, /*of_target=*/false, done);
        if (from.memory == nullptr) return FaultAt(*operation, /*of_target=*/false, done);
      }
    }
    size = std::min(to.size, from.size);
    Write(*operation, to, from, size);
    ProxyWrites* const proxy = block_.proxy_writes();
    if (proxy != nullptr && operation->kind == AsyncOperation::kBulk) {
      proxy->Forget(to.memory, size);
    }
    for (const Replica& other : to.others) {
      to.memory = other.memory;
      to.armed = IsArmed(other);
      Write(*operation, to, from, size);
    }
  }
  return true;
}

bool AsyncCopies::Signal(const AsyncOperation& operation) {
  const char* wrong = nullptr;
  Block* const owner = block_.OwnerOf(operation.barrier);
  if (owner == nullptr) return Fault(operation, GridFault::kIllegalAddress, "of the mbarrier");
  char* const memory = owner->SharedAt(operation.barrier, sizeof(uint64_t));
  if (memory == nullptr) return Fault(operation, GridFault::kIllegalAddress, "of the mbarrier");
  Mbarriers::Object* const object =
      owner->mbarriers().Find(static_cast<uint32_t>(operation.barrier), memory, &wrong);
  if (object == nullptr) return Fault(operation, GridFault::kUndefined, wrong);
  if (block_.aliases().active()) {
    block_.threads().Arrive(&object->meeting, operation.warp, Lanes{1} << operation.lane);
  }
  wrong = operation.kind == AsyncOperation::kArrive
              ? Mbarriers::Arrive(object, memory, Mbarriers::Arrival())
              : Mbarriers::CompleteBytes(object, memory, operation.size);
  return wrong == nullptr || Fault(operation, GridFault::kUndefined, wrong);
}

bool AsyncCopies::Do(AsyncOperation* operation) {
  if (operation->kind != AsyncOperation::kArrive && !Move(operation)) return false;
  return !operation->has_barrier || Signal(*operation);
}

bool AsyncCopies::Fault(const AsyncOperation& operation, GridFault::Kind kind, const char* words) {
  GridFault& fault = block_.fault();
  const Code& code = *block_.grid().code;
  fault.kind = kind;
  fault.kernel = block_.grid().function().name;
  fault.place = PlaceOf(code, static_cast<size_t>(operation.function - code.functions.data()),
                        static_cast<size_t>(operation.instruction));
  fault.thread = block_.ThreadAt(operation.warp, operation.lane);
  fault.block = block_.index();
  fault.words = words;
  if (kind != GridFault::kIllegalAddress) return false;
  fault.address = DeviceAddress(operation.barrier);
  fault.size = Bytes(sizeof(uint64_t));
  fault.access = Access::kReadWrite;
  return false;
}

bool AsyncCopies::FaultAt(const AsyncOperation& operation, bool of_target, uint64_t offset) {
  const bool shared = of_target ? operation.to_shared : operation.from_shared;
  Fault(operation, GridFault::kIllegalAddress, shared ? "it is an address of shared memory" : "");
  GridFault& fault = block_.fault();
  const Place place = Locate(operation, of_target, offset);
  fault.address = DeviceAddress(place.address);
  fault.size = Bytes(place.size);
  fault.access = of_target ? Access::kReadWrite : Access::kRead;
  return false;
}

}  // namespace twinmmu::ptx
