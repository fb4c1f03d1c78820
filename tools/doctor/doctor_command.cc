#include <sys/utsname.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/version.h"
#include "conformance/rules/document.h"
#include "tools/commands/commands.h"
#include "tools/doctor/examination.h"

namespace twinmmu {
namespace {

constexpr size_t kUsualWidth = 100;
constexpr size_t kGreatestWidth = 110;

std::string Coloured(const Terminal& terminal, Health health, const std::string& text) {
  if (health == Health::kGood) return terminal.Green(text);
  return health == Health::kLimited ? terminal.Yellow(text) : terminal.Red(text);
}

const char* Works(Health health) {
  switch (health) {
    case Health::kGood:
      return "yes";
    case Health::kLimited:
      return "limited";
    case Health::kMissing:
      return "no";
  }
  return "?";
}

class Printer {
 public:
  Printer(std::ostream& out, const Terminal& terminal) : out_(out), terminal_(terminal) {}

  void Heading(const char* text) { out_ << "\n" << terminal_.Bold(text) << "\n"; }

  void Show(const Finding& finding) {
    Row(finding.health, ToString(finding.health), absl::StrFormat("%-17s  ", finding.what),
        finding.detail);
  }

  void Show(const Ability& ability) {
    Row(ability.health, Works(ability.health), "",
        absl::StrCat(ability.command,
                     ability.reason.empty() ? "" : absl::StrCat(" (", ability.reason, ")")));
  }

  void Advise(const Finding& finding) {
    out_ << conformance::Paragraph(absl::StrFormat("  %-17s  ", finding.what), finding.advice,
                                   Width());
  }

 private:
  size_t Width() const {
    return terminal_.is_terminal() ? std::min(terminal_.width, kGreatestWidth) : kUsualWidth;
  }

  // The word is coloured after the lines were made, so that colour takes no room.
  void Row(Health health, const char* word, const std::string& name, const std::string& text) {
    const std::string padded = absl::StrFormat("%-7s", word);
    std::string lines =
        conformance::Paragraph(absl::StrCat("  ", padded, "  ", name), text, Width());
    out_ << lines.replace(2, padded.size(), Coloured(terminal_, health, padded));
  }

  std::ostream& out_;
  const Terminal& terminal_;
};

std::string Machine() {
  utsname name = {};
  if (uname(&name) != 0) return "an unknown system";
  return absl::StrCat(name.sysname, " ", name.release, ", ", name.machine);
}

void Print(const Examination& examination, std::ostream& out, const Terminal& terminal) {
  out << "twinmmu " << kVersion << " on " << Machine() << "\n";
  Printer printer(out, terminal);
  printer.Heading("What is here");
  for (const Finding& finding : examination.findings) printer.Show(finding);
  printer.Heading("What works");
  for (const Ability& ability : examination.abilities) printer.Show(ability);
  bool any = false;
  for (const Finding& finding : examination.findings) {
    if (finding.health == Health::kGood) continue;
    if (!any) printer.Heading("What to do about the rest, if you need it");
    any = true;
    printer.Advise(finding);
  }
}

OrderedJson ToJson(const Examination& examination) {
  OrderedJson json = Results("doctor");
  json["version"] = kVersion;
  json["system"] = Machine();
  json["simulator_works"] = examination.simulator_works();
  json["findings"] = OrderedJson::array();
  for (const Finding& finding : examination.findings) {
    json["findings"].push_back({{"what", finding.what},
                                {"health", ToString(finding.health)},
                                {"detail", finding.detail},
                                {"advice", finding.advice}});
  }
  json["commands"] = OrderedJson::array();
  for (const Ability& ability : examination.abilities) {
    json["commands"].push_back({{"command", ability.command},
                                {"health", ToString(ability.health)},
                                {"reason", ability.reason}});
  }
  return json;
}

}  // namespace

int DoctorCommand(const Options& options, Screen& screen) {
  const Examination examination = Examine(ThisHost(options.machine.driver));
  Print(examination, screen.text(), screen.terminal());
  return screen.Finish(examination.simulator_works() ? 0 : 1, ToJson(examination));
}

}  // namespace twinmmu
