// Program: a module made ready to run.

#ifndef TWINMMU_SIM_PTX_PROGRAM_PROGRAM_H_
#define TWINMMU_SIM_PTX_PROGRAM_PROGRAM_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "sim/coherence/monitor/site_table.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

struct Code;  // sim/ptx/program/code.h: the intermediate form

// An instruction, or something else of a function, that is not covered.
struct Refusal {
  std::string function;
  int line = 0;
  std::string instruction;  // its opcode and modifiers; empty: it is none
  std::string reason;
};

// "line 12: `tex.2d.v4.f32.f32`: it is not supported"
std::string InWords(const Refusal& refusal);

// What a launch has to know of a kernel.
struct KernelInfo {
  struct Parameter {
    uint64_t offset = 0;  // into the parameters of a launch
    uint64_t size = 0;
  };
  std::string name;
  std::string refusal;  // why it cannot run; empty: it can
  std::vector<Parameter> parameters;
  uint64_t parameter_bytes = 0;
  uint64_t shared_bytes = 0;     // static
  uint64_t local_bytes = 0;      // of one thread
  bool uses_heap = false;        // it may call malloc or free
  bool uses_references = false;  // it may read or write what variables stand for
  uint32_t registers = 0;        // of one thread, as declared (32-bit registers)
  uint32_t max_threads = 1024;
  std::array<uint32_t, 3> required_threads = {0, 0, 0};
  std::array<uint32_t, 3> cluster = {0, 0, 0};  // that it must have, in blocks; 0: not said
  uint32_t max_cluster_blocks = 0;              // 0: not said
  bool explicit_cluster = false;                // it must be launched with clusters
};

// A variable of the module that lies in memory.
struct GlobalInfo {
  std::string name;
  uint64_t offset = 0;  // into the image
  uint64_t size = 0;
  int managed = -1;  // its number among managed variables, which are not in the image
  Reference reference = Reference::kNone;
};

// An instruction, for messages.
struct CodePlace {
  Position position;   // in the PTX
  std::string source;  // "copy.h:7 in Copy(int*), inlined at copy.cu:12", as far as it is known
  std::string instruction;  // its opcode and modifiers, as written
};

// Made by sim/ptx/decode; immutable from then on, shared by all launches.
class Program : public SiteSource {
 public:
  ~Program() override;

  // `part`: a kernel, by its index; `index`: an instruction, as Code counts them.
  std::string SiteInWords(uint32_t part, uint32_t index) const override;

  // The kernel of that name, or null.
  const KernelInfo* FindKernel(absl::string_view name) const;
  const GlobalInfo* FindGlobal(absl::string_view name) const;
  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  const std::vector<GlobalInfo>& globals() const { return globals_; }
  // All that is not covered, function by function. Kernels that reach none of it can run.
  std::vector<Refusal> Refusals() const;

  // The memory of all variables of .global and .const: the image, and apart from it each managed
  // variable. How much it is, and what it holds at first where it lies, at multiples of 256:
  // nothing is written where zeros stay, and nothing of what has no memory to write to.
  struct Image {
    DeviceAddress base;
    char* zeros = nullptr;
  };
  uint64_t image_bytes() const { return image_bytes_; }
  uint64_t constant_bytes() const { return constant_bytes_; }  // of them those of .const
  const std::vector<uint64_t>& managed_sizes() const { return managed_sizes_; }
  void WriteImages(const Image& image, absl::Span<const Image> managed) const;

  const Code& code() const { return *code_; }

 private:
  friend class ProgramBuilder;
  Program();

  std::vector<KernelInfo> kernels_;
  std::vector<GlobalInfo> globals_;
  uint64_t image_bytes_ = 0;
  uint64_t constant_bytes_ = 0;
  std::vector<uint64_t> managed_sizes_;
  std::unique_ptr<const Code> code_;
};

// "kernel copy, PTX line 12 (copy.cu:7), ld.global.u32", as far as it is known.
std::string InWords(const std::string& kernel, const CodePlace& place);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_PROGRAM_PROGRAM_H_
