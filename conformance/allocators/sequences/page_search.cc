#include "conformance/allocators/sequences/page_search.h"

#include <array>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/allocators/virtual_memory_pool.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/fault_plan.h"
#include "api/testing/forwarding.h"
#include "conformance/small_scope/breadth_first.h"

namespace twinmmu::conformance {
namespace {

constexpr DeviceOrdinal kDevice(0);
constexpr DeviceOrdinal kPeer(1);

// To who asks, the work of a stream that is held is not done.
class StreamHolder : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;

  void Hold(Stream stream) { held_.insert(stream.value()); }
  void LetGo(Stream stream) {
    held_.erase(stream.value());
    for (auto& [event, recorded_on] : pending_) {
      if (recorded_on == stream.value()) recorded_on = kNone;
    }
  }

  absl::Status RecordEvent(Event event, Stream stream) override {
    pending_[event.value()] = held_.count(stream.value()) != 0 ? stream.value() : kNone;
    return ForwardingExecutor::RecordEvent(event, stream);
  }
  // What is not held is nothing, so it is done soon.
  absl::StatusOr<bool> QueryEvent(Event event) override {
    const auto found = pending_.find(event.value());
    if (found != pending_.end() && found->second != kNone) return false;
    const absl::Status done = SynchronizeEvent(event);
    if (!done.ok()) return done;
    return true;
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  std::set<uint64_t> held_;
  std::map<uint64_t, uint64_t> pending_;  // the stream that is held, or kNone, by event
};

// The pool beside its model.
class PagePlayer {
 public:
  PagePlayer(Vmm& vmm, Executor& executor, const PageMachine& machine)
      : vmm_(vmm),
        executor_(executor),
        machine_(machine),
        scarce_(&vmm, &no_faults_),
        holder_(&executor) {}
  ~PagePlayer() {
    if (pool_ != nullptr) pool_->Close().IgnoreError();
    for (const Stream stream : streams_) executor_.DestroyStream(stream).IgnoreError();
  }

  absl::Status Open() {
    while (streams_.size() < PageMachine::kStreams) {
      const absl::StatusOr<Stream> stream = executor_.CreateStream(kDevice);
      if (!stream.ok()) return stream.status();
      streams_.push_back(*stream);
    }
    return absl::OkStatus();
  }

  // A new pool.
  absl::Status StartAnew() {
    for (const Stream stream : streams_) holder_.LetGo(stream);
    if (pool_ != nullptr) {
      const absl::Status closed = pool_->Close();
      if (!closed.ok()) return closed;
    }
    scarce_.ClearMemoryBudget(kDevice);
    PageOptions options;
    options.cache_limit = PageMachine::kCached * options.page_size;
    absl::StatusOr<std::unique_ptr<VirtualMemoryPool>> pool = VirtualMemoryPool::Make(
        &scarce_, &holder_, PageMachine::kPages * options.page_size, options);
    if (!pool.ok()) return pool.status();
    pool_ = *std::move(pool);
    scarce_.SetMemoryBudget(kDevice, machine_.memory * pool_->PageSize());
    model_.emplace(machine_);
    contents_ = {};
    return absl::OkStatus();
  }

  const PageModel& model() const { return *model_; }
  bool refused() const { return refused_; }

  // What differs; empty: nothing.
  std::string Do(const PageCall& call) {
    const DriverCallCounts before = pool_->Stats().calls;
    const PageModel::Answer expected = model_->Do(call);
    Bytes compacted;
    const absl::Status status = Make(call, compacted);
    refused_ = !status.ok();
    if (status.code() != expected.code) {
      return absl::StrCat("it gives ", status.ToString(), ", not ",
                          absl::StatusCodeToString(expected.code));
    }
    if (compacted != expected.compacted.value() * pool_->PageSize()) {
      return absl::StrCat("it returned ", ToString(compacted));
    }
    const DriverCallCounts made = pool_->Stats().calls - before;
    const bool is_exact = expected.code != absl::StatusCode::kResourceExhausted;
    if (is_exact && made != expected.calls) {
      std::ostringstream words;
      words << "it calls " << made << "; not " << expected.calls;
      return words.str();
    }
    return CheckState();
  }

 private:
  AddressRange RangeOf(uint64_t page) const {
    return {pool_->BaseAddress() + page * pool_->PageSize(), pool_->PageSize(), Bytes(0)};
  }

  absl::Status Make(const PageCall& call, Bytes& compacted) {
    const Bytes offset = call.run.first * pool_->PageSize();
    const Bytes size = call.run.count * pool_->PageSize();
    switch (call.kind) {
      case PageCall::Kind::kAllocate: {
        const absl::StatusOr<DeviceAddress> address = pool_->Allocate(offset, size);
        if (!address.ok()) return address.status();
        return Write(call.run);
      }
      case PageCall::Kind::kDeallocate:
        if (!call.stream.has_value()) return pool_->Deallocate(offset, size);
        return pool_->Deallocate(offset, size, {StreamOf(call)});
      case PageCall::Kind::kCompact: {
        const absl::StatusOr<Bytes> returned = pool_->Compact();
        compacted = returned.value_or(Bytes(0));
        return returned.status();
      }
      case PageCall::Kind::kGrant:
        return pool_->Grant(kPeer, call.access);
      case PageCall::Kind::kHold:
        holder_.Hold(StreamOf(call));
        return absl::OkStatus();
      case PageCall::Kind::kFinish:
        holder_.LetGo(StreamOf(call));
        return absl::OkStatus();
    }
    return absl::InternalError("no such call");
  }
  Stream StreamOf(const PageCall& call) const {
    return streams_[static_cast<size_t>(*call.stream)];
  }

