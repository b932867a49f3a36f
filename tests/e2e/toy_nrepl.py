"""An nREPL server of a toy language, which does on demand what real ones will not: `python3 toy_nrepl.py PORT [MODE]`.

Code is a word and its argument: `value X`, `say X`, `fail X`, `sleep`, `read`, `late X`, `garbage`, `close`, `big N`, `open`,
`die N`, `refuse`, `closed`.
"""

import os
import socket
import sys
import threading
import time

MODE = sys.argv[2] if len(sys.argv) > 2 else ""
OPS = ["describe", "clone", "close", "eval", "interrupt", "stdin", "completions", "lookup", "load-file"]


def encode(value):
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    if isinstance(value, list):
        return b"l" + b"".join(map(encode, value)) + b"e"
    return b"d" + b"".join(encode(key) + encode(value[key]) for key in sorted(value)) + b"e"


def decode(read):
    first = read(1)
    if first == b"e":
        return None
    if first == b"i":
        digits = b""
        while (byte := read(1)) != b"e":
            digits += byte
        return int(digits)
    if first in (b"l", b"d"):
        items = []
        while (item := decode(read)) is not None:
            items.append(item)
        return items if first == b"l" else dict(zip(items[::2], items[1::2], strict=True))
    digits = first
    while (byte := read(1)) != b":":
        digits += byte
    return read(int(digits)).decode()


class Client:
    def __init__(self, connection):
        self.connection = connection
        self.file = connection.makefile("rb")
        self.lock = threading.Lock()
        self.running = {}  # The id of an eval, and what wakes it.
        self.line = None

    def read(self, count):
        data = self.file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def say(self, message, **fields):
        if "id" in message:
            fields.setdefault("id", message["id"])
        with self.lock:
            self.connection.sendall(encode(fields))

    def serve(self):
        try:
            while True:
                self.answer(decode(self.read))
        except (EOFError, OSError):
            pass

    def answer(self, message):
        op = message["op"]
        if op not in OPS or (MODE == "plain" and op not in ("describe", "clone", "eval")):
            self.say(message, status=["error", "unknown-op", "done"])
        elif op == "describe":
            ops = {name: {} for name in (OPS if MODE != "plain" else ["describe", "clone", "eval"])}
            self.say(message, ops=ops, versions={"toy": {"major": 1, "minor": 2}}, status=["done"])
        elif op == "clone":
            made = {"new-session": "s%s" % message["id"], "status": ["done"]}
            self.say(message, **(made if MODE != "no-clone" else {"status": ["error", "no-room", "done"]}))
        elif op == "interrupt":
            wake = self.running.get(message["interrupt-id"])
            if wake is not None:
                wake.interrupted = True
                wake.set()
            self.say(message, status=["done"] if wake is not None else ["session-idle", "done"])
        elif op == "stdin":
            self.line = message["stdin"]
            for wake in list(self.running.values()):
                wake.set()
            self.say(message, status=["done"])
        elif op == "completions":
            names = [{"candidate": name} for name in ("alpha", "alphabet", "beta-alpha")]
            self.say(message, completions=names, status=["done"])
        elif op == "lookup":
            known = {"name": "alpha", "ns": "toy", "doc": "A letter.", "arglists-str": "[x]"}
            info = known if message["sym"] == "alpha" else {}
            self.say(message, info=info, status=["done"])
        elif op == "eval":
            wake = threading.Event()
            wake.interrupted = False
            threading.Thread(target=self.run, args=(message, wake), daemon=True).start()
        else:
            self.say(message, status=["done"])

    def run(self, message, wake):
        time.sleep(0.0005 * (hash(message["id"]) % 5))
        # An interrupt that comes before this finds nothing, as with real servers.
        self.running[message["id"]] = wake
        status = self.code(message, wake)
        if status is None:
            return
        del self.running[message["id"]]
        if wake.interrupted:
            status = ["interrupted"]
        self.say(message, status=[*status, "done"])

    def code(self, message, wake):
        word, _, argument = message["code"].partition(" ")
        if word == "value":
            for one in argument.split(";"):
                self.say(message, value=one, ns="toy")
        elif word == "say":
            self.say(message, out=argument + "\n")
            self.say(message, err="e" + argument + "\n")
        elif word == "fail":
            self.say(message, ex="class toy." + argument, status=["eval-error"])
        elif word == "sleep":
            self.say(message, out="up\n")
            wake.wait()
        elif word == "read":
            self.say(message, out="who? ")
            # Newer servers say it more than once.
            self.say(message, status=["need-input"])
            self.say(message, status=["need-input"])
            wake.wait()
            self.say(message, value=repr(self.line))
        elif word == "late":
            threading.Timer(0.2, lambda: self.say(message, out=argument + "\n")).start()
        elif word == "garbage":
            self.connection.sendall(b"what is this?")
            return None
        elif word == "close":
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        elif word == "big":
            self.say(message, out=b"x" * int(argument))
        elif word == "open":
            # A message that is announced to be larger than any may be.
            self.connection.sendall(b"d3:out999999999:")
            return None
        elif word == "die":
            os._exit(int(argument))
        elif word == "refuse":
            return ["error", "namespace-not-found"]
        elif word == "closed":
            self.say(message, session=message["session"], status=["session-closed"])
            return None
        return []


def main():
    if MODE == "dies":
        sys.exit("no luck today")
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int(sys.argv[1])))
    server.listen()
    port = server.getsockname()[1]
    if MODE == "file":
        with open(".nrepl-port", "w") as file:
            file.write(str(port))
    elif MODE != "silent":
        print("nREPL server started on port %d on host localhost" % port, flush=True)
    while True:
        connection, _ = server.accept()
        if MODE == "mute":
            threading.Thread(target=connection.recv, args=(1 << 20,), daemon=True).start()
            MUTE.append(connection)
        elif MODE == "http":
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        elif MODE == "closes":
            connection.close()
        else:
            threading.Thread(target=Client(connection).serve, daemon=True).start()


MUTE = []
main()
