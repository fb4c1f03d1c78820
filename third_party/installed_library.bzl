"""What a Debian package has installed, as a repository: for WORKSPACE. With modules, --config=debian does the same."""

_LIB = "/usr/lib/x86_64-linux-gnu"

def _installed_library_impl(ctx):
    for file in ctx.attr.files:
        if not ctx.path(file).exists:
            fail("%s is missing: install the Debian package %s (tools/bazel does it)." % (file, ctx.attr.package))
    here = ctx.path(Label("//third_party:installed_library.bzl")).dirname
    for entry in here.get_child("debian").get_child(ctx.attr.module).readdir():
        # Where Bazel unpacked an archive of this project, the link "lib" leads nowhere.
        ctx.symlink(_LIB if entry.basename == "lib" else entry, entry.basename)

# Headers need no mention: they are in /usr/include, a system directory of every compiler here.
installed_library = repository_rule(
    implementation = _installed_library_impl,
    attrs = {
        "module": attr.string(mandatory = True, doc = "The folder of third_party/debian/ with its BUILD files."),
        "package": attr.string(doc = "The Debian package to name when a file is missing."),
        "files": attr.string_list(doc = "Files that must be there."),
    },
    local = True,
)
