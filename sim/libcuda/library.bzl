"""libcuda.so.1 of a CUDA version."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")

# The names of profiles.cc, without "driver-", and their versions: all but the reference's.
OTHER_DRIVERS = [
    ("10.1", 10010),
    ("10.2", 10020),
    ("11.0", 11000),
    ("12.0", 12000),
    ("12.4", 12040),
    ("13.1", 13010),
    ("13.2", 13020),
    ("13.3", 13030),
    ("13.4", 13040),
]

def simulated_library(version, folder = ""):
    """<folder>libcuda.so.1, which exports what the driver of `version` (13000 is CUDA 13.0) had.

    Everything in it is linked statically and hidden. It stays loaded once it is, as its machine does.
    """
    name = "driver_%d" % version
    native.genrule(
        name = name + "_script",
        outs = [name + ".lds"],
        cmd = "$(location :version_script) %d > $@" % version,
        tools = [":version_script"],
    )
    cc_library(
        name = name + "_version",
        srcs = ["library_version.cc"],
        local_defines = ["TWINMMU_LIBRARY_VERSION=%d" % version],
        visibility = [
            "//conformance/instances:__subpackages__",
            "//sim/libcuda:__subpackages__",
        ],
        deps = [
            ":process",
            "//sim/libcuda/calls",
        ],
        alwayslink = True,
    )
    cc_binary(
        name = folder + "libcuda.so.1",
        srcs = ["abseil_without_local_exec.cc"],
        additional_linker_inputs = [":%s.lds" % name],
        linkopts = [
            "-Wl,--version-script=$(location :%s.lds)" % name,
            "-Wl,-soname,libcuda.so.1",
            "-Wl,-z,nodelete",
            "-Wl,-z,now",
        ],
        linkshared = True,
        visibility = ["//visibility:public"],
        deps = [
            "//sim/libcuda/calls",
            ":%s_version" % name,
            "@com_google_absl//absl/base:config",
            ":static_runtime",
        ],
    )
