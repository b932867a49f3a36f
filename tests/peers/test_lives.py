"""Sessions outlive servers: restarts, several servers at once, clients that leave (SPEC M-5, H-1)."""

import asyncio
import os
import signal
import unittest

from place import STEAD, both_eras, gone
from test_calls import GATE, UP


@both_eras
class Lives:
    async def test_h1_an_eval_survives_the_kill_of_its_server(self):
        up, gate = self.place.pipe("up"), self.place.pipe("gate")
        async with self.connect() as peer:
            await peer.eval("x = 5")
            code = "print('before')\n" + UP + GATE + "print('after')\nx + 1"
            running = asyncio.create_task(peer.eval(code))
            await up.reached()
            (server,) = self.place.servers()
            os.kill(server, signal.SIGKILL)
            with self.assertRaises(Exception):  # noqa: B017  (the SDK's own, which differs from version to version)
                await running
            self.assertTrue(gone(server))
        async with self.connect() as peer:
            self.assertIn("running py:2", await peer.text("sessions"))
            await gate.open()
            text = await peer.text("output", {"id": "py:2", "wait_ms": 50_000})
            self.assertEqual(text.splitlines()[:-1], ["before", "after", "6"], text)
            self.assertEnds(text, r"py:2.*")

    async def test_m7_two_servers_see_the_same_sessions(self):
        up = self.place.pipe("up")
        other = "legacy" if self.mode == "auto" else "auto"
        async with self.connect() as one, self.connect(other) as two:
            self.assertEqual(len(self.place.servers()), 2)
            await one.eval("x = 41")
            self.assertEqual((await two.eval("x + 1")).splitlines()[0], "42")
            await two.eval("y = 1", session="second", language="python")
            for peer in (one, two):
                text = await peer.text("sessions")
                self.assertIn("py (python", text)
                self.assertIn("second (python", text)
            running = asyncio.create_task(one.eval(UP + "while True: pass"))
            await up.reached()
            self.assertIn("running py:3", await two.text("sessions"))
            await two.text("control", {"target": "py:3", "action": "interrupt"})
            # Another server of the same client asked for it.
            by = r"interrupted by \S+#[0-9a-f]+"
            self.assertEnds(await running, rf"py:3.* interrupted, state kept.*; {by}; meanwhile by .*: py:2")
            self.assertIn("KeyboardInterrupt", await two.text("output", {"id": "py:3"}))

    def exits(self):
        """A server that notes its exit code, and the file where."""
        code = self.place.root / "code"
        script = '"$1" mcp; echo $? >"$2"'
        return ("/bin/sh", "-c", script, "sh", STEAD, str(code)), code

    async def test_m5_the_end_of_stdin_ends_the_server_but_no_session(self):
        command, code = self.exits()
        async with self.connect(command=command) as peer:
            text = await peer.eval("import os\nx = 5\nos.getpid()")
        self.assertEqual(code.read_text(), "0\n")
        async with self.connect() as peer:
            again = await peer.eval("os.getpid()")
            self.assertEqual(again.splitlines()[0], text.splitlines()[0])
            self.assertEqual((await peer.eval("x")).splitlines()[0], "5")

    async def test_m5_a_client_that_leaves_only_detaches_from_its_eval(self):
        up, gate = self.place.pipe("up"), self.place.pipe("gate")
        command, code = self.exits()
        async with self.connect(command=command) as peer:
            running = asyncio.create_task(peer.eval(UP + GATE + "6 * 7"))
            await up.reached()
        with self.assertRaises(Exception):  # noqa: B017
            await running
        self.assertEqual(code.read_text(), "0\n")
        async with self.connect() as peer:
            self.assertIn("running py:1", await peer.text("sessions"))
            await gate.open()
            text = await peer.text("output", {"id": "py:1", "wait_ms": 50_000})
            self.assertEqual(text.splitlines()[:-1], ["42"], text)

    async def test_m1_a_server_that_nobody_asks_anything_leaves_with_0(self):
        self.assertEqual(self.place.run("mcp", stdin="").returncode, 0)


if __name__ == "__main__":
    unittest.main()
