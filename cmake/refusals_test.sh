#!/bin/bash
# What CMake cannot build is refused while it is configured, in words that say what to do. Usage: refusals_test.sh
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0

# refused WORDS FOLDER [options of cmake]: CMake refuses the project in FOLDER, and says so with WORDS.
refused() {
  local words=$1 folder=$2 output
  shift 2
  rm -rf build
  if output=$(cmake -S "$folder" -B build "$@" 2>&1); then
    echo "FAIL: not refused: $folder $*"
    failures=$((failures + 1))
  elif [[ $(tr -s '[:space:]' ' ' <<< "$output") != *"$words"* ]]; then
    echo "FAIL: expected '$words', got: $output"
    failures=$((failures + 1))
  fi
}

# An installed Abseil, as an old or a broken one would be found.
abseil_package() {  # FOLDER VERSION
  mkdir -p "$1/include/absl/status" "$1/include/absl/strings"
  cat > "$1/abslConfig.cmake" <<END
set(absl_VERSION $2)
add_library(absl::status INTERFACE IMPORTED)
add_library(absl::strings INTERFACE IMPORTED)
set_target_properties(absl::status PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "\${CMAKE_CURRENT_LIST_DIR}/include")
END
}
abseil_package old 20211102
refused 'needs Abseil 20220623 or newer' "$root" -Dabsl_DIR="$work/old"
refused "in $work/old is 20211102" "$root" -Dabsl_DIR="$work/old"

abseil_package other_standard 20230125
cat > other_standard/include/absl/status/status.h <<'END'
#include <string>
namespace absl { struct Status { std::string message(); }; Status UnknownError(std::string message); }
END
echo 'namespace absl { const char* StrCat(const char*, int); }' > other_standard/include/absl/strings/str_cat.h
refused "does not link with the Abseil of $work/other_standard" "$root" -Dabsl_DIR="$work/other_standard"

# A project with an Abseil of its own, which it compiles.
mkdir -p project/absl/{base,status}
cat > project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.21)
project(user LANGUAGES CXX)
add_subdirectory(absl/status)
add_subdirectory("$root" twinmmu)
END
cat > project/absl/status/CMakeLists.txt <<'END'
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/status.cc" "")
add_library(status "${CMAKE_CURRENT_BINARY_DIR}/status.cc")
add_library(absl::status ALIAS status)
END
echo '#define ABSL_LTS_RELEASE_VERSION 20211102' > project/absl/base/config.h
refused "in $work/project/absl/status is 20211102" project
echo '#define ABSL_LTS_RELEASE_VERSION 20230125' > project/absl/base/config.h
refused 'is built with C++14. Set CMAKE_CXX_STANDARD to 17' project -DCMAKE_CXX_STANDARD=14
sed -i 's/status "/status STATIC "/' project/absl/status/CMakeLists.txt
refused "with the static Abseil of $work/project/absl/status" project -DBUILD_SHARED_LIBS=ON

hidden=(-DCMAKE_DISABLE_FIND_PACKAGE_absl=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON)
refused 'were not found: absl, GTest. Do one of these' "$root" "${hidden[@]}"
refused 'were not found: absl. Do one of these' "$root" "${hidden[@]}" -DTWINMMU_TESTING=OFF
refused 'cannot be installed with dependencies that are downloaded' "$root" "${hidden[@]}" -DTWINMMU_FETCH_DEPENDENCIES=ON

cat > old_compiler <<'END'
#!/bin/sh
exec g++ -U__GNUC__ -D__GNUC__=4 -U__GNUC_MINOR__ -D__GNUC_MINOR__=9 "$@"
END
chmod +x old_compiler
refused "none in $work/old_compiler (GNU 4.9" "$root" -DCMAKE_CXX_COMPILER="$work/old_compiler"

((failures == 0)) && echo "refusals_test: passed"
