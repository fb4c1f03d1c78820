#include "conformance/random/shrink.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace twinmmu::conformance::random {
namespace {

// Takes out runs of calls, of half the sequence, a quarter, ... and at last one; until none can go.
bool RemoveCalls(std::vector<Call>& calls, const Fails& fails) {
  bool smaller = false;
  for (size_t run = std::max<size_t>(calls.size() / 2, 1);; run /= 2) {
    for (size_t end = calls.size(); end > 0;) {
      const size_t begin = end - std::min(run, end);
      std::vector<Call> rest(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(begin));
      rest.insert(rest.end(), calls.begin() + static_cast<ptrdiff_t>(end), calls.end());
      if (fails(rest)) {
        calls = std::move(rest);
        smaller = true;
      }
      end = begin;
    }
    if (run <= 1) return smaller;
  }
}

// Simpler forms of a call: each has one operand at its default, or a grant less, or a smaller
// amount.
std::vector<Call> Simpler(const Call& call) {
  const Call plain;
  std::vector<Call> all;
  const auto with = [&](auto change) {
    all.push_back(call);
    change(all.back());
  };
  const auto simplify_amount = [&](Amount Call::*amount) {
    with([&](Call& c) { c.*amount = Amount(); });
    with([&](Call& c) { c.*amount = Amount{1, 0, 0}; });
    with([&](Call& c) { (c.*amount).bytes = 0; });
    if ((call.*amount).granules > 1) with([&](Call& c) { --(c.*amount).granules; });
  };
  const auto simplify_place = [&](Place Call::*place) {
    with([&](Call& c) { c.*place = Place(); });
    with([&](Call& c) { (c.*place).offset = Amount(); });
    with([&](Call& c) { (c.*place).offset.bytes = 0; });
    if ((call.*place).offset.granules > 0) with([&](Call& c) { --(c.*place).offset.granules; });
  };
  simplify_amount(&Call::size);
  simplify_amount(&Call::offset);
  simplify_place(&Call::address);
  simplify_place(&Call::source);
  with([&](Call& c) { c.flags = 0; });
  with([&](Call& c) { c.properties = plain.properties; });
  with([&](Call& c) { c.properties.location = plain.properties.location; });
  with([&](Call& c) { c.properties.requested_handle_types = HandleType::kNone; });
  with([&](Call& c) { c.stream = StreamOperand::kNone; });
  with([&](Call& c) { c.device = plain.device; });
  with([&](Call& c) { c.pattern = plain.pattern; });
  for (size_t i = 0; i < call.grants.size(); ++i) {
    with([&](Call& c) { c.grants.erase(c.grants.begin() + static_cast<ptrdiff_t>(i)); });
  }
  return all;
}

// How much there is to understand in a call: what a simpler one has less of.
uint64_t Weight(const Call& call) {
  const Call plain;
  const auto of_amount = [](const Amount& amount) {
    return (amount == Amount() ? 0u : 1u) + (amount.bytes != 0 ? 4u : 0u) +
           (amount.eighths != 0 ? 4u : 0u) +
           std::min<uint64_t>(static_cast<uint64_t>(std::abs(amount.granules)), 64);
  };
  const auto of_place = [&](const Place& place) {
    return of_amount(place.offset) + (place.slot != kNoSlot ? 1 : 0);
  };
  return of_amount(call.size) + of_amount(call.offset) + of_place(call.address) +
         of_place(call.source) + (call.flags != 0) + !(call.properties == plain.properties) +
         !(call.properties.location == plain.properties.location) +
         (call.properties.requested_handle_types != HandleType::kNone) +
         (call.stream != StreamOperand::kNone) + (call.device != plain.device) +
         (call.pattern.value != 0) + (call.pattern.width != Bytes(1)) + 4 * call.grants.size();
}

bool SimplifyCalls(std::vector<Call>& calls, const Fails& fails) {
  bool simpler = false;
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const Call& candidate : Simpler(calls[i])) {
      if (Weight(candidate) >= Weight(calls[i])) continue;
      const Call before = std::exchange(calls[i], candidate);
      if (fails(calls)) {
        simpler = true;
      } else {
        calls[i] = before;
      }
    }
  }
  return simpler;
}

}  // namespace

std::vector<Call> Shrink(std::vector<Call> calls, const Fails& fails) {
  do {
    while (RemoveCalls(calls, fails)) {
    }
  } while (SimplifyCalls(calls, fails));
  return calls;
}

}  // namespace twinmmu::conformance::random
