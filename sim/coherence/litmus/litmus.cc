#include "sim/coherence/litmus/litmus.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/files/json_text.h"
#include "nlohmann/json.hpp"
#include "sim/coherence/litmus/litmus_builder.h"

namespace twinmmu::coherence {
namespace {

using nlohmann::json;

std::string TextOr(const json& object, const char* key, const std::string& otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

int NumberOr(const json& object, const char* key, int otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return otherwise;
  const int64_t number = found->get<int64_t>();
  return number >= 0 && number < 1 << 20 ? static_cast<int>(number) : otherwise;
}

// A list of texts, or one text.
absl::StatusOr<std::vector<std::string>> Texts(const json& value, absl::string_view what) {
  std::vector<std::string> texts;
  if (value.is_string()) return std::vector<std::string>{value.get<std::string>()};
  if (!value.is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is not a list of texts"));
  }
  for (const json& one : value) {
    if (!one.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " has what is no text: ", one.dump()));
    }
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

bool IsTask(absl::string_view text) {
  for (const char* word :
       {"launch", "memcpy", "memset", "event.", "stream.", "graph", "wait until"}) {
    if (absl::StartsWith(text, word)) return true;
  }
  return false;
}

absl::Status AddLocation(const std::string& name, const json& location, ProgramBuilder* builder) {
  if (!location.is_object() && !location.is_number_unsigned()) {
    return absl::InvalidArgumentError(absl::StrCat("location ", name, " is not an object"));
  }
  const json fields = location.is_object() ? location : json{{"init", location}};
  uint64_t initial = 0;
  if (fields.contains("init")) {
    if (!fields["init"].is_number_integer() || fields["init"].get<int64_t>() < 0 ||
        fields["init"].get<int64_t>() > 0xffffffff) {
      return absl::InvalidArgumentError(
          absl::StrCat("location ", name, ": init is not a number of 32 bits"));
    }
    initial = fields["init"].get<uint64_t>();
  }
  std::vector<std::string> aliases{name};
  if (fields.contains("aliases")) {
    absl::StatusOr<std::vector<std::string>> list = Texts(fields["aliases"], "aliases");
    if (!list.ok()) return list.status();
    if (!list->empty()) aliases = *std::move(list);
  }
  absl::Status status;
  if (fields.contains("replicas")) {
    absl::StatusOr<std::vector<std::string>> replicas = Texts(fields["replicas"], "replicas");
    if (!replicas.ok()) return replicas.status();
    std::vector<std::string> multicast;
    for (const std::string& alias : aliases) {
      if (std::count(replicas->begin(), replicas->end(), alias) == 0) multicast.push_back(alias);
    }
    if (replicas->empty()) {
      return absl::InvalidArgumentError(absl::StrCat("location ", name, " has no replica"));
    }
    status = builder->AddMulticast(name, initial, *replicas, multicast);
  } else {
    status = builder->AddLocation(name, initial, aliases);
  }
  if (!status.ok() || !fields.contains("devices")) return status;
  for (const auto& [address, device] : fields["devices"].items()) {
    if (!device.is_number_integer()) {
      return absl::InvalidArgumentError(absl::StrCat("devices of ", name, ": no number"));
    }
    status.Update(builder->SetDevice(address, device.get<int>()));
  }
  return status;
}

// The names that multimem instructions use, and the unicast partners of undeclared ones.
std::set<std::string> MulticastNames(const std::vector<std::vector<std::string>>& threads) {
  std::set<std::string> names;
  for (const std::vector<std::string>& thread : threads) {
    for (const std::string& text : thread) {
      for (size_t at = text.find("multimem."); at != std::string::npos;
           at = text.find("multimem.", at + 1)) {
        const bool load =
            absl::StartsWith(absl::string_view(text).substr(at), "multimem.ld_reduce");
        const absl::string_view rest = absl::string_view(text).substr(at);
        const size_t blank = rest.find(' ');
        if (blank == absl::string_view::npos) continue;
        const std::vector<absl::string_view> operands =
            SplitOutsideBrackets(rest.substr(blank, rest.find(';') - blank), ',');
        const size_t index = load ? 1 : 0;
        if (operands.size() > index) {
          absl::string_view name = operands[index];
          absl::ConsumePrefix(&name, "[");
          absl::ConsumeSuffix(&name, "]");
          names.emplace(name);
        }
      }
    }
  }
  return names;
}

absl::Status AddThreads(const std::vector<std::vector<std::string>>& threads, const json& layout,
                        LitmusTest* test, ProgramBuilder* builder) {
  int gpus = 1;
  for (const json& place : layout) {
    if (place.is_object()) gpus = std::max(gpus, NumberOr(place, "gpu", 0) + 1);
  }
  if (gpus > 64) return absl::InvalidArgumentError("layout: more than 64 GPUs");
  builder->ExpectMulticast(MulticastNames(threads), gpus);
  for (const std::vector<std::string>& thread : threads) {
    for (const std::string& text : thread) test->host = test->host || IsTask(text);
  }
  for (size_t i = 0; i < threads.size(); ++i) {
    const json at = layout.is_array() && i < layout.size() && layout[i].is_object()
                        ? layout[i]
                        : json::object();
    Place place;
    const int process = static_cast<int>(i);
    place.gpu = NumberOr(at, "gpu", 0);
    place.cta = NumberOr(at, "cta", process);
    place.cluster = NumberOr(at, "cluster", place.cta);
    const absl::Status added =
        test->host
            ? builder->AddStream(process, NumberOr(at, "stream", process), place.gpu, threads[i])
            : builder->AddThread(process, place, threads[i]);
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status ReadAssertion(const json& object, LitmusTest* test) {
  std::string kind = "exists";
  std::string text;
  const auto found = object.find("assert");
  if (found == object.end()) return absl::InvalidArgumentError("there is no assert");
  if (found->is_object()) {
    kind = TextOr(*found, "kind", "exists");
    text = TextOr(*found, "cond", "");
  } else if (found->is_string()) {
    text = found->get<std::string>();
    for (const char* word : {"not exists", "~exists", "~ exists", "exists", "forall"}) {
      absl::string_view rest = absl::StripAsciiWhitespace(text);
      if (!absl::ConsumePrefix(&rest, word)) continue;
      kind = word;
      text = std::string(rest);
      break;
    }
  }
  test->text = absl::StrCat(kind, " ", text);
  const absl::StatusOr<Condition> condition = Condition::Parse(text, test->program);
  if (!condition.ok()) return condition.status();
  if (kind != "exists" && kind != "not exists" && kind != "~exists" && kind != "~ exists" &&
      kind != "forall") {
    return absl::InvalidArgumentError(
        absl::StrCat("assert kind \"", kind, "\"; known are exists, not exists and forall"));
  }
  test->weak = kind == "forall" ? condition->Negation() : *condition;
  test->observables = test->weak.observables();
  for (size_t t = 0; t < test->program.threads.size(); ++t) {
    const Thread& thread = test->program.threads[t];
    if (thread.kind == Thread::kCopy) continue;  // its register is ours
    for (size_t r = 0; r < thread.registers.size(); ++r) {
      if (thread.registers[r][0] == '%') continue;  // and this of an asynchronous copy
      Observable observable;
      observable.thread = static_cast<int>(t);
      observable.index = static_cast<int>(r);
      observable.name = absl::StrCat("P", thread.process, ":", thread.registers[r]);
      if (std::find(test->observables.begin(), test->observables.end(), observable) ==
          test->observables.end()) {
        test->observables.push_back(std::move(observable));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReadVerdict(const std::string& text, std::optional<Verdict>* verdict) {
  if (text.empty()) return absl::OkStatus();
  if (text == "allowed" || text == "forbidden") {
    *verdict = text == "allowed" ? Verdict::kAllowed : Verdict::kForbidden;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("verdict \"", text, "\"; known are allowed and forbidden"));
}

absl::Status ReadExpectations(const json& object, LitmusTest* test) {
  absl::Status status = ReadVerdict(TextOr(object, "verdict", ""), &test->verdict);
  status.Update(ReadVerdict(TextOr(object, "verdict_strict", ""), &test->strict_verdict));
  test->note = TextOr(object, "note", "");
  for (const Verdict verdict : {Verdict::kAllowed, Verdict::kForbidden}) {
    if (!absl::StrContains(test->note, absl::StrCat("use ", NameOf(verdict)))) continue;
    test->verdict_from_note = test->verdict != verdict;
    test->verdict = verdict;
  }
  if (!status.ok() || !object.contains("hazard")) return status;
  const absl::StatusOr<std::vector<std::string>> hazards = Texts(object["hazard"], "hazard");
  if (!hazards.ok()) return hazards.status();
  test->hazards.emplace();
  for (const std::string& name : *hazards) {
    if (name == "none") continue;
    const auto known = {Hazard::kData, Hazard::kAlias, Hazard::kCrossDevice, Hazard::kProxy};
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](Hazard hazard) { return name == NameOf(hazard); });
    if (found == known.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("hazard \"", name, "\"; known are alias, data, alias-xdev, proxy and none"));
    }
    test->hazards->insert(*found);
  }
  return absl::OkStatus();
}

// "P1:2": the second instruction of P1.
absl::StatusOr<LitmusTest::Spot> ReadSpot(const std::string& text, const Program& program) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  int index = 0;
  for (size_t t = 0; t < program.threads.size(); ++t) {
    const Thread& thread = program.threads[t];
    if (thread.issuer >= 0 || thread.name != parts.first) continue;
    if (!absl::SimpleAtoi(parts.second, &index) || index < 1 ||
        index > static_cast<int>(thread.instructions.size())) {
      break;
    }
    return LitmusTest::Spot(static_cast<int>(t), index - 1);
  }
  return absl::InvalidArgumentError(absl::StrCat("races: there is no instruction ", text));
}

absl::Status ReadRaces(const json& object, LitmusTest* test) {
  if (!object.contains("races")) return absl::OkStatus();
  if (!object["races"].is_array()) return absl::InvalidArgumentError("races is not a list");
  test->races.emplace();
  for (const json& pair : object["races"]) {
    const absl::StatusOr<std::vector<std::string>> texts = Texts(pair, "a race");
    if (!texts.ok()) return texts.status();
    if (texts->size() != 2) return absl::InvalidArgumentError("a race is of two instructions");
    absl::StatusOr<LitmusTest::Spot> first = ReadSpot(texts->front(), test->program);
    absl::StatusOr<LitmusTest::Spot> second = ReadSpot(texts->back(), test->program);
    if (!first.ok()) return first.status();
    if (!second.ok()) return second.status();
    test->races->insert(std::minmax(*first, *second));
  }
  return absl::OkStatus();
}

absl::StatusOr<LitmusTest> FromJson(const json& object) {
  LitmusTest test;
  test.name = TextOr(object, "name", "");
  const auto threads_found = object.find("threads");
  if (threads_found == object.end() || !threads_found->is_array() || threads_found->empty()) {
    return absl::InvalidArgumentError("there are no threads");
  }
  std::vector<std::vector<std::string>> threads;
  for (const json& thread : *threads_found) {
    absl::StatusOr<std::vector<std::string>> texts = Texts(thread, "a thread");
    if (!texts.ok()) return texts.status();
    threads.push_back(*std::move(texts));
  }
  ProgramBuilder builder;
  if (object.contains("locations")) {
    for (const auto& [name, location] : object["locations"].items()) {
      const absl::Status added = AddLocation(name, location, &builder);
      if (!added.ok()) return added;
    }
  }
  const json layout = object.contains("layout") ? object["layout"] : json::array();
  absl::Status status = AddThreads(threads, layout, &test, &builder);
  if (!status.ok()) return status;
  absl::StatusOr<Program> program = builder.Finish();
  if (!program.ok()) return program.status();
  test.program = *std::move(program);
  for (const Address& address : test.program.addresses) {
    test.multicast = test.multicast || address.multicast;
  }
  test.runnable = !object.contains("ptx_runnable") || object["ptx_runnable"] != json(false);
  status = ReadAssertion(object, &test);
  if (status.ok()) status = ReadExpectations(object, &test);
  if (status.ok()) status = ReadRaces(object, &test);
  if (!status.ok()) return status;
  return test;
}

LitmusLine ReadLine(int number, absl::string_view text) {
  const absl::StatusOr<json> object = ParseJson<json>(text);
  if (!object.ok() || !object->is_object()) {
    const std::string why = object.ok() ? "" : absl::StrCat(": ", object.status().message());
    return {number, "",
            absl::InvalidArgumentError(absl::StrCat("this line is not a JSON object", why))};
  }
  return {number, TextOr(*object, "name", ""), FromJson(*object)};
}

}  // namespace

const char* NameOf(Verdict verdict) {
  return verdict == Verdict::kAllowed ? "allowed" : "forbidden";
}

absl::StatusOr<LitmusTest> ParseLitmus(absl::string_view text) { return ReadLine(0, text).test; }

absl::StatusOr<std::optional<LitmusLine>> NextLitmus(LineReader& lines) {
  for (;;) {
    const absl::StatusOr<std::optional<std::string>> text = lines.Next();
    if (!text.ok()) return text.status();
    if (!text->has_value()) return std::nullopt;
    const absl::string_view stripped = absl::StripAsciiWhitespace(**text);
    if (stripped.empty() || stripped[0] == '#' || absl::StartsWith(stripped, "//")) continue;
    return ReadLine(static_cast<int>(lines.number()), stripped);
  }
}

std::vector<LitmusLine> AllLitmus(LineReader& lines) {
  std::vector<LitmusLine> all;
  for (;;) {
    absl::StatusOr<std::optional<LitmusLine>> line = NextLitmus(lines);
    if (!line.ok() || !line->has_value()) return all;
    all.push_back(**std::move(line));
  }
}

}  // namespace twinmmu::coherence
