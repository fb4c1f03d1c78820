"""The libraries of TwinMMU, under their upstream names, from installed Debian packages.

A workspace that defines a repository of the same name before it calls twinmmu_dependencies() keeps its own.
"""

load(":cuda_toolkit.bzl", "cuda_toolkit")

_LIB = "/usr/lib/x86_64-linux-gnu/"

def _installed_library_impl(ctx):
    for file in ctx.attr.files:
        if not ctx.path(file).exists:
            fail("%s is missing: install the Debian package %s (tools/bazel does it)." % (file, ctx.attr.package))
    prefix, _, suffix = ctx.attr.libraries.partition("*")
    libraries = [
        str(path)
        for path in ctx.path(_LIB).readdir()
        if prefix and path.basename.startswith(prefix) and path.basename.endswith(suffix)
    ]
    for path, content in ctx.attr.build_files.items():
        ctx.file(path, content.replace("{libraries}", repr(libraries)))

# Headers need no mention: they are in /usr/include, a system directory of every compiler here.
_installed_library = repository_rule(
    implementation = _installed_library_impl,
    attrs = {
        "package": attr.string(mandatory = True, doc = "The Debian package to name when a file is missing."),
        "files": attr.string_list(doc = "Files that must be there."),
        "libraries": attr.string(doc = "Like libx_*.a: the installed libraries that replace {libraries} in BUILD files."),
        "build_files": attr.string_dict(mandatory = True, doc = "BUILD files: path to content."),
    },
    local = True,
)

# Static archives: binaries then run on machines that lack the packages.
_LIBRARY = """
cc_library(
    name = "%s",
    linkopts = %s,
    deps = %s,
    visibility = ["//visibility:public"],
)
"""

def _library(name, linkopts = [], deps = []):
    return _LIBRARY % (name, repr(linkopts), repr(deps))

# Upstream's packages and targets, as far as Abseil 20220623 has them. All are the same group of archives.
_ABSL = {
    "absl/algorithm": ["algorithm", "container"],
    "absl/base": ["base", "config", "core_headers", "dynamic_annotations", "log_severity"],
    "absl/cleanup": ["cleanup"],
    "absl/container": [
        "btree",
        "fixed_array",
        "flat_hash_map",
        "flat_hash_set",
        "inlined_vector",
        "node_hash_map",
        "node_hash_set",
    ],
    "absl/debugging": ["failure_signal_handler", "leak_check", "stacktrace", "symbolize"],
    "absl/flags": ["commandlineflag", "config", "flag", "marshalling", "parse", "reflection", "usage"],
    "absl/functional": ["any_invocable", "bind_front", "function_ref"],
    "absl/hash": ["hash", "hash_testing"],
    "absl/memory": ["memory"],
    "absl/meta": ["type_traits"],
    "absl/numeric": ["bits", "int128"],
    "absl/random": ["bit_gen_ref", "distributions", "random"],
    "absl/status": ["status", "statusor"],
    "absl/strings": ["cord", "str_format", "strings"],
    "absl/synchronization": ["synchronization"],
    "absl/time": ["time"],
    "absl/types": ["any", "compare", "optional", "span", "variant"],
    "absl/utility": ["utility"],
}

def _absl_build_files():
    group = '["-Wl,--start-group"] + {libraries} + ["-Wl,--end-group"]'
    files = {"BUILD.bazel": _LIBRARY % ("absl", group, "[]")}
    for package, names in _ABSL.items():
        files[package + "/BUILD.bazel"] = "".join([_library(name, deps = ["//:absl"]) for name in names])
    return files

def _maybe(name, **attrs):
    if not native.existing_rule(name):
        _installed_library(name = name, **attrs)

def twinmmu_dependencies():
    """Defines each repository that TwinMMU needs and the workspace does not define yet."""

    # Debian's static Abseil cannot go into a shared object (it is not position independent). A cc_binary with linkshared
    # therefore names @absl_shared FIRST in its deps: what is found there is not taken from the archives any more.
    # With an Abseil of the user's own, which Bazel compiles as needed, @absl_shared is empty.
    shared = '["-Wl,--push-state,--as-needed"] + {libraries} + ["-Wl,--pop-state"]'
    _maybe(
        name = "absl_shared",
        package = "libabsl-dev",
        libraries = "" if native.existing_rule("com_google_absl") else "libabsl_*.so",
        build_files = {"BUILD.bazel": _LIBRARY % ("absl_shared", shared, "[]")},
    )
    _maybe(
        name = "com_google_absl",
        package = "libabsl-dev",
        files = ["/usr/include/absl/status/statusor.h", _LIB + "libabsl_status.a"],
        libraries = "libabsl_*.a",
        build_files = _absl_build_files(),
    )
    _maybe(
        name = "com_google_googletest",
        package = "libgmock-dev",
        files = [
            "/usr/include/gmock/gmock.h",
            "/usr/include/gtest/gtest.h",
            _LIB + "libgmock.a",
            _LIB + "libgmock_main.a",
            _LIB + "libgtest.a",
        ],
        build_files = {
            "BUILD.bazel": _library("gtest", [_LIB + "libgmock.a", _LIB + "libgtest.a"]) +
                           _library("gtest_main", [_LIB + "libgmock_main.a"], [":gtest"]),
        },
    )

    # Debian has no static libbenchmark: benchmarks need libbenchmark1debian where they run.
    _maybe(
        name = "com_github_google_benchmark",
        package = "libbenchmark-dev",
        files = ["/usr/include/benchmark/benchmark.h", _LIB + "libbenchmark.so", _LIB + "libbenchmark_main.a"],
        build_files = {
            "BUILD.bazel": _library("benchmark", ["-lbenchmark"]) +
                           _library("benchmark_main", [_LIB + "libbenchmark_main.a"], [":benchmark"]),
        },
    )
    _maybe(
        name = "nlohmann_json",
        package = "nlohmann-json3-dev",
        files = ["/usr/include/nlohmann/json.hpp"],
        build_files = {"BUILD.bazel": _library("json")},
    )
    _maybe(
        name = "lz4",
        package = "liblz4-dev",
        files = ["/usr/include/lz4.h", _LIB + "liblz4.a"],
        build_files = {"BUILD.bazel": _library("lz4", [_LIB + "liblz4.a"])},
    )
    _maybe(
        name = "zstd",
        package = "libzstd-dev",
        files = ["/usr/include/zstd.h", _LIB + "libzstd.a"],
        build_files = {"BUILD.bazel": _library("zstd", [_LIB + "libzstd.a"])},
    )
    if not native.existing_rule("cuda_toolkit"):
        cuda_toolkit(name = "cuda_toolkit")
