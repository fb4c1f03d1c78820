#include "conformance/random/print_sequence.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu::conformance::random {
namespace {

// A value of an enumeration by its name, or as a cast of its number.
template <typename E>
struct Named {
  E value;
  const char* name;
};
template <typename E, size_t kCount>
std::string Print(const char* type, E value, const Named<E> (&names)[kCount]) {
  for (const Named<E>& known : names) {
    if (known.value == value) return absl::StrCat(type, "::", known.name);
  }
  return absl::StrCat("static_cast<", type, ">(", static_cast<int64_t>(value), ")");
}

std::string Print(DriverCode code) {
  constexpr Named<DriverCode> kNames[] = {{DriverCode::kSuccess, "kSuccess"},
                                          {DriverCode::kInvalidValue, "kInvalidValue"},
                                          {DriverCode::kOutOfMemory, "kOutOfMemory"},
                                          {DriverCode::kInvalidDevice, "kInvalidDevice"},
                                          {DriverCode::kInvalidHandle, "kInvalidHandle"},
                                          {DriverCode::kNotFound, "kNotFound"},
                                          {DriverCode::kNotPermitted, "kNotPermitted"},
                                          {DriverCode::kNotSupported, "kNotSupported"},
                                          {DriverCode::kUnknown, "kUnknown"}};
  return Print("DriverCode", code, kNames);
}

std::string Print(Access access) {
  constexpr Named<Access> kNames[] = {
      {Access::kNone, "kNone"}, {Access::kRead, "kRead"}, {Access::kReadWrite, "kReadWrite"}};
  return Print("Access", access, kNames);
}

std::string Print(HandleType type) {
  constexpr Named<HandleType> kNames[] = {
      {HandleType::kNone, "kNone"},
      {HandleType::kPosixFileDescriptor, "kPosixFileDescriptor"},
      {HandleType::kFabric, "kFabric"}};
  return Print("HandleType", type, kNames);
}

std::string Print(DeviceOrdinal device) {
  return absl::StrCat("DeviceOrdinal(", device.value(), ")");
}

std::string Print(const Location& location) {
  if (location.type == LocationType::kDevice) {
    return absl::StrCat("Location::Device(", Print(DeviceOrdinal(location.id)), ")");
  }
  if (location == Location::Host()) return "Location::Host()";
  return absl::StrCat("Location{static_cast<LocationType>(", static_cast<int>(location.type), "), ",
                      location.id, "}");
}

std::string Print(const AllocationProperties& properties) {
  if (properties == AllocationProperties()) return "AllocationProperties()";
  return absl::StrCat("AllocationProperties{static_cast<AllocationType>(",
                      static_cast<uint32_t>(properties.type), "), ",
                      Print(properties.requested_handle_types), ", ", Print(properties.location),
                      ", static_cast<CompressionType>(", static_cast<int>(properties.compression),
                      "), ", properties.gpu_direct_rdma, ", ", properties.usage, "}");
}

std::string PrintNumber(uint64_t number) {
  return number < 10000 ? absl::StrCat(number) : absl::StrCat("0x", absl::Hex(number));
}

// Prints one sequence: remembers which slots its text names.
class Printer {
 public:
  explicit Printer(Checker& checker) : checker_(checker) {}

  void Add(const Call& call);
  std::string Text() const;

 private:
  std::string Make(const Call& call);
  std::string ResultSlot(const Call& call);
  std::string Ask(const Call& call);
  std::string Synchronize(const char* indent, const Call& call, const Step& step);
  std::string CopyHost(const Call& call, const std::string& copy, const Step& step);
  std::string Transfer(const Call& call);
  std::string Matcher(const Step& step) const;
  std::string ResultMatcher(const Call& call, const Step& step);
  std::string SlotOf(AllocationHandle handle, int except);
  std::string FreeMemory(const Call& call, const Step& step);

  std::string Slot(char kind, int number) {
    std::string name = absl::StrCat(std::string(1, kind), number);
    slots_.insert(name);
    return name;
  }
  std::string Size(const Amount& amount);
  std::string Address(const Place& place);
  std::string Handle(const HandleOperand& handle);
  std::string Shareable(const Call& call);
  std::string Range(const Call& call);

