// Transcript: what a random program asked a driver, and what it was told.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_TRANSCRIPT_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_TRANSCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace twinmmu::abi {

// The lines of the program of that seed, run in a child process, with this many calls on the driver
// under test and so many of its devices (1 or 2): the same on each driver that behaves the same.
// Objects have names in the order in which they were made, and addresses are those of what they lie
// in. If the child ends early the last line says so.
std::vector<std::string> TranscriptOf(uint64_t seed, int calls, int devices);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_TRANSCRIPT_H_
