# Stops if absl::status, wherever it comes from, is too old, or does not fit C++17 or shared libraries.
function(twinmmu_check_abseil)
  set(help
    "Install another Abseil and name its folder with -Dabsl_DIR, or hide this one with "
    "-DCMAKE_DISABLE_FIND_PACKAGE_absl=ON and let one be downloaded with -DTWINMMU_FETCH_DEPENDENCIES=ON.")
  get_target_property(imported absl::status IMPORTED)
  if(imported)
    set(place "${absl_DIR}")
    set(version "${absl_VERSION}")
  else()
    get_target_property(place absl::status SOURCE_DIR)
    file(STRINGS "${place}/../base/config.h" version REGEX "define ABSL_LTS_RELEASE_VERSION ")
    string(REGEX REPLACE ".* " "" version "${version}")
  endif()

  # Without a version it is from between two releases.
  if(version MATCHES "^[0-9]+$" AND version LESS 20220623)
    message(FATAL_ERROR "TwinMMU needs Abseil 20220623 or newer; in ${place} is ${version}. " ${help})
  endif()

  # Each library would hold a copy of Abseil, and of what Abseil knows of the process.
  get_target_property(type absl::status TYPE)
  if(BUILD_SHARED_LIBS AND type STREQUAL "STATIC_LIBRARY")
    message(FATAL_ERROR
      "TwinMMU cannot be built as shared libraries with the static Abseil of ${place}. Build that Abseil with "
      "-DBUILD_SHARED_LIBS=ON, too, or TwinMMU with -DBUILD_SHARED_LIBS=OFF.")
  endif()

  if(imported)
    twinmmu_check_abseil_links("${place}" "${help}")
    return()
  endif()
  get_target_property(standard absl::status CXX_STANDARD)
  if(standard AND standard LESS 17)
    message(FATAL_ERROR
      "TwinMMU needs an Abseil built with C++17 or newer, but ${place} is built with C++${standard}. "
      "Set CMAKE_CXX_STANDARD to 17 or newer before your project adds Abseil.")
  endif()
endfunction()

# An Abseil built with C++14 has a string_view of its own, where its headers name that of C++17.
function(twinmmu_check_abseil_links place help)
  include(CheckCXXSourceCompiles)
  if(NOT CMAKE_CXX_STANDARD OR CMAKE_CXX_STANDARD LESS 17)
    set(CMAKE_CXX_STANDARD 17)
  endif()
  set(CMAKE_REQUIRED_LIBRARIES absl::status absl::strings)
  check_cxx_source_compiles([[
    #include "absl/status/status.h"
    #include "absl/strings/str_cat.h"
    int main() { return absl::UnknownError(absl::StrCat("1", 2)).message().empty(); }
  ]] TWINMMU_ABSEIL_LINKS)
  if(NOT TWINMMU_ABSEIL_LINKS)
    unset(TWINMMU_ABSEIL_LINKS CACHE)  # so that the next run looks again
    message(FATAL_ERROR
      "A small program in C++${CMAKE_CXX_STANDARD} does not link with the Abseil of ${place}; most often, that was "
      "built with another C++ standard. What the compiler says is in ${CMAKE_BINARY_DIR}/CMakeFiles. Build that "
      "Abseil with -DCMAKE_CXX_STANDARD=${CMAKE_CXX_STANDARD}. " ${help})
  endif()
endfunction()
