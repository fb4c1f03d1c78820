"""Targets for libFuzzer."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_test.bzl", "cc_test")

def fuzz_target(name, seeds, deps, mutants = 200, size = "small", tags = []):
    """LLVMFuzzerTestOneInput of <name>.cc, for libFuzzer, and <name>_smoke, an ordinary test of it.

    <name> links with --config=fuzzer only. The test tries the files `seeds` and `mutants` changes of
    each. On the command line of <name>, seeds are a corpus to start from; name a folder before them
    that takes what the fuzzer finds.
    """
    cc_binary(
        name = name,
        testonly = True,
        srcs = [name + ".cc"],
        tags = ["manual"],
        deps = deps,
    )
    cc_test(
        name = name + "_smoke",
        size = size,
        srcs = [name + ".cc"],
        args = [str(mutants)] + ["$(rootpaths %s)" % seed for seed in seeds],
        data = seeds,
        tags = tags,
        deps = deps + ["//api/testing/fuzz:smoke"],
    )