  Checker& checker_;
  int results_ = 0;
  std::set<std::string> slots_;  // that operands name
  struct Line {
    std::string text;
    std::string slot;  // left out if no operand names this; "": never
  };
  std::vector<Line> lines_;
};

std::string Printer::Size(const Amount& amount) {
  const bool plain = amount.eighths == 0 && amount.granules > 0;
  if (!plain) return absl::StrCat("Bytes(", PrintNumber(checker_.Value(amount).value()), ")");
  const std::string granules = absl::StrCat(amount.granules, " * g");
  return amount.bytes == 0 ? granules
                           : absl::StrCat(granules, " + Bytes(", PrintNumber(amount.bytes), ")");
}

std::string Printer::Address(const Place& place) {
  if (place.slot == kNoSlot) {
    return absl::StrCat("DeviceAddress(", PrintNumber(checker_.Value(place.offset).value()), ")");
  }
  const std::string base = Slot('r', place.slot) + ".base";
  if (place.offset == Amount()) return base;
  // Back from the base, where the number of bytes would be one near 2^64.
  if (place.offset.granules < 0 && place.offset.bytes == 0) {
    return absl::StrCat(base, " - ", -place.offset.granules, " * g");
  }
  return absl::StrCat(base, " + ", Size(place.offset));
}

std::string Printer::Handle(const HandleOperand& handle) {
  return handle.slot != kNoSlot
             ? Slot('h', handle.slot)
             : absl::StrCat("AllocationHandle(", PrintNumber(handle.invented), ")");
}

std::string Printer::Shareable(const Call& call) {
  const std::string descriptor = call.shareable == kNoSlot
                                     ? absl::StrCat(call.descriptor)
                                     : Slot('s', call.shareable) + ".file_descriptor";
  const std::string fabric =
      call.shareable == kNoSlot ? std::string("{}") : Slot('s', call.shareable) + ".fabric";
  return absl::StrCat("ShareableHandle{", Print(call.handle_type), ", ", descriptor, ", ", fabric,
                      "}");
}

std::string Printer::Range(const Call& call) {
  return absl::StrCat("AddressRange{", Address(call.address), ", ", Size(call.size), ", Bytes(0)}");
}

std::string Printer::Matcher(const Step& step) const {
  const Answer& expected = step.expected;
  const std::string code = absl::StrCat("HasDriverCode(", Print(expected.code), ")");
  if (expected.code == expected.or_code) return code;
  return absl::StrCat("testing::AnyOf(", code, ", HasDriverCode(", Print(expected.or_code), "))");
}

// A slot that holds the handle, other than `except`; "" if there is none.
std::string Printer::SlotOf(AllocationHandle handle, int except) {
  for (int slot = 0; slot < Slots::kHandles; ++slot) {
    const bool holds = checker_.slots().handles[static_cast<size_t>(slot)] == handle;
    if (holds && slot != except) return Slot('h', slot);
  }
  return "";
}

// For a call that succeeds with a value that the model knows.
std::string Printer::ResultMatcher(const Call& call, const Step& step) {
  const Answer& expected = step.expected;
  if (!expected.Allows(DriverCode::kSuccess) || expected.any_number) return Matcher(step);
  std::string value;
  switch (call.kind) {
    case CallKind::kGetGranularity:
      value = absl::StrCat("Bytes(", expected.number, ")");
      break;
    case CallKind::kCanAccessPeer:
      value = expected.number != 0 ? "true" : "false";
      break;
    case CallKind::kGetAccess:
      value = Print(static_cast<Access>(expected.number));
      break;
    case CallKind::kRetain:
      value = SlotOf(AllocationHandle(expected.number), call.result);
      if (value.empty()) return Matcher(step);
      break;
    case CallKind::kGetPointerAttribute:
      // An address would be another one in the next run.
      if (expected.number > 0xffffffff) return Matcher(step);
      value = absl::StrCat(expected.number, "u");
      break;
    case CallKind::kGetProperties:
      value = Print(expected.properties);
      break;
    case CallKind::kGetAddressRange: {
      const Bytes inside = checker_.Value(call.address) - expected.range.base;
      value = absl::StrCat("AddressRange{", Address(call.address), " - Bytes(",
                           PrintNumber(inside.value()), "), Bytes(",
                           PrintNumber(expected.range.size.value()), "), Bytes(0)}");
      break;
    }
    default:
      return Matcher(step);
  }
  return absl::StrCat("IsOkAndHolds(", value, ")");
}

// The call by itself, for those whose result goes nowhere.
std::string Printer::Ask(const Call& call) {
  switch (call.kind) {
    case CallKind::kAddressFree:
      return absl::StrCat("vmm.AddressFree(", Range(call), ")");
    case CallKind::kGetGranularity:
      return absl::StrCat("vmm.GetAllocationGranularity(", Print(call.properties),
                          ", static_cast<Granularity>(", static_cast<uint32_t>(call.granularity),
                          "))");
    case CallKind::kRelease:
      return absl::StrCat("vmm.Release(", Handle(call.handle), ")");
    case CallKind::kGetProperties:
      return absl::StrCat("vmm.GetAllocationProperties(", Handle(call.handle), ")");
    case CallKind::kGetMemoryInfo:
      return absl::StrCat("vmm.GetMemoryInfo(", Print(call.device), ")");
    case CallKind::kCanAccessPeer:
      return absl::StrCat("vmm.CanAccessPeer(", Print(call.device), ", ", Print(call.peer), ")");
    case CallKind::kMap:
      return absl::StrCat("vmm.Map(", Range(call), ", ", Handle(call.handle), ", ",
                          Size(call.offset), ", ", PrintNumber(call.flags), ")");
    case CallKind::kUnmap:
      return absl::StrCat("vmm.Unmap(", Range(call), ")");
    case CallKind::kSetAccess: {
      const auto append = [](std::string* out, const AccessGrant& grant) {
        absl::StrAppend(out, "AccessGrant{", Print(grant.location), ", ", Print(grant.access), "}");
      };
      return absl::StrCat("vmm.SetAccess(", Range(call), ", {",
                          absl::StrJoin(call.grants, ", ", append), "})");
    }
    case CallKind::kGetAccess:
      return absl::StrCat("vmm.GetAccess(", Print(call.location), ", ", Address(call.address), ")");
    case CallKind::kGetPointerAttribute:
      return absl::StrCat("vmm.GetPointerAttribute(", Print(call.device),
                          ", static_cast<PointerAttribute>(", static_cast<int>(call.attribute),
                          "), ", Address(call.address), ")");
    case CallKind::kGetAddressRange:
      return absl::StrCat("vmm.GetAddressRange(", Print(call.device), ", ", Address(call.address),
                          ")");
    default:
      return "";
  }
}

std::string Printer::Transfer(const Call& call) {
  const std::string where =
      call.stream == StreamOperand::kNone
          ? Print(call.device)
          : absl::StrCat("Stream(", Print(call.device), ", ",
                         call.stream == StreamOperand::kDefault ? 0 : kInventedStream, ")");
  const std::string to = Address(call.address);
  if (call.kind == CallKind::kCopyDeviceToDevice) {
    return absl::StrCat("executor.CopyDeviceToDevice(", where, ", ", to, ", ", Address(call.source),
                        ", ", Size(call.size), ")");
  }
  if (call.kind == CallKind::kFill) {
    return absl::StrCat("executor.Fill(", where, ", ", to, ", {", PrintNumber(call.pattern.value),
                        ", Bytes(", call.pattern.width.value(), ")}, ", PrintNumber(call.count),
                        ")");
  }
  if (call.kind == CallKind::kCopyHostToDevice) {
    return absl::StrCat("executor.CopyHostToDevice(", where, ", ", to, ", bytes.data(), ",
                        Size(call.size), ")");
  }
  return absl::StrCat("executor.CopyDeviceToHost(", where, ", bytes.data(), ", to, ", ",
                      Size(call.size), ")");
}

// A call that makes what goes into a slot; "" for the others.
std::string Printer::Make(const Call& call) {
  switch (call.kind) {
    case CallKind::kAddressReserve:
      return absl::StrCat("vmm.AddressReserve(", Size(call.size), ", {", Size(call.offset), ", ",
                          Address(call.address), ", ", PrintNumber(call.flags), "})");
    case CallKind::kCreate:
      return absl::StrCat("vmm.Create(", Size(call.size), ", ", Print(call.properties), ", ",
                          PrintNumber(call.flags), ")");
    case CallKind::kRetain:
      return absl::StrCat("vmm.RetainAllocationHandle(", Address(call.address), ")");
    case CallKind::kExport:
      return absl::StrCat("vmm.ExportShareableHandle(", Handle(call.handle), ", ",
                          Print(call.handle_type), ", ", PrintNumber(call.flags), ")");
    case CallKind::kImport:
      return absl::StrCat("vmm.ImportShareableHandle(", Shareable(call), ")");
    default:
      return "";
  }
}

// The slot that takes the result of a call that makes something.
std::string Printer::ResultSlot(const Call& call) {
  switch (call.kind) {
    case CallKind::kAddressReserve:
      return absl::StrCat("r", call.result);
    case CallKind::kExport:
    case CallKind::kCloseDescriptor:
      return absl::StrCat("s", call.result);
    default:
      return absl::StrCat("h", call.result);
  }
}

// Whatever ran is waited for, as the checker does.
std::string Printer::Synchronize(const char* indent, const Call& call, const Step& step) {
  if (step.expected.code != DriverCode::kSuccess) return "";
  return absl::StrCat(indent, "EXPECT_THAT(executor.SynchronizeDevice(", Print(call.device),
                      "), IsOk());\n");
}

// With the bytes that come or go.
std::string Printer::CopyHost(const Call& call, const std::string& copy, const Step& step) {
  std::string text = absl::StrCat("  {\n    std::vector<uint8_t> bytes(",
                                  checker_.Value(call.size).value(), ");\n");
  if (call.kind == CallKind::kCopyHostToDevice) {
    absl::StrAppend(&text, "    std::iota(bytes.begin(), bytes.end(), uint8_t{",
                    call.pattern.value & 0xff, "});\n");
  }
  absl::StrAppend(&text, "    EXPECT_THAT(", copy, ", ", Matcher(step), ");\n",
                  Synchronize("    ", call, step));
  if (!step.expected.bytes.empty()) {
    const auto append = [](std::string* out, const Byte& byte) {
      absl::StrAppend(out, byte.has_value() ? absl::StrCat(int{*byte}) : "testing::_");
    };
    absl::StrAppend(&text, "    EXPECT_THAT(bytes, testing::ElementsAre(",
                    absl::StrJoin(step.expected.bytes, ", ", append), "));\n");
  }
  return text + "  }\n";
}

// In relation to what was free before.
std::string Printer::FreeMemory(const Call& call, const Step& step) {
  const ModelParameters& parameters = checker_.model().parameters();
  if (step.expected.code != DriverCode::kSuccess || !parameters.sole_user) {
    return absl::StrCat("  EXPECT_THAT(", Ask(call), ", ", Matcher(step), ");\n");
  }
  const auto device = static_cast<size_t>(call.device.value());
  const Bytes taken = parameters.devices[device].free - step.expected.memory.free;
  return absl::StrCat("  EXPECT_EQ(", Ask(call), "->free, ", Slot('f', call.device.value()),
                      " - Bytes(", taken.value(), "));\n");
}

void Printer::Add(const Call& call) {
  // Worded before the call, which may change what stands in the slots.
  const std::string make = Make(call);
  const std::string ask = call.kind < CallKind::kCopyHostToDevice ? Ask(call) : Transfer(call);
  const Step step = checker_.Do(call);
  if (step.skipped) return;
  if (!make.empty()) {
    const std::string name = absl::StrCat("result", ++results_);
    lines_.push_back({absl::StrCat("  const auto ", name, " = ", make, ";\n  EXPECT_THAT(", name,
                                   ", ", ResultMatcher(call, step), ");\n"),
                      ""});
    const std::string slot = ResultSlot(call);
    lines_.push_back({absl::StrCat("  if (", name, ".ok()) ", slot, " = *", name, ";\n"), slot});
  } else if (call.kind == CallKind::kGetMemoryInfo) {
    lines_.push_back({FreeMemory(call, step), ""});
  } else if (call.kind == CallKind::kCloseDescriptor) {
    const std::string slot = ResultSlot(call);
    lines_.push_back(
        {absl::StrCat("  close(std::exchange(", slot, ".file_descriptor, -1));\n"), slot});
  } else if (call.kind == CallKind::kCopyHostToDevice || call.kind == CallKind::kCopyDeviceToHost) {
    lines_.push_back({CopyHost(call, ask, step), ""});
  } else {
    const bool waits = call.kind >= CallKind::kCopyHostToDevice;
    lines_.push_back({absl::StrCat("  EXPECT_THAT(", ask, ", ", ResultMatcher(call, step), ");\n",
                                   waits ? Synchronize("  ", call, step) : ""),
                      ""});
  }
  if (!step.difference.empty()) lines_.push_back({"  // ^ " + step.difference + "\n", ""});
}

std::string Printer::Text() const {
  std::string calls;
  for (const Line& line : lines_) {
    if (line.slot.empty() || slots_.count(line.slot) != 0) calls += line.text;
  }
  std::string text;
  if (absl::StrContains(calls, "* g")) {
    text = "  const Bytes g = *vmm.GetAllocationGranularity({}, Granularity::kMinimum);\n";
  }
  for (const std::string& slot : slots_) {
    const std::string number = slot.substr(1);
    switch (slot[0]) {
      case 'f':
        absl::StrAppend(&text, "  const Bytes ", slot, " = vmm.GetMemoryInfo(DeviceOrdinal(",
                        number, "))->free;\n");
        break;
      case 'h':
        absl::StrAppend(&text, "  AllocationHandle ", slot, ";\n");
        break;
      case 'r':
        absl::StrAppend(&text, "  AddressRange ", slot, ";\n");
        break;
      default:
        absl::StrAppend(&text, "  ShareableHandle ", slot, ";\n");
    }
  }
  return text + calls;
}

}  // namespace

std::string PrintTest(const std::vector<Call>& calls, Checker& checker) {
  Printer printer(checker);
  for (const Call& call : calls) printer.Add(call);
  return printer.Text();
}

}  // namespace twinmmu::conformance::random
