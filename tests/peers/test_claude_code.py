"""Claude Code after `stead install`: it lists the server, and text, images, questions and errors reach its model."""

import json
import unittest
from pathlib import Path

from driven import DrivenClient
from place import STEAD
from scripted_model import message_results

ROOT = Path(__file__).resolve().parents[2]


class ClaudeCode(DrivenClient):
    packages = "claude-code"

    def test_u4_it_lists_stead_after_an_install_and_not_after_a_remove(self):
        file = self.home / ".claude.json"
        done = self.install("claude-code")
        self.assertEqual((done["action"], done["path"]), ("added", str(file)))
        self.assertIn("claude mcp add -s user stead -- ", done["by"])
        self.assertRegex(self.client("claude", "mcp", "list"), f"stead: {Path(STEAD).resolve()} mcp - .*Connected")
        self.assertEqual(self.install("claude-code")["action"], "unchanged")
        checks = {check["name"]: check["message"] for check in self.stead("doctor")["checks"]}
        self.assertIn("lists 10 tools", checks["claude-code"])
        self.assertEqual(self.install("claude-code", "--remove")["action"], "removed")
        self.assertNotIn("stead", json.loads(file.read_text()).get("mcpServers", {}))
        self.assertEqual(self.install("claude-code", "--scope", "project")["action"], "added")
        self.assertEqual(list(json.loads((self.place.workspace / ".mcp.json").read_text())["mcpServers"]), ["stead"])

    def test_m3_replies_reach_its_model_as_stead_sent_them(self):
        self.install("claude-code", "--command", str(self.tee))
        model = self.model()
        self.ask(model, "mcp__stead__")
        arrived = [(blocks(content), error) for content, error in message_results(model.requests[-1])]
        sent = [(result["content"], result["isError"]) for result in self.results_sent()]
        self.assertEqual(arrived, sent)
        self.assertIn("mcp__stead__sessions", [tool["name"] for tool in model.requests[-1]["tools"]])

    def ask(self, model, prefix, *words):
        """Lets it talk with the model, which may use our tools."""
        tools = ",".join(prefix + tool for tool in ("eval", "input", "output", "shell"))
        said = self.client(
            "claude", "-p", "go", "--allowedTools", tools, "--output-format", "json", *words,
            ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="none", ENABLE_TOOL_SEARCH="false",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        )  # fmt: skip
        self.assertIn('"done"', said)

    def test_u4_the_plugin_brings_the_server_the_skill_and_what_runs_here(self):
        bin_dir = self.place.root / "bin"
        bin_dir.mkdir()
        (bin_dir / "stead").symlink_to(STEAD)
        self.place.env["PATH"] = f"{bin_dir}:{self.place.env['PATH']}"
        self.stead("eval", "-n", "earlier", "-l", "python", "x = 1")
        model = self.model([("eval", {"code": "6 * 7", "timeout_ms": 50_000})])
        self.ask(model, "mcp__plugin_stead_stead__", "--plugin-dir", str(ROOT / "plugin"))
        first, last = json.dumps(model.requests[0]), json.dumps(model.requests[-1])
        self.assertRegex(first, "earlier +python", "the hook shows the sessions")
        self.assertIn("stead:stead", first, "the skill is named")
        self.assertIn("42", message_results(json.loads(last))[0][0][0]["text"])

    def test_u4_it_finds_nothing_wrong_with_the_plugin(self):
        for place in (ROOT, ROOT / "plugin"):
            self.assertIn("Validation passed", self.client("claude", "plugin", "validate", "--strict", str(place)))
        self.stead("skill", "--plugin", "mine")
        self.assertIn("Validation passed", self.client("claude", "plugin", "validate", "--strict", "mine"))


def blocks(content):
    """What Claude Code gives its model, in the words of MCP. Behind an image it says itself where it keeps the image."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    own = [block for block in content if not block.get("text", "").startswith("[Image: source: ")]
    return [image(block["source"]) if block["type"] == "image" else block for block in own]


def image(source):
    """An image of Claude's interface in the words of MCP."""
    return {"type": "image", "data": source["data"], "mimeType": source["media_type"]}


if __name__ == "__main__":
    unittest.main()
