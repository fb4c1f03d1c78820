// LitmusWriter: writes the PTX of a litmus test, a piece at a time.
//
// Registers of a kernel: %p0 and %r0, %r1, ... up to 19 and from 26 on, and %rd0 to %rd5 are for
// who uses this class; the others are for what it writes. It reads %r2, the instance of the thread,
// %r3, how many instances there are, and %rd0, the control memory.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_WRITER_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_WRITER_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "conformance/litmus/litmus_timing.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu {

class LitmusWriter {
 public:
  // The test must outlive this object.
  LitmusWriter(const coherence::LitmusTest& test, LitmusTiming timing);

  // ".gpu", or ".sys": the scope of all threads of the test.
  absl::string_view all() const { return all_; }

  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&text_, "  ", parts..., "\n");
  }
  void Label(absl::string_view name) { absl::StrAppend(&text_, name, ":\n"); }
  // Labels are numbered over the whole text.
  std::string NewLabel() { return absl::StrCat("L", next_label_++); }
  std::string Take() { return std::move(text_); }

  void Header();
  // Parameters p0, p1, ... of these types, then one for each address of the program.
  void BeginKernel(const std::string& name, std::vector<const char*> types);
  void EndKernel();

  // %a0, %a1, ...: the addresses of the instance. `first`: the parameter of the first base.
  void LoadAddresses(int first);
  // %b0_0, ...: the address that an instruction of a thread accesses, as a register of its own that
  // is computed of what the compiler does not know. Otherwise it takes the value of an earlier weak
  // load for a later one of the same address, even across an acquire.
  void HideAddresses(int thread);

  // Before a Body: %r20 is a random number. The warp waits for up to 2^`bits` - 1 clocks, or will
  // give way before some instructions.
  void Delay(int bits);
  // The instructions of a thread. `barrier_threads`: by barrier, how many threads meet at it; null:
  // barriers are left out.
  void Body(int thread, const std::map<int, int>* barrier_threads);
  // Reads what lies at an address of the program, the sum of all replicas if it is multicast.
  void ReadAddress(absl::string_view result, int address);
  // Puts the observable registers of a thread where the host and other threads can read them.
  void StoreRegisters(int thread);
  // %rd3: the place of this observable register for the instance.
  void RegisterPlace(size_t observable);
  void CountError();

 private:
  std::string OpcodeOf(const coherence::Instruction& instruction) const;
  std::string Operand(int thread, const coherence::Value& value) const;
  std::string ResultOf(int thread, const coherence::Instruction& instruction) const;
  void GiveWay();
  void Emit(int thread, const coherence::Instruction& instruction,
            const std::map<int, int>* barrier_threads);
  void EmitRead(int thread, const coherence::Instruction& instruction);
  void EmitSpin(int thread, const coherence::Instruction& instruction);

  const coherence::LitmusTest& test_;
  const coherence::Program& program_;
  const absl::string_view all_;
  const LitmusTiming timing_;
  std::string text_;
  std::string address_;  // of the instruction that is being written
  int next_label_ = 0;
  size_t next_zero_ = 0;
};

// How often a loop that waits looks: seconds, for what takes microseconds.
constexpr uint32_t kMaxLitmusTurns = 1 << 21;

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_WRITER_H_
