#include "sim/libcuda/calls/exception_guard.h"

#include <new>
#include <stdexcept>
#include <system_error>

#include "sim/libcuda/streams.h"

namespace twinmmu::libcuda {
namespace {

// The library has a runtime of C++ of its own. What the program throws is unwound by the program's,
// which asks this one for its frames; it can answer only after it has unwound something itself.
[[maybe_unused]] const bool is_ready = [] {
  try {
    throw true;
  } catch (bool caught) {
    return caught;
  }
}();

}  // namespace

DriverCode CodeOfThrown() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return DriverCode::kOutOfMemory;
  } catch (const std::length_error&) {  // more than any container holds
    return DriverCode::kOutOfMemory;
  } catch (const std::system_error&) {
    return DriverCode::kOperatingSystem;
  } catch (const Refusal& refusal) {
    return refusal.code;
  } catch (...) {
    return DriverCode::kUnknown;
  }
}

}  // namespace twinmmu::libcuda
