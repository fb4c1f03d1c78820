"""Files as `-c opt` makes them, whatever the command line says."""

def _optimize(_settings, _attributes):
    return {"//command_line_option:compilation_mode": "opt"}

_optimized = transition(
    implementation = _optimize,
    inputs = [],
    outputs = ["//command_line_option:compilation_mode"],
)

def _optimized_file_impl(ctx):
    # A link in the place where everybody looks: what is optimised has other output folders.
    link = ctx.actions.declare_file(ctx.file.src.basename)
    ctx.actions.symlink(output = link, target_file = ctx.file.src)
    return [DefaultInfo(files = depset([link]))]

optimized_file = rule(
    implementation = _optimized_file_impl,
    attrs = {
        "src": attr.label(mandatory = True, allow_single_file = True, cfg = _optimized),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
