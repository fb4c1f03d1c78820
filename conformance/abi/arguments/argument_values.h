// An argument of each kind for functions of the driver.

#ifndef TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ARGUMENT_VALUES_H_
#define TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ARGUMENT_VALUES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>

#include "conformance/abi/arguments/answers.h"
#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {

// At most 16 arguments, each of which goes where a pointer or an integer does.
using AnyArguments = std::array<uint64_t, 16>;
CUresult Call(const char* symbol, const AnyArguments& arguments);

// One of each object, in the primary context, and the state in which calls are made.
class Arguments {
 public:
  explicit Arguments(CallState state);

  // False: the driver did not make all of it.
  bool are_whole() const { return are_whole_; }
  // For parameter `index`; `kind`: see argument_kinds.inc.
  uint64_t Of(char kind, bool is_there, size_t index);
  // What calls write goes there.
  void ClearPlaces();

  // Around each call, where a stream is to be captured. False: it cannot begin.
  bool BeginCapture();
  // What became of it: " capturing", " spoilt end 901" or " ended end 401"; empty where none is
  // captured.
  std::string EndCapture();

 private:
  void Make();
  void MakeTextures();
  void MakeGraphs();
  void MakeNode();
  void MakeAllocationNode(uint64_t* memory, uint64_t* made);
  void Enter();
  void EnterCapture();
  // Calls it with what stands for a result in front of, or among, the other arguments.
  void Need(const char* symbol, std::initializer_list<uint64_t> arguments);
  static uint64_t FunctionToCall();
  template <typename Value>
  static uint64_t At(Value* value) {
    return reinterpret_cast<uint64_t>(value);
  }
  uint64_t ResultOf(char kind) { return At(&handles_[kind]); }

  static constexpr size_t kPlaces = 16;

  const CallState state_;
  bool are_whole_ = true;
  std::map<char, uint64_t> handles_;
  alignas(64) std::array<std::array<char, 8192>, kPlaces> places_ = {};
  uint64_t captured_ = 0;  // a stream
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_ARGUMENTS_ARGUMENT_VALUES_H_
