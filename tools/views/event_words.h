// Events in words, as views show them.

#ifndef TWINMMU_TOOLS_VIEWS_EVENT_WORDS_H_
#define TWINMMU_TOOLS_VIEWS_EVENT_WORDS_H_

#include <cstdint>
#include <string>

#include "api/record/event.h"
#include "tools/views/live_memory.h"

namespace twinmmu {

// "Pool::Grow (pool.cc:42)", as far as it is known.
std::string InWords(const record::Frame& frame);
// "device 1", "host".
std::string InWords(int32_t device);
// "mapping".
const char* WordOf(LiveKind kind);
// "2 MiB".
std::string SizeInWords(uint64_t bytes);
// "map", or the kernel of a launch.
std::string TitleOf(const record::Event& event);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_EVENT_WORDS_H_
