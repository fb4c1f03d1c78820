#include "api/testing/recording/call_names.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace twinmmu {
namespace {

constexpr absl::string_view kIds[] = {
#define TWINMMU_ID(context, id, ...) #id,
    TWINMMU_ALL_CALLS(TWINMMU_ID, )
#undef TWINMMU_ID
};

constexpr absl::string_view kOnStream = "Async";

std::optional<DriverCall> CallOfId(absl::string_view id) {
  const auto found = std::find(std::begin(kIds), std::end(kIds), id);
  if (found == std::end(kIds)) return std::nullopt;
  return static_cast<DriverCall>(std::distance(std::begin(kIds), found));
}

}  // namespace

std::string RecordedName(DriverCall call) {
  return std::string(absl::StripSuffix(kIds[static_cast<size_t>(call)], kOnStream));
}

std::optional<DriverCall> CallOfName(absl::string_view name, bool has_stream) {
  const auto on_stream = has_stream ? CallOfId(absl::StrCat(name, kOnStream)) : std::nullopt;
  return on_stream.has_value() ? on_stream : CallOfId(name);
}

}  // namespace twinmmu
