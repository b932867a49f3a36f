"""A model that follows a script, for real clients: they ask it over HTTP on loopback and do what it says.

Speaks: the two interfaces that Claude Code (`/v1/messages`) and Codex (`/v1/responses`) use, as server-sent events.
State:  none. Which step comes next is read from the request: as many steps are over as it has results of tools.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERVER = "stead"


class ScriptedModel:
    """Calls the tools of the script one after the other, then says `done`."""

    def __init__(self, steps):
        self.steps = steps
        self.requests = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer(b'{"data": [], "models": []}', "application/json")

            do_HEAD = do_GET

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.split("?")[0]
                try:
                    request = json.loads(body or b"{}")
                except ValueError:
                    request = {}
                events = None
                if path.endswith("/v1/messages"):
                    events = model.message(request)
                elif path.endswith("/v1/responses"):
                    events = model.response(request)
                if events is None:
                    self.answer(b'{"input_tokens": 1}', "application/json")
                else:
                    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
                    self.answer("".join(lines).encode(), "text/event-stream")

            def answer(self, body, kind):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    # Claude Code

    def message(self, request):
        """The events of one answer of `/v1/messages`."""
        names = [tool.get("name", "") for tool in request.get("tools", [])]
        # Tools of a plugin's server have the plugin's name before that of the server.
        ours = {name.split("__")[-1]: name for name in names if name.startswith("mcp__") and f"{SERVER}__" in name}
        results = message_results(request)
        block = {"type": "text", "text": "done"}
        # Requests without our tools are side questions: titles, summaries.
        if ours:
            self.requests.append(request)
            if len(results) < len(self.steps):
                tool, arguments = self.steps[len(results)]
                block = {"type": "tool_use", "id": f"toolu_{len(results):04}", "name": ours[tool], "input": {}}
        used = {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": used,
            "model": request.get("model", "m"), "stop_reason": None, "stop_sequence": None,
        }  # fmt: skip
        yield {"type": "message_start", "message": message}
        if block["type"] == "text":
            yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": block["text"]}}
        else:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            yield {"type": "content_block_start", "index": 0, "content_block": block}
            yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        reason = "end_turn" if block["type"] == "text" else "tool_use"
        yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": used}
        yield {"type": "message_stop"}

    # Codex

    def response(self, request):
        """The events of one answer of `/v1/responses`."""
        self.requests.append(request)
        results = response_results(request)
        if len(results) < len(self.steps):
            tool, arguments = self.steps[len(results)]
            item = {
                "type": "function_call", "id": f"fc_{len(results)}", "call_id": f"call_{len(results):04}",
                "namespace": f"mcp__{SERVER}", "name": tool, "arguments": json.dumps(arguments),
            }  # fmt: skip
        else:
            content = [{"type": "output_text", "text": "done", "annotations": []}]
            item = {"type": "message", "id": "m_1", "role": "assistant", "content": content}
        used = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": None, "output_tokens_details": None}
        yield {"type": "response.created", "response": {"id": "r_1"}}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": {"id": "r_1", "usage": used}}


def message_results(request):
    """Results of tools in a request of Claude Code, in order: their content, and whether they are errors."""
    found = []
    for message in request.get("messages", []):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                found.append((block.get("content"), block.get("is_error", False)))
    return found


def response_results(request):
    """What tools gave in a request of Codex, in order."""
    items = request.get("input", [])
    return [item["output"] for item in items if isinstance(item, dict) and item.get("type") == "function_call_output"]
