#include "conformance/abi/values/answer_lines.h"

#include <cstddef>
#include <sstream>

namespace twinmmu::abi {
namespace {

std::string TextOf(uint64_t value) {
  constexpr uint64_t kLargestDecimal = 9999;
  std::ostringstream out;
  if (value > kLargestDecimal) out << "0x" << std::hex;
  out << value;
  return out.str();
}

// What is from `begin` on, up to the next range.
std::string RangeFrom(const std::string& line, size_t begin) {
  if (begin >= line.size()) return "nothing";
  const size_t end = line.find("; ", begin);
  return line.substr(begin, end == std::string::npos ? end : end - begin);
}

}  // namespace

std::string LineOf(const std::string& subject, const std::vector<TriedValue>& tried) {
  std::string line = subject + ":";
  for (size_t first = 0; first < tried.size();) {
    size_t last = first;
    while (last + 1 < tried.size() && tried[last + 1].answer == tried[first].answer) ++last;
    line += (first == 0 ? " " : "; ") + TextOf(tried[first].value);
    if (last != first) line += ".." + TextOf(tried[last].value);
    line += " " + tried[first].answer;
    first = last + 1;
  }
  return line;
}

std::string SubjectOf(const std::string& line) { return line.substr(0, line.find(": ")); }

std::string DifferenceOf(const std::string& recorded, const std::string& here) {
  const std::string subject = SubjectOf(recorded.empty() ? here : recorded) + ": ";
  size_t begin = subject.size();
  const auto ends_range = [](const std::string& line, size_t at) {
    return at == line.size() || line.compare(at, 2, "; ") == 0;
  };
  for (size_t at = begin; at <= recorded.size() && at <= here.size(); ++at) {
    if (ends_range(recorded, at) && ends_range(here, at)) begin = at + 2;
    if (at == here.size() || recorded[at] != here[at]) break;
  }
  return subject + "recorded " + RangeFrom(recorded, begin) + ", here " + RangeFrom(here, begin);
}

}  // namespace twinmmu::abi
