#include "sim/ptx/tests/played_kernel.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace twinmmu::ptx {
namespace {

using coherence::Instruction;
using coherence::LitmusTest;
using coherence::Program;
using coherence::Thread;

constexpr uint32_t kBulkBytes = 16;
constexpr uint32_t kWordBytes = 4;
constexpr uint32_t kWarpsOfProduct = 4;

struct MbarrierUse {
  uint32_t arrivals = 0;
  uint32_t bytes = 0;  // of operations that complete there
};

class KernelWriter {
 public:
  KernelWriter(const LitmusTest& test, int gpu, uint64_t texture, uint64_t surface, uint64_t seed)
      : test_(test),
        program_(test.program),
        gpu_(gpu),
        texture_(texture),
        surface_(surface),
        random_(seed) {}

  absl::StatusOr<PlayedKernel> Write() {
    const absl::Status placed = Place();
    if (!placed.ok()) return placed;
    CountUses();
    WriteBeginning();
    for (const int t : threads_) {
      const absl::Status written = WriteThread(t);
      if (!written.ok()) return written;
    }
    Line("END:");
    if (clustered_) Line("barrier.cluster.arrive; barrier.cluster.wait;");
    Line("ret;\n}");
    PlayedKernel kernel;
    kernel.ptx = text_;
    kernel.blocks = static_cast<uint32_t>(ctas_.size());
    kernel.threads = 32 * (products_ ? kWarpsOfProduct : most_warps_);
    return kernel;
  }

