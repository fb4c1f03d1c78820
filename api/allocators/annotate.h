// Annotate: adds the caller's words to an error of a call that it made.

#ifndef TWINMMU_API_ALLOCATORS_ANNOTATE_H_
#define TWINMMU_API_ALLOCATORS_ANNOTATE_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

// `error` with `what` before its message, and the same code and payloads.
inline absl::Status Annotate(const absl::Status& error, absl::string_view what) {
  absl::Status annotated(error.code(), absl::StrCat(what, ": ", error.message()));
  error.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_ANNOTATE_H_
