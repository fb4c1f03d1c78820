// Transcript: what a random program asked a driver, and what it was told.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_TRANSCRIPT_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_TRANSCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace twinmmu::abi {

struct RandomProgram {
  uint64_t seed = 1;
  int calls = 400;
  int devices = 1;  // of the driver's: 1 or 2
  // What it does beside memory, copies and streams; one of Themes(). Those on two devices have one.
  // With "-faulted" behind it, a kernel faults after half of the calls.
  std::string theme = "usual";
};

// Each theme of programs on one device.
std::vector<std::string> Themes();

// The lines of the program, run in a child process on the driver under test: the same on each
// driver that behaves the same. Objects have names in the order in which they were made, and
// addresses are those of what they lie in. If the child ends early the last line says so.
std::vector<std::string> TranscriptOf(const RandomProgram& program);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_TRANSCRIPT_H_