 private:
  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&text_, parts..., "\n");
  }

  absl::Status Place() {
    if (test_.host) return absl::UnimplementedError("it is of the host");
    std::map<int, int> clusters;  // how many CTAs
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      const Thread& thread = program_.threads[t];
      if (thread.issuer >= 0 || thread.place.gpu != gpu_) continue;
      threads_.push_back(static_cast<int>(t));
      for (const Instruction& instruction : thread.instructions) {
        products_ |= absl::StartsWith(instruction.text, "wgmma");
      }
      if (std::count(ctas_.begin(), ctas_.end(), thread.place.cta) != 0) continue;
      ctas_.push_back(thread.place.cta);
      ++clusters[thread.place.cluster];
    }
    if (products_ && threads_.size() > 1) {
      return absl::UnimplementedError("it has products and several threads");
    }
    clustered_ = clusters.size() == 1 && ctas_.size() > 1;
    if (!clustered_ && clusters.size() != ctas_.size()) {
      return absl::UnimplementedError("its clusters are of different sizes");
    }
    home_ = BlockOf(threads_.back());
    for (size_t block = 0; block < ctas_.size(); ++block) {
      most_warps_ = std::max(most_warps_, WarpsOf(static_cast<int>(block)));
    }
    return absl::OkStatus();
  }
  uint32_t WarpsOf(int block) const {
    uint32_t warps = 0;
    for (const int t : threads_) warps += BlockOf(t) == block ? 1 : 0;
    return warps;
  }
  int BlockOf(int thread) const {
    const int cta = program_.threads[static_cast<size_t>(thread)].place.cta;
    return static_cast<int>(std::find(ctas_.begin(), ctas_.end(), cta) - ctas_.begin());
  }
  int WarpOf(int thread) const {
    int warp = 0;
    for (const int t : threads_) warp += t < thread && BlockOf(t) == BlockOf(thread) ? 1 : 0;
    return warp;
  }

  static std::vector<std::string> OperandsOf(absl::string_view text) {
    const size_t blank = text.find(' ');
    if (blank == absl::string_view::npos) return {};
    std::vector<std::string> operands = absl::StrSplit(text.substr(blank + 1), ',');
    for (std::string& operand : operands)
      operand = std::string(absl::StripAsciiWhitespace(operand));
    return operands;
  }
  static std::string WordOf(absl::string_view text) {
    return std::string(text.substr(0, std::min(text.find(' '), text.size())));
  }

  void CountUses() {
    for (const int t : threads_) {
      for (const Instruction& instruction : program_.threads[static_cast<size_t>(t)].instructions) {
        const std::string word = WordOf(instruction.text);
        const std::vector<std::string> operands = OperandsOf(instruction.text);
        if (absl::StartsWith(word, "mbarrier.") || absl::StartsWith(word, "cp.async.mbarrier")) {
          mbarriers_[operands[0]].arrivals += absl::StrContains(word, "arrive") ? 1 : 0;
        } else if (operands.size() == 3 && absl::StrContains(word, "async.bulk")) {
          mbarriers_[operands[2]].bytes += kBulkBytes;
        } else if (absl::StartsWith(word, "st.async") || absl::StartsWith(word, "red.async")) {
          mbarriers_[operands[2]].bytes += kWordBytes;
        }
      }
    }
  }

  void WriteBeginning() {
    Line(".version 8.6\n.target sm_90a\n.address_size 64");
    Line(
        ".visible .entry k(.param .u64 first, .param .u64 second, .param .u64 results,\n"
        ".param .u64 replica0, .param .u64 replica1, .param .u64 multicast)");
    if (clustered_) Line(".reqnctapercluster ", ctas_.size());
    Line("{\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<9>; .reg .b32 %v<256>;");
    Line(".shared .align 128 .b8 shared[", PlayedKernel::kLocationBytes * program_.locations.size(),
         "]; .shared .align 8 .b64 mbarriers[8];");
    Line("ld.param.u64 %rd1, [first]; ld.param.u64 %rd2, [second]; ld.param.u64 %rd3, [results];");
    Line(
        "ld.param.u64 %rd5, [replica0]; ld.param.u64 %rd6, [replica1]; ld.param.u64 %rd7, "
        "[multicast];");
    Line(
        "mov.u32 %r1, shared; mov.u32 %r2, mbarriers; mov.u32 %r3, shared; mov.u32 %r4, "
        "mbarriers;");
    if (clustered_) {
      Line("mapa.shared::cluster.u32 %r3, %r1, ", home_, "; mapa.shared::cluster.u32 %r4, %r2, ",
           home_, ";");
    }
    Line("mov.u32 %r5, %tid.x; and.b32 %r6, %r5, 31; shr.u32 %r5, %r5, 5; mov.u32 %r7, %ctaid.x;");
    Line("setp.eq.u32 %p1, %r6, 0; mov.u32 %r8, %tid.x; setp.eq.u32 %p3, %r8, 0;");
    if (products_) Line("setp.eq.u32 %p1, %r8, 0; selp.u32 %r15, 1, 0, %p1; mov.u32 %r9, 0;");
    for (size_t i = 0; i < program_.locations.size(); ++i) {
      if (!IsShared(program_.locations[i])) continue;
      Line("@%p3 st.shared.u32 [%r1+", PlayedKernel::kLocationBytes * i, "], ",
           program_.locations[i].initial, ";");
    }
    int number = 0;
    for (const auto& [name, use] : mbarriers_) {
      const std::string at = absl::StrCat("[%r2+", 8 * number++, "]");
      Line("@%p3 mbarrier.init.shared.b64 ", at, ", ", use.arrivals + (use.bytes != 0 ? 1 : 0),
           ";");
      if (use.bytes == 0) continue;
      Line("@%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, ", at, ", ", use.bytes, ";");
    }
    Line("fence.proxy.async; bar.sync 0;");
    if (clustered_) Line("barrier.cluster.arrive; barrier.cluster.wait;");
  }

  // A thread of the test is a warp that goes its own way.
  absl::Status WriteThread(int t) {
    Line("setp.ne.u32 %p2, %r7, ", BlockOf(t), "; @%p2 bra THREAD", t, ";");
    if (!products_) Line("setp.ne.u32 %p2, %r5, ", WarpOf(t), "; @%p2 bra THREAD", t, ";");
    const Thread& thread = program_.threads[static_cast<size_t>(t)];
    for (size_t i = 0; i < thread.instructions.size(); ++i) {
      Wait();
      const Instruction& instruction = thread.instructions[i];
      if (absl::StartsWith(instruction.text, "wgmma")) {
        WriteProduct(instruction, OperationOf(t, static_cast<int>(i)));
        continue;
      }
      const absl::Status written = WriteInstruction(t, instruction);
      if (!written.ok()) return written;
    }
    for (size_t i = 0; i < test_.observables.size(); ++i) {
      const int of = test_.observables[i].thread;
      if (of < 0 || (of != t && program_.threads[static_cast<size_t>(of)].issuer != t)) continue;
      Line("@%p1 st.global.u32 [%rd3+", kWordBytes * i, "], ",
           Register(of, test_.observables[i].index), ";");
    }
    Line("bra END;");
    Line("THREAD", t, ":");
    return absl::OkStatus();
  }

  // The asynchronous operation that the instruction asks for.
  int OperationOf(int thread, int index) const {
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      const Thread& operation = program_.threads[t];
      if (operation.issuer == thread && operation.issuer_index == index) return static_cast<int>(t);
    }
    return thread;
  }
  // Its first sum is the first byte of the location: of the other factor, only one element is 1.
  void WriteProduct(const Instruction& instruction, int operation) {
    const std::string word = WordOf(instruction.text);
    const std::vector<std::string> operands = OperandsOf(instruction.text);
    if (word == "wgmma.mma_async") {
      const int location = LocationOf(operands[1]);
      Line("wgmma.fence.sync.aligned; add.u32 %r14, %r1, ", PlayedKernel::kLocationBytes * location,
           "; shr.u32 %r14, %r14, 4; cvt.u64.u32 %rd8, %r14;");
      Line("setp.ne.u32 %p2, %r5, %r5;");
      Line("wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {", Register(operation, 0),
           ", %r10, %r11, %r12}, {%r15, %r9, %r9, %r9}, %rd8, %p2;");
    } else {
      Line(word, ".sync.aligned", operands.empty() ? "" : absl::StrCat(" ", operands[0]), ";");
    }
  }

  // So that others are first, warps or blocks. Not where all warps act for one thread.
  void Wait() {
    const uint64_t choice = random_() % 4;
    if (choice < 2 || products_) return;
    const int label = next_label_++;
    Line("mov.u32 %r9, ", choice == 2 || (ctas_.size() == 1 && GpusOf(test_) == 1) ? 3 : 1200, ";");
    Line("SLEEP", label, ": nanosleep.u32 20; sub.u32 %r9, %r9, 1;");
    Line("setp.ne.u32 %p2, %r9, 0; @%p2 bra SLEEP", label, ";");
  }

  std::string Register(int thread, int index) const {
    return absl::StrCat("%v", 16 * thread + index);
  }
  int LocationOf(absl::string_view name) const {
    for (const coherence::Address& address : program_.addresses) {
      if (address.name == name) return address.locations[0];
    }
    return 0;
  }
  bool IsSharedName(absl::string_view name) const {
    return IsShared(program_.locations[static_cast<size_t>(LocationOf(name))]);
  }
  // In brackets. A location has one address or two, of which the first is declared first, or is a
  // replica of multicast memory.
  std::string AddressOf(absl::string_view name, int thread) const {
    for (const coherence::Address& address : program_.addresses) {
      if (!address.multicast) continue;
      if (address.name == name) return "[%rd7]";
      const auto begin = address.locations.begin();
      const auto replica = std::find(begin, address.locations.end(), LocationOf(name));
      if (replica != address.locations.end()) return replica == begin ? "[%rd5]" : "[%rd6]";
    }
    const int location = LocationOf(name);
    const uint32_t offset = PlayedKernel::kLocationBytes * static_cast<uint32_t>(location);
    if (IsSharedName(name)) {
      return absl::StrCat(BlockOf(thread) == home_ ? "[%r1+" : "[%r3+", offset, "]");
    }
    for (const coherence::Address& address : program_.addresses) {
      if (address.locations[0] != location) continue;
      return absl::StrCat(address.name == name ? "[%rd1+" : "[%rd2+", offset, "]");
    }
    return "";
  }
  std::string SpaceOf(absl::string_view name, int thread) const {
    if (!IsSharedName(name)) return "global";
    return BlockOf(thread) == home_ ? "shared::cta" : "shared::cluster";
  }
  std::string MbarrierAt(absl::string_view name, bool remote) const {
    const auto found = mbarriers_.find(std::string(name));
    const auto number = std::distance(mbarriers_.begin(), found);
    return absl::StrCat(remote ? "[%r4+" : "[%r2+", 8 * number, "]");
  }
  std::string ValueAt(int t, const Instruction& instruction) const {
    const coherence::Value& value = instruction.value;
    return value.reg < 0 ? absl::StrCat(value.constant) : Register(t, value.reg);
  }

  absl::Status WriteInstruction(int t, const Instruction& instruction) {
    const std::string word = WordOf(instruction.text);
    const std::vector<std::string> operands = OperandsOf(instruction.text);
    if (instruction.IsAccess()) return WriteAccess(t, instruction, word, operands);
    if (absl::StartsWith(word, "mbarrier.")) return WriteMbarrier(t, word, operands[0]);
    if (absl::StartsWith(word, "bar.")) {
      Line("barrier.cta.sync 1, ", 32 * WarpsOf(BlockOf(t)), ";");
    } else if (absl::StartsWith(word, "barrier.cluster") || absl::StartsWith(word, "fence")) {
      // All warps of all blocks come to a barrier of the cluster, by threads that are not there
      // too.
      if (absl::StartsWith(word, "barrier") && most_warps_ > 1) {
        return absl::UnimplementedError("a barrier of a cluster and several threads in a block");
      }
      Line(word, ";");
    } else if (absl::StartsWith(word, "cp.async.mbarrier")) {
      Line("@%p1 cp.async.mbarrier.arrive.noinc.shared.b64 ", MbarrierAt(operands[0], false), ";");
    } else if (operands.size() < 2) {
      Line("@%p1 ", word, operands.empty() ? "" : absl::StrCat(" ", operands[0]), ";");
    } else if (absl::StrContains(word, "bulk")) {
      WriteBulk(t, word, operands);
    } else if (absl::StartsWith(word, "cp.async")) {
      Line("@%p1 cp.async.ca.shared.global ", AddressOf(operands[0], t), ", ",
           AddressOf(operands[1], t), ", 4;");
    } else {
      WriteRemoteStore(t, word, operands);
    }
    return absl::OkStatus();
  }

  absl::Status WriteAccess(int t, const Instruction& instruction, const std::string& word,
                           const std::vector<std::string>& operands) {
    const std::string result = instruction.result < 0 ? "%r10" : Register(t, instruction.result);
    if (word == "tex") {
      Line("mov.u64 %rd4, ", texture_, "; @%p1 tex.1d.v4.u32.s32 {", result,
           ", %r11, %r12, %r13}, [%rd4, {0}];");
    } else if (word == "suld") {
      Line("mov.u64 %rd4, ", surface_, "; @%p1 suld.b.1d.b32.clamp {", result, "}, [%rd4, {0}];");
    } else if (word == "sust") {
      Line("mov.u64 %rd4, ", surface_, "; mov.u32 %r14, ", ValueAt(t, instruction),
           "; @%p1 sust.b.1d.b32.clamp [%rd4, {0}], {%r14};");
    } else {
      const bool reads = instruction.result >= 0 || absl::StartsWith(word, "atom");
      const std::string& name = operands[reads ? 1 : 0];
      // "atom.relaxed.cluster.add": the space stands in front of the operation.
      std::string opcode = word;
      const size_t operation = opcode.find(".add");
      opcode.insert(operation == std::string::npos ? opcode.size() : operation,
                    absl::StrCat(".", SpaceOf(name, t)));
      Line("@%p1 ", opcode, ".u32 ", reads ? absl::StrCat(result, ", ") : "", AddressOf(name, t),
           instruction.Writes() ? absl::StrCat(", ", ValueAt(t, instruction)) : "", ";");
    }
    return absl::OkStatus();
  }

  absl::Status WriteMbarrier(int t, absl::string_view word, const std::string& name) {
    const bool remote = BlockOf(t) != home_;
    const bool wide = absl::StrContains(word, ".cluster");
    if (absl::StrContains(word, "arrive")) {
      const char* const order = absl::StrContains(word, "relaxed") ? ".relaxed" : ".release";
      Line("@%p1 mbarrier.arrive", order, wide ? ".cluster" : ".cta",
           remote ? ".shared::cluster" : ".shared::cta", ".b64 _, ", MbarrierAt(name, remote), ";");
      return absl::OkStatus();
    }
    const char* const order = absl::StrContains(word, "relaxed") ? ".relaxed" : ".acquire";
    const int label = next_label_++;
    Line("setp.eq.u32 %p2, %r5, %r5;");
    Line("WAIT", label, ": @%p1 mbarrier.try_wait.parity", order, wide ? ".cluster" : ".cta",
         ".shared::cta.b64 %p2, ", MbarrierAt(name, false), ", 0; @!%p2 bra WAIT", label, ";");
    return absl::OkStatus();
  }

  void WriteBulk(int t, const std::string& word, const std::vector<std::string>& operands) {
    const bool reduces = absl::StrContains(word, "reduce");
    const std::string to = IsSharedName(operands[0]) ? ".shared::cluster" : ".global";
    const std::string from = IsSharedName(operands[1]) ? ".shared::cta" : ".global";
    const bool counted = operands.size() == 3;
    Line("@%p1 cp", reduces ? ".reduce" : "", ".async.bulk", to, from,
         counted ? ".mbarrier::complete_tx::bytes" : ".bulk_group", reduces ? ".add.u32 " : " ",
         AddressOf(operands[0], t), ", ", AddressOf(operands[1], t), ", ", kBulkBytes,
         counted ? absl::StrCat(", ", MbarrierAt(operands[2], false)) : "", ";");
    if (!counted) Line("@%p1 cp.async.bulk.commit_group;");
  }

  void WriteRemoteStore(int t, const std::string& word, const std::vector<std::string>& operands) {
    const std::string at = AddressOf(operands[0], t);
    const std::string mbarrier = MbarrierAt(operands[2], true);
    Line("mov.u32 %r14, ", operands[1], ";");
    if (absl::StartsWith(word, "st")) {
      Line("@%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 ", at, ", %r14, ",
           mbarrier, ";");
    } else {
      Line("@%p1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 ",
           at, ", %r14, ", mbarrier, ";");
    }
  }

  const LitmusTest& test_;
  const Program& program_;
  const int gpu_;
  const uint64_t texture_;
  const uint64_t surface_;
  std::mt19937_64 random_;
  std::string text_;
  std::vector<int> threads_;  // of this GPU, without asynchronous operations
  bool products_ = false;     // a warpgroup acts for the only thread
  std::vector<int> ctas_;
  bool clustered_ = false;
  int home_ = 0;  // the block that has the shared locations
  uint32_t most_warps_ = 0;
  std::map<std::string, MbarrierUse> mbarriers_;
  int next_label_ = 0;
};

}  // namespace

bool IsShared(const coherence::MemoryLocation& location) {
  return location.name[0] == 's' || location.name[0] == 't';
}

int GpusOf(const LitmusTest& test) {
  int gpus = 1;
  for (const Thread& thread : test.program.threads) gpus = std::max(gpus, thread.place.gpu + 1);
  return gpus;
}

absl::StatusOr<PlayedKernel> MakePlayedKernel(const LitmusTest& test, int gpu, uint64_t texture,
                                              uint64_t surface, uint64_t seed) {
  return KernelWriter(test, gpu, texture, surface, seed).Write();
}

}  // namespace twinmmu::ptx
