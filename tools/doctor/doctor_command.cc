#include <sys/utsname.h>

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

std::string Coloured(const Terminal& terminal, Health health, const std::string& text) {
  if (health == Health::kGood) return terminal.Green(text);
  return health == Health::kLimited ? terminal.Yellow(text) : terminal.Red(text);
}

class Printer {
 public:
  Printer(std::ostream& out, const Terminal& terminal) : out_(out), terminal_(terminal) {}

  void Heading(const char* text) { out_ << "\n" << terminal_.Bold(text) << "\n"; }

  // The health is coloured after the lines were made, so that colour takes no room.
  void Row(Health health, const std::string& name, const std::string& text) {
    const std::string word = absl::StrFormat("%-7s", ToString(health));
    std::string lines =
        conformance::Paragraph(absl::StrFormat("  %s  %-17s  ", word, name), text,
                               terminal_.is_terminal() ? terminal_.width : kUsualWidth);
    out_ << lines.replace(2, word.size(), Coloured(terminal_, health, word));
  }

  void Advice(const Finding& finding) {
    out_ << conformance::Paragraph(absl::StrCat("  ", finding.what, ": "), finding.advice,
                                   terminal_.is_terminal() ? terminal_.width : kUsualWidth);
  }

 private:
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
  for (const Finding& finding : examination.findings) {
    printer.Row(finding.health, finding.what, finding.detail);
  }
  printer.Heading("What works");
  for (const Ability& ability : examination.abilities) {
    const std::string reason =
        ability.reason.empty() ? "" : absl::StrCat(" (", ability.reason, ")");
    printer.Row(ability.health, ability.health == Health::kMissing ? "does not work" : "works",
                absl::StrCat(ability.command, reason));
  }
  bool any = false;
  for (const Finding& finding : examination.findings) {
    if (finding.health == Health::kGood) continue;
    if (!any) printer.Heading("What to do, if you need it");
    any = true;
    printer.Advice(finding);
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
