#include "api/allocators/destructor_errors.h"

#include <atomic>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace twinmmu {
namespace {

std::atomic<DestructorErrorHook> current_hook{nullptr};

void WriteLine(const absl::Status& error) {
  const std::string words = absl::StrReplaceAll(error.ToString(), {{"\n", " "}});
  // One piece, so that lines of several threads do not mix.
  std::cerr << absl::StrCat(
      "twinmmu: a destructor could not give back what it owned: ", words,
      ". It is lost, since a destructor cannot return an error. Call Close() ",
      "before, or see SetDestructorErrorHook.\n");
}

}  // namespace

DestructorErrorHook SetDestructorErrorHook(DestructorErrorHook hook) {
  return current_hook.exchange(hook);
}

void ReportFromDestructor(const absl::Status& status) {
  if (status.ok()) return;
  const DestructorErrorHook hook = current_hook.load();
  if (hook != nullptr) {
    hook(status);
  } else {
    WriteLine(status);
  }
}

}  // namespace twinmmu
