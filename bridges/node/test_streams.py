"""JS-4, E-8, E-9: output in order, in the background, and input for every reader."""
import os
import unittest

from host import NodeTest, merged

ASK = "const rl%d = require('readline').createInterface({ input: process.stdin, output: process.stdout }); new Promise(r => rl%d.question('? ', r))"


class Streams(NodeTest):
    def test_js4_streams_and_values_keep_their_order(self):
        host = self.start()
        result = host.eval("for (let n = 0; n < 50; n++) { console.log('o' + n); console.error('e' + n) }\n'end'")
        expected = []
        for n in range(50):
            expected += [("out", "o%d\n" % n), ("err", "e%d\n" % n)]
        self.assertEqual(merged(result.order), [*expected, ("value", "'end'")])

    def test_o2_what_a_child_wrote_before_it_was_waited_for_comes_before_what_is_written_next(self):
        host = self.start(env={"NODE_PENDING_DEPRECATION": "1"})
        self.ok(host, "const cp = require('child_process'), { once } = require('events'), stdio = 'inherit', fs = require('fs')\nvoid 0")
        for way in ("cp.spawnSync('sh', ['-c', 'echo E >&2'], { stdio })", "cp.execSync('echo E >&2', { stdio })",
                    "cp.execFileSync('sh', ['-c', 'echo E >&2'], { stdio })",
                    "await once(cp.spawn('sh', ['-c', 'echo E >&2'], { stdio }), 'exit')",
                    "await once(cp.spawn('sh', ['-c', 'echo E >&2'], { stdio }), 'close')", "fs.writeSync(2, 'E\\n')"):
            code = "console.log('a')\n%s\nconsole.log('b'); cp.execSync('echo c', { stdio }); console.error('d'); void 0" % way
            for _ in range(3):
                self.assertEqual(merged(host.eval(code).order), [("out", "a\n"), ("err", "E\n"), ("out", "b\nc\n"), ("err", "d\n")], way)

    def test_js4_every_method_goes_to_its_stream(self):
        host = self.start()
        result = host.eval("console.info(1); console.warn(2); console.table([[3]]); console.dir({ a: 4 }); console.trace('5'); console.group('6'); console.log(7); console.groupEnd(); console.assert(false, '8')")
        for text in ("1\n", "3", "{ a: 4 }", "6\n  7\n"):
            self.assertIn(text, result.out)
        for text in ("2\n", "Trace: 5\n    at <js:1>", "Assertion failed: 8"):
            self.assertIn(text, result.err)
        self.ok(host, "require('console') === console", "true")

    def test_js4_much_output_is_whole(self):
        host = self.start()
        result = host.eval("for (let n = 0; n < 50_000; n++) console.log(n)")
        self.assertEqual(result.out, "".join("%d\n" % n for n in range(50_000)))
        result = host.eval("process.stdout.write('y'.repeat(5e6)); 1")
        self.assertEqual((len(result.out), result.value), (5_000_000, "1"))
        self.ok(host, "process.stdout.write(Buffer.from([0xc3, 0xa9, 10])); 1", "1", "é\n")

    def test_js4_streams_are_streams(self):
        host = self.start()
        self.ok(host, "await new Promise(r => process.stdout.write('a', 'utf8', r)); await new Promise(r => process.stdout.write('b', r)); 1", "1", "ab")
        self.ok(host, "require('stream').Readable.from(['p', 'q']).pipe(process.stdout); await new Promise(r => setTimeout(r, 20)); 1", "1", "pq")
        self.ok(host, "await require('stream/promises').pipeline(require('stream').Readable.from(['r']), process.stdout, { end: false }); 1", "1", "r")
        self.ok(host, "process.stdout.end('last'); 1", "1", "last")
        self.ok(host, "process.stdout.destroy(); process.stdout.write('more'); 1", "1", "more")
        self.ok(host, "process.stdout.write('6869', 'hex'); process.stdout.write(new Uint8Array([10])); process.stdout.writable", "true", "hi\n")
        self.fails(host, "process.stdout.write(5)", "TypeError")

    def test_js4_a_patched_write_sees_what_is_logged(self):
        host = self.start()
        self.ok(host, "const seen = []; const write = process.stdout.write; process.stdout.write = text => (seen.push(text), true); console.log('x'); process.stdout.write = write; seen", "[ 'x\\n' ]")

    def test_js4_the_pipes_stay_blocking_for_children(self):
        host = self.start()
        self.ok(host, "process.stdin.on('data', () => {}); process.stdout.write(''); process.stderr; 1", "1")
        flags = "require('child_process').execSync('grep flags /proc/self/fdinfo/0 /proc/self/fdinfo/1', { stdio: ['inherit', 'pipe', 'inherit'] }).toString()"
        found = [int(line.split()[-1], 8) for line in host.eval("console.log(%s)" % flags).out.split("\n") if line]
        self.assertEqual([flags & os.O_NONBLOCK for flags in found], [0, 0])

    def test_o1_timers_print_in_the_background(self):
        host = self.start()
        # The first command runs before Node's loop does, whose timers then come before its end.
        self.ok(host, "1", "1")
        self.ok(host, "setTimeout(() => { console.log('late'); console.error('late too') }, 100); 1", "1")
        host.pump(host.idle, lambda event: event.get("stream") == "err")
        self.assertEqual([event["text"] for event in host.idle.events if event["ev"] == "background"], ["late\n", "late too\n"])

    def test_o1_a_timer_of_an_earlier_eval_is_told_apart(self):
        host = self.start()
        # The first command runs before Node's loop does, whose timers then come before its end.
        self.ok(host, "1", "1")
        self.ok(host, "const t = setInterval(() => console.log('tick'), 40); 1", "1")
        result = host.eval("await new Promise(r => setTimeout(r, 150)); console.log('mine'); clearInterval(t)")
        self.assertEqual(result.out, "mine\n")
        ticks = [event for event in result.events if event["ev"] == "background"]
        self.assertTrue(ticks and all(event["eval"] == "js:2" for event in ticks), ticks)

    def test_e8_every_way_to_read(self):
        host = self.start()
        self.ok(host, ASK % (1, 1), "'one'", "? ", answers=["one\n"])
        self.ok(host, "await require('readline/promises').createInterface({ input: process.stdin, output: process.stdout }).question('p? ')", "'two'", "p? ", ["two\n"])
        self.ok(host, "new Promise(r => process.stdin.once('data', d => r(String(d))))", "'three\\n'", answers=["three\n"])
        self.ok(host, "let text = ''; process.stdin.setEncoding('utf8'); for await (const part of process.stdin) { text += part; if (text.includes('.')) break }\ntext", "'a.\\n'", answers=["a.\n"])
        self.ok(host, "const lines = []; for await (const line of require('readline').createInterface({ input: process.stdin })) { lines.push(line); if (lines.length === 2) break }\nlines", "[ 'x', 'y' ]", answers=["x\n", "y\n"])
        result = host.submit("require('fs').readSync(0, Buffer.alloc(9))")
        host.wait_for_call("read", 0)
        host.write("four\n")
        self.assertEqual(host.finish(result).value, "5")

    def test_e8_a_reader_of_an_earlier_eval_can_ask_again(self):
        host = self.start()
        self.ok(host, ASK % (1, 1), "'one'", "? ", answers=["one\n"])
        self.ok(host, "new Promise(r => rl1.question('again? ', r))", "'two'", "again? ", ["two\n"])
        self.ok(host, "const alive = setInterval(() => {}, 1000); new Promise(r => rl1.question('more? ', r))", "'three'", "more? ", ["three\n"])

    def test_e9_readers_of_ended_evals_do_not_steal(self):
        host = self.start()
        self.ok(host, "const stolen = []; process.stdin.on('data', d => stolen.push(String(d))); 1", "1")
        result = host.submit("for await (const part of process.stdin) {}")
        host.wait_input(result)
        host.interrupt()
        host.finish(result)
        self.ok(host, ASK % (2, 2), "'mine'", "? ", answers=["mine\n"])
        self.ok(host, "stolen", "[]")
        result = host.submit("require('child_process').execSync('echo up >&2; head -n 1', { stdio: ['inherit', 'pipe', 'inherit'] }).toString()")
        host.pump_until_text(result, "up")
        host.write("child\n")
        self.assertEqual(host.finish(result).value, "'child\\n'")
        self.ok(host, "stolen", "[]")

    def test_e9_a_background_reader_is_answered_between_evals(self):
        host = self.start()
        self.ok(host, "process.stdin.once('data', d => console.log('got', String(d).trim())); 1", "1")
        end = "pipe"
        host.write("word\n")
        host.pump(host.idle, lambda event: event["ev"] == "background")
        self.assertEqual(host.idle.events[-1]["text"], "got word\n", end)

    def test_e8_of_a_child_that_may_read_it_is_told_whether_timers_go_on_beside_it(self):
        host = self.start()
        start = "const child = require('child_process').spawn('cat', { stdio: %s }); child.on('exit', () => clearTimeout(timer)); await new Promise((go) => child.on('close', go))"

        def says(none):
            return lambda event: event["ev"] == "stdin_wait" and event.get("no_timers", False) is none

        for stdio in ("'inherit'", "['inherit', 'pipe', 'inherit']", "[process.stdin, 1, 2]"):
            result = host.submit("let timer; " + start % stdio)
            said = host.pump(result, says(True))
            self.assertNotEqual(said["tid"], host.process.pid)
            os.close(host.stdin)
            self.assertEqual(host.finish(result).status, "ok")
            host.stdin = os.open("/proc/%d/fd/0" % host.process.pid, os.O_WRONLY)
        # A timer that is there from the beginning, one that is over, and one that comes later.
        for timer, first, then in (("setTimeout(() => {}, 300)", False, True), ("setImmediate(() => setImmediate(() => { timer = setTimeout(() => {}, 30_000) }))", True, False)):
            result = host.submit("let timer = %s; " % timer + start % "'inherit'")
            host.pump(result, says(first))
            host.pump(result, says(then))
            os.close(host.stdin)
            self.assertEqual(host.finish(result).status, "ok")
            host.stdin = os.open("/proc/%d/fd/0" % host.process.pid, os.O_WRONLY)
        result = host.submit(start.replace("clearTimeout(timer)", "0") % "['ignore', 1, 2]")
        self.assertEqual([event["ev"] for event in host.finish(result).events if event["ev"] == "stdin_wait"], [])

    def test_e8_the_end_of_input(self):
        host = self.start()
        result = host.submit("const parts = []; for await (const part of process.stdin) parts.push(part); parts.length")
        host.wait_input(result)
        os.close(host.stdin)
        self.assertEqual(host.finish(result).value, "0")
        host.stdin = os.open("/proc/%d/fd/0" % host.process.pid, os.O_WRONLY)
        self.ok(host, ASK % (3, 3), "'anew'", "? ", answers=["anew\n"])


if __name__ == "__main__":
    unittest.main()
