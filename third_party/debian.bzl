"""Bazel's own rule sets, taken from the installed Debian packages instead of the network."""

load(":installed_library.bzl", "installed_library")

_RULES = "/usr/share/bazel"

def _rules_cc_impl(ctx):
    source = _RULES + "/rules/cc"
    if not ctx.path(source).exists:
        fail("%s is missing: install the Debian package bazel-rules-cc (tools/bazel does it)." % source)
    copied = ctx.execute(["cp", "-rL", source + "/.", "."])
    if copied.return_code:
        fail("cannot copy %s: %s" % (source, copied.stderr))

    # Debian pairs Bazel 4.2 with rules_cc 0.0.4, where two files load a function that Bazel has only since 5.0.
    for name in ["cc_flags_supplier.bzl", "compiler_flag.bzl"]:
        path = "cc/private/rules_impl/" + name
        text = ctx.read(path).replace(', "use_cpp_toolchain"', "")
        ctx.file(path, text.replace("use_cpp_toolchain()", '["@bazel_tools//tools/cpp:toolchain_type"]'))

    # Since rules_cc 0.0.10 each rule has a file of its own; BUILD files load it from there, and Bazel 9 has it nowhere else.
    for rule in ["cc_binary", "cc_library", "cc_test"]:
        ctx.file("cc/%s.bzl" % rule, 'load(":defs.bzl", _rule = "%s")\n\n%s = _rule\n' % (rule, rule))

_rules_cc = repository_rule(implementation = _rules_cc_impl, local = True)

def debian_bazel_rules():
    """Defines the rule sets that Bazel 4.2 itself loads. Only for workspaces built by Debian's Bazel."""
    _rules_cc(name = "rules_cc")
    installed_library(name = "rules_shell", module = "rules_shell")
    native.local_repository(name = "rules_java", path = _RULES + "/rules/java")
    native.local_repository(name = "rules_proto", path = _RULES + "/rules/proto")
    native.local_repository(name = "bazel_skylib", path = _RULES + "/tools/skylib")
