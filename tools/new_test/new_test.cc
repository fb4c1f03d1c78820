#include "tools/new_test/new_test.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/version.h"
#include "tools/command_line/nearest_name.h"
#include "tools/new_test/templates.h"

namespace twinmmu {
namespace {

namespace fs = std::filesystem;

struct File {
  const char* name;
  const char* from;  // the template
};
constexpr File kAllocator[] = {{"toy_allocator.h", "toy_allocator.h"},
                               {"toy_allocator_test.cc", "toy_allocator_test.cc"}};
constexpr File kBazel[] = {{".bazelrc", "bazel_rc.template"},
                           {"BUILD.bazel", "bazel_build.template"},
                           {"MODULE.bazel", "bazel_module.template"},
                           {"WORKSPACE", "bazel_workspace.template"},
                           {"WORKSPACE.bzlmod", "bazel_workspace_bzlmod.template"}};
constexpr File kCmake[] = {{"CMakeLists.txt", "cmake_lists.template"}};

std::vector<File> FilesOf(const NewTest& test) {
  std::vector<File> files(std::begin(kAllocator), std::end(kAllocator));
  if (test.build == "bazel") {
    files.insert(files.end(), std::begin(kBazel), std::end(kBazel));
  } else {
    files.insert(files.end(), std::begin(kCmake), std::end(kCmake));
  }
  return files;
}

// Letters, digits and "_", as all builds take it.
std::string NameOf(const std::string& folder) {
  std::string name = fs::path(folder).filename().string();
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  name = absl::AsciiStrToLower(name);
  return name.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(name[0]))
             ? absl::StrCat("test_", name)
             : name;
}

// What config=debian of TwinMMU is, for a workspace elsewhere.
std::string DebianConfig(const std::string& source) {
  std::ifstream file(fs::path(source) / "third_party" / "debian" / "bazelrc");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "#")) continue;
    const size_t option = line.find("--");
    if (absl::StrContains(line, "%workspace%") && option != std::string::npos) {
      line = absl::StrReplaceAll(line, {{"%workspace%", source}});
      line = absl::StrCat(line.substr(0, option), "\"", line.substr(option), "\"");
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string TextOf(const char* name, const NewTest& test) {
  for (const Template& candidate : Templates()) {
    if (candidate.name != absl::string_view(name)) continue;
    return absl::StrReplaceAll(
        candidate.text,
        {{"@NAME@", NameOf(test.folder)},
         {"@VERSION@", kVersion},
         {"@SOURCE@", test.source},
         {"@DEBIAN@", DebianConfig(test.source)},
         {"@TWINMMU@", test.source.empty()
                           ? "find_package(twinmmu REQUIRED)"
                           : absl::StrCat("add_subdirectory(\"", test.source, "\" twinmmu)")}});
  }
  return "";
}

absl::Status CheckSource(const NewTest& test) {
  if (test.build != "bazel" && test.build != "cmake") {
    return absl::InvalidArgumentError(absl::StrCat("--build=", test.build, ": it is bazel or cmake",
                                                   DidYouMean(test.build, {"bazel", "cmake"})));
  }
  if (test.source.empty()) {
    if (test.build == "cmake") return absl::OkStatus();
    return absl::InvalidArgumentError(
        "where is TwinMMU? For Bazel, --source=DIR names its source tree.");
  }
  if (!fs::exists(fs::path(test.source) / "api" / "vmm.h")) {
    return absl::InvalidArgumentError(absl::StrCat("--source=", test.source,
                                                   ": it is not the source tree of TwinMMU, which "
                                                   "has api/vmm.h."));
  }
  if (test.source.find_first_of("\"\\$\n") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--source=", test.source,
                     ": a path with quotes, backslashes, dollars or newlines cannot stand in the "
                     "files of Bazel and CMake. Give a link to it."));
  }
  return absl::OkStatus();
}

absl::Status CheckFolder(const std::string& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (fs::is_directory(status)) {
    const bool empty = fs::is_empty(folder, error);
    if (error) {
      return absl::PermissionDeniedError(
          absl::StrCat("cannot look into ", folder, ": ", error.message()));
    }
    if (empty) return absl::OkStatus();
    return absl::AlreadyExistsError(
        absl::StrCat(folder, " is not empty. Name a new folder, or an empty one."));
  }
  if (fs::exists(status) || fs::is_symlink(fs::symlink_status(folder, error))) {
    return absl::AlreadyExistsError(absl::StrCat(folder, " is there, and is not a folder."));
  }
  const std::string above = fs::path(folder).parent_path().string();
  if (fs::is_directory(above, error)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("there is no folder ", above, " to make ",
                                          fs::path(folder).filename().string(), " in."));
}

// What was made, until it is kept.
class Undo {
 public:
  ~Undo() {
    std::error_code ignored;
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) fs::remove(*path, ignored);
  }
  void Made(const fs::path& path) { made_.push_back(path); }
  void Keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;
};

absl::Status CannotWrite(const fs::path& path, const std::string& reason) {
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write ", path.string(), ": ", reason, ". Nothing was left behind."));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LayOutTest(const NewTest& test) {
  absl::Status valid = CheckSource(test);
  valid.Update(CheckFolder(test.folder));
  if (!valid.ok()) return valid;
  Undo undo;
  std::error_code error;
  if (fs::create_directory(test.folder, error)) undo.Made(test.folder);
  if (error) return CannotWrite(test.folder, error.message());
  std::vector<std::string> names;
  for (const File& file : FilesOf(test)) {
    const fs::path path = fs::path(test.folder) / file.name;
    std::ofstream out(path);
    if (out) undo.Made(path);
    out << TextOf(file.from, test);
    out.close();
    if (!out) return CannotWrite(path, std::strerror(errno));
    names.emplace_back(file.name);
  }
  undo.Keep();
  return names;
}

}  // namespace twinmmu
