#include "conformance/instances/checked_words.h"

#include <map>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace twinmmu::conformance {
namespace {

// `text`, in which replacement(match) stands for each match of `pattern`.
template <typename Replacement>
std::string Replace(const std::string& text, const std::regex& pattern,
                    const Replacement& replacement) {
  std::string result;
  auto begin = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    result.append(begin, (*match)[0].first);
    result += replacement(*match);
    begin = (*match)[0].second;
  }
  return result.append(begin, text.end());
}

const std::regex& CallNumber() {
  static const std::regex* const number = new std::regex("call ([0-9]+)");
  return *number;
}

}  // namespace

std::vector<std::string> Texts(absl::Span<const Diagnostic> diagnostics) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics) texts.push_back(ToString(diagnostic));
  return texts;
}

std::vector<std::string> TextsWithoutAddresses(absl::Span<const Diagnostic> diagnostics) {
  static const std::regex* const number = new std::regex("0x[0-9a-f]+|[0-9]{8,}");
  std::map<std::string, size_t> known;
  std::vector<std::string> texts = Texts(diagnostics);
  for (std::string& text : texts) {
    text = Replace(text, *number, [&](const std::smatch& match) {
      return absl::StrCat("#", known.emplace(match.str(), known.size()).first->second);
    });
  }
  return texts;
}

std::string TextWithoutNumbers(const Diagnostic& diagnostic) {
  Diagnostic other = diagnostic;
  other.call_id = 0;
  other.message = Replace(diagnostic.message, CallNumber(),
                          [](const std::smatch&) { return std::string("a call"); });
  // Why a descriptor is a foreign one only the simulator can see.
  static const std::regex* const foreign =
      new std::regex("(is not one of shared device memory): .*");
  other.message = std::regex_replace(other.message, *foreign, "$1");
  other.history.clear();
  return ToString(other);
}

std::string CauseIn(const Diagnostic& diagnostic) {
  std::smatch match;
  if (!std::regex_search(diagnostic.message, match, CallNumber())) return "";
  for (const HistoryEntry& entry : diagnostic.history) {
    if (absl::StrCat(entry.call) == match[1].str()) return entry.sentence;
  }
  return "";
}

std::vector<std::string> SentencesOf(const Diagnostic& diagnostic) {
  std::vector<std::string> sentences;
  for (const HistoryEntry& entry : diagnostic.history) {
    const std::string& sentence = entry.sentence;
    const bool seen = !absl::StartsWith(sentence, "cuMemcpy") &&
                      !absl::StartsWith(sentence, "cuMemset") &&
                      !absl::StartsWith(sentence, "cuMemGetAllocationGranularity");
    if (seen) sentences.push_back(sentence);
  }
  return sentences;
}

}  // namespace twinmmu::conformance
