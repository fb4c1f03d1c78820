# How each library is made and installed, with its file for pkg-config.

set(twinmmu_libraries "")
set(twinmmu_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/twinmmu)

# twinmmu_library(NAME DESCRIPTION [libraries...]): twinmmu::NAME, of the lists in sources.cmake.
function(twinmmu_library name description)
  set(target twinmmu_${name})
  set(private ${${target}_private_dependencies})
  list(TRANSFORM private REPLACE "^nlohmann.*" "$<BUILD_INTERFACE:\\0>")  # has headers only
  add_library(${target} ${${target}_sources})
  add_library(twinmmu::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_17)
  # What nearly every source includes, and half of its time to compile.
  target_precompile_headers(${target} PRIVATE
    <algorithm> <cstdint> <map> <memory> <mutex> <optional> <string> <utility> <vector>
    <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/types/span.h>)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/twinmmu>)
  target_link_libraries(${target}
    PUBLIC ${ARGN} ${${target}_dependencies}
    PRIVATE ${private})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    DEFINE_SYMBOL ""  # the same objects, shared or static
    POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION})
  set(twinmmu_libraries ${twinmmu_libraries} ${name} PARENT_SCOPE)
  if(TWINMMU_INSTALL)
    install(TARGETS ${target} EXPORT twinmmuTargets)
    twinmmu_install_headers(${${target}_headers})
    twinmmu_install_pkg_config(${name} "${description}" ${ARGN})
  endif()
endfunction()

function(twinmmu_install_headers)
  foreach(header ${ARGN})
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/twinmmu/${folder})
  endforeach()
endfunction()

# twinmmu_pkg_config_names(VARIABLE libraries...): the same libraries, as pkg-config calls them.
function(twinmmu_pkg_config_names variable)
  set(names ${ARGN})
  list(FILTER names EXCLUDE REGEX "^Threads::|^dl$")
  list(TRANSFORM names REPLACE "^absl::" "absl_")
  list(TRANSFORM names REPLACE "^twinmmu_" "twinmmu-")
  list(TRANSFORM names REPLACE "^twinmmu::" "lib")
  list(TRANSFORM names REPLACE ".*::" "")
  list(JOIN names ", " names)
  set(${variable} "${names}" PARENT_SCOPE)
endfunction()

function(twinmmu_install_pkg_config name description)
  set(needed ${ARGN} ${twinmmu_${name}_dependencies})
  set(needed_privately ${twinmmu_${name}_private_dependencies})
  list(REMOVE_ITEM needed_privately nlohmann_json::nlohmann_json)  # has headers only
  if(NOT BUILD_SHARED_LIBS)
    list(APPEND needed ${needed_privately})
    set(needed_privately "")
  endif()
  twinmmu_pkg_config_names(pc_requires ${needed})
  twinmmu_pkg_config_names(pc_requires_private ${needed_privately})
  set(pc_libs ${CMAKE_THREAD_LIBS_INIT})
  if(CMAKE_DL_LIBS IN_LIST ARGN)
    list(APPEND pc_libs -l${CMAKE_DL_LIBS})
  endif()
  # From the file itself: --prefix can move the installation.
  set(folder ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH pc_libdir ${folder} ${CMAKE_INSTALL_FULL_LIBDIR})
  file(RELATIVE_PATH pc_includedir ${folder} ${CMAKE_INSTALL_FULL_INCLUDEDIR}/twinmmu)
  configure_file(cmake/twinmmu.pc.in cmake/twinmmu-${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/twinmmu-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(twinmmu_install_package)
  include(CMakePackageConfigHelpers)
  install(EXPORT twinmmuTargets NAMESPACE twinmmu:: DESTINATION ${twinmmu_package_folder})
  if(BUILD_SHARED_LIBS)
    set(twinmmu_static FALSE)
  else()
    set(twinmmu_static TRUE)
  endif()
  configure_package_config_file(cmake/twinmmuConfig.cmake.in cmake/twinmmuConfig.cmake
    INSTALL_DESTINATION ${twinmmu_package_folder})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/twinmmuConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES
    ${PROJECT_BINARY_DIR}/cmake/twinmmuConfig.cmake
    ${PROJECT_BINARY_DIR}/cmake/twinmmuConfigVersion.cmake
    cmake/compression.cmake
    DESTINATION ${twinmmu_package_folder})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()
