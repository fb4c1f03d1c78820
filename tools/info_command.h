// `twinmmu info`: what a driver and its devices can do.

#ifndef TWINMMU_TOOLS_INFO_COMMAND_H_
#define TWINMMU_TOOLS_INFO_COMMAND_H_

#include <ostream>

#include "api/driver.h"
#include "backend/driver_table.h"

namespace twinmmu {

// Driver version, devices, memory, every attribute of virtual memory, granularities.
void PrintDriver(Driver& driver, std::ostream& out);

// Each function of the driver that the backend uses: found, too old or missing.
void PrintSymbols(const DriverTable& table, std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_INFO_COMMAND_H_
