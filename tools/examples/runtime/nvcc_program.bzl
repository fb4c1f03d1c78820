"""Programs in CUDA C++, which nvcc compiles where it is found."""

load("@cuda_toolkit//:nvcc.bzl", "NVCC")
load("@rules_shell//shell:sh_test.bzl", "sh_test")

_RUNTIME = "//sim/libcudart:libtwinmmu_cudart13.a"
_TOOL = "//tools:twinmmu"

def nvcc_program(name, bug, exit_code, options = [], more = [], headers = []):
    """NAME.cu and what it prints, NAME.golden, which a GPU printed.

    `bug`: what the report says of the program with PLANTED_BUG, which ends with `exit_code`. `more`: other sources.
    """
    golden = name + ".golden"
    sources = [name + ".cu"] + more
    sh_test(
        name = "nvcc_" + name + "_test",
        size = "medium",
        srcs = ["nvcc_program_test.sh"],
        args = [
            "$(rootpath %s)" % _TOOL,
            "'%s'" % NVCC,
            "$(rootpath %s)" % _RUNTIME,
            "$(rootpath %s)" % golden,
            str(exit_code),
            "'%s'" % bug,
        ] + options + ["$(rootpath %s)" % source for source in sources],
        data = sources + headers + [
            golden,
            "runtime_check.h",
            _RUNTIME,
            _TOOL,
        ],
        tags = ["not-asan"],
    )
