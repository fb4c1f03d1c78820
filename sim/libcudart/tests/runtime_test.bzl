"""Tests of the runtime, in a program that is linked to it as nvcc's programs are."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_shell//shell:sh_test.bzl", "sh_test")

_RUNTIME = "//sim/libcudart:libcudart.so.13"
_DRIVER = "//sim/libcuda:libcuda.so.1"

def kernels_plugin(name, src):
    """A shared library that uses the runtime."""
    cc_binary(
        name = name,
        testonly = True,
        srcs = [src],
        additional_linker_inputs = [_RUNTIME],
        linkopts = ["$(location %s)" % _RUNTIME],
        linkshared = True,
        deps = [
            "//sim/libcudart:device_code",
            "//third_party/cuda_abi:cudart_abi",
        ],
    )

def runtime_program(name, src, deps = []):
    """A program that is linked to the runtime and the driver."""
    cc_binary(
        name = name,
        testonly = True,
        srcs = [src],
        additional_linker_inputs = [_RUNTIME, _DRIVER],
        # By their names alone, so that a test can run on a real driver, too.
        linkopts = ["$(location %s)" % _RUNTIME, "$(location %s)" % _DRIVER, "-ldl"],
        deps = [
            "//sim/libcudart:device_code",
            "//third_party/cuda_abi",
            "//third_party/cuda_abi:cuda_header",
            "//third_party/cuda_abi:cudart_abi",
        ] + deps,
    )

def runtime_test(name, src, tags = [], data = [], deps = []):
    """The tests of a source file, on the simulated driver, with the paths of `data` as arguments."""
    gtest = "gtest" if data else "gtest_main"
    runtime_program(name + "_program", src, ["@com_google_googletest//:" + gtest] + deps)
    sh_test(
        name = name,
        size = "small",
        srcs = ["run_runtime_test.sh"],
        args = ["$(rootpath %s)" % file for file in [_RUNTIME, _DRIVER, ":%s_program" % name] + data],
        # Not the tool, which would be built for ThreadSanitizer, too, and which runtime_report_test runs.
        data = [_DRIVER, ":%s_program" % name] + ([] if _RUNTIME in data else [_RUNTIME]) + data,
        tags = tags,
    )
