"""A Jupyter kernel that does what real ones will not do on demand: `TOY_KERNEL` says how it starts, its code what it does."""

import hashlib
import hmac
import json
import os
import sys

import zmq

START = os.environ.get("TOY_KERNEL", "")
with open(sys.argv[-1]) as file:
    INFO = json.load(file)
if START == "dies":
    sys.exit("no luck today")
if START == "ports" and INFO["transport"] != "tcp":
    sys.exit("ports only")
if START == "taken":
    if INFO["transport"] == "ipc":
        sys.exit("ports only")
    if not os.path.exists("taken"):
        open("taken", "w").close()
        sys.exit("Address already in use")

CONTEXT = zmq.Context()


def bind(kind, name):
    socket = CONTEXT.socket(kind)
    separator = ":" if INFO["transport"] == "tcp" else "-"
    socket.bind("%s://%s%s%d" % (INFO["transport"], INFO["ip"], separator, INFO[name + "_port"]))
    return socket


SHELL, CONTROL, STDIN = bind(zmq.ROUTER, "shell"), bind(zmq.ROUTER, "control"), bind(zmq.ROUTER, "stdin")
IOPUB, BEAT = bind(zmq.PUB, "iopub"), bind(zmq.REP, "hb")


def sign(parts, key=None):
    key = INFO["key"] if key is None else key
    return hmac.new(key.encode(), b"".join(parts), hashlib.sha256).hexdigest().encode()


def send(socket, kind, parent, content, to=(), key=None):
    header = {"msg_id": os.urandom(8).hex(), "msg_type": kind, "session": "toy", "username": "", "date": "", "version": "5.3"}
    parts = [json.dumps(one).encode() for one in (header, parent, {}, content)]
    socket.send_multipart([*to, b"<IDS|MSG>", sign(parts, key), *parts])


def publish(kind, parent, **content):
    send(IOPUB, kind, parent, content)


def garbage(socket, parent, to=()):
    """Everything that is no message of ours."""
    send(socket, "stream", parent, {"name": "stdout", "text": "forged"}, to, key="another")
    socket.send_multipart([*to, b"half"])
    parts = [b"{", b"{}", b"{}", b"not json"]
    socket.send_multipart([*to, b"<IDS|MSG>", sign(parts), *parts])
    parts = [b"[]", b"3", b"{}", b"null"]
    socket.send_multipart([*to, b"<IDS|MSG>", sign(parts), *parts])
    send(socket, "no_such_thing", parent, {"execution_state": 3, "data": "x"}, to)


def run(word, rest, parent, to):
    if word == "echo":
        publish("execute_result", parent, data={"text/plain": rest}, metadata={}, execution_count=1)
    elif word == "die":
        os._exit(int(rest))
    elif word == "garbage":
        garbage(IOPUB, parent)
        garbage(SHELL, parent, to)
    elif word == "big":
        publish("stream", parent, name="stdout", text="x" * int(rest))
    elif word == "fail":
        publish("error", parent, ename="ToyError", evalue=rest, traceback=[])
        return {"status": "error", "ename": "ToyError", "evalue": rest, "traceback": []}
    elif word == "own":
        os.write(1, rest.encode() + b"\n")
    elif word == "own_flood":
        for _ in range(int(rest)):
            os.write(1, b"x" * 65535 + b"\n")
    return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}


REPLIES = {"kernel_info_request": {"status": "ok", "implementation": "toy", "language_info": {"name": "toy", "version": "1"}}}
poller = zmq.Poller()
for one in (SHELL, CONTROL, BEAT):
    poller.register(one, zmq.POLLIN)
while True:
    for socket, _ in poller.poll():
        message = socket.recv_multipart()
        if socket is BEAT:
            socket.send_multipart(message)
            continue
        at = message.index(b"<IDS|MSG>")
        to, parts = message[:at], message[at + 2:]
        if START == "mute":
            continue
        if INFO["key"] and message[at + 1] != sign(parts[:4]):
            continue
        header, content = json.loads(parts[0]), json.loads(parts[3])
        publish("status", header, execution_state="busy")
        kind = header["msg_type"]
        reply = REPLIES.get(kind, {"status": "ok"})
        if kind == "execute_request":
            publish("execute_input", header, code=content["code"], execution_count=1)
            word, _, rest = content["code"].partition(" ")
            reply = run(word, rest, header, to)
        lost = content.get("code", "")
        if lost != "lose reply":
            send(socket, kind.replace("_request", "_reply"), header, reply, to)
        if lost != "lose idle":
            publish("status", header, execution_state="idle")
        if kind == "shutdown_request":
            CONTEXT.destroy(linger=500)
            sys.exit(0)
