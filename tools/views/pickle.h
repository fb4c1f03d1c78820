// Pickle: values in the format of Python's pickle, protocol 2.

#ifndef TWINMMU_TOOLS_VIEWS_PICKLE_H_
#define TWINMMU_TOOLS_VIEWS_PICKLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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
  // The list goes on in another piece: readers hold a whole piece as arguments of a call.
  void NextPiece() { bytes_ += "e("; }
  // Keys and values by turns.
  void BeginDict() { bytes_ += "}("; }
  void EndDict() { bytes_ += 'u'; }
  void BeginTuple() { bytes_ += '('; }
  void EndTuple() { bytes_ += 't'; }
  // Keeps the value that was written last under a number, and writes it again.
  void Keep(uint32_t number) { Numbered('r', number); }
  void Kept(uint32_t number) { Numbered('j', number); }

  // All of it; nothing may follow.
  std::string Finish() { return std::move(bytes_ += '.'); }

 private:
  void Numbered(char operation, uint32_t number);

  std::string bytes_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_PICKLE_H_
