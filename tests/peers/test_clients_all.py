"""Codex after `stead install`: text, images, questions and errors reach its model. More clients list the server."""

import json
import re
import unittest
from pathlib import Path

from driven import DrivenClient
from place import STEAD
from scripted_model import response_results


class Codex(DrivenClient):
    packages = "clients"

    def test_u4_it_lists_stead_and_its_file_is_as_before_after_a_remove(self):
        file = self.home / ".codex/config.toml"
        file.parent.mkdir()
        before = '# mine\nmodel = "x" # the big one\n\n[tui]\nnotifications = true\n'
        file.write_text(before)
        self.assertIn("codex mcp add stead -- ", self.install("codex")["by"])
        self.assertRegex(self.client("codex", "mcp", "list"), rf"stead +{Path(STEAD).resolve()} +mcp .*enabled")
        self.assertEqual(self.install("codex", "--remove")["action"], "removed")
        self.assertEqual(file.read_text(), before)

    def test_m3_replies_reach_its_model_as_stead_sent_them(self):
        self.install("codex", "--command", str(self.tee))
        model = self.model()
        file = self.home / ".codex/config.toml"
        # Servers get none of the user's variables from it, so the test's are named.
        names = ("STEAD_TEST", "STEAD_STATE_DIR", "STEAD_RUNTIME_DIR", "PATH")
        env = "\n".join(f"{name} = {json.dumps(self.place.env[name])}" for name in names)
        file.write_text(f"""model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

{file.read_text()}
[mcp_servers.stead.env]
{env}

[model_providers.scripted]
name = "scripted"
base_url = "{model.url}/v1"
wire_api = "responses"
requires_openai_auth = false
""")
        self.assertIn("done", self.client("codex", "exec", "--skip-git-repo-check", "go"))
        results = response_results(model.requests[-1])
        # It puts the time that a call took before what the call gave.
        times = [result[0]["text"] for result in results]
        self.assertTrue(all(re.fullmatch(r"Wall time: .* seconds\nOutput:", time) for time in times), times)
        arrived = [[block_of(block) for block in result[1:]] for result in results]
        self.assertEqual(arrived, [result["content"] for result in self.results_sent()])


def block_of(block):
    """What Codex gives its model, in the words of MCP."""
    if block["type"] == "input_image":
        kind, data = block["image_url"].removeprefix("data:").split(";base64,")
        return {"type": "image", "data": data, "mimeType": kind}
    return {"type": "text", "text": block["text"]}


class Others(DrivenClient):
    packages = "clients"

    def test_u4_copilot_cli_lists_stead(self):
        self.assertIn("copilot mcp add stead -- ", self.install("copilot-cli")["by"])
        self.assertIn("stead", self.client("copilot", "mcp", "list"))
        self.assertEqual(self.install("copilot-cli", "--remove")["action"], "removed")
        self.assertNotIn("stead", self.client("copilot", "mcp", "list"))

    def test_u4_gemini_cli_lists_stead(self):
        self.assertIn("gemini mcp add -s user stead ", self.install("gemini-cli")["by"])
        self.assertIn(f"stead: {Path(STEAD).resolve()} mcp", self.client("gemini", "mcp", "list"))

    def test_u4_opencode_connects_to_stead(self):
        file = self.home / ".config/opencode/opencode.jsonc"
        file.parent.mkdir(parents=True)
        before = '{\n  // mine\n  "$schema": "https://opencode.ai/config.json",\n}\n'
        file.write_text(before)
        self.assertEqual(self.install("opencode")["by"], "edit")
        self.assertRegex(self.client("opencode", "mcp", "list"), "stead.*connected")
        self.install("opencode", "--remove")
        self.assertEqual(file.read_text(), before)


if __name__ == "__main__":
    unittest.main()
