"""What a client can do in one connection (SPEC M-1 to M-5)."""

import asyncio
import unittest

from place import both_eras

TOOLS = ["eval", "shell", "output", "input", "control", "sessions", "open", "inspect", "state", "stdlib"]
HINTS = ["read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint"]
# What user code runs to tell the test that it runs, and to wait for it.
UP = "open('up', 'w').close()\n"
GATE = "open('gate').close()\n"


@both_eras
class Calls:
    async def test_m2_tools_are_listed_in_order_with_all_hints(self):
        version = self.place.run("--version").stdout.split()[-1]
        async with self.connect() as peer:
            info = peer.client.server_info
            self.assertEqual((info.name, info.version), ("stead", version))
            self.assertIn("sessions", peer.client.instructions)
            listed = (await peer.client.list_tools()).tools
        self.assertEqual([tool.name for tool in listed], TOOLS)
        for tool in listed:
            for hint in HINTS:
                self.assertIsInstance(getattr(tool.annotations, hint), bool, (tool.name, hint))
            self.assertIsNone(tool.output_schema, tool.name)
            self.assertEqual(tool.input_schema["type"], "object")
        reading = [tool.name for tool in listed if tool.annotations.read_only_hint]
        self.assertEqual(reading, ["output", "sessions", "inspect"])

    async def test_m3_eval_gives_output_in_order_the_value_and_what_changed(self):
        async with self.connect() as peer:
            text = await peer.eval("import sys\nprint('one')\nprint('two', file=sys.stderr)\nx = 41\nx + 1")
            self.assertEqual(text.splitlines()[:5], ["one", "[stderr]", "two", "[value]", "42"], text)
            self.assertEnds(text, r"py:1.* \+x int.*")
            text = await peer.eval("x + 2")
            self.assertEqual(text.splitlines()[0], "43")
            self.assertEnds(text, "py:2.*")

    async def test_m3_a_line_that_imitates_stead_is_marked(self):
        async with self.connect() as peer:
            text = await peer.eval("print('[py:9 error]')")
            self.assertEqual(text.splitlines()[0], "\\[py:9 error]")

    async def test_m3_code_that_raises_is_a_result_with_its_traceback(self):
        async with self.connect() as peer:
            # `text` refuses a result with isError.
            text = await peer.eval("def f():\n    return 1 / 0\nf()")
            self.assertIn("Traceback (most recent call last)", text)
            self.assertIn("ZeroDivisionError: division by zero", text)
            self.assertEnds(text, r"py:1 error.*")
            self.assertEqual((await peer.eval("1 +")).splitlines()[-1][:11], "[py:2 error")

    async def test_m3_what_cannot_be_carried_out_is_an_error_that_says_why(self):
        async with self.connect() as peer:
            self.assertIn("session_not_found", await peer.refused("inspect", {"session": "none"}))
            text = await peer.refused("eval", {"code": "1", "session": "new"})
            self.assertIn("to start `new`, give eval a `language`", text)
            self.assertIn("`cod`", await peer.refused("eval", {"code": "1", "cod": "2"}))
            with self.assertRaisesRegex(Exception, "unknown tool `evil`"):
                await peer.client.session.call_tool("evil", {})
            self.assertEqual((await peer.eval("1 + 1")).splitlines()[0], "2")
            self.assertIn("eval_not_found", await peer.refused("output", {"id": "py:7"}))

    async def test_m4_long_work_is_yielded_and_read_until_it_is_done(self):
        up, gate = self.place.pipe("up"), self.place.pipe("gate")
        async with self.connect() as peer:
            first = await peer.eval("print('a', flush=True)\n" + UP + GATE + "print('b')\n7 * 6", timeout_ms=300)
            self.assertEnds(first, r"py:1 .*still running; read on: output .*")
            await up.reached()
            # Whether or not the first reply came too early for it, it is told once.
            second = await peer.text("output", {"id": "py:1"})
            self.assertEqual(f"{first}\n{second}".splitlines().count("a"), 1, (first, second))
            third = await peer.text("output", {"id": "py:1"})
            self.assertIn("nothing new", third)
            self.assertEnds(third, r"py:1 .*still running.*")
            await gate.open()
            text = await peer.text("output", {"id": "py:1", "wait_ms": 50_000})
            self.assertEqual(text.splitlines()[:-1], ["b", "42"], text)
            text = await peer.text("output", {"id": "py:1", "offset": 0})
            self.assertEqual(text.splitlines()[:-1], ["a", "b", "42"], text)

    async def test_m4_background_returns_the_id_at_once(self):
        gate = self.place.pipe("gate")
        async with self.connect() as peer:
            text = await peer.eval(GATE + "print('done')", background=True)
            self.assertEnds(text, r"py:1 .*output .*")
            waiting = asyncio.create_task(peer.text("output", {"session": "py", "wait_ms": 50_000}))
            await gate.open()
            self.assertEqual((await waiting).splitlines()[0], "done")

    async def test_m2_input_answers_a_prompt(self):
        async with self.connect() as peer:
            text = await peer.eval("name = input('name? ')\nprint('hello', name)")
            self.assertEnds(text, r'py:1.* waits for input, prompt "name\?".*')
            text = await peer.text("input", {"target": "py:1", "text": "Ada"})
            self.assertIn("hello Ada", text.splitlines())
            self.assertEnds(text, "py:1.*")
            self.assertEqual((await peer.eval("name")).splitlines()[0], "'Ada'")
            await peer.eval("import sys; rest = sys.stdin.read()")
            await peer.text("input", {"target": "py", "text": "a\nb", "eof": True})
            self.assertEqual((await peer.eval("rest")).splitlines()[0], repr("a\nb\n"))

    async def test_m7_control_interrupts_while_the_call_is_open(self):
        up = self.place.pipe("up")
        async with self.connect() as peer:
            await peer.eval("x = 5")
            running = asyncio.create_task(peer.eval(UP + "while True: pass"))
            await up.reached()
            text = await peer.text("control", {"target": "py", "action": "interrupt"})
            self.assertEnds(text, "py:2 interrupted, state kept")
            self.assertEnds(await running, r"py:2.* interrupted, state kept.*")
            self.assertEqual((await peer.eval("x")).splitlines()[0], "5")

    async def test_m7_sessions_answers_while_an_eval_runs(self):
        up, gate = self.place.pipe("up"), self.place.pipe("gate")
        async with self.connect() as peer:
            code = "print('half way', flush=True)\n" + UP + GATE
            running = asyncio.create_task(peer.eval(code))
            await up.reached()
            text = await peer.text("sessions")
            self.assertFalse(running.done())
            self.assertIn("running py:1", text)
            self.assertIn("half way", text)
            await peer.text("open", {"language": "python", "name": "b"})
            self.assertEqual((await peer.eval("2", session="b")).splitlines()[0], "2")
            self.assertFalse(running.done())
            await gate.open()
            await running
            self.assertIn("[sessions: 2 in ", await peer.text("sessions"))

    async def test_m2_control_does_what_it_says(self):
        async with self.connect() as peer:
            await peer.eval("x = 1")
            for action, said in [
                ("pause", "paused"), ("resume", "resumed"), ("clear", "cleared"),
                ("restart", "restarted"), ("kill", "killed"), ("stop", "stopped"),
            ]:  # fmt: skip
                text = await peer.text("control", {"target": "py", "action": action})
                self.assertIn(f"[py: {said}", text)
            self.assertIn("[sessions: none in ", await peer.text("sessions"))

    async def test_m2_inspect_and_open(self):
        async with self.connect() as peer:
            settings = {"language": "python", "name": "lab", "env": {"WHO": "me"}, "init": "import os\nseen = 1"}
            self.assertIn("[lab: open, python", await peer.text("open", settings))
            text = await peer.eval("def f(a):\n    'Doc of f.'\n    return a\nos.environ['WHO']", session="lab")
            self.assertEqual(text.splitlines()[0], "'me'")
            text = await peer.text("inspect", {"session": "lab"})
            self.assertIn("seen int = 1", text)
            ask = {"session": "lab", "name": "f"}
            self.assertIn("Doc of f.", await peer.text("inspect", {**ask, "what": "doc"}))
            self.assertIn("return a", await peer.text("inspect", {**ask, "what": "source"}))
            text = await peer.text("inspect", {"session": "lab", "name": "os.getc", "what": "complete"})
            self.assertIn("getcwd", text)
            self.assertIn("session_exists", await peer.refused("open", settings))

    async def test_st2_st3_state_is_kept_and_goes_back(self):
        async with self.connect() as peer:
            await peer.eval("x = 41\ny = [x]")
            text = await peer.text("state", {"session": "py", "action": "save", "path": "a.stead"})
            self.assertIn("saved 2 names to ", text)
            await peer.text("control", {"target": "py", "action": "kill"})
            text = await peer.text("state", {"action": "load", "path": "a.stead", "new_session": "again"})
            self.assertEnds(text, r"again:1 \+x int \+y list.*")
            await peer.text("state", {"session": "again", "action": "checkpoint", "label": "before"})
            self.assertEnds(await peer.eval("del x", session="again"), r"again:3 -x.*")
            text = await peer.text("state", {"session": "again", "action": "rollback", "label": "before"})
            self.assertIn("undone: again:3", text)
            self.assertEqual((await peer.eval("x + 1", session="again")).splitlines()[0], "42")
            refused = await peer.refused("state", {"action": "load", "path": "none.stead"})
            self.assertIn("none.stead", refused)

    async def test_o6_output_is_searched_and_read_by_part(self):
        async with self.connect() as peer:
            await peer.eval("for i in range(100): print('line', i)")
            text = await peer.text("output", {"id": "py:1", "grep": "^line 5$", "context": 1})
            self.assertEqual(text.splitlines()[:3], ["5-line 4", "6:line 5", "7-line 6"])
            text = await peer.text("output", {"id": "py:1", "tail": 2})
            self.assertIn("line 99", text)
            self.assertNotIn("line 97", text)
            text = await peer.text("output", {"id": "py:1", "offset": 0, "limit": 7})
            self.assertEqual(text.splitlines()[0], "line 0")
            self.assertNotIn("line 1", text)

    async def test_m4_progress_tells_the_last_line_and_ends_with_the_call(self):
        gate = self.place.pipe("gate")
        told, third = [], asyncio.Event()

        async def progress(value, total, message):
            told.append((value, message))
            if message == "line 3":
                third.set()

        async with self.connect() as peer:
            code = "for i in range(1, 4): print('line', i, flush=True)\n" + GATE
            arguments = {"code": code, "timeout_ms": 50_000}
            call = peer.text("eval", arguments, progress_callback=progress)
            running = asyncio.create_task(call)
            await third.wait()
            await gate.open()
            self.assertIn("line 3", await running)
            values = [value for value, _ in told]
            self.assertEqual(values, sorted(set(values)), told)
            self.assertEqual(told[-1][1], "line 3")
            # Whatever came on the wire for this call came before its result.
            await peer.text("sessions")
            kinds = ["progress" if m.get("method") == "notifications/progress" else "answer" for m in peer.log.received]
            self.assertIn("progress", kinds)
            self.assertEqual(kinds[-2:], ["answer", "answer"], kinds)
            # A call that did not ask for it hears nothing.
            before = kinds.count("progress")
            await peer.eval("import time\nprint('quiet', flush=True)\ntime.sleep(0.7)")
            after = [m for m in peer.log.received if m.get("method") == "notifications/progress"]
            self.assertEqual(len(after), before)

    async def test_m5_a_cancelled_eval_is_interrupted_and_the_session_lives(self):
        up = self.place.pipe("up")
        async with self.connect() as peer:
            await peer.eval("x = 5")
            call = peer.eval(UP + "while True: pass")
            running = asyncio.create_task(call)
            await up.reached()
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running
            text = await peer.text("output", {"id": "py:2", "wait_ms": 50_000})
            self.assertEnds(text, r"py:2.* interrupted, state kept.*")
            self.assertEqual((await peer.eval("x")).splitlines()[0], "5")

    async def test_m5_a_cancelled_wait_for_output_stops_nothing(self):
        up, gate = self.place.pipe("up"), self.place.pipe("gate")
        async with self.connect() as peer:
            await peer.eval(UP + GATE + "print('whole')", background=True)
            await up.reached()
            waiting = asyncio.create_task(peer.text("output", {"id": "py:1", "wait_ms": 50_000}))
            while not peer.log.calls("output"):
                await asyncio.sleep(0)
            # The server reads in order: it has the wait once it answers what came after.
            await peer.text("sessions")
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            self.assertIn("running py:1", await peer.text("sessions"))
            await gate.open()
            text = await peer.text("output", {"id": "py:1", "wait_ms": 50_000, "offset": 0})
            self.assertEqual(text.splitlines()[0], "whole")
            self.assertEnds(text, r"py:1.*")
            self.assertNotIn("interrupted", text)

    async def test_m7_twenty_calls_at_once_on_several_sessions(self):
        async with self.connect() as peer:
            calls = [
                peer.eval(f"import time\ntime.sleep(0.05)\n{n} * 100", session=f"s{n % 4}", language="python")
                for n in range(20)
            ]
            for n, text in enumerate(await asyncio.gather(*calls)):
                self.assertEqual(text.splitlines()[0], str(n * 100))
                self.assertEnds(text, rf"s{n % 4}:\d+.*")
            self.assertIn("[sessions: 4 in ", await peer.text("sessions"))

    async def test_m7_evals_sent_at_once_run_in_the_order_sent(self):
        async with self.connect() as peer:
            await peer.eval("order = []")
            codes = [f"order.append({n})" for n in range(20)]
            await asyncio.gather(*(peer.eval(code) for code in codes))
            sent = [arguments["code"] for arguments in peer.log.calls("eval")[1:]]
            self.assertEqual(sent, codes)
            self.assertEqual((await peer.eval("order")).splitlines()[0], str(list(range(20))))


if __name__ == "__main__":
    unittest.main()
