"""@cuda_toolkit: the CUDA toolkit where one is installed, else empty. Nothing but a few tests depends on it."""

def _cuda_toolkit_impl(ctx):
    homes = [ctx.os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    found = [home for home in homes if home and ctx.path(home + "/include/cuda.h").exists]
    nvcc = ""
    version = ""
    if found:
        ctx.symlink(found[0] + "/include", "include")
        if ctx.path(found[0] + "/bin/nvcc").exists:
            nvcc = found[0] + "/bin/nvcc"
            output = ctx.execute([nvcc, "--version"]).stdout  # "..., release 13.0, V13.0.88"
            version = output.partition(", V")[2].split("\n")[0].strip()
    ctx.file("BUILD.bazel", """
load("@rules_cc//cc:cc_library.bzl", "cc_library")

cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/crt/*.h"], allow_empty = True),
    defines = %s,
    includes = ["include"],  # These are system includes to the compiler.
    visibility = ["//visibility:public"],
)

filegroup(
    name = "cuda_h",
    srcs = glob(["include/cuda.h"], allow_empty = True),
    visibility = ["//visibility:public"],
)

filegroup(
    name = "cuda_runtime_api_h",
    srcs = glob(["include/cuda_runtime_api.h"], allow_empty = True),
    visibility = ["//visibility:public"],
)
""" % (["TWINMMU_HAS_CUDA_H=1"] if found else []))
    ctx.file("nvcc.bzl", 'NVCC = "%s"\nNVCC_VERSION = "%s"\n' % (nvcc, version))

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_HOME"],
    local = True,
)
