// Litmus tests of race_check: small programs of one or two devices, each in a form in which
// everything is ordered and a form with races, and exactly which accesses race there.
//
//   test the_release_is_too_narrow
//   race A-C
//   kernel device=0
//   st.global.u32 [%x], 7; // A
//   st.release.{sys|gpu}.global.u32 [%flag], 1;
//   kernel device=1
//   ...
//
// `{ordered|racing}` is what differs between the two. `// A` names the accesses of a line. What is
// expected of the racing form: `race` of kDataRace and kUnorderedAliases..., `async` of
// kMissingAsyncFence, `alias` of kMissingAliasFence. The program is what follows, in the order of
// the host:
//
//   kernel device=0 stream=N blocks=1 threads=1 cluster=1 cooperative=0 early=0 ptx=8.3
//       target=sm_90a              its lines up to the next step; N: a stream of its own
//   event from=STREAM to=STREAM    device, of `to`
//   sync stream=STREAM             the host waits for it
//   fill, copy stream=STREAM       of x; from y to x: accesses F and C
//   write, await stream=STREAM     of the word `flag`: accesses W and V

#ifndef TWINMMU_SIM_TESTS_RACE_LITMUS_RACE_LITMUS_H_
#define TWINMMU_SIM_TESTS_RACE_LITMUS_RACE_LITMUS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace twinmmu {

struct RaceStep {
  std::string what;  // kernel, event, ...
  std::map<std::string, std::string> values;
  std::vector<std::string> lines;  // of a kernel

  uint64_t Number(const std::string& key, uint64_t unsaid) const;
  std::string Word(const std::string& key, const std::string& unsaid) const;
};

// One form of a test.
struct RaceLitmus {
  std::string name;
  bool races = false;
  std::set<std::string> expected;  // "race A-C", the names in the order of the alphabet
  std::vector<RaceStep> steps;
};

// Both forms of all tests in a file. A line that it does not understand ends the program.
std::vector<RaceLitmus> ReadRaceLitmus(const std::string& path);
// "race A-C" of the names in either order.
std::string RaceInWords(const std::string& kind, const std::string& a, const std::string& b);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TESTS_RACE_LITMUS_RACE_LITMUS_H_
