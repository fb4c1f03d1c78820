#include "sim/libcuda/process.h"

#include <pthread.h>
#include <unistd.h>

#include <iostream>
#include <new>
#include <utility>

#include "api/record/event_writer.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/graphs/graphs.h"
#include "sim/libcuda/library_version.h"
#include "sim/libcuda/symbols.h"

namespace twinmmu::libcuda {
namespace {

// The machine as the driver of this build sees it.
Profile DefaultMachine() {
  for (const NamedProfile& known : NamedProfiles()) {
    Profile profile = known.make();
    if (profile.driver_version == LibraryVersion()) return profile;
  }
  return Profile::ReferenceH200(2);
}

Profile MachineOf(const absl::StatusOr<Settings>& settings) {
  return settings.ok() ? settings->profile : DefaultMachine();
}

ReportOptions ReportOf(const absl::StatusOr<Settings>& settings) {
  ReportOptions options;
  options.calls = kNamesOfCalls;
  if (settings.ok()) {
    options.folder = settings->run_folder;
    options.file = settings->report_file;
    options.warnings = settings->warnings;
  } else {
    options.folder = ValueOf(environ, kRunFolderVariable);
    options.warnings = {std::string(settings.status().message())};
  }
  options.wanted = !options.folder.empty() || !options.file.empty();
  return options;
}

DriverCode CannotStart(const absl::Status& status) {
  std::cerr << "twinmmu: the simulated CUDA driver cannot start: " << status.message() << std::endl;
  return status.code() == absl::StatusCode::kResourceExhausted ? DriverCode::kOutOfMemory
                                                               : DriverCode::kInvalidValue;
}

}  // namespace

DriverState::DriverState(std::unique_ptr<Simulator> made, Report* report_of_process)
    : report(*report_of_process),
      simulator(std::move(made)),
      vmm(**simulator->vmm()),
      executor(**simulator->executor()),
      multicast(**simulator->multicast()),
      contexts(simulator->profile().device_count()),
      graphs(std::make_unique<Graphs>()) {
  report.SetWindow(simulator->window().base);
}

DriverState::~DriverState() = default;

std::atomic<Process*> Process::the_process_{nullptr};

Process& Process::Make() {
  static Process* const process = [] {
    auto* const made = new Process;
    the_process_.store(made, std::memory_order_release);
    pthread_atfork(nullptr, nullptr, FollowFork);
    return made;
  }();
  return *process;
}

void Process::FollowFork() {
  Process& process = *the_process_.load();
  process.forked_ = process.driver() != nullptr;
  process.report().AfterFork();
}

// Static objects of the program may still make calls after this; they find all as it was.
void Process::End() {
  Process* const process = the_process_.load();
  if (process == nullptr) return;
  process->ForgetClosedDescriptors();
  process->TellHeapLeaks();
  process->report().Finish();
  if (process->events() != nullptr) process->events()->Finish();
}

void Process::ForgetClosedDescriptors() {
  if (driver() == nullptr || IsForked()) return;
  driver()->exported.ForEachClosed([this](int descriptor) {
    report_.RemoveObject(ObjectKind::kDescriptor, static_cast<uint64_t>(descriptor));
  });
}

void Process::TellHeapLeaks() {
  if (driver() == nullptr || IsForked()) return;
  for (const Diagnostic& leak : driver()->simulator->kernels().HeapLeaks()) report_.Add(leak);
}

namespace {
[[gnu::destructor]] void EndOfProgram() {
  try {
    Process::End();
  } catch (const std::bad_alloc&) {
    // Then no report says what is left.
  }
}
}  // namespace

Process::Process()
    : settings_(ReadSettings(environ, DefaultMachine())),
      driver_version_(MachineOf(settings_).driver_version),
      report_(ReportOf(settings_), MachineOf(settings_)),
      injector_(kNamesOfCalls, [this](const InjectedFailure& failure) { report_.Add(failure); }) {
  if (!settings_.ok()) return;
  rules_ = injector_.SetRules(settings_->failures);
}

// A record that cannot be written changes nothing else.
void Process::StartEvents() {
  if (settings_->record_folder.empty()) return;
  record::EventWriterOptions options;
  options.stack_depth = settings_->stack_depth;
  options.caller = Report::Caller;
  absl::StatusOr<std::unique_ptr<record::EventWriter>> made =
      record::EventWriter::CreateIn(settings_->record_folder, options);
  if (!made.ok()) return report_.Warn(std::string(made.status().message()));
  events_ = *std::move(made);
}

DriverCode Process::Init(unsigned int flags) {
  if (flags != 0) return DriverCode::kInvalidValue;
  const std::lock_guard lock(mutex_);
  if (driver() != nullptr) {
    return IsForked() ? DriverCode::kNotInitialized : DriverCode::kSuccess;
  }
  if (!settings_.ok()) return CannotStart(settings_.status());
  if (!rules_.ok()) return CannotStart(rules_);
  if (settings_->init != DriverCode::kSuccess) return settings_->init;
  if (settings_->profile.devices.empty()) return DriverCode::kNoDevice;
  StartEvents();
  SimulatorOptions options;
  options.events = events();
  options.at_once = [this](DiagnosticKind kind, const Diagnostic* diagnostic) {
    diagnostic != nullptr ? report_.Add(*diagnostic) : report_.Count(kind);
  };
  absl::StatusOr<std::unique_ptr<Simulator>> simulator =
      Simulator::Create(settings_->profile, std::move(options));
  if (!simulator.ok()) return CannotStart(simulator.status());

  owned_ = std::make_unique<DriverState>(*std::move(simulator), &report_);
  driver_.store(owned_.get(), std::memory_order_release);
  return DriverCode::kSuccess;
}

void Process::Restart(const Profile& profile) {
  driver_ = nullptr;
  ContextStack().clear();
  owned_.reset();
  settings_ = Settings();
  settings_->profile = profile;
  driver_version_ = profile.driver_version;
  Init(0);
}

}  // namespace twinmmu::libcuda
