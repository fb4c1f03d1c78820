"""The libraries of TwinMMU for WORKSPACE, under the names that they had there, from installed Debian packages.

A workspace that defines a repository of the same name before it calls twinmmu_dependencies() keeps its own.
"""

load(":cuda_toolkit.bzl", "cuda_toolkit")
load(":installed_library.bzl", "installed_library")

_LIB = "/usr/lib/x86_64-linux-gnu/"

def _maybe(name, **attrs):
    if not native.existing_rule(name):
        installed_library(name = name, **attrs)

def twinmmu_dependencies():
    """Defines each repository that TwinMMU needs and the workspace does not define yet."""
    _maybe(
        name = "com_google_absl",
        module = "abseil-cpp",
        package = "libabsl-dev",
        files = ["/usr/include/absl/status/statusor.h", _LIB + "libabsl_status.a"],
    )
    _maybe(
        name = "com_google_googletest",
        module = "googletest",
        package = "libgmock-dev",
        files = [
            "/usr/include/gmock/gmock.h",
            "/usr/include/gtest/gtest.h",
            _LIB + "libgmock.a",
            _LIB + "libgmock_main.a",
            _LIB + "libgtest.a",
        ],
    )
    _maybe(
        name = "com_github_google_benchmark",
        module = "google_benchmark",
        package = "libbenchmark-dev",
        files = ["/usr/include/benchmark/benchmark.h", _LIB + "libbenchmark.so", _LIB + "libbenchmark_main.a"],
    )
    _maybe(
        name = "cli11",
        module = "cli11",
        package = "libcli11-dev",
        files = ["/usr/include/CLI/CLI.hpp"],
    )
    _maybe(
        name = "nlohmann_json",
        module = "nlohmann_json",
        package = "nlohmann-json3-dev",
        files = ["/usr/include/nlohmann/json.hpp"],
    )
    _maybe(
        name = "lz4",
        module = "lz4",
        package = "liblz4-dev",
        files = ["/usr/include/lz4.h", _LIB + "liblz4.a"],
    )
    _maybe(
        name = "zstd",
        module = "zstd",
        package = "libzstd-dev",
        files = ["/usr/include/zstd.h", _LIB + "libzstd.a"],
    )
    if not native.existing_rule("cuda_toolkit"):
        cuda_toolkit(name = "cuda_toolkit")
