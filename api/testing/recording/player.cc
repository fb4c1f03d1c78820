#include "api/testing/recording/player.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/testing/recording/arguments.h"

namespace twinmmu {
void Player::Free::operator()(void* memory) const { std::free(memory); }

Player::Player(PlayerTarget target, KnownContent known_content)
    : place_next_(std::move(target.place_next)),
      known_content_(known_content),
      driver_(
          std::move(target.driver), [this](const Json& line) { seen_ = line; },
          RecorderOptions{std::move(known_content), false}) {}

Player::~Player() { CloseDescriptors(); }

void Player::Begin() {
  CloseDescriptors();
  buffers_.clear();
  driver_.Begin();
}

absl::StatusOr<Json> Player::Play(const Json& line) {
  seen_ = nullptr;
  try {
    const absl::Status made = Make(line);
    if (!made.ok()) return made;
    SkipPastResults(line);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the program has no memory left to play a recording");
  } catch (const std::exception& wrong) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a line of a recording: ", wrong.what(), ", in ", line.dump()));
  }
  return seen_;
}

absl::Status Player::Make(const Json& line) {
  if (line.contains("closed")) {
    CloseDescriptor(line.at("closed").get<std::string>());
    return absl::OkStatus();
  }
  const std::string call = line.at("call").get<std::string>();
  const absl::StatusOr<Vmm*> vmm = driver_.vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::Status made = MakeOnVmm(**vmm, call, line);
  if (!absl::IsNotFound(made)) return made;
  const absl::StatusOr<Executor*> executor = driver_.executor();
  if (!executor.ok()) return executor.status();
  const absl::Status made_there = MakeOnExecutor(**executor, call, line);
  if (!absl::IsNotFound(made_there)) return made_there;
  return MakeOnSparseArrays(call, line);
}

// NotFound: not a call of Vmm.
absl::Status Player::MakeOnVmm(Vmm& vmm, const std::string& call, const Json& line) {
  const auto properties = [&] { return DecodeProperties(line.at("properties")); };
  if (call == "GetDriverVersion") {
    (void)vmm.GetDriverVersion();
  } else if (call == "GetDeviceCount") {
    (void)vmm.GetDeviceCount();
  } else if (call == "GetDeviceName") {
    (void)vmm.GetDeviceName(Device(line));
  } else if (call == "GetDeviceAttribute") {
    (void)vmm.GetDeviceAttribute(DecodeDeviceAttribute(line.at("attribute")), Device(line));
  } else if (call == "CanAccessPeer") {
    (void)vmm.CanAccessPeer(Device(line), Device(line, "peer"));
  } else if (call == "GetMemoryInfo") {
    (void)vmm.GetMemoryInfo(Device(line));
  } else if (call == "AddressReserve") {
    Reserve(vmm, line);
  } else if (call == "AddressFree") {
    (void)vmm.AddressFree(Range(line));
  } else if (call == "GetAllocationGranularity") {
    const auto option = static_cast<Granularity>(Whole(line.at("option")).get<uint32_t>());
    (void)vmm.GetAllocationGranularity(properties(), option);
  } else if (call == "Create") {
    (void)vmm.Create(Bytes(Number(line, "size")), properties(), Number(line, "flags"));
  } else if (call == "Release") {
    (void)vmm.Release(Handle(line));
  } else if (call == "RetainAllocationHandle") {
    (void)vmm.RetainAllocationHandle(Address(line, "address"));
  } else if (call == "GetAllocationProperties") {
    (void)vmm.GetAllocationProperties(Handle(line));
  } else if (call == "Map") {
    (void)vmm.Map(Range(line), Handle(line), Bytes(Number(line, "offset")), Number(line, "flags"));
  } else if (call == "Unmap") {
    (void)vmm.Unmap(Range(line));
  } else if (call == "SetAccess") {
    (void)vmm.SetAccess(Range(line), DecodeGrants(line.at("grants")));
  } else if (call == "GetAccess") {
    (void)vmm.GetAccess(DecodeLocation(line.at("location")), Address(line, "address"));
  } else if (call == "ExportShareableHandle") {
    const auto type = static_cast<HandleType>(Whole(line.at("type")).get<uint32_t>());
    const auto shareable = vmm.ExportShareableHandle(Handle(line), type, Number(line, "flags"));
    const bool opened = shareable.ok() && type == HandleType::kPosixFileDescriptor;
    if (opened) descriptors_.push_back(shareable->file_descriptor);
  } else if (call == "ImportShareableHandle") {
    Import(vmm, line);
  } else if (call == "GetPointerAttribute") {
    (void)vmm.GetPointerAttribute(Device(line), DecodePointerAttribute(line.at("attribute")),
                                  Address(line, "address"));
  } else if (call == "GetAddressRange") {
    (void)vmm.GetAddressRange(Device(line), Address(line, "address"));
  } else if (call == "GetHandleForAddressRange") {
    const auto type = static_cast<RangeHandleType>(Whole(line.at("type")).get<uint32_t>());
    const auto descriptor =
        vmm.GetHandleForAddressRange(Device(line), Range(line), type, Number(line, "flags"));
    if (descriptor.ok()) descriptors_.push_back(*descriptor);
  } else {
    return absl::NotFoundError(call);
  }
  return absl::OkStatus();
}

