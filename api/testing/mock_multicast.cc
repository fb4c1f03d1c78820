#include "api/testing/mock_multicast.h"

#include "api/testing/unexpected_call.h"

namespace twinmmu {

MockMulticast::MockMulticast() {
#define TWINMMU_MULTICAST_CALL(method, name)                                                       \
  ON_CALL(*this, method)                                                                           \
      .WillByDefault([this](const auto&... arguments) -> decltype(target_->method(arguments...)) { \
        if (target_ != nullptr) return target_->method(arguments...);                              \
        return testing_internal::UnexpectedCall("MockMulticast", #method);                         \
      });
#include "api/testing/driver_calls.inc"
}

}  // namespace twinmmu
