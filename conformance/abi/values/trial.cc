#include "conformance/abi/values/trial.h"

#include <utility>

#include "conformance/abi/arguments/child_output.h"

namespace twinmmu::abi {
namespace {

constexpr uint64_t kValues[] = {0,
                                1,
                                2,
                                3,
                                4,
                                5,
                                6,
                                7,
                                8,
                                9,
                                10,
                                11,
                                12,
                                13,
                                14,
                                15,
                                16,
                                17,
                                18,
                                19,
                                20,
                                24,
                                31,
                                32,
                                33,
                                48,
                                63,
                                64,
                                65,
                                100,
                                127,
                                128,
                                129,
                                255,
                                256,
                                257,
                                511,
                                512,
                                513,
                                1000,
                                1023,
                                1024,
                                1025,
                                2048,
                                4095,
                                4096,
                                4097,
                                16384,
                                32768,
                                65535,
                                65536,
                                65537,
                                131072,
                                0x1fffff,
                                0x200000,
                                0x200001,
                                0x400000,
                                0x1000000,
                                0x3f800000 /* 1.0f */,
                                0x7fffffff,
                                0x80000000,
                                kLargest32,
                                kLargest32 + 1,
                                kLargestSize,
                                ~uint64_t{0} >> 1,
                                uint64_t{1} << 63,
                                ~uint64_t{0} - 4095,
                                ~uint64_t{0} - 1,
                                ~uint64_t{0}};

uint64_t LargestIn(size_t bytes) { return ~uint64_t{0} >> (64 - 8 * bytes); }

}  // namespace

void Trial::Offset(uint64_t size, unsigned long long& address, const char* name) {
  const auto is_tried = [size](uint64_t value) { return value < size || value == kLargestSize; };
  if (const auto value = Offer(name + std::string("+"), sizeof(address), is_tried)) {
    address += *value;
  }
}

void Trial::Answer(int result) { Add(NameOfResult(result)); }

void Trial::Add(const std::string& word) {
  if (!answer_.empty()) answer_ += ' ';
  answer_ += word;
}

std::optional<uint64_t> Trial::Offer(const std::string& name, size_t bytes,
                                     const std::function<bool(uint64_t)>& is_tried) {
  std::vector<uint64_t> values;
  for (const uint64_t value : kValues) {
    const bool is_wanted = !changed_ && value <= LargestIn(bytes) && is_tried(value);
    if (is_wanted) values.push_back(value);
  }
  return Offer(name, std::move(values));
}

std::optional<uint64_t> Trial::Offer(const std::string& name, std::vector<uint64_t> values) {
  if (changed_) {
    return offered_++ == *changed_ ? std::optional(value_) : std::nullopt;
  }
  fields_.push_back({name, std::move(values)});
  return std::nullopt;
}

}  // namespace twinmmu::abi
