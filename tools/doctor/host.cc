#include "tools/doctor/host.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace twinmmu {

bool Host::Exists(const std::string& path) const { return access(Path(path).c_str(), F_OK) == 0; }

bool Host::CanReadAndWrite(const std::string& path) const {
  return access(Path(path).c_str(), R_OK | W_OK) == 0;
}

std::vector<std::string> Host::List(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(Path(folder), ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Host::FirstLine(const std::string& path) const {
  std::ifstream file(Path(path));
  std::string line;
  std::getline(file, line);
  return line;
}

std::string Host::FindProgram(const std::string& name,
                              const std::vector<std::string>& folders) const {
  std::vector<std::string> places = absl::StrSplit(variable("PATH"), ':', absl::SkipEmpty());
  places.insert(places.end(), folders.begin(), folders.end());
  for (const std::string& place : places) {
    const std::string path = absl::StrCat(place, "/", name);
    if (access(Path(path).c_str(), X_OK) == 0) return path;
  }
  return "";
}

}  // namespace twinmmu
