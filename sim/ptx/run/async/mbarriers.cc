#include "sim/ptx/run/async/mbarriers.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu::ptx {
namespace {

// As an H100 has it: bits 1 to 20 are less the expected count, 22 to 42 the bytes, 43 to 62 less
// the pending count, and 63 is the parity.
constexpr int kExpectedShift = 1;
constexpr int kBytesShift = 22;
constexpr int kPendingShift = 43;
constexpr int kCountBits = 20;
constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;
constexpr int kBytesBits = 21;
constexpr uint64_t kBytesMask = (uint64_t{1} << kBytesBits) - 1;
constexpr uint64_t kOdd = uint64_t{1} << 63;

uint64_t Less(uint32_t count) { return (0 - uint64_t{count}) & kCountMask; }

constexpr char kNoObject[] =
    "no mbarrier is there: mbarrier.init has not made one, or mbarrier.inval has ended it";

}  // namespace

uint64_t MbarrierState::bits() const {
  return (odd ? kOdd : 0) | Less(pending) << kPendingShift |
         (static_cast<uint64_t>(bytes) & kBytesMask) << kBytesShift |
         Less(expected) << kExpectedShift;
}

MbarrierState MbarrierState::Of(uint64_t bits) {
  MbarrierState state;
  state.pending = static_cast<uint32_t>((0 - (bits >> kPendingShift)) & kCountMask);
  state.expected = static_cast<uint32_t>((0 - (bits >> kExpectedShift)) & kCountMask);
  state.bytes = static_cast<int32_t>(bits >> kBytesShift & kBytesMask);
  if ((state.bytes >> (kBytesBits - 1)) != 0) state.bytes -= 1 << kBytesBits;
  state.odd = (bits & kOdd) != 0;
  return state;
}

const char* Mbarriers::Init(uint32_t at, char* memory, uint32_t count) {
  if (count == 0 || count > static_cast<uint32_t>(kMost)) {
    return "the count of an mbarrier is from 1 to 2^20 - 1";
  }
  MbarrierState state;
  state.expected = count;
  state.pending = count;
  Object& object = objects_[at];
  object = Object();
  object.bits = state.bits();
  std::memcpy(memory, &object.bits, sizeof(object.bits));
  return nullptr;
}

const char* Mbarriers::Invalidate(uint32_t at, char* memory) {
  const char* wrong = nullptr;
  if (Find(at, memory, &wrong) == nullptr) return wrong;
  objects_.erase(at);
  std::memset(memory, 0, sizeof(uint64_t));
  return nullptr;
}

Mbarriers::Object* Mbarriers::Find(uint32_t at, const char* memory, const char** wrong) {
  const auto found = objects_.find(at);
  if (found == objects_.end()) {
    *wrong = kNoObject;
    return nullptr;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, memory, sizeof(bits));
  if (bits == found->second.bits) return &found->second;
  *wrong = "its mbarrier was overwritten by something that is no operation of mbarriers";
  return nullptr;
}

const char* Mbarriers::Finish(MbarrierState state, Object* object, char* memory) {
  if (state.pending == 0 && state.bytes == 0) {
    state.pending = state.expected;
    state.odd = !state.odd;
    object->failed_waits = 0;
    object->completed = std::exchange(object->meeting, {});
  }
  object->bits = state.bits();
  std::memcpy(memory, &object->bits, sizeof(object->bits));
  return nullptr;
}

const char* Mbarriers::Arrive(Object* object, char* memory, const Arrival& arrival) {
  MbarrierState state = MbarrierState::Of(object->bits);
  if (arrival.count == 0) return "the count of an arrival is from 1 to 2^20 - 1";
  if (arrival.count > state.pending) return "there are more arrivals than the phase has pending";
  if (arrival.drops && arrival.count > state.expected) {
    return "there are more threads that drop out than the mbarrier expects";
  }
  if (arrival.bytes > static_cast<uint32_t>(kMost - state.bytes)) {
    return "the transaction count of the mbarrier is beyond 2^20 - 1";
  }
  state.bytes += static_cast<int32_t>(arrival.bytes);
  state.pending -= arrival.count;
  if (arrival.drops) state.expected -= arrival.count;
  if (!arrival.may_complete && state.pending == 0 && state.bytes == 0) {
    return "an arrival with .noComplete completes the phase";
  }
  return Finish(state, object, memory);
}

const char* Mbarriers::ExpectBytes(Object* object, char* memory, uint32_t bytes) {
  MbarrierState state = MbarrierState::Of(object->bits);
  if (bytes > static_cast<uint32_t>(kMost - state.bytes)) {
    return "the transaction count of the mbarrier is beyond 2^20 - 1";
  }
  state.bytes += static_cast<int32_t>(bytes);
  return Finish(state, object, memory);
}

const char* Mbarriers::CompleteBytes(Object* object, char* memory, uint32_t bytes) {
  MbarrierState state = MbarrierState::Of(object->bits);
  if (bytes > static_cast<uint32_t>(kMost + state.bytes)) {
    return "the transaction count of the mbarrier is below -(2^20 - 1)";
  }
  state.bytes -= static_cast<int32_t>(bytes);
  return Finish(state, object, memory);
}

const char* Mbarriers::AddPending(Object* object, char* memory) {
  MbarrierState state = MbarrierState::Of(object->bits);
  if (state.pending == static_cast<uint32_t>(kMost)) {
    return "the pending count of the mbarrier is beyond 2^20 - 1";
  }
  ++state.pending;
  return Finish(state, object, memory);
}

std::string Mbarriers::InWords(uint32_t at) const {
  const std::string where = absl::StrCat("the mbarrier at shared address 0x", absl::Hex(at));
  const auto found = objects_.find(at);
  if (found == objects_.end()) return absl::StrCat(where, ", which is none");
  const MbarrierState state = MbarrierState::Of(found->second.bits);
  // After a drop more may be expected in this phase than in the next one.
  std::string words =
      absl::StrCat(state.odd ? "an odd" : "an even", " phase of ", where, ", which has ",
                   state.pending, " of ", state.expected, " arrivals to come");
  if (state.bytes != 0) absl::StrAppend(&words, ", and ", state.bytes, " bytes");
  return words;
}

}  // namespace twinmmu::ptx
