#include "sim/libcuda/calls/exception_guard.h"

#include <new>
#include <stdexcept>
#include <system_error>

namespace twinmmu::libcuda {

DriverCode CodeOfThrown() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return DriverCode::kOutOfMemory;
  } catch (const std::length_error&) {  // more than any container holds
    return DriverCode::kOutOfMemory;
  } catch (const std::system_error&) {
    return DriverCode::kOperatingSystem;
  } catch (...) {
    return DriverCode::kUnknown;
  }
}

}  // namespace twinmmu::libcuda
