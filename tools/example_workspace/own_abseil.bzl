"""Stands for a user's own Abseil: another build of it (the shared libraries), recognisable by a macro."""

_TARGETS = {
    "absl/algorithm": ["algorithm", "container"],
    "absl/base": ["base", "config", "core_headers"],
    "absl/cleanup": ["cleanup"],
    "absl/container": ["btree", "fixed_array", "flat_hash_map", "flat_hash_set", "inlined_vector"],
    "absl/functional": ["any_invocable", "function_ref"],
    "absl/hash": ["hash", "hash_testing"],
    "absl/memory": ["memory"],
    "absl/meta": ["type_traits"],
    "absl/numeric": ["bits", "int128"],
    "absl/random": ["random"],
    "absl/status": ["status", "statusor"],
    "absl/strings": ["cord", "str_format", "strings"],
    "absl/synchronization": ["synchronization"],
    "absl/time": ["time"],
    "absl/types": ["optional", "span", "variant"],
    "absl/utility": ["utility"],
}

def _own_abseil_impl(ctx):
    lib = ctx.path("/usr/lib/x86_64-linux-gnu")
    libraries = [str(p) for p in lib.readdir() if p.basename.startswith("libabsl_") and p.basename.endswith(".so")]
    ctx.file("BUILD.bazel", """
load("@rules_cc//cc:cc_library.bzl", "cc_library")

cc_library(
    name = "absl",
    defines = ["EXAMPLE_OWN_ABSEIL"],
    linkopts = %s,
    visibility = ["//visibility:public"],
)
""" % libraries)
    for package, names in _TARGETS.items():
        ctx.file(package + "/BUILD.bazel", "\n".join([
            'alias(name = "%s", actual = "//:absl", visibility = ["//visibility:public"])' % name
            for name in names
        ]))

own_abseil = repository_rule(implementation = _own_abseil_impl, local = True)
