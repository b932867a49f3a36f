"""A machine without stead and without Rust, as far as a package can tell, and what every package must do there.

Needs:  STEAD_BIN, the binary of ./dist; STEAD_PACKAGES, what ./package made of it; the Python of the peers' venv.
"""

import fnmatch
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import anyio
from mcp import Client

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/peers"))
sys.path.insert(0, str(ROOT / "packaging"))

from facts import Facts  # noqa: E402
from place import DEADLINE, STEAD, Place, tapped  # noqa: E402
from place import Log as Heard  # noqa: E402
from test_calls import TOOLS  # noqa: E402

PACKAGES = Path(os.environ["STEAD_PACKAGES"])
VENV = Path(sys.executable).parent
FACTS = Facts(STEAD)


def package(pattern):
    """The one package whose file name fits."""
    found = [path for path in PACKAGES.iterdir() if fnmatch.fnmatch(path.name, pattern)]
    assert len(found) == 1, f"{pattern}: {found} of {sorted(PACKAGES.iterdir())}"
    return found[0]


class PackageTest(unittest.TestCase):
    """A test with a fresh machine: an own home, and all programs of the system but those of Rust."""

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.leave)
        self.root = self.place.root
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                if not re.match("cargo|rust|stead|uvx?$", name) and not os.path.lexists(self.bin / name):
                    os.symlink(f"{folder}/{name}", self.bin / name)
        self.place.env["PATH"] = str(self.bin)
        # Packages are installed from their files alone.
        self.place.env.update(npm_config_offline="true", PIP_NO_INDEX="1", UV_OFFLINE="1", PIP_CONFIG_FILE="/dev/null")

    def run_command(self, *words, code=0, stdin=None, cwd=None):
        """What a program prints that ends with this exit code."""
        ran = subprocess.run(
            list(map(str, words)), cwd=cwd or self.place.workspace, env=self.place.env, input=stdin, text=True,
            capture_output=True, timeout=DEADLINE,
        )  # fmt: skip
        self.assertEqual(ran.returncode, code, f"{words}\n{ran.stdout}\n{ran.stderr}")
        return ran.stdout

    def assertWorks(self, *command):
        """What is started by these words answers on the command line and as an MCP server."""
        self.assertEqual(self.run_command(*command, "--version").strip(), f"stead {FACTS.version}")
        said = json.loads(self.run_command(*command, "eval", "6*7"))
        self.assertEqual((said["ok"], said["data"]["value"]), (True, "42"))
        # A failure of the code, and of the request, arrive as what they are.
        self.run_command(*command, "eval", "1/0", code=1)
        self.run_command(*command, "status", "nobody", code=2)
        # Input is passed on.
        said = json.loads(self.run_command(*command, "eval", "-", stdin="x = 41\nx + 1"))
        self.assertEqual(said["data"]["value"], "42")
        anyio.run(self.lists_its_tools, command)
        self.assertInstalls(*command)

    def assertInstalls(self, *command):
        """An agent's program would be told of a binary that is there, and is told nothing yet."""
        settings = self.root / "home/.cursor"
        settings.mkdir(exist_ok=True)
        said = json.loads(self.run_command(*command, "install", "--dry-run"))["data"]
        self.assertEqual([(one["client"], one["action"]) for one in said["clients"]], [("cursor", "added")])
        self.assertEqual(said["entry"]["args"][0], "mcp")
        told = Path(said["entry"]["command"])
        self.assertTrue(told.is_absolute() and told.read_bytes() == FACTS.binary, told)
        self.assertEqual(list(settings.iterdir()), [])

    async def lists_its_tools(self, command):
        transport = tapped(self.place.parameters((*map(str, command), "mcp")), Heard())
        with anyio.fail_after(DEADLINE):
            async with Client(transport) as client:
                listed = await client.list_tools()
                self.assertEqual([tool.name for tool in listed.tools], TOOLS)
                # The state that the command line left is there.
                result = await client.call_tool("eval", {"code": "x"})
                self.assertEqual(result.content[0].text.splitlines()[0], "41")

    def readme_line(self, beginning):
        """The one command of the README that begins so."""
        page = (ROOT / "README.md").read_text()
        blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
        found = [line for line in "".join(blocks).splitlines() if line.startswith(beginning)]
        self.assertEqual(len(found), 1, f"{beginning}: {found}")
        return found[0]

    def as_in_the_readme(self, beginning):
        """Runs that command in a project whose packages lie where ./package puts them."""
        target = self.place.workspace / "target"
        target.mkdir()
        os.symlink(PACKAGES, target / "packages")
        return self.run_command("/bin/sh", "-c", self.readme_line(beginning))
