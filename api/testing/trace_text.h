// Arguments and results of calls as text, for traces.

#ifndef TWINMMU_API_TESTING_TRACE_TEXT_H_
#define TWINMMU_API_TESTING_TRACE_TEXT_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/executor.h"
#include "api/multicast.h"
#include "api/sparse_arrays.h"
#include "api/testing/call_trace.h"
#include "api/vmm.h"

namespace twinmmu::trace_text {

inline std::string Text(int value) { return absl::StrCat(value); }
inline std::string Text(bool value) { return value ? "true" : "false"; }
inline std::string Text(uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); }
inline std::string Text(const std::string& value) { return absl::StrCat("\"", value, "\""); }
// Without its alignment, which only AddressReserve takes.
inline std::string Text(const AddressRange& range) {
  return absl::StrCat("[", ToString(range.base), ", +", ToString(range.size), "]");
}
inline std::string Text(const MemoryInfo& info) {
  return absl::StrCat(ToString(info.free), " free of ", ToString(info.total));
}
inline std::string Text(absl::Span<const AccessGrant> grants) {
  const auto append = [](std::string* out, const AccessGrant& grant) {
    absl::StrAppend(out, ToString(grant));
  };
  return absl::StrCat("{", absl::StrJoin(grants, ", ", append), "}");
}
// An array and the like; its device is in the call that made it.
template <typename Tag>
std::string Text(const DeviceObject<Tag>& object) {
  return Text(object.value());
}
inline std::string Text(const ArrayExtent& extent) {
  return absl::StrCat(extent.x, " x ", extent.y, " x ", extent.z);
}
std::string Text(const ReserveOptions& options);
std::string Text(const FillPattern& pattern);
std::string Text(const LaunchConfig& config);
std::string Text(const MulticastProperties& properties);
std::string Text(const ArrayDescriptor& descriptor);
std::string Text(absl::Span<const TileOperation> operations);
inline std::string Text(RangeHandleType type) { return absl::StrCat(static_cast<int>(type)); }
inline std::string Text(Stream stream) { return Text(stream.value()); }
// Host memory: its address differs from run to run.
inline std::string Text(const void*) { return "from host"; }
inline std::string Text(void*) { return "to host"; }
inline std::string Text(absl::Span<const void* const> arguments) {
  return absl::StrCat(arguments.size(), arguments.size() == 1 ? " argument" : " arguments");
}
inline std::string Text(const SparseProperties& properties) {
  return absl::StrCat("tiles of ", Text(properties.tile), ", mip tail of ",
                      ToString(properties.mip_tail_size), " from level ", properties.mip_tail_level,
                      properties.single_mip_tail ? ", one for all layers" : "");
}
template <typename T>
auto Text(const T& value) -> decltype(ToString(value)) {
  return ToString(value);
}

// The arguments of a call in order, except the stream, which comes last.
class ArgumentWriter {
 public:
  // The names of the parameters show what a number means.
  template <typename... T>
  static std::string Write([[maybe_unused]] std::initializer_list<const char*> names,
                           const T&... values) {
    ArgumentWriter writer;
    [[maybe_unused]] const char* const* name = names.begin();
    (writer.Put(*name++, values), ...);
    writer.Add(writer.stream_);
    return writer.text_;
  }

 private:
  void Add(absl::string_view text);

  template <typename T>
  void Put(absl::string_view, const T& value) {
    Add(Text(value));
  }
  void Put(absl::string_view, Stream value) { stream_ = "stream " + Text(value); }
  void Put(absl::string_view name, Bytes value);
  void Put(absl::string_view name, uint64_t value);
  void Put(absl::string_view name, uint32_t value);
  void Put(absl::string_view name, absl::string_view value);
  void Put(absl::string_view name, const ArrayExtent& value);

  std::string text_;
  std::string stream_;
  ArrayExtent offset_;
};

// A call that returned `status`, or a result.
inline TracedCall Traced(DriverCall kind, std::string arguments, const absl::Status& status) {
  return {kind, std::move(arguments), status, ""};
}
template <typename T>
TracedCall Traced(DriverCall kind, std::string arguments, const absl::StatusOr<T>& result) {
  return {kind, std::move(arguments), result.status(), result.ok() ? Text(*result) : ""};
}

}  // namespace twinmmu::trace_text

namespace twinmmu {

template <typename F>
auto CallTrace::Trace(DriverCall kind, std::string arguments, const F& call) -> decltype(call()) {
  auto result = call();
  Remember(trace_text::Traced(kind, std::move(arguments), result));
  return result;
}

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_TRACE_TEXT_H_
