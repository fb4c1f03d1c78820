"""libcudart of a CUDA version."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")

# The names under which programs ask for it, and the version that each says it is.
RUNTIMES = {
    "libcudart.so.11.0": 11080,
    "libcudart.so.12": 12090,
    "libcudart.so.13": 13000,
}

def static_runtime_of(version):
    """The name of the static library, which programs are linked to beside `-cudart none`."""
    return "libtwinmmu_cudart%d.a" % (version // 1000)

def runtime_library(soname, version):
    """The shared library of that name, and the static one of that version.

    Everything in the shared one is linked statically and hidden. It stays loaded once it is, because
    programs call to the very end. The static one leaves the runtime of C++ to the program.
    """
    name = "runtime_%d" % version
    native.genrule(
        name = name + "_script",
        outs = [name + ".lds"],
        cmd = "$(location :runtime_version_script) %d %s > $@" % (version // 1000, soname),
        tools = [":runtime_version_script"],
    )
    cc_library(
        name = name + "_calls",
        srcs = [
            "calls/version_calls.cc",
            "calls/version_devices.cc",
        ],
        local_defines = ["TWINMMU_RUNTIME_VERSION=%d" % version],
        visibility = ["//sim/libcudart/tests:__pkg__"],
        deps = [
            ":parameters",
            ":runtime",
            "//third_party/cuda_abi:cudart_abi",
        ],
        alwayslink = True,
    )
    cc_binary(
        name = soname,
        additional_linker_inputs = [":%s.lds" % name],
        linkopts = [
            "-Wl,--version-script=$(location :%s.lds)" % name,
            "-Wl,-soname," + soname,
            "-Wl,-Bsymbolic",
            "-Wl,-z,nodelete",
            "-Wl,-z,now",
            "-ldl",
        ],
        linkshared = True,
        visibility = ["//visibility:public"],
        deps = [
            ":calls",
            ":%s_calls" % name,
            "//sim/libcuda:static_runtime",
        ],
    )
    native.genrule(
        name = name + "_static",
        srcs = [
            ":%s.lds" % name,
            ":calls",
            ":%s_calls" % name,
            ":parameters",
            ":runtime",
        ],
        outs = [static_runtime_of(version)],
        cmd = "$(location static_runtime.sh) $@ $(SRCS)",
        tools = ["static_runtime.sh"],
        visibility = ["//visibility:public"],
    )
