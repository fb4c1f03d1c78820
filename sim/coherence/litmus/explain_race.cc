#include "sim/coherence/litmus/explain_race.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu::coherence {
namespace {

std::string AddressAt(const Program& program, std::pair<int, int> at) {
  const int address = program.threads[at.first].instructions[at.second].address;
  if (address < 0) return "?";
  static constexpr const char* kProxies[] = {"", " by the async proxy", " by the texture proxy",
                                             " by the surface proxy"};
  const Address& of = program.addresses[address];
  return absl::StrCat(of.name, kProxies[static_cast<int>(of.proxy)]);
}

// "in P0 after instruction 1 and before instruction 3": a run of gaps.
std::string Gap(const Program& program, int thread, int first, int last) {
  const int count = static_cast<int>(program.threads[thread].instructions.size());
  std::string text = absl::StrCat("in ", program.threads[thread].name);
  if (first < 0 && last + 1 >= count) return absl::StrCat(text, ", anywhere");
  if (first >= 0) absl::StrAppend(&text, " after instruction ", first + 1);
  if (first >= 0 && last + 1 < count) absl::StrAppend(&text, " and");
  if (last + 1 < count) absl::StrAppend(&text, " before instruction ", last + 2);
  return text;
}

}  // namespace

std::string Explain(const Program& program, const Race& race) {
  const std::string a = AddressAt(program, race.first), b = AddressAt(program, race.second);
  std::string text = absl::StrCat(Describe(program, race.first.first, race.first.second), " and ",
                                  Describe(program, race.second.first, race.second.second));
  if (race.hazard == Hazard::kData) {
    return absl::StrCat(text, " access ", a, " and nothing orders them.");
  }
  absl::StrAppend(&text, " are the same memory through ", a, " and ", b, ": ");
  const char* const fence =
      race.hazard == Hazard::kProxy ? "fence.proxy.async" : "fence.proxy.alias";
  if (!race.ordered) {
    return absl::StrCat(text, "nothing orders them; synchronise through one address, with a ",
                        fence, " on the way.");
  }
  absl::StrAppend(&text, "ordered, but without a proxy fence between.");
  std::vector<std::string> places;
  for (size_t i = 0; i < race.fences.size();) {
    size_t end = i + 1;
    while (end < race.fences.size() && race.fences[end].first == race.fences[i].first &&
           race.fences[end].second == race.fences[end - 1].second + 1) {
      ++end;
    }
    places.push_back(
        Gap(program, race.fences[i].first, race.fences[i].second, race.fences[end - 1].second));
    i = end;
  }
  if (!places.empty()) {
    absl::StrAppend(&text, " A ", fence, " would do: ", absl::StrJoin(places, "; or "), ".");
  } else if (race.hazard == Hazard::kProxy) {
    absl::StrAppend(&text, " There is none for textures and surfaces: use a grid of its own.");
  }
  return text;
}

}  // namespace twinmmu::coherence