  absl::Status Write(const PageRun& run) {
    absl::Status status;
    for (uint64_t page = run.first; page < run.end(); ++page) {
      contents_[page] = ++last_content_;
      status.Update(executor_.CopyHostToDevice(kDevice, RangeOf(page).base, &contents_[page],
                                               Bytes(sizeof(uint32_t))));
    }
    return status;
  }

  std::string CheckState() {
    const MemoryStats now = pool_->Stats();
    const Bytes page_size = pool_->PageSize();
    const Bytes in_use = model_->Count(PageState::kInUse) * page_size;
    const Bytes leaving = model_->Count(PageState::kLeaving) * page_size;
    const Bytes cached = model_->cached() * page_size;
    if (now.in_use != in_use || now.leaving != leaving || now.cached != cached) {
      std::ostringstream words;
      words << "it holds " << now << "; not " << in_use << ", " << leaving << " and " << cached;
      return words.str();
    }
    for (uint64_t page = 0; page < PageMachine::kPages; ++page) {
      std::string difference = CheckPage(page);
      if (!difference.empty()) return absl::StrCat("page ", page, ": ", difference);
    }
    return "";
  }

  std::string CheckPage(uint64_t page) {
    const AddressRange range = RangeOf(page);
    const bool in_use = model_->StateOf(page) == PageState::kInUse;
    const bool is_mapped = model_->StateOf(page) != PageState::kFree;
    if (pool_->IsMapped(page * range.size, range.size) != in_use) return "IsMapped says otherwise";
    const absl::StatusOr<Access> own = vmm_.GetAccess(Location::Device(kDevice), range.base);
    if (own.ok() != is_mapped) return "the driver says otherwise";
    if (!is_mapped) return "";
    if (*own != Access::kReadWrite) return "the device lacks access";
    if (machine_.has_peer) {
      const absl::StatusOr<Access> peer = vmm_.GetAccess(Location::Device(kPeer), range.base);
      if (!peer.ok() || *peer != model_->peer_access()) return "the peer has other access";
    }
    if (!in_use) return "";
    uint32_t content = 0;
    const absl::Status read =
        executor_.CopyDeviceToHost(kDevice, &content, range.base, Bytes(sizeof(content)));
    if (!read.ok()) return std::string(read.message());
    return content == contents_[page] ? "" : "it holds something else";
  }

  Vmm& vmm_;
  Executor& executor_;
  const PageMachine machine_;
  FaultPlan no_faults_;
  FaultInjectingVmm scarce_;
  StreamHolder holder_;
  std::vector<Stream> streams_;
  std::unique_ptr<VirtualMemoryPool> pool_;
  std::optional<PageModel> model_;
  std::array<uint32_t, PageMachine::kPages> contents_ = {};
  uint32_t last_content_ = 0;
  bool refused_ = false;
};

using small_scope::Path;

class PageSearcher {
 public:
  PageSearcher(Vmm& vmm, Executor& executor, const PageMachine& machine)
      : player_(vmm, executor, machine), calls_(AllPageCalls(machine)) {}

  PageFigures Run(std::optional<size_t> length) {
    if (Passes(player_.Open())) small_scope::SearchBreadthFirst(*this, length);
    return figures_;
  }

  // --- Of a machine in breadth_first.h
  size_t calls() const { return calls_.size(); }
  bool Replay(const Path& path) {
    made_.clear();
    if (!Passes(player_.StartAnew())) return false;
    for (const uint8_t number : path) {
      if (!Do(number)) return false;
    }
    return true;
  }
  bool IsOffered(size_t /*call*/) const { return true; }
  bool Make(size_t call) {
    ++figures_.transitions;
    if (!Do(call)) return false;
    if (player_.refused()) ++figures_.refused;
    return true;
  }
  std::string Shape() const { return player_.model().Shape(); }
  void Reached(uint64_t states) { figures_.states.push_back(states); }

 private:
  bool Do(size_t call) {
    made_.push_back(ToString(calls_[call]));
    return Passes(player_.Do(calls_[call]));
  }
  bool Passes(const absl::Status& status) { return Passes(status.ok() ? "" : status.ToString()); }
  bool Passes(const std::string& difference) {
    if (difference.empty()) return true;
    figures_.difference = absl::StrCat(difference, ", after\n  ", absl::StrJoin(made_, "\n  "));
    return false;
  }

  PagePlayer player_;
  const std::vector<PageCall> calls_;
  std::vector<std::string> made_;  // since the pool is there
  PageFigures figures_;
};

}  // namespace

PageFigures SearchPages(Vmm& vmm, Executor& executor, const PageMachine& machine,
                        std::optional<size_t> length) {
  return PageSearcher(vmm, executor, machine).Run(length);
}

}  // namespace twinmmu::conformance
