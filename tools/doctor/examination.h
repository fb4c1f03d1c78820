// Examine: what a machine has, what that means for the commands, and what to do.

#ifndef TWINMMU_TOOLS_DOCTOR_EXAMINATION_H_
#define TWINMMU_TOOLS_DOCTOR_EXAMINATION_H_

#include <string>
#include <vector>

#include "tools/doctor/host.h"

namespace twinmmu {

enum class Health {
  kGood,
  kLimited,  // there, and not all of it can be used
  kMissing,
};
const char* ToString(Health health);  // "good", "limited", "missing"

struct Finding {
  std::string what;  // "driver"
  Health health = Health::kGood;
  std::string detail;  // what was found
  std::string advice;  // what to do; empty where it is good
};

// What the findings mean for a command.
struct Ability {
  std::string command;  // "conformance --backend=cuda"
  Health health = Health::kGood;
  std::string reason;  // empty where it is good
};

struct Examination {
  std::vector<Finding> findings;
  std::vector<Ability> abilities;

  // Whether the simulator has what it needs.
  bool simulator_works() const;
  const Finding& Of(const std::string& what) const;
};

Examination Examine(const Host& host);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_DOCTOR_EXAMINATION_H_
