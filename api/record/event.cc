#include "api/record/event.h"

#include <string_view>

namespace twinmmu::record {

std::string_view Word(EventKind kind) {
  switch (kind) {
#define TWINMMU_EVENT_WORD(name, word) \
  case EventKind::name:                \
    return word;
    TWINMMU_EVENT_KINDS(TWINMMU_EVENT_WORD)
#undef TWINMMU_EVENT_WORD
  }
  return "unknown";
}

}  // namespace twinmmu::record
