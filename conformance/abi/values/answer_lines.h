// A line for a field: its values with what was answered.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_ANSWER_LINES_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_ANSWER_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace twinmmu::abi {

struct TriedValue {
  uint64_t value;
  std::string answer;
};

// "subject: 0 SUCCESS; 1..0x1fffff INVALID_VALUE": values that follow each other and have one
// answer are one range.
std::string LineOf(const std::string& subject, const std::vector<TriedValue>& tried);

// "subject", which ends at the first ": ".
std::string SubjectOf(const std::string& line);

// "subject: recorded 1..2 SUCCESS, here 1..3 SUCCESS": the first ranges in which two lines with one
// subject differ; "subject: recorded 0 SUCCESS, here nothing" if the other is empty.
std::string DifferenceOf(const std::string& recorded, const std::string& here);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_ANSWER_LINES_H_