// NotFound: not a call of Executor.
absl::Status Player::MakeOnExecutor(Executor& executor, const std::string& call, const Json& line) {
  const auto stream = [&] { return StreamOf(line); };
  const auto event = [&] {
    const char* const key = line.contains("event_device") ? "event_device" : "device";
    return Event(Device(line, key), Value(Names::kEvent, line, "event"));
  };
  const auto module = [&] { return Module(Device(line), Value(Names::kModule, line, "module")); };
  if (call == "CreateStream") {
    (void)executor.CreateStream(Device(line));
  } else if (call == "DestroyStream") {
    (void)executor.DestroyStream(stream());
  } else if (call == "QueryStream") {
    (void)executor.QueryStream(stream());
  } else if (call == "SynchronizeStream") {
    (void)executor.SynchronizeStream(stream());
  } else if (call == "CreateEvent") {
    (void)executor.CreateEvent(Device(line));
  } else if (call == "DestroyEvent") {
    (void)executor.DestroyEvent(event());
  } else if (call == "RecordEvent") {
    (void)executor.RecordEvent(event(), stream());
  } else if (call == "WaitEvent") {
    (void)executor.WaitEvent(stream(), event());
  } else if (call == "QueryEvent") {
    (void)executor.QueryEvent(event());
  } else if (call == "SynchronizeEvent") {
    (void)executor.SynchronizeEvent(event());
  } else if (call == "SynchronizeDevice") {
    (void)executor.SynchronizeDevice(Device(line));
  } else if (call == "LoadModule") {
    (void)executor.LoadModule(Device(line), line.at("ptx").get<std::string>());
  } else if (call == "UnloadModule") {
    (void)executor.UnloadModule(module());
  } else if (call == "GetKernel") {
    (void)executor.GetKernel(module(), line.at("name").get<std::string>());
  } else if (call == "Launch") {
    return absl::UnimplementedError("the arguments of a kernel are not recorded");
  } else {
    return MakeTransfer(executor, call, line);
  }
  return absl::OkStatus();
}

absl::Status Player::MakeTransfer(Executor& executor, const std::string& call, const Json& line) {
  const bool known = call == "CopyHostToDevice" || call == "CopyDeviceToHost" ||
                     call == "CopyDeviceToDevice" || call == "Fill";
  if (!known) return absl::NotFoundError(call);
  if (line.contains("stream")) {
    Transfer(executor, call, line, StreamOf(line));
  } else {
    Transfer(executor, call, line, Device(line));
  }
  return absl::OkStatus();
}

