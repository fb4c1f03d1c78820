"""The libraries that loader_test loads in place of the driver's."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")

def fake_library(name, version = 13000, init_result = 0, proc_address = 2, exports = False, too_old = "", missing = ""):
    """lib<name>.so out of testdata/fake_libcuda.cc, where the parameters are explained."""
    cc_binary(
        name = "lib%s.so" % name,
        testonly = True,
        srcs = [
            "testdata/fake_libcuda.cc",
            "testdata/fake_libcuda_answers.cc",
        ],
        linkshared = True,
        local_defines = [
            "FAKE_DRIVER_VERSION=%d" % version,
            "FAKE_INIT_RESULT=%d" % init_result,
            "FAKE_PROC_ADDRESS=%d" % proc_address,
            'FAKE_TOO_OLD=\\"%s\\"' % too_old,
            'FAKE_MISSING=\\"%s\\"' % missing,
        ] + (["FAKE_EXPORTS"] if exports else []),
        deps = ["//third_party/cuda_abi"],
    )
