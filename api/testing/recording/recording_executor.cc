#include "api/testing/recording/recording_executor.h"

#include <string>

#include "api/testing/forwarding.h"

namespace twinmmu {
namespace {

constexpr auto kNoResult = [](LineWriter&, const auto&) {};
constexpr auto kValue = [](LineWriter& line, const auto& value) { line.Put("value", *value); };

absl::Span<const uint8_t> BytesAt(const void* data, Bytes size) {
  return absl::MakeSpan(static_cast<const uint8_t*>(data), static_cast<size_t>(size.value()));
}

class RecordingExecutor : public ForwardingExecutor {
 private:
  template <typename Call, typename Result>
  auto OfEvent(const char* name, Event event, const Call& call, const Result& result) {
    return log_.Record(
        name, [&](LineWriter& line) { line.Put("event", Names::kEvent, event); }, call, result);
  }

 public:
  RecordingExecutor(Executor* target, RecordingLog* log) : ForwardingExecutor(target), log_(*log) {}

  absl::Status CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination, const void* source,
                                Bytes size) override {
    return Write(device, destination, source, size);
  }
  absl::Status CopyHostToDevice(Stream stream, DeviceAddress destination, const void* source,
                                Bytes size) override {
    return Write(stream, destination, source, size);
  }
  absl::Status CopyDeviceToHost(DeviceOrdinal device, void* destination, DeviceAddress source,
                                Bytes size) override {
    return Read(device, destination, source, size, [&](LineWriter& line, const absl::Status&) {
      line.Put("data", EncodeRead(BytesAt(destination, size), log_.known_content()));
    });
  }
  absl::Status CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                Bytes size) override {
    return Read(stream, destination, source, size, [&](LineWriter&, const absl::Status&) {
      if (size != Bytes(0)) log_.Await(stream, destination, size);
    });
  }
  absl::Status CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                  DeviceAddress source, Bytes size) override {
    return CopyWithin(device, destination, source, size);
  }
  absl::Status CopyDeviceToDevice(Stream stream, DeviceAddress destination, DeviceAddress source,
                                  Bytes size) override {
    return CopyWithin(stream, destination, source, size);
  }
  absl::Status Fill(DeviceOrdinal device, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) override {
    return FillAt(device, destination, pattern, count);
  }
  absl::Status Fill(Stream stream, DeviceAddress destination, const FillPattern& pattern,
                    uint64_t count) override {
    return FillAt(stream, destination, pattern, count);
  }

  absl::StatusOr<Stream> CreateStream(DeviceOrdinal device) override {
    return log_.Record(
        "CreateStream", [&](LineWriter& line) { line.Put(device); },
        [&] { return ForwardingExecutor::CreateStream(device); },
        [](LineWriter& line, const auto& stream) {
          line.Put("stream", line.names().Add(Names::kStream, stream->value()));
        });
  }
  absl::Status DestroyStream(Stream stream) override {
    return log_.Record(
        "DestroyStream", [&](LineWriter& line) { line.Put(stream); },
        [&] { return ForwardingExecutor::DestroyStream(stream); }, kNoResult);
  }
  absl::StatusOr<bool> QueryStream(Stream stream) override {
    return log_.Record(
        "QueryStream", [&](LineWriter& line) { line.Put(stream); },
        [&] { return ForwardingExecutor::QueryStream(stream); }, kValue);
  }
  absl::Status SynchronizeStream(Stream stream) override {
    return log_.Record(
        "SynchronizeStream", [&](LineWriter& line) { line.Put(stream); },
        [&] { return ForwardingExecutor::SynchronizeStream(stream); },
        [&](LineWriter& line, const absl::Status&) {
          log_.Arrived(line, stream.device(), &stream);
        });
  }
  absl::StatusOr<Event> CreateEvent(DeviceOrdinal device) override {
    return log_.Record(
        "CreateEvent", [&](LineWriter& line) { line.Put(device); },
        [&] { return ForwardingExecutor::CreateEvent(device); },
        [](LineWriter& line, const auto& event) {
          line.Put("event", line.names().Add(Names::kEvent, event->value()));
        });
  }
  absl::Status DestroyEvent(Event event) override {
    return OfEvent(
        "DestroyEvent", event, [&] { return ForwardingExecutor::DestroyEvent(event); }, kNoResult);
  }
  absl::Status RecordEvent(Event event, Stream stream) override {
    return log_.Record(
        "RecordEvent",
        [&](LineWriter& line) {
          line.Put("event", Names::kEvent, event)
              .Put("event_device", event.device().value())
              .Put(stream);
        },
        [&] { return ForwardingExecutor::RecordEvent(event, stream); }, kNoResult);
  }
  absl::Status WaitEvent(Stream stream, Event event) override {
    return log_.Record(
        "WaitEvent",
        [&](LineWriter& line) {
          line.Put("event", Names::kEvent, event)
              .Put("event_device", event.device().value())
              .Put(stream);
        },
        [&] { return ForwardingExecutor::WaitEvent(stream, event); }, kNoResult);
  }
  absl::StatusOr<bool> QueryEvent(Event event) override {
    return OfEvent(
        "QueryEvent", event, [&] { return ForwardingExecutor::QueryEvent(event); }, kValue);
  }
  absl::Status SynchronizeEvent(Event event) override {
    return OfEvent(
        "SynchronizeEvent", event, [&] { return ForwardingExecutor::SynchronizeEvent(event); },
        kNoResult);
  }
  absl::Status SynchronizeDevice(DeviceOrdinal device) override {
    return log_.Record(
        "SynchronizeDevice", [&](LineWriter& line) { line.Put(device); },
        [&] { return ForwardingExecutor::SynchronizeDevice(device); },
        [&](LineWriter& line, const absl::Status&) { log_.Arrived(line, device, nullptr); });
  }

  absl::StatusOr<Module> LoadModule(DeviceOrdinal device, absl::string_view ptx) override {
    return log_.Record(
        "LoadModule", [&](LineWriter& line) { line.Put("ptx", std::string(ptx)).Put(device); },
        [&] { return ForwardingExecutor::LoadModule(device, ptx); },
        [](LineWriter& line, const auto& module) {
          line.Put("module", line.names().Add(Names::kModule, module->value()));
        });
  }
  absl::Status UnloadModule(Module module) override {
    return log_.Record(
        "UnloadModule", [&](LineWriter& line) { line.Put("module", Names::kModule, module); },
        [&] { return ForwardingExecutor::UnloadModule(module); }, kNoResult);
  }
  absl::StatusOr<Kernel> GetKernel(Module module, absl::string_view name) override {
    return log_.Record(
        "GetKernel",
        [&](LineWriter& line) {
          line.Put("module", Names::kModule, module).Put("name", std::string(name));
        },
        [&] { return ForwardingExecutor::GetKernel(module, name); },
        [](LineWriter& line, const auto& kernel) {
          line.Put("kernel", line.names().Add(Names::kKernel, kernel->value()));
        });
  }
  // The types of the arguments are not known here, and so not their sizes.
  absl::Status Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                      absl::Span<const void* const> arguments) override {
    return log_.Record(
        "Launch",
        [&](LineWriter& line) {
          line.Put("kernel", Names::kKernel, kernel).Put(stream);
          line.Put("grid", Json{config.grid.x, config.grid.y, config.grid.z});
          line.Put("block", Json{config.block.x, config.block.y, config.block.z});
          line.PutNonzero("shared", config.dynamic_shared_bytes);
          line.PutNonzero("early", config.programmatic_stream_serialization ? 1 : 0);
        },
        [&] { return ForwardingExecutor::Launch(stream, kernel, config, arguments); }, kNoResult);
  }

 private:
  // `where` is a device or a stream.
  template <typename Where>
  absl::Status Write(Where where, DeviceAddress destination, const void* source, Bytes size) {
    return log_.Record(
        "CopyHostToDevice",
        [&](LineWriter& line) {
          line.Put(where).Put("destination", destination).Put("size", size.value());
        },
        [&] { return ForwardingExecutor::CopyHostToDevice(where, destination, source, size); },
        // Where it was refused, there may not be as much at `source`.
        [&](LineWriter& line, const absl::Status&) {
          line.Put("data", EncodeWritten(BytesAt(source, size), log_.known_content()));
        });
  }
  template <typename Where, typename Result>
  absl::Status Read(Where where, void* destination, DeviceAddress source, Bytes size,
                    const Result& result) {
    return log_.Record(
        "CopyDeviceToHost",
        [&](LineWriter& line) { line.Put(where).Put("source", source).Put("size", size.value()); },
        [&] { return ForwardingExecutor::CopyDeviceToHost(where, destination, source, size); },
        result);
  }
  template <typename Where>
  absl::Status CopyWithin(Where where, DeviceAddress destination, DeviceAddress source,
                          Bytes size) {
    return log_.Record(
        "CopyDeviceToDevice",
        [&](LineWriter& line) {
          line.Put(where).Put("destination", destination).Put("source", source);
          line.Put("size", size.value());
        },
        [&] { return ForwardingExecutor::CopyDeviceToDevice(where, destination, source, size); },
        kNoResult);
  }
  template <typename Where>
  absl::Status FillAt(Where where, DeviceAddress destination, const FillPattern& pattern,
                      uint64_t count) {
    return log_.Record(
        "Fill",
        [&](LineWriter& line) {
          line.Put(where).Put("destination", destination).Put("width", pattern.width.value());
          line.Put("value", pattern.value).Put("count", count);
        },
        [&] { return ForwardingExecutor::Fill(where, destination, pattern, count); }, kNoResult);
  }
  RecordingLog& log_;
};

}  // namespace

std::unique_ptr<Executor> MakeRecordingExecutor(Executor* target, RecordingLog* log) {
  return std::make_unique<RecordingExecutor>(target, log);
}

}  // namespace twinmmu
