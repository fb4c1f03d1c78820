#include "api/files/json_text.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/files/limits.h"
#include "nlohmann/json.hpp"

namespace twinmmu {
namespace {

// InvalidArgument: it is nested more deeply, or has more values, than limits.h allows; whether it
// is JSON is not asked. The library copies and writes what is nested by calling itself.
absl::Status CheckJsonSize(absl::string_view text) {
  int depth = 0;
  int values = 1;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == '[' || c == '{' || c == ',') ++values;
    if (depth > kMaxJsonDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat("it is nested more than ", kMaxJsonDepth, " deep"));
    }
    if (values > kMaxJsonValues) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has more than ", kMaxJsonValues, " values"));
    }
  }
  return absl::OkStatus();
}

// Its words for what is wrong, as far as a person reads them.
std::string JsonErrorOf(const char* what) {
  constexpr size_t kMaxWords = 300;
  const absl::string_view words = what;
  return absl::StrCat(words.substr(0, kMaxWords), words.size() > kMaxWords ? "..." : "");
}

// Builds a value from the events of the library's parser, in a place that outlives an exception.
template <typename Json>
class JsonBuilder {
 public:
  explicit JsonBuilder(Json* root) : root_(root) {}
  const std::string& error() const { return error_; }

  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(typename Json::number_integer_t value) { return Add(value); }
  bool number_unsigned(typename Json::number_unsigned_t value) { return Add(value); }
  bool number_float(typename Json::number_float_t value, const typename Json::string_t&) {
    return Add(value);
  }
  bool string(typename Json::string_t& value) { return Add(std::move(value)); }
  bool binary(typename Json::binary_t& value) { return Add(std::move(value)); }
  bool start_object(size_t) { return Open(Json::value_t::object); }
  bool start_array(size_t) { return Open(Json::value_t::array); }
  bool key(typename Json::string_t& name) {
    next_ = &(*open_.back())[name];
    return true;
  }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool parse_error(size_t, const std::string&, const typename Json::exception& error) {
    error_ = JsonErrorOf(error.what());
    return false;
  }

 private:
  template <typename Value>
  bool Add(Value&& value) {
    *Place() = Json(std::forward<Value>(value));
    return true;
  }
  bool Open(typename Json::value_t type) {
    Json* const place = Place();
    *place = Json(type);
    open_.push_back(place);
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }
  // Where the next value belongs.
  Json* Place() {
    if (open_.empty()) return root_;
    if (open_.back()->is_object()) return next_;
    return &open_.back()->emplace_back();
  }

  Json* const root_;
  std::vector<Json*> open_;
  Json* next_ = nullptr;
  std::string error_;
};

}  // namespace

template <typename Json>
absl::StatusOr<Json> ParseJson(absl::string_view text) {
  absl::Status size = CheckJsonSize(text);
  if (!size.ok()) return size;
  Json json;
  try {
    JsonBuilder<Json> builder(&json);
    if (Json::sax_parse(text.begin(), text.end(), &builder)) return json;
    ClearJson(&json);
    return absl::InvalidArgumentError(builder.error());
  } catch (...) {
    ClearJson(&json);
    throw;
  }
}

// Here alone: the parser is large, and slow where it is not optimised.
template absl::StatusOr<nlohmann::json> ParseJson(absl::string_view);
template absl::StatusOr<nlohmann::ordered_json> ParseJson(absl::string_view);

}  // namespace twinmmu
