#include "conformance/process_server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/patterns.h"

namespace twinmmu::conformance {
namespace {

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

absl::StatusOr<uint64_t> Done(const absl::Status& status) {
  if (!status.ok()) return status;
  return 0;
}

uint64_t CountDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<uint64_t>(std::distance(begin(all), end(all)));
}

// Those with numbers below the next one that is free can be had, and `more`.
absl::Status LimitDescriptors(uint64_t more) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::InternalError("no limit is told");
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const OwnedDescriptor next(dup(STDERR_FILENO));
  if (!next.is_open()) return absl::InternalError("no descriptor is left");
  limit.rlim_cur = static_cast<rlim_t>(next.get()) + more;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::InternalError("no limit can be set");
  return absl::OkStatus();
}

}  // namespace

void ProcessServer::Run(int socket) {
  socket_ = socket;
  Request request;
  while (ReceivePacket(socket, &request, sizeof(request)).ok()) {
    const Answer answer = Serve(request);
    if (!SendPacket(socket, &answer, sizeof(answer)).ok()) break;
    if (request.step != Step::kSend || request.depth != 0 || answer.status != 0) continue;
    const Piece& piece = pieces_[request.memory];
    if (!SendShareableHandle(socket, piece.received.handle, piece.received.size).ok()) break;
  }
  std::_Exit(0);
}

Answer ProcessServer::Serve(const Request& request) {
  if (request.depth != 0) {
    Request inner = request;
    --inner.depth;
    if (other_ == nullptr) return MakeAnswer(absl::InternalError("no process was started here"));
    const absl::StatusOr<Answer> answer = other_->Ask(inner);
    return answer.ok() ? *answer : MakeAnswer(answer.status());
  }
  const bool is_of_a_piece = request.step >= Step::kSend && request.step <= Step::kPassOn;
  if (is_of_a_piece && request.memory >= pieces_.size()) {
    return MakeAnswer(absl::InternalError("there is no such memory"));
  }
  if (request.step == Step::kGetProperties) return ServeProperties(request);
  const Value value =
      is_of_a_piece ? ServePiece(request, pieces_[request.memory]) : ServeProcess(request);
  Answer answer = MakeAnswer(value.status());
  if (value.ok()) answer.value = *value;
  return answer;
}

Answer ProcessServer::ServeProperties(const Request& request) {
  const auto granted = vmm_.GetAllocationProperties(pieces_[request.memory].handle);
  Answer answer = MakeAnswer(granted.status());
  if (granted.ok()) answer.properties = *granted;
  return answer;
}

ProcessServer::Value ProcessServer::ServeProcess(const Request& request) {
  switch (request.step) {
    case Step::kReady:
      return 0;
    case Step::kReceive:
      return Receive();
    case Step::kCreate:
      return Create(request.size);
    case Step::kCountDescriptors:
      return CountDescriptors();
    case Step::kLimitDescriptors:
      return Done(LimitDescriptors(request.value));
    case Step::kStart:
      return Done(Start());
    default:
      return absl::InternalError("no such step");
  }
}

ProcessServer::Value ProcessServer::ServePiece(const Request& request, Piece& piece) {
  AddressRange start = piece.range;
  if (request.size != Bytes(0)) start.size = request.size;
  const auto seed = static_cast<uint32_t>(request.value);
  switch (request.step) {
    case Step::kSend:
      return 0;  // the handle follows the answer
    case Step::kExport:
      return Export(piece);
    case Step::kImport:
      return Import(piece);
    case Step::kMap:
      return Done(Map(piece));
    case Step::kGrant:
      return Done(Grant(piece));
    case Step::kGetAccess: {
      const auto access = vmm_.GetAccess(Location::Device(device_), piece.range.base);
      if (!access.ok()) return access.status();
      return static_cast<uint64_t>(*access);
    }
    case Step::kWrite:
      return Done(Write(start, seed));
    case Step::kCheck:
      return Done(Check(start, seed));
    case Step::kUnmap:
      return Done(vmm_.Unmap(piece.range));
    case Step::kRelease:
      return Done(vmm_.Release(piece.handle));
    case Step::kClose:
      piece.received.descriptor.Close();
      return 0;
    case Step::kAddDevice:
    case Step::kBind:
      return Done(ServeTeam(request, piece));
    case Step::kPassOn:
      return PassOn(piece);
    default:
      return absl::InternalError("no such step");
  }
}

