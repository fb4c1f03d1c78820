// What stands in a line, as arguments of a call.

#ifndef TWINMMU_API_TESTING_RECORDING_ARGUMENTS_H_
#define TWINMMU_API_TESTING_RECORDING_ARGUMENTS_H_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "api/allocation.h"
#include "api/testing/recording/codec.h"

namespace twinmmu {

inline uint64_t Number(const Json& line, const char* key) {
  return line.contains(key) ? Whole(line.at(key)).get<uint64_t>() : 0;
}

inline DeviceOrdinal Device(const Json& line, const char* key = "device") {
  return DeviceOrdinal(Whole(line.at(key)).get<int>());
}

// An absent result is not an error of the one who asks.
template <typename T>
T OrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::invalid_argument(std::string(result.status().message()));
  return *std::move(result);
}

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_ARGUMENTS_H_
