// The commands of the tool. Each returns the exit code of the program.

#ifndef TWINMMU_TOOLS_COMMANDS_COMMANDS_H_
#define TWINMMU_TOOLS_COMMANDS_COMMANDS_H_

#include "tools/command_line/options.h"
#include "tools/commands/screen.h"

namespace twinmmu {

// Of main(): a test that may end the process is started anew with them.
struct MainArguments {
  int argc;
  char** argv;
};

int ConformanceCommand(const Options& options, const MainArguments& main, Screen& screen);
int RecordCommand(const Options& options, const MainArguments& main, Screen& screen);

int InfoCommand(const Options& options, Screen& screen);
int RandomCommand(const Options& options, Screen& screen);
int SoakCommand(const Options& options, Screen& screen);
int DeviationsCommand(const Options& options, Screen& screen);
int LitmusCommand(const Options& options, Screen& screen);
int PtxCommand(const Options& options, Screen& screen);
int ReplayCommand(const Options& options, Screen& screen);
int CompareCommand(const Options& options, Screen& screen);
int RunCommand(const Options& options, Screen& screen);
int ViewCommand(const Options& options, Screen& screen);
int AnnotateCommand(const Options& options, Screen& screen);
int DoctorCommand(const Options& options, Screen& screen);
int NewTestCommand(const Options& options, Screen& screen);
int CompletionCommand(const Options& options, Screen& screen);
int ManualCommand(Screen& screen);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_COMMANDS_H_
