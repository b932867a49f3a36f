# Given to CPython with `-c`: reads the bridge from the control channel and runs it.
#
# lib.rs makes one call of `exec` of it, with a namespace that is thrown away, so that the user's has no name of it.
# Modules are builtin or frozen: what is on the path may be the user's own.
import _frozen_importlib_external as importing
import builtins
import marshal
import posix

if b"STEAD_BRIDGE_FD" not in posix.environ:
    raise SystemExit("the variable STEAD_BRIDGE_FD is missing: a command that starts a session's interpreter must pass its environment on")
control = int(posix.environ[b"STEAD_BRIDGE_FD"])


def read(count):
    data = b""
    while len(data) < count:
        # Nothing means that the host is gone.
        data += posix.read(control, count - len(data)) or posix._exit(0)
    return data


head = b""
while head[-1:] != b"\n":
    head += read(1)
kind, length = head.split()
text = read(int(length))
if kind != b"code":
    code = compile(text, "<stead>", "exec")
elif text[:4] == importing.MAGIC_NUMBER:
    code = marshal.loads(text[4:])
else:
    # It was compiled by another version of Python; the host sends the source then.
    posix._exit(71)
exec(code, {"__name__": "stead", "__builtins__": dict(vars(builtins)), "CONTROL": control, "CODE": code})
