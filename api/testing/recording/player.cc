#include "api/testing/recording/player.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/call_macros.h"
#include "api/testing/recording/arguments.h"
#include "api/testing/recording/array_codec.h"
#include "api/testing/recording/call_names.h"

namespace twinmmu {
namespace {

// Of four channels of 32 bits.
constexpr Bytes kLargestElement(16);

template <typename T, typename... All>
constexpr bool kIsAmong = (std::is_same_v<T, std::decay_t<All>> || ...);

template <typename Interface>
absl::StatusOr<Interface*> InterfaceOf(Driver& driver) {
  if constexpr (std::is_same_v<Interface, Vmm>) return driver.vmm();
  if constexpr (std::is_same_v<Interface, Executor>) return driver.executor();
  if constexpr (std::is_same_v<Interface, Multicast>) return driver.multicast();
  if constexpr (std::is_same_v<Interface, SparseArrays>) return driver.sparse_arrays();
}

}  // namespace

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
    if (line.contains("closed")) {
      CloseDescriptor(line.at("closed").get<std::string>());
      return seen_;
    }
    const std::string name = line.at("call").get<std::string>();
    const std::optional<DriverCall> call = CallOfName(name, line.contains("stream"));
    if (!call.has_value()) {
      throw std::invalid_argument(absl::StrCat("there is no call \"", name, "\""));
    }
    const absl::Status made = Make(*call, line);
    if (!made.ok()) return made;
    KeepDescriptor(*call);
    SkipPastResults(line);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the program has no memory left to play a recording");
  } catch (const std::exception& wrong) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a line of a recording: ", wrong.what(), ", in ", line.dump()));
  }
  return seen_;
}

absl::Status Player::Make(DriverCall call, const Json& line) {
  if (call == DriverCall::kAddressReserve && line.contains("base") && place_next_) {
    place_next_(OrThrow(driver_.names().Address(line.at("base").get<std::string>())));
  }
  switch (call) {
#define TWINMMU_PLAY(Interface, id, result, method, ...)                                    \
  case DriverCall::k##id: {                                                                 \
    using Method = result (Interface::*)(TWINMMU_PARAMETERS(__VA_ARGS__));                  \
    return MakeOn(InterfaceOf<Interface>(driver_), static_cast<Method>(&Interface::method), \
                  {TWINMMU_PARAMETER_NAMES(__VA_ARGS__)}, line);                            \
  }
    TWINMMU_VMM_CALLS(TWINMMU_PLAY, Vmm)
    TWINMMU_EXECUTOR_CALLS(TWINMMU_PLAY, Executor)
    TWINMMU_MULTICAST_CALLS(TWINMMU_PLAY, Multicast)
    TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_PLAY, SparseArrays)
#undef TWINMMU_PLAY
  }
  throw std::invalid_argument("there is no such call");
}

template <typename Interface, typename Result, typename... Parameter>
absl::Status Player::MakeOn(absl::StatusOr<Interface*> target,
                            Result (Interface::*method)(Parameter...),
                            [[maybe_unused]] std::initializer_list<const char*> names,
                            const Json& line) {
  constexpr bool kWrites = kIsAmong<const void*, Parameter...>;
  constexpr bool kReads = kIsAmong<void*, Parameter...>;
  constexpr bool kIsBox = kIsAmong<ArrayExtent, Parameter...>;
  if (!target.ok()) return target.status();
  if constexpr (kIsAmong<absl::Span<const void* const>, Parameter...>) {
    return absl::UnimplementedError("the arguments of a kernel are not recorded");
  } else {
    uint8_t* host = nullptr;
    if constexpr (kWrites || kReads) {
      host = kIsBox ? TransferredBox(line, kWrites) : Transferred(line, kWrites);
    }
    const ArgumentReader reader(line, driver_.names(), host);
    [[maybe_unused]] auto next = [name = names.begin()]() mutable { return *name++; };
    // In braces: one after the other.
    const std::tuple arguments{reader.Get<std::decay_t<Parameter>>(next())...};
    const auto call = [&](const auto&... argument) { return ((*target)->*method)(argument...); };
    (void)std::apply(call, arguments);
    if (host != nullptr && !kIsAmong<Stream, Parameter...>) buffers_.pop_back();
    return absl::OkStatus();
  }
}

uint8_t* Player::Transferred(const Json& line, bool is_written) {
  const Bytes size(Number(line, "size"));
  return BufferOf(size > kMostBytes ? Bytes(1) : size, line, is_written);
}

// How much a driver copies follows from the array and not from the line, so there is room for
// elements of any size. A box for which that is too much is refused, as null is.
uint8_t* Player::TransferredBox(const Json& line, bool is_written) {
  const std::optional<Bytes> room = SizeOfBox(kLargestElement, DecodeExtent(line.at("extent")));
  if (line.contains("null") || !room.has_value() || *room > kMostBytes) return nullptr;
  return BufferOf(*room, line, is_written);
}

uint8_t* Player::BufferOf(Bytes room, const Json& line, bool is_written) {
  Buffer buffer(static_cast<uint8_t*>(std::calloc(std::max<size_t>(room.value(), 1), 1)));
  if (buffer == nullptr) throw std::bad_alloc();
  if (is_written && line.contains("data")) {
    const Bytes size(Number(line, "size"));
    if (size > room) throw std::invalid_argument("the size is more than there is room for");
    const std::vector<uint8_t> bytes =
        DecodeWritten(line.at("data"), static_cast<size_t>(size.value()), known_content_);
    std::copy(bytes.begin(), bytes.end(), buffer.get());
  }
  buffers_.push_back(std::move(buffer));
  return buffers_.back().get();
}

// What was given out here is closed when the recording says so.
void Player::KeepDescriptor(DriverCall call) {
  const bool gives_one =
      call == DriverCall::kExportShareableHandle || call == DriverCall::kGetHandleForAddressRange;
  if (!gives_one || !seen_.contains("descriptor")) return;
  const auto descriptor =
      driver_.names().Value(Names::kDescriptor, seen_.at("descriptor").get<std::string>());
  descriptors_.push_back(static_cast<int>(OrThrow(descriptor)));
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

}  // namespace twinmmu
