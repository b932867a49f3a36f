"""What the server costs its client before and with each call, in characters on the wire (SPEC M-6)."""

import json
import subprocess
import unittest

from place import DEADLINE, STEAD, VERSIONS, Place

MODERN, LEGACY = VERSIONS["auto"], VERSIONS["legacy"]
MOST, MOST_PER_TOOL, MOST_FOR_ONE_PLUS_ONE = 8000, 1000, 40


class Size(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.leave)

    def ask(self, *requests):
        """Answers to requests written by hand, so that sizes are those of the wire, by id."""
        lines = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
        wanted = {request["id"] for request in requests if "id" in request}
        answers, wire = {}, ""
        with subprocess.Popen(
            [STEAD, "mcp"], cwd=self.place.workspace, env=self.place.env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as server:  # fmt: skip
            server.stdin.write(lines)
            server.stdin.flush()
            while wanted - answers.keys():
                line = server.stdout.readline()
                self.assertTrue(line, f"no answer to {wanted - answers.keys()}")
                wire += line
                answer = json.loads(line)
                if "id" in answer:
                    answers[answer["id"]] = answer["result"]
            server.stdin.close()
            self.assertEqual(server.wait(DEADLINE), 0)
        return answers, wire

    def legacy(self, *requests):
        hello = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        return self.ask(
            {"id": 0, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            *requests,
        )

    def modern(self, *requests):
        prefix = "io.modelcontextprotocol"
        meta = {f"{prefix}/protocolVersion": MODERN, f"{prefix}/clientCapabilities": {}}
        hello = {"id": 0, "method": "server/discover"}
        whole = [{**r, "params": {**r.get("params", {}), "_meta": meta}} for r in (hello, *requests)]
        return self.ask(*whole)

    def test_m6_all_that_is_told_beforehand_is_small(self):
        for ask in (self.legacy, self.modern):
            with self.subTest(ask.__name__):
                answers, wire = ask({"id": 1, "method": "tools/list"})
                tools = answers[1]["tools"]
                said = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
                # Counted as it was sent, not as another JSON writer would put it.
                self.assertIn(said, wire)
                instructions = answers[0]["instructions"]
                total = len(said) + len(instructions)
                longest = max(len(tool["description"]) for tool in tools)
                print(
                    f"\n{ask.__name__}: tools/list {len(said)} + instructions {len(instructions)} = {total} "
                    f"characters (at most {MOST}); longest description {longest} (at most {MOST_PER_TOOL})"
                )
                self.assertLessEqual(total, MOST)
                self.assertLessEqual(longest, MOST_PER_TOOL)

    def test_m6_one_plus_one_is_cheap(self):
        call = {"name": "eval", "arguments": {"code": "1+1"}}
        for ask in (self.legacy, self.modern):
            with self.subTest(ask.__name__):
                answers, _ = ask({"id": 1, "method": "tools/call", "params": call})
                (block,) = answers[1]["content"]
                print(f"\n{ask.__name__}: `1+1` costs {len(block['text'])} characters: {block['text']!r}")
                self.assertLessEqual(len(block["text"]), MOST_FOR_ONE_PLUS_ONE)
                self.assertEqual(block["text"].splitlines()[0], "2")

    def test_m1_the_tools_do_not_depend_on_the_connection_or_on_earlier_calls(self):
        call = {"id": 1, "method": "tools/call", "params": {"name": "eval", "arguments": {"code": "1"}}}
        lists = [{"id": n, "method": "tools/list"} for n in (2, 3)]
        legacy, _ = self.legacy(lists[0], call, lists[1])
        modern, _ = self.modern(call, *lists)
        told = [answers[n]["tools"] for answers in (legacy, modern) for n in (2, 3)]
        self.assertTrue(all(one == told[0] for one in told))


if __name__ == "__main__":
    unittest.main()
