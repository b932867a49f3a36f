"""Those who ask for evals. Each request is a line, each answer has its id; encoding and decoding is in every time."""

import json


class Client:
    """A child that answers requests by lines of JSON."""

    def __init__(self, child):
        self.child = child
        self.last = 0

    def request(self, code, session=None):
        """The next request as an id and a line."""
        self.last += 1
        return self.last, self.encode(self.last, code, session)

    def take(self):
        """The next answer, as its id and what the eval gave."""
        while True:
            message = json.loads(self.child.line())
            if "id" in message and "method" not in message:
                return message["id"], self.decode(message)

    def eval(self, code, session=None):
        """Runs code and waits for the answer."""
        wanted, line = self.request(code, session)
        self.child.send(line)
        while True:
            number, text = self.take()
            if number == wanted:
                return text

    def close(self):
        """Ends the child."""
        self.child.close()


class Floor(Client):
    """A loop on a pipe: floor.py, floor.js."""

    def encode(self, number, code, _session):
        return json.dumps({"id": number, "code": code}).encode() + b"\n"

    def decode(self, message):
        return message["value"]


class BashFloor(Client):
    """A loop on a pipe that knows no JSON: floor.bash."""

    def encode(self, _number, code, _session):
        return code.encode() + b"\n"

    def take(self):
        text = []
        while True:
            line = self.child.line()
            if line.startswith(b"done "):
                return self.last, b"\n".join(text).decode()
            text.append(line)


class Mcp(Client):
    """An MCP server on stdio. `tool` runs code; `arguments` makes what it is given from code and session."""

    def __init__(self, child, tool="eval", arguments=None):
        super().__init__(child)
        self.tool, self.arguments = tool, arguments or plain
        self.handshake()

    def handshake(self):
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", hello)
        self.child.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def ask(self, method, params):
        """One request of any kind and its whole answer."""
        self.last += 1
        self.child.send(self.message(self.last, method, params))
        while True:
            answer = json.loads(self.child.line())
            if answer.get("id") == self.last and "method" not in answer:
                return answer

    def call(self, tool, **arguments):
        """Calls a tool; the text it answers."""
        return self.decode(self.ask("tools/call", {"name": tool, "arguments": arguments}))

    def message(self, number, method, params):
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"

    def encode(self, number, code, session):
        return self.message(number, "tools/call", {"name": self.tool, "arguments": self.arguments(code, session)})

    def decode(self, message):
        if "error" in message or message["result"].get("isError"):
            raise RuntimeError(f"the call failed: {message}")
        return "\n".join(part.get("text", "") for part in message["result"]["content"])


def plain(code, session):
    """Arguments of stead's `eval`."""
    return {"code": code} if session is None else {"code": code, "session": session}
