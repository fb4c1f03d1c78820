// Names: what a recording calls things whose values differ from run to run.

#ifndef TWINMMU_API_TESTING_RECORDING_NAMES_H_
#define TWINMMU_API_TESTING_RECORDING_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/address.h"
#include "api/executor.h"
#include "api/sparse_arrays.h"

namespace twinmmu {

// A thing is named when a call first gives it out: "r1" is the first reservation, "h2" the second
// allocation handle. A value that is given out again, as a driver does with handles, is a new thing
// from then on. What nobody gave out is written as a number, "0x1000". Not thread-safe.
class Names {
 public:
  // Kinds of things but reservations; the letter begins their names.
  enum Kind : char {
    kHandle = 'h',
    kDescriptor = 'd',
    kStream = 's',
    kEvent = 'e',
    kModule = 'm',
    kKernel = 'k',
    kArray = 'a',
    kMipmappedArray = 'p',
    kOpaque = 'x',  // numbers of a driver's own that mean nothing
  };

  // Gives the next name.
  std::string Add(Kind kind, uint64_t value);
  // The latest name of `value`, or the number.
  std::string Of(Kind kind, uint64_t value) const;
  // The value of a name, or the number. InvalidArgument: neither.
  absl::StatusOr<uint64_t> Value(Kind kind, absl::string_view text) const;

  std::string AddReservation(const AddressRange& range);
  void EndReservation(DeviceAddress base);
  // As a distance from the reservation that contains `address`, or ends there; a live one if there
  // is one, else the latest.
  std::string Of(DeviceAddress address) const;
  absl::StatusOr<DeviceAddress> Address(absl::string_view text) const;

  // The next name of the kind of `name` comes after it: what was named there is not here.
  void SkipPast(absl::string_view name);

 private:
  struct Reservation {
    AddressRange range;
    bool live = true;
    uint64_t number = 0;
  };

  std::map<char, uint64_t> counts_;
  std::map<std::pair<char, uint64_t>, uint64_t> numbers_;  // by kind and value
  std::map<std::pair<char, uint64_t>, uint64_t> values_;   // by kind and number
  std::vector<Reservation> reservations_;
};

constexpr Names::Kind KindOf(Stream) { return Names::kStream; }
constexpr Names::Kind KindOf(Event) { return Names::kEvent; }
constexpr Names::Kind KindOf(Module) { return Names::kModule; }
constexpr Names::Kind KindOf(Kernel) { return Names::kKernel; }
constexpr Names::Kind KindOf(Array) { return Names::kArray; }
constexpr Names::Kind KindOf(MipmappedArray) { return Names::kMipmappedArray; }

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_NAMES_H_
