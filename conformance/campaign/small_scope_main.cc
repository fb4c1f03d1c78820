// All sequences of calls of the small machine, up to a length: 2 calls, in a campaign 7.
// Usage: small_scope LIBRARY [PROFILE [LENGTH]]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "conformance/campaign/campaign.h"
#include "conformance/campaign/small_scope_sides.h"
#include "conformance/small_scope/alphabet.h"

namespace twinmmu::conformance::small_scope {
namespace {

void Print(const Figures& figures) {
  std::printf(
      "%zu calls: %llu new states; in all %llu states, %llu transitions (%llu refused), "
      "%llu diagnostics\n",
      figures.states.size() - 1, static_cast<unsigned long long>(figures.states.back()),
      static_cast<unsigned long long>(figures.all_states()),
      static_cast<unsigned long long>(figures.transitions),
      static_cast<unsigned long long>(figures.refused),
      static_cast<unsigned long long>(figures.diagnostics));
  std::fflush(stdout);
}

int Run(const std::string& library, int length, const std::string& name) {
  const absl::StatusOr<Profile> profile = Profile::Named(name);
  if (!profile.ok()) {
    std::fprintf(stderr, "%s\n", std::string(profile.status().message()).c_str());
    return 2;
  }
  setenv("TWINMMU_PROFILE", name.c_str(), 1);
  std::printf("%zu calls to choose from, on %s\n", Alphabet().size(), name.c_str());
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<Figures> figures =
      Search({SimSide(*profile), CudaOnSimSide(library, *profile)}, Limits{length, Print});
  if (!figures.ok()) {
    std::fprintf(stderr, "%s\n", std::string(figures.status().message()).c_str());
    return 2;
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("%.0f s\n%s", time.count(), figures->difference.c_str());
  return figures->difference.empty() ? 0 : 1;
}

}  // namespace
}  // namespace twinmmu::conformance::small_scope

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fputs("usage: small_scope LIBRARY [PROFILE [LENGTH]]\n", stderr);
    return 2;
  }
  const int usual = twinmmu::conformance::campaign::IsLong() ? 7 : 2;
  return twinmmu::conformance::small_scope::Run(argv[1], argc > 3 ? std::atoi(argv[3]) : usual,
                                                argc > 2 ? argv[2] : "reference");
}
