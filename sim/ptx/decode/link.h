// Link: several modules as one, as the driver's linker makes it.

#ifndef TWINMMU_SIM_PTX_DECODE_LINK_H_
#define TWINMMU_SIM_PTX_DECODE_LINK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

struct LinkInput {
  std::string name;  // for messages
  Module module;
};

// What one input declares and another one defines is the same then; what is private to one input
// stays apart.
class Linker {
 public:
  Linker();
  ~Linker();

  // InvalidArgument, a line for each symbol: an earlier input defines it too, or declares or
  // defines it in another way. Then nothing can become of the link.
  absl::Status Add(LinkInput input);
  // Once. InvalidArgument, a line for each symbol: it is nowhere defined. Only functions that
  // nobody uses, and those that every device has, need no definition. ResourceExhausted: no memory
  // has room for it.
  absl::StatusOr<Module> Run();

 private:
  class State;
  std::unique_ptr<State> state_;
};

// PTX texts, without NUL, as one text: the image that a linker makes. ParseJoined gives what a
// link makes of them. Of any other text it gives what Parse makes of it.
bool IsJoined(absl::string_view text);
std::string JoinTexts(absl::Span<const std::string> texts);
absl::StatusOr<Module> ParseJoined(absl::string_view text);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_LINK_H_