template <typename Where>
void Player::Transfer(Executor& executor, const std::string& call, const Json& line, Where where) {
  const Bytes size(Number(line, "size"));
  if (call == "Fill") {
    const FillPattern pattern{Whole(line.at("value")).get<uint32_t>(),
                              Bytes(Number(line, "width"))};
    (void)executor.Fill(where, Address(line, "destination"), pattern, Number(line, "count"));
    return;
  }
  if (call == "CopyDeviceToDevice") {
    (void)executor.CopyDeviceToDevice(where, Address(line, "destination"), Address(line, "source"),
                                      size);
    return;
  }
  buffers_.push_back(BufferFor(line));
  if (call == "CopyHostToDevice") {
    (void)executor.CopyHostToDevice(where, Address(line, "destination"), buffers_.back().get(),
                                    size);
  } else {
    (void)executor.CopyDeviceToHost(where, buffers_.back().get(), Address(line, "source"), size);
  }
  if (!line.contains("stream")) buffers_.pop_back();
}

Player::Buffer Player::ZeroedBuffer(Bytes size) {
  Buffer buffer(static_cast<uint8_t*>(std::calloc(std::max<size_t>(size.value(), 1), 1)));
  if (buffer == nullptr) throw std::bad_alloc();
  return buffer;
}

Player::Buffer Player::BufferFor(const Json& line) const {
  const Bytes size(Number(line, "size"));
  const size_t count = size > kMostBytes ? 1 : static_cast<size_t>(size.value());
  Buffer buffer = ZeroedBuffer(Bytes(count));
  const bool is_written = line.at("call") == "CopyHostToDevice" && line.contains("data");
  if (!is_written) return buffer;
  const std::vector<uint8_t> bytes = DecodeWritten(line.at("data"), count, known_content_);
  std::copy(bytes.begin(), bytes.end(), buffer.get());
  return buffer;
}

void Player::Reserve(Vmm& vmm, const Json& line) {
  if (line.contains("base") && place_next_) {
    place_next_(OrThrow(driver_.names().Address(line.at("base").get<std::string>())));
  }
  ReserveOptions options;
  options.alignment = Bytes(Number(line, "alignment"));
  if (line.contains("hint")) options.hint = Address(line, "hint");
  options.flags = Number(line, "flags");
  (void)vmm.AddressReserve(Bytes(Number(line, "size")), options);
}

void Player::Import(Vmm& vmm, const Json& line) {
  ShareableHandle shareable;
  shareable.type = static_cast<HandleType>(Whole(line.at("type")).get<uint32_t>());
  if (line.contains("fabric")) {
    shareable.fabric = DecodeFabric(line.at("fabric"));
  } else {
    shareable.file_descriptor = static_cast<int>(Value(Names::kDescriptor, line, "descriptor"));
  }
  (void)vmm.ImportShareableHandle(shareable);
}

void Player::CloseDescriptor(const std::string& name) {
  const int descriptor = static_cast<int>(OrThrow(driver_.names().Value(Names::kDescriptor, name)));
  const auto found = std::find(descriptors_.begin(), descriptors_.end(), descriptor);
  if (found == descriptors_.end()) return;
  close(descriptor);
  descriptors_.erase(found);
}

void Player::CloseDescriptors() {
  for (const int descriptor : descriptors_) close(descriptor);
  descriptors_.clear();
}

// What was given out there, and perhaps not here.
void Player::SkipPastResults(const Json& line) {
  for (const char* key : {"reservation", "handle", "descriptor", "stream", "event", "module",
                          "kernel", "array", "mipmap", "value"}) {
    if (line.contains(key) && line.at(key).is_string()) {
      driver_.names().SkipPast(line.at(key).get<std::string>());
    }
  }
}

DeviceAddress Player::Address(const Json& line, const char* key) {
  return OrThrow(driver_.names().Address(line.at(key).get<std::string>()));
}

AddressRange Player::Range(const Json& line) {
  return AddressRange{Address(line, "range"), Bytes(Number(line, "size")), Bytes(0)};
}

AllocationHandle Player::Handle(const Json& line) {
  return AllocationHandle(Value(Names::kHandle, line, "handle"));
}

Stream Player::StreamOf(const Json& line) {
  return Stream(Device(line), Value(Names::kStream, line, "stream"));
}

uint64_t Player::Value(char kind, const Json& line, const char* key) {
  return OrThrow(
      driver_.names().Value(static_cast<Names::Kind>(kind), line.at(key).get<std::string>()));
}

}  // namespace twinmmu
