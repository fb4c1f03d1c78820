"""Programs for the CUDA runtime, and what is tested of them."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_shell//shell:sh_test.bzl", "sh_test")

_LIBRARIES = ["//sim/libcudart:libcudart.so.13", "//sim/libcuda:libcuda.so.1"]
_TOOL = "//tools:twinmmu"

def _program(name, src, defines, copts = []):
    cc_binary(
        name = name,
        testonly = True,
        srcs = [src, "check_runtime.h", "//tools/examples:check.h"],
        additional_linker_inputs = _LIBRARIES,
        copts = (["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wshadow"] if src.endswith(".c") else []) + copts,
        # By their names alone, so that those of the machine are found where there are some.
        linkopts = ["$(location %s)" % library for library in _LIBRARIES],
        local_defines = defines,
        deps = [
            "//sim/libcudart:device_code",
            "//third_party/cuda_abi:cuda_header",
            "//third_party/cuda_abi:cudart_abi",
        ],
    )

def runtime_program(src, bug = "", exit_code = 0):
    """As driver_program, on our runtime. `bug`: what the report says of <name>_wrong, if there is one."""
    name = src.rpartition(".")[0]
    _program(name, src, [])
    sh_test(
        name = name + "_test",
        size = "small",
        srcs = ["//tools/examples:program_test.sh"],
        args = ["$(rootpath %s)" % _TOOL, "$(rootpath :%s)" % name, "$(rootpath %s.golden)" % name],
        data = [_TOOL, ":" + name, name + ".golden"],
    )
    if not bug:
        return
    _program(name + "_wrong", src, ["PLANTED_BUG"], copts = ["-g"])
    sh_test(
        name = name + "_wrong_test",
        size = "small",
        srcs = ["//tools/examples:wrong_program_test.sh"],
        args = ["$(rootpath %s)" % _TOOL, "$(rootpath :%s_wrong)" % name, str(exit_code), "'%s'" % bug, "--", "$(rootpath %s)" % src],
        data = [_TOOL, ":" + name + "_wrong", src],
    )
