"""Programs that call the driver by its C interface, and what is tested of them."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_shell//shell:sh_test.bzl", "sh_test")

_C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wshadow"]
_LIBRARY = "//sim/libcuda:libcuda.so.1"
_TOOL = "//tools:twinmmu"

def _program(name, srcs, defines, deps, copts = []):
    cc_binary(
        name = name,
        srcs = srcs + ["//tools/examples:check.h"],
        additional_linker_inputs = [_LIBRARY],
        copts = (_C_FLAGS if srcs[0].endswith(".c") else []) + copts,
        # By its name alone, so that the machine's own driver is found where there is one.
        linkopts = ["$(location %s)" % _LIBRARY],
        local_defines = defines,
        deps = ["//third_party/cuda_abi:cuda_header"] + deps,
    )

def driver_program(src, exit_code = 0, bug = "", gpus = 1, more = [], deps = [], options = []):
    """The program of a source file, and of `more`, and <name>_wrong with its planted bug, if it has one.

    <name>_test: on the simulated driver the program prints what <name>.golden holds, and the report
    has nothing to say. <name>_gpu_test: it prints the same on a machine with GPUs.
    <name>_wrong_test: the report, with these options, says `bug`, and names each line of the
    sources above which "Reported:" stands; the program ends with `exit_code`, which is 99 where it
    did not notice itself that anything is wrong.
    """
    name = src.rpartition(".")[0]
    _program(name, [src] + more, [], deps)
    sh_test(
        name = name + "_test",
        size = "small",
        srcs = ["//tools/examples:program_test.sh"],
        args = ["$(rootpath %s)" % _TOOL, "$(rootpath :%s)" % name, "$(rootpath %s.golden)" % name],
        data = [_TOOL, ":" + name, name + ".golden"],
    )
    sh_test(
        name = name + "_gpu_test",
        size = "small",
        srcs = ["//tools/examples:gpu_program_test.sh"],
        args = ["$(rootpath :%s)" % name, "$(rootpath %s.golden)" % name],
        data = [":" + name, name + ".golden"],
        tags = ["exclusive", "requires-gpu" if gpus == 1 else "requires-2-gpus"],
    )
    if not bug:
        return
    _program(name + "_wrong", [src] + more, ["PLANTED_BUG"], deps, copts = ["-g"])
    sh_test(
        name = name + "_wrong_test",
        size = "small",
        srcs = ["//tools/examples:wrong_program_test.sh"],
        args = ["$(rootpath %s)" % _TOOL, "$(rootpath :%s_wrong)" % name, str(exit_code), "'%s'" % bug] + options +
               ["--"] + ["$(rootpath %s)" % source for source in [src] + more],
        data = [_TOOL, ":" + name + "_wrong", src] + more,
    )
