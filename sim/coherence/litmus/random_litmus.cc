#include "sim/coherence/litmus/random_litmus.h"

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu::coherence {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : seed_(seed), random_(seed) {}

  std::string Make() {
    const int thread_count = 2 + Below(4) / 3;
    std::vector<std::string> threads;
    std::vector<std::string> layout;
    for (int t = 0; t < thread_count; ++t) {
      const int cta = Below(2), gpu = Below(5) / 4;
      layout.push_back(absl::StrCat("{\"cta\": ", cta, ", \"gpu\": ", gpu, "}"));
    }
    const bool barriers = Below(5) == 0;
    for (int t = 0; t < thread_count; ++t) threads.push_back(MakeThread(thread_count, barriers));
    return absl::StrCat(
        "{\"name\": \"random-", seed_, "\", \"locations\": {\"x\": {\"init\": 0, \"aliases\": [",
        "\"x\", \"y\", \"z\"]}, \"f\": {\"aliases\": [\"f\"", Below(8) == 0 ? ", \"g\"" : "",
        "]}}, \"threads\": [", absl::StrJoin(threads, ", "), "], \"layout\": [",
        absl::StrJoin(layout, ", "), "], \"assert\": {\"kind\": \"exists\", \"cond\": \"",
        Below(2) == 0 ? "x == 1" : "x != 7", "\"}}");
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }
  std::string Scope() { return std::vector<std::string>{".cta", ".gpu", ".gpu", ".sys"}[Below(4)]; }
  std::string Data() { return std::vector<std::string>{"x", "y", "x", "z"}[Below(4)]; }

  std::string MakeThread(int thread_count, bool barriers) {
    const int length = thread_count == 2 ? 2 + Below(3) : 1 + Below(3);
    std::vector<std::string> instructions;
    registers_ = 0;
    const int barrier_at = barriers ? Below(length + 1) : -1;
    for (int i = 0; i < length; ++i) {
      if (i == barrier_at) instructions.push_back("\"bar.sync 0\"");
      instructions.push_back(absl::StrCat("\"", MakeInstruction(), "\""));
    }
    if (barrier_at == length) instructions.push_back("\"bar.sync 0\"");
    return absl::StrCat("[", absl::StrJoin(instructions, ", "), "]");
  }

  std::string Stored() {
    if (registers_ > 0 && Below(6) == 0) return absl::StrCat("r", Below(registers_));
    return absl::StrCat(1 + Below(3));
  }

  std::string MakeInstruction() {
    const std::string address = Below(3) == 0 ? "f" : Data();
    switch (Below(14)) {
      case 0:
      case 1:
        return absl::StrCat("st.weak ", address, ", ", Stored());
      case 2:
        return absl::StrCat("st.relaxed", Scope(), " ", address, ", ", Stored());
      case 3:
      case 4:
        return absl::StrCat("st.release", Scope(), " ", Below(3) == 0 ? address : "f", ", ",
                            Stored());
      case 5:
      case 6:
        return absl::StrCat("ld.weak r", registers_++, ", ", address);
      case 7:
        return absl::StrCat("ld.relaxed", Scope(), " r", registers_++, ", ", address);
      case 8:
      case 9:
        return absl::StrCat("ld.acquire", Scope(), " r", registers_++, ", ",
                            Below(3) == 0 ? address : "f");
      case 10: {
        static const char* const kSemantics[] = {".relaxed", ".acquire", ".release", ".acq_rel"};
        const std::string head = absl::StrCat("atom", kSemantics[Below(4)], Scope());
        const int reg = registers_++;
        if (Below(4) == 0) {
          return absl::StrCat(head, ".cas r", reg, ", ", address, ", ", Below(2), ", 3");
        }
        return absl::StrCat(head, Below(2) == 0 ? ".add r" : ".exch r", reg, ", ", address, ", 1");
      }
      case 11: {
        static const char* const kFences[] = {"fence.sc", "fence.acq_rel", "fence.sc",
                                              "fence.release"};
        return absl::StrCat(kFences[Below(4)], Scope());
      }
      case 12:
        if (Below(4) == 0) {
          return Below(2) == 0 ? "fence.proxy.alias.release.sys" : "fence.proxy.alias.acquire.sys";
        }
        return "fence.proxy.alias";
      default:
        return "fence.proxy.alias";
    }
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  int registers_ = 0;
};

}  // namespace

std::string RandomLitmus(uint64_t seed) { return Generator(seed).Make(); }

}  // namespace twinmmu::coherence
