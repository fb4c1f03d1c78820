// Runs random sequences on an implementation, beside the model.

#ifndef TWINMMU_CONFORMANCE_RANDOM_RUN_SEEDS_H_
#define TWINMMU_CONFORMANCE_RANDOM_RUN_SEEDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/driver.h"
#include "conformance/random/generator.h"
#include "conformance/random/model.h"
#include "conformance/random/random_call.h"

namespace twinmmu::conformance::random {

// An implementation without reservations or allocations of others, and what it is.
struct Subject {
  std::unique_ptr<Driver> driver;
  ModelParameters parameters;
  bool defined_only = false;  // see Checker
};
// FailedPrecondition: the hardware or its driver is absent.
using OpenSubject = std::function<absl::StatusOr<Subject>()>;

struct Seeds {
  uint64_t first = 1;
  uint64_t last = 1;
  uint64_t calls = 1000;  // of each
  // Told each seed before it is run; may be null.
  std::function<void(uint64_t seed)> begin = nullptr;
};

struct Report {
  uint64_t seeds = 0;
  uint64_t calls = 0;
  uint64_t answers = 0;  // to these, and to the questions after each
  // The first difference, with the sequence that shows it, shrunk, as a test; empty: there is none.
  std::string difference;
};

// One sequence for each seed, on one subject, which is cleaned up after each. Ends with the first
// difference. Error: no subject could be opened.
absl::StatusOr<Report> RunSeeds(const OpenSubject& open, const Seeds& seeds);

// One sequence: `calls` of them, or until `is_over` says so. Returns the difference as in Report.
absl::StatusOr<std::string> RunChoices(const OpenSubject& open, Choices& choices,
                                       const std::function<bool(uint64_t made)>& is_over);

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_RANDOM_RUN_SEEDS_H_
