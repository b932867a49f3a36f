"""The official conformance suites, both eras, against the handler of `stead mcp`.

The suites speak HTTP only, so tests/http-server mounts the handler there among the fixtures that
they ask for. What may fail is listed, with the reason, in conformance-*.yaml.
"""

import os
import re
import subprocess
import unittest
from contextlib import contextmanager
from pathlib import Path

import anyio
from mcp import Client
from place import DEADLINE, STEAD, VERSIONS, PeerTest

HERE = Path(__file__).parent
BIN = Path(os.environ["STEAD_TEST_NODE"])
HTTP = os.environ["STEAD_TEST_HTTP"]


def items(yaml):
    """The items of a plain list."""
    return re.findall(r"^  - ([\w-]+)$", yaml, re.M)


class Conformance(PeerTest):
    @contextmanager
    def server(self):
        """The address of a server that lives as long as this block."""
        env = {**self.place.env, "STEAD_BIN": STEAD}
        with subprocess.Popen(
            [HTTP], cwd=self.place.workspace, env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                yield process.stdout.readline().strip()
            finally:
                process.stdin.close()
                self.assertEqual(process.wait(DEADLINE), 0)

    def suite(self, package, version, *options):
        """Runs a suite and prints how far it came."""
        env = {**self.place.env, "PATH": f"{BIN}:{self.place.env['PATH']}"}
        expected = HERE / f"conformance-{version}.yaml"
        with self.server() as url:
            done = subprocess.run(
                [
                    BIN / "node", BIN.parent / package / "dist" / "index.js", "server", "--url", url,
                    "--expected-failures", expected, *options,
                ],
                cwd=self.place.workspace, env=env, text=True, capture_output=True, timeout=DEADLINE,
            )  # fmt: skip
        said = done.stdout + done.stderr
        total = re.search(r"^Total: (\d+) passed, (\d+) failed$", said, re.MULTILINE)
        self.assertIsNotNone(total, said)
        passed, failed = map(int, total.groups())
        summary = said[said.index("=== SUMMARY") :]
        scenarios = {name: mark == "✓" for mark, name in re.findall(r"^([✓✗]) ([\w-]+): \d+ passed", summary, re.M)}
        # A revision requires a part of what is run; extensions are none of it.
        frozen = BIN.parent / package / "requirements" / f"{version}.yaml"
        names = items(frozen.read_text().partition("\nclient:")[0]) if frozen.exists() else list(scenarios)
        required = [scenarios[name] for name in names]
        print(
            f"\nconformance {version}: {passed} of {passed + failed} checks, {sum(scenarios.values())} of "
            f"{len(scenarios)} scenarios, {sum(required)} of {len(required)} required ones"
        )
        self.assertEqual(done.returncode, 0, summary)
        self.assertGreaterEqual(len(required), 30, summary)
        # The suite does not hold optional scenarios against the list; this does.
        failing = {name for name, good in scenarios.items() if not good}
        self.assertEqual(failing, set(items(expected.read_text())), summary)

    def test_m1_the_suite_up_to_2025_11_25(self):
        self.suite("@modelcontextprotocol/conformance", VERSIONS["legacy"])

    def test_m1_the_suite_of_2026_07_28(self):
        version = VERSIONS["auto"]
        self.suite("conformance-2026", version, "--requirements", version)

    async def test_m1_what_the_suites_run_against_is_our_handler(self):
        with self.server() as url:
            for mode, version in VERSIONS.items():
                with anyio.fail_after(DEADLINE):
                    async with Client(url, mode=mode) as client:
                        self.assertEqual(client.protocol_version, version)
                        self.assertEqual(client.server_info.name, "stead")
                        result = await client.call_tool("eval", {"code": "6 * 7"})
                        self.assertEqual(result.content[0].text.splitlines()[0], "42")


if __name__ == "__main__":
    unittest.main()
