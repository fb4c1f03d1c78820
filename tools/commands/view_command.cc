#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/annotations/ci_reports.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/views/event_findings.h"
#include "tools/views/event_words.h"
#include "tools/views/merged_events.h"
#include "tools/views/record_views.h"
#include "tools/views/site_totals.h"
#include "tools/views/view_files.h"

namespace twinmmu {
namespace {

constexpr size_t kShownPlaces = 20;

void WarnOf(MergedEvents& events, const SiteTotals& sites, Screen& screen) {
  const std::string left_out = sites.LeftOut();
  if (!left_out.empty()) events.AddWarning(absl::StrCat("the sums leave out ", left_out));
  for (const std::string& warning : events.warnings()) screen.wrong() << warning << "\n";
}

// "+2 MiB", "-64 KiB".
std::string Difference(int64_t bytes) {
  return absl::StrCat(bytes < 0 ? "-" : "+",
                      SizeInWords(static_cast<uint64_t>(bytes < 0 ? -bytes : bytes)));
}

std::string PlaceOf(const SiteKey& site) {
  return absl::StrCat(site.first, site.second.empty() ? "s" : " by ", site.second);
}

void Print(const std::vector<GrowthRow>& rows, bool two, Screen& screen) {
  const size_t sums = static_cast<size_t>(std::count_if(
      rows.begin(), rows.end(), [](const GrowthRow& row) { return row.site.second.empty(); }));
  const size_t shown = std::min(rows.size(), sums + kShownPlaces);
  if (two) {
    screen.text() << absl::StreamFormat("%12s %12s %12s %12s  %s\n", "peak before", "peak after",
                                        "grown", "left grown", "what");
  } else {
    screen.text() << absl::StreamFormat("%12s %12s %12s  %s\n", "peak", "left", "made", "what");
  }
  for (size_t i = 0; i < shown; ++i) {
    const GrowthRow& row = rows[i];
    if (two) {
      const auto left = static_cast<int64_t>(row.after.left - row.before.left);
      screen.text() << absl::StreamFormat("%12s %12s %12s %12s  %s\n", SizeInWords(row.before.peak),
                                          SizeInWords(row.after.peak), Difference(row.grown()),
                                          Difference(left), PlaceOf(row.site));
    } else {
      screen.text() << absl::StreamFormat("%12s %12s %12d  %s\n", SizeInWords(row.after.peak),
                                          SizeInWords(row.after.left), row.after.count,
                                          PlaceOf(row.site));
    }
  }
  if (shown < rows.size()) screen.text() << rows.size() - shown << " other places\n";
}

OrderedJson ToJson(const SiteTotal& total) {
  return {{"count", total.count}, {"peak", total.peak}, {"left", total.left}};
}

int Show(const std::vector<GrowthRow>& rows, bool two, Screen& screen) {
  Print(rows, two, screen);
  OrderedJson results = Results("view");
  results["places"] = OrderedJson::array();
  for (const GrowthRow& row : rows) {
    OrderedJson json = {{"kind", row.site.first}, {"place", row.site.second}};
    if (two) json["before"] = ToJson(row.before);
    json[two ? "after" : "total"] = ToJson(row.after);
    results["places"].push_back(std::move(json));
  }
  return screen.Finish(0, results);
}

int CompareRecords(const Options& options, Screen& screen) {
  std::vector<std::map<SiteKey, SiteTotal>> totals;
  for (const std::string& path : options.operands) {
    const absl::StatusOr<std::unique_ptr<MergedEvents>> events = MergedEvents::OpenAny(path);
    if (!events.ok()) return UsageError(events.status());
    SiteTotals sites;
    (*events)->Feed({&sites});
    WarnOf(**events, sites, screen);
    totals.push_back(sites.Finish());
  }
  return Show(CompareSites(totals[0], totals[1]), true, screen);
}

}  // namespace

int ViewCommand(const Options& options, Screen& screen) {
  const bool asks = AsksForAny(options.views) || options.ci.any();
  if (options.operands.size() == 2 && !asks) return CompareRecords(options, screen);
  if (options.operands.size() != 1) {
    return UsageError(
        "view needs a record, a file of `twinmmu run --record=FILE`; or two, without a view.");
  }
  const absl::StatusOr<std::unique_ptr<MergedEvents>> events =
      MergedEvents::OpenAny(options.operands[0]);
  if (!events.ok()) return UsageError(events.status());
  const absl::Status keeps = CheckKeeps(options.operands[0], options.views, options.ci);
  if (!keeps.ok()) return UsageError(keeps);
  const absl::Status can_write = CheckViews(options.views);
  if (!can_write.ok()) return UsageError(can_write);
  SiteTotals sites;
  EventFindings findings(UsualSourceRoot());
  absl::Status written = WriteViews(options.views, **events, {&sites, &findings});
  written.Update(WriteReports(options.ci, findings, **events, screen.text()));
  WarnOf(**events, sites, screen);
  if (!written.ok()) return UsageError(written);
  return asks ? screen.Finish(0) : Show(CompareSites({}, sites.Finish()), false, screen);
}

}  // namespace twinmmu
