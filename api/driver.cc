#include "api/driver.h"

#include "absl/status/status.h"

namespace twinmmu {

absl::StatusOr<Executor*> Driver::executor() {
  return absl::UnimplementedError("this driver offers no Executor: it moves no data");
}

}  // namespace twinmmu
