"""Upstream's targets. All are the same group of archives."""

def absl_targets(*names):
    for name in names:
        native.alias(name = name, actual = "//:absl", visibility = ["//visibility:public"])
