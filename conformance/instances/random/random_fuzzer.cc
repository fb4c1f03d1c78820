// The same sequences, chosen by libFuzzer: bytes are decisions of the generator.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "conformance/instances/random/random_sim.h"
#include "conformance/random/generator.h"
#include "conformance/random/run_seeds.h"

namespace twinmmu::conformance::random {
namespace {

constexpr uint64_t kMostCalls = 200;

// The first byte chooses the machine.
OpenSubject SubjectFor(uint8_t choice) {
  static const char* const kProfiles[] = {"reference", "strict", "granularities",
                                          "fabric-permitted", "no-peers"};
  return SimSubject(*Profile::Named(kProfiles[choice % 5]));
}

}  // namespace
}  // namespace twinmmu::conformance::random

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace twinmmu::conformance::random;
  if (size == 0) return 0;
  ByteChoices choices(data + 1, size - 1);
  const absl::StatusOr<std::string> difference =
      RunChoices(SubjectFor(data[0]), choices,
                 [&](uint64_t made) { return choices.ended() || made == kMostCalls; });
  if (difference.ok() && difference->empty()) return 0;
  std::fputs(difference.ok() ? difference->c_str() : "there is no simulator\n", stderr);
  std::abort();
}