absl::Status ProcessServer::ServeTeam(const Request& request, const Piece& piece) {
  if (multicast_ == nullptr) return absl::InternalError("no multicast here");
  if (request.step == Step::kAddDevice) return multicast_->AddDevice(piece.handle, device_);
  if (request.value >= pieces_.size()) return absl::InternalError("there is no such memory");
  return multicast_->BindMemory(pieces_[request.value].handle, Bytes(0), piece.handle, Bytes(0),
                                piece.received.size);
}

ProcessServer::Value ProcessServer::Receive() {
  absl::StatusOr<ReceivedMemory> received =
      ReceiveShareableHandle(socket_, {kSharingTimeout, geteuid(), getppid()});
  if (!received.ok()) return received.status();
  pieces_.push_back({*std::move(received), {}, {}});
  return pieces_.size() - 1;
}

ProcessServer::Value ProcessServer::Create(Bytes size) {
  AllocationProperties properties;
  properties.location = Location::Device(device_);
  properties.requested_handle_types = kFd;
  const absl::StatusOr<AllocationHandle> handle = vmm_.Create(size, properties);
  if (!handle.ok()) return handle.status();
  Piece piece;
  piece.handle = *handle;
  piece.received.size = size;
  pieces_.push_back(std::move(piece));
  return pieces_.size() - 1;
}

ProcessServer::Value ProcessServer::Export(Piece& piece) {
  const absl::StatusOr<ShareableHandle> exported = vmm_.ExportShareableHandle(piece.handle, kFd);
  if (!exported.ok()) return exported.status();
  piece.received.handle = *exported;
  piece.received.descriptor = OwnedDescriptor(exported->file_descriptor);
  return static_cast<uint64_t>(exported->file_descriptor);
}

ProcessServer::Value ProcessServer::Import(Piece& piece) {
  const absl::StatusOr<AllocationHandle> handle = vmm_.ImportShareableHandle(piece.received.handle);
  if (!handle.ok()) return handle.status();
  piece.handle = *handle;
  return handle->value();
}

absl::Status ProcessServer::Map(Piece& piece) {
  const absl::StatusOr<AddressRange> range = vmm_.AddressReserve(piece.received.size);
  if (!range.ok()) return range.status();
  piece.range = *range;
  return vmm_.Map(*range, piece.handle);
}

absl::Status ProcessServer::Grant(const Piece& piece) {
  return vmm_.SetAccess(piece.range, {{Location::Device(device_), Access::kReadWrite}});
}

absl::Status ProcessServer::Write(const AddressRange& range, uint32_t seed) {
  const std::vector<uint32_t> words = Pattern(seed, range.size);
  const absl::Status copied =
      executor_.CopyHostToDevice(device_, range.base, words.data(), range.size);
  // A small copy may return before it has arrived, and another process cannot wait for it.
  return copied.ok() ? executor_.SynchronizeDevice(device_) : copied;
}

absl::Status ProcessServer::Check(const AddressRange& range, uint32_t seed) {
  const std::vector<uint32_t> expected = Pattern(seed, range.size);
  std::vector<uint32_t> words(expected.size());
  const absl::Status read =
      executor_.CopyDeviceToHost(device_, words.data(), range.base, range.size);
  if (!read.ok()) return read;
  const uint64_t index = FirstDifference(words, expected);
  if (index == words.size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("word ", index, " is 0x", absl::Hex(words[index]),
                                          ", not 0x", absl::Hex(expected[index]),
                                          ", which was written with seed ", seed));
}

absl::Status ProcessServer::Start() {
  absl::StatusOr<std::unique_ptr<OtherProcess>> other = OtherProcess::Start();
  if (!other.ok()) return other.status();
  other_ = *std::move(other);
  return other_->Do({Step::kReady});
}

ProcessServer::Value ProcessServer::PassOn(const Piece& piece) {
  if (other_ == nullptr) return absl::InternalError("no process was started here");
  return other_->Send(piece.received.handle, piece.received.size);
}

}  // namespace twinmmu::conformance
