#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/testing/recording/file.h"
#include "api/testing/recording/player.h"
#include "api/testing/recording/recorder.h"
#include "conformance/framework/ledger.h"
#include "conformance/random/checker.h"
#include "conformance/random/generator.h"
#include "conformance/recordings/known_content.h"
#include "conformance/recordings/recorders.h"

namespace twinmmu::conformance {
namespace {

// All state is asked for after so many calls, and at the end: each question is a line too.
constexpr uint64_t kCallsBetweenStates = 250;

// Returns what the model has wrong; empty: nothing.
std::string MakeCalls(random::Checker& checker, uint64_t seed, uint64_t calls, uint64_t& made) {
  random::SeededChoices choices(seed);
  random::Generator generator(&choices, &checker);
  for (uint64_t i = 1; i <= calls; ++i) {
    const random::Step step = checker.Do(generator.Next());
    if (!step.skipped) ++made;
    if (!step.difference.empty()) return step.difference;
    if (i % kCallsBetweenStates != 0) continue;
    const std::optional<random::Difference> difference = checker.CheckState();
    if (difference.has_value()) return difference->what;
  }
  const std::optional<random::Difference> difference = checker.CleanUp();
  return difference.has_value() ? difference->what : "";
}

// What a sequence that ended early leaves open keeps memory that the next one would miss.
void CloseDescriptors(const random::Slots& slots) {
  for (const ShareableHandle& shareable : slots.shareables) {
    if (shareable.file_descriptor >= 0) close(shareable.file_descriptor);
  }
}

// The machine as it is now: what is free moves a little with what the driver keeps for itself.
random::ModelParameters Now(random::ModelParameters parameters, Vmm& vmm) {
  for (size_t i = 0; i < parameters.devices.size(); ++i) {
    const auto info = vmm.GetMemoryInfo(DeviceOrdinal(static_cast<int>(i)));
    if (info.ok()) parameters.devices[i] = *info;
  }
  return parameters;
}

}  // namespace

absl::StatusOr<random::Report> RecordRandom(const random::OpenSubject& open,
                                            const random::Seeds& seeds, const RecordingPlan& plan) {
  absl::StatusOr<std::unique_ptr<RecordingWriter>> writer = RecordingWriter::Create(plan.path);
  if (!writer.ok()) return writer.status();
  absl::StatusOr<random::Subject> subject = open();
  if (!subject.ok()) return subject.status();
  absl::Status written =
      (*writer)->Write(DescribeOrigin(*subject->driver, plan.backend, plan.date));
  Section section;
  Driver* const target = subject->driver.get();
  RecordingDriver driver(std::move(subject->driver),
                         [&](const Json& line) { section.lines.push_back(line); },
                         {SuiteContent(), false});
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::StatusOr<Executor*> executor = driver.executor();
  if (!executor.ok()) return executor.status();

  random::Report report;
  for (uint64_t seed = seeds.first; written.ok(); ++seed) {
    if (seeds.begin != nullptr) seeds.begin(seed);
    section = Section();
    section.begin = Json{{"section", absl::StrCat("random ", seed)}};
    driver.Begin();
    LedgerVmm ledger(*vmm);
    random::Checker checker(&ledger, *executor, Now(subject->parameters, **target->vmm()),
                            subject->defined_only);
    const std::string wrong = MakeCalls(checker, seed, seeds.calls, report.calls);
    section.end = Json{{"end", section.name()}};
    if (!wrong.empty()) {
      section.end["model"] = wrong;
      absl::StrAppend(&report.difference, "  seed ", seed, ": ", wrong, "\n");
    }
    (void)ledger.UndoAll();
    CloseDescriptors(checker.slots());
    ++report.seeds;
    written = (*writer)->Write(section);
    if (seed == seeds.last) break;  // perhaps of 64 bits, with none above it
  }
  if (written.ok()) written = (*writer)->Close();
  if (!written.ok()) return written;
  return report;
}

absl::Status RecordProgram(const std::string& program, std::unique_ptr<Driver> driver,
                           const RecordingPlan& plan) {
  absl::StatusOr<std::unique_ptr<RecordingReader>> reader = RecordingReader::Open(program);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::unique_ptr<RecordingWriter>> writer = RecordingWriter::Create(plan.path);
  if (!writer.ok()) return writer.status();
  absl::Status written = (*writer)->Write(DescribeOrigin(*driver, plan.backend, plan.date));
  Player player(PlayerTarget{std::move(driver), nullptr}, SuiteContent());
  while (written.ok()) {
    absl::StatusOr<std::optional<Section>> section = (*reader)->Next();
    if (!section.ok()) return section.status();
    if (!section->has_value()) return (*writer)->Close();
    player.Begin();
    for (Json& line : (*section)->lines) {
      const absl::StatusOr<Json> played = player.Play(line);
      if (!played.ok()) return played.status();
      if (!played->is_null()) line = *played;
    }
    written = (*writer)->Write(**section);
  }
  return written;
}

}  // namespace twinmmu::conformance
