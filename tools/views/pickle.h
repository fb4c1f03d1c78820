// Pickle: values in the format of Python's pickle, protocol 2.

#ifndef TWINMMU_TOOLS_VIEWS_PICKLE_H_
#define TWINMMU_TOOLS_VIEWS_PICKLE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace twinmmu {

// Writes one value after the other; who calls it makes sure that they are one. Integers have at
// most 8 bytes, and text is UTF-8, as readers want it.
//
//   pickle.BeginDict();
//   pickle.Text("size");
//   pickle.Integer(42);
//   pickle.EndDict();
class Pickle {
 public:
  Pickle() : bytes_("\x80\x02") {}

  void Integer(int64_t value);
  // What is no UTF-8 becomes '?'.
  void Text(std::string_view text);
  void Bool(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  void BeginList() { bytes_ += "]("; }
  void EndList() { bytes_ += 'e'; }
  // Keys and values by turns.
  void BeginDict() { bytes_ += "}("; }
  void EndDict() { bytes_ += 'u'; }
  void BeginTuple() { bytes_ += '('; }
  void EndTuple() { bytes_ += 't'; }
  // Values that were written by another one.
  void Append(const Pickle& values) { bytes_ += values.bytes_.substr(2); }

  std::string Finish() const { return bytes_ + '.'; }

 private:
  std::string bytes_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_PICKLE_H_
