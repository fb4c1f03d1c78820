"""The rule of that name that is built in."""

def sh_test(**attrs):
    native.sh_test(**attrs)
