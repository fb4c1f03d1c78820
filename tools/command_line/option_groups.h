// The flags, each declared once: those that belong together are added to every command that takes
// them.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_OPTION_GROUPS_H_
#define TWINMMU_TOOLS_COMMAND_LINE_OPTION_GROUPS_H_

#include "CLI/CLI.hpp"
#include "tools/command_line/options.h"

namespace twinmmu {

void AddBackends(CLI::App& app, MachineOptions& options);
void AddDriver(CLI::App& app, MachineOptions& options);
void AddProfile(CLI::App& app, MachineOptions& options);
void AddSharedDevices(CLI::App& app, MachineOptions& options);
void AddQuiet(CLI::App& app, OutputOptions& options);
void AddJson(CLI::App& app, OutputOptions& options);
void AddSuite(CLI::App& app, SuiteOptions& options);
void AddAllowMulticast(CLI::App& app, SuiteOptions& options);
void AddSeeds(CLI::App& app, SeedOptions& options);
void AddSoak(CLI::App& app, SoakOptions& options);
void AddLitmus(CLI::App& app, LitmusOptions& options, MachineOptions& machine);
void AddRecord(CLI::App& app, RecordOptions& options);
void AddProgram(CLI::App& app, ProgramOptions& options);
void AddEvents(CLI::App& app, ViewPaths& views, EventOptions& options);
void AddViews(CLI::App& app, ViewPaths& views);
void AddCiReports(CLI::App& app, CiReports& reports);
void AddAnnotate(CLI::App& app, AnnotateOptions& options);
void AddNewTest(CLI::App& app, NewTestOptions& options);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_OPTION_GROUPS_H_
