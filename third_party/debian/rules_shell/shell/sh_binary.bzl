"""The rule of that name that is built in."""

def sh_binary(**attrs):
    native.sh_binary(**attrs)
