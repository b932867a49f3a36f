"""JS-3, E-13, E-14, ST-1 and what must survive: interrupts, names, modules, the end."""
import os
import signal
import tempfile
import unittest

from host import NodeTest


class Session(NodeTest):
    def interrupted(self, host, code, prefix="console.log('up');\n"):
        result = host.submit(prefix + code)
        if "'up'" in prefix + code:
            host.pump_until_text(result, "up\n")
        host.interrupt()
        host.finish(result)
        self.assertEqual(result.status, "interrupted", code)
        return result

    def test_js3_interrupts_stop_everything_and_keep_the_state(self):
        host = self.start()
        self.ok(host, "let kept = 41")
        for code in ("while (true) {}", "try { while (true) {} } finally { fin = 1 }", "for (;;) try { for (;;) {} } catch {}",
                     "await new Promise(() => {})", "await 1; while (true) {}", "new Promise(() => {})",
                     "process.nextTick(() => { for (;;) {} }); 1",
                     "/(a+)+$/.test('a'.repeat(50) + 'b')", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
                     "for (;;) console.log('x')", "for (;;) { console.log('x'); console.error('y') }",
                     "({ [Symbol.for('nodejs.util.inspect.custom')]() { for (;;) {} } })",
                     "process.stdin.on('data', () => {}); await new Promise(() => {})"):
            self.interrupted(host, code)
            self.ok(host, "kept + 1", "42")
        self.ok(host, "typeof fin", "'undefined'")
        self.interrupted(host, "setTimeout(() => { console.log('up'); for (;;) {} }); await new Promise(() => {})", prefix="")
        self.ok(host, "kept + 1", "42")

    def test_js3_an_interrupt_in_an_immediate_or_timer_leaves_the_others(self):
        loop = "() => { console.log('up'); for (;;) {} }"
        wait = "; await new Promise(() => {})"
        host = self.start()
        for _ in range(4):
            for start in ("setImmediate(%s)", "setTimeout(%s, 1)", "process.nextTick(%s)", "queueMicrotask(%s)"):
                before, after = start % "() => {}", start % "() => { ran = true }"
                for code in (start % loop, before + ";" + start % loop, before + ";" + before + ";" + start % loop + ";" + after):
                    self.assertEqual(self.interrupted(host, code + wait, prefix="").err, "", code)
                    self.ok(host, "await new Promise(done => setImmediate(done, 7))", "7")
                    self.ok(host, "await new Promise(done => setTimeout(done, 1, 8))", "8")
                    self.ok(host, "await new Promise(done => process.nextTick(done, 9))", "9")
        self.ok(host, "Object.keys(globalThis).filter(name => name.includes('stead'))", "[]")

    def test_js3_where_that_cannot_be_mended_the_session_ends_with_the_reason(self):
        host = self.start()
        self.ok(host, "Object.freeze(globalThis); 1", "1")
        result = host.submit("setImmediate(() => {}); setImmediate(() => { console.log('up'); for (;;) {} }); await new Promise(() => {})")
        host.pump_until_text(result, "up\n")
        host.interrupt()
        event = host.pump(result, lambda event: event["ev"] == "exiting")
        self.assertIn("immediates", event["reason"])
        self.assertEqual(host.process.wait(), 70)

    def test_js3_output_works_after_an_interrupt_inside_it(self):
        host = self.start()
        for n in range(40):
            self.interrupted(host, "for (;;) console.log('x')" if n % 2 else "for (;;) process.stdout.write('x', () => {})")
            self.ok(host, "console.log('after', %d)" % n, out="after %d\n" % n)

    def test_js3_an_interrupt_frees_an_eval_from_a_background_loop(self):
        host = self.start()
        # The first command runs before Node's loop does, whose timers then come before its end.
        self.ok(host, "1", "1")
        self.ok(host, "setTimeout(() => { process.stdout.write('loop'); for (;;) {} }, 100); 1", "1")
        host.pump(host.idle, lambda event: event["ev"] == "background")
        result = host.submit("2")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        self.ok(host, "3", "3")

    def test_js3_an_early_interrupt_is_not_lost_and_a_late_one_hits_nothing(self):
        host = self.start()
        self.ok(host, "1", "1")
        for _ in range(30):
            self.interrupted(host, "while (true) {}", prefix="")
            host.interrupt()
            self.ok(host, "6 * 7", "42")

    def test_js3_the_process_survives_sigint(self):
        host = self.start()
        self.ok(host, "process.removeAllListeners('SIGINT'); 1", "1")
        self.ok(host, "1", "1")
        os.kill(host.process.pid, signal.SIGINT)
        self.ok(host, "2", "2")

    def test_js3_a_query_can_be_interrupted(self):
        host = self.start()
        self.ok(host, "var evil = { [Symbol.for('nodejs.util.inspect.custom')]() { for (;;) {} } }")
        host.send("query 1 inspect", "evil")
        host.send("interrupt -")
        self.assertIn("interrupted", host.pump(host.idle, lambda event: event["ev"] == "reply")["error"])
        self.ok(host, "6 * 7", "42")

    def test_js3_what_was_awaited_does_not_go_on_after_the_interrupt(self):
        host = self.start()
        self.ok(host, "globalThis.turns = 0; async function loop() { for (;;) { await new Promise(r => setTimeout(r, 2)); turns++ } }; let other = 0; 1", "1")
        self.ok(host, "const task = (async () => { for (;;) { await new Promise(r => setTimeout(r, 2)); other++ } })(); 1", "1")
        for code in ("await loop()", "loop()", "for (;;) { await new Promise(r => setTimeout(r, 2)); turns++ }", "await Promise.all([loop(), loop()])"):
            result = host.submit("console.log('up'); " + code)
            host.pump_until_text(result, "up")
            host.interrupt()
            self.assertEqual(host.finish(result).status, "interrupted")
            self.ok(host, "const was = turns, then = other; while (other - then <= 20) await new Promise(r => setTimeout(r, 2)); turns - was < 3", "true")

    def test_js3_timers_live_on_after_an_interrupt(self):
        host = self.start()
        self.ok(host, "let ticks = 0; const timer = setInterval(() => ticks++, 5)")
        self.interrupted(host, "while (true) {}")
        self.ok(host, "while (ticks <= 3) await new Promise(r => setTimeout(r, 2)); clearInterval(timer); ticks > 3", "true")

    def test_e13_changes_of_names(self):
        host = self.start()

        def names(result, kind):
            return [one["name"] if isinstance(one, dict) else one for one in result.changed.get(kind, [])]

        result = host.eval("let a = [1, 2], b = new Map([[1, 2]]); const c = 'text'; class D {}; function e() {}; implicit = Buffer.alloc(3)")
        self.assertEqual(names(result, "added"), ["a", "b", "c", "D", "e", "implicit"])
        sizes = {one["name"]: one.get("size") for one in result.changed["added"]}
        self.assertEqual((sizes["a"], sizes["b"], sizes["c"], sizes["implicit"]), ("2", "1", "4", "3"))
        self.assertEqual(host.eval("a.push(3)").changed, {})
        self.assertEqual(names(host.eval("function set() { a = 1 }"), "added"), ["set"])
        self.assertEqual(names(host.eval("set()"), "rebound"), ["a"])
        self.assertEqual(names(host.eval("delete globalThis.implicit"), "removed"), ["implicit"])
        self.assertEqual(names(host.eval("const fs = require('fs')"), "added"), ["fs"])
        self.assertEqual(names(host.eval("fetch; crypto; 1"), "added"), [])

    def test_e13_stays_bounded_with_many_names(self):
        host = self.start()
        result = host.eval("for (let n = 0; n < 10_000; n++) globalThis['n' + n] = n")
        self.assertEqual((len(result.changed["added"]), result.changed["more"]), (50, 9950))
        result = host.eval("n7 = 'new'; fresh = 1")
        self.assertEqual([one["name"] for one in result.changed["rebound"]], ["n7"])
        self.assertEqual([one["name"] for one in result.changed["added"]], ["fresh"])

    def test_e13_among_many_names_every_kind_of_change_is_told(self):
        """Code that calls nothing is compared by the names in it alone; all that could define others must not count as such."""
        host = self.start()
        host.eval("for (let n = 0; n < 2000; n++) globalThis['n' + n] = n; var g = globalThis, text = 'by'")
        host.eval("function make(name) { globalThis[name] = 1 } const tag = () => { tagged = 1 }; class Maker { constructor() { globalThis.constructed = 1 } }")
        host.eval("const walk = { *[Symbol.iterator]() { walked = 1; yield 1 } }; function* again() { spread = 1; yield 1 }; const them = again()")
        for code, expected in [
            ("1+1", ""), ("n5", ""), ("n5 = n5 + 1", "~n5"), ("n5++; n6 = n5", "~n5 ~n6"), ("let fresh = 1", "+fresh"), ("fresh = 1", ""), ("delete globalThis.fresh", "-fresh"),
            ("g.member = 1", "+member"), ("g['el' + 'ement'] = 1", "+element"), ("delete g['ele' + 'ment']; undefined", "-element"),
            ("g['coun' + 'ted']++; undefined", "+counted"), ("make('called')", "+called"), ("make\n('apart')", "+apart"), ("tag``", "+tagged"), ("new Maker", "+constructed"), ("const [one] = walk", "+one +walked"), ("const all = [...them]", "+all +spread"),
            ("eval('var ' + text + ' = 1')", "+by"), ("\\u0067.escaped = 1", "+escaped"), ("var { length } = text", "+length"), ("n7 = 'x'; undeclared = n7", "~n7 +undeclared"),
        ]:
            changed = host.eval(code).changed
            names = ["+" + one["name"] for one in changed.get("added", [])] + ["~" + one["name"] for one in changed.get("rebound", [])]
            self.assertEqual(sorted(names + ["-" + name for name in changed.get("removed", [])]), sorted(expected.split()), code)

    def test_e14_a_changed_module_is_named_once(self):
        with tempfile.TemporaryDirectory() as cwd:
            path = os.path.join(cwd, "mine.js")
            with open(path, "w") as file:
                file.write("exports.v = 1")
            host = self.start(cwd=cwd)
            self.ok(host, "const mine = require('./mine'); mine.v", "1")
            with open(path, "w") as file:
                file.write("exports.v = 22222")
            notice = host.eval("1").done["notice"]
            self.assertIn("./mine.js", notice)
            self.assertIn("require.cache", notice)
            self.assertNotIn("notice", host.eval("1").done)
            self.ok(host, "delete require.cache[require.resolve('./mine')]; require('./mine').v", "22222")
            self.assertNotIn("notice", host.eval("1").done)

    def test_st1_queries(self):
        host = self.start()
        self.ok(host, "const n = 3, add = (a, b = 2) => a + b; class K { constructor(x) {} m() {} }; var o = { get g() { throw 1 } }")
        listed = host.ask("query 1 vars")["data"]["vars"]
        self.assertEqual([(one["name"], one["type"]) for one in listed], [("K", "class"), ("add", "function"), ("n", "number"), ("o", "Object")])
        self.assertEqual(host.ask("query 2 inspect", "add")["data"]["signature"], "(a, b = 2)")
        self.assertEqual(host.ask("query 3 inspect", "K")["data"]["signature"], "(x)")
        self.assertIn("no name", host.ask("query 4 inspect", "nope")["error"])
        self.assertEqual(host.ask("query 5 inspect", "o.g")["data"], {"name": "o.g", "type": "accessor", "value": "[Getter]", "source": "get g() { throw 1 }"})
        self.assertEqual(host.ask("query 6 inspect", "process.platform")["data"]["value"], "'linux'")
        self.assertEqual(host.ask("query 7 complete", "x = process.stdo")["data"]["names"], ["process.stdout"])
        self.assertIn("function", host.ask("query 8 complete", "funct")["data"]["names"])

    def test_s7_clear(self):
        host = self.start()
        self.ok(host, "let x = 1; function f() {}; async function g() { await 1 }; await 1; const y = 2; JSON = null; console = 3; 'x'", "'x'")
        self.assertEqual(host.ask("clear 1")["data"], {})
        self.assertEqual(host.ask("query 2 vars")["data"]["vars"], [])
        self.fails(host, "x", "ReferenceError")
        self.fails(host, "y", "ReferenceError")
        self.ok(host, "console.log(JSON.stringify([typeof f, typeof g]))", out='["undefined","undefined"]\n')
        self.ok(host, "const x = 5; x", "5")

    def test_what_user_code_breaks_it_breaks_for_itself(self):
        host = self.start()
        self.ok(host, "1", "1")
        for code in ("JSON.stringify = JSON.parse = null", "Array.prototype.push = Array.prototype.map = null",
                     "Promise.prototype.then = null", "Object.prototype.toJSON = () => { throw 1 }", "Object.defineProperty = Reflect.apply = null",
                     "Function.prototype.call = Function.prototype.apply = null", "String.prototype.split = String.prototype.slice = null",
                     "Array.prototype[Symbol.iterator] = null", "process.cwd = process.exit = process.on = process.listenerCount = null",
                     "globalThis.Buffer = globalThis.setImmediate = globalThis.queueMicrotask = undefined",
                     "Atomics.wait = Atomics.load = null", "globalThis.eval = null", "Error.prepareStackTrace = () => { throw 1 }",
                     "require('fs').writeSync = require('fs').readSync = null", "require('util').inspect = null",
                     "process.stdout = process.stderr = undefined", "fs.closeSync(1); fs.closeSync(2); fs.closeSync(0)"):
            self.assertEqual(host.eval(code + "; 0").status, "ok", code)
            self.ok(host, "6 * 7", "42")
            self.ok(host, "await 43", "43")
        self.assertEqual(host.eval("process.stdout.write('out')").out, "out")

    def test_js3_an_await_ends_whatever_user_code_has_broken(self):
        for code in ("Object.prototype.then = (f) => f(1)", "Object.defineProperty(Object.prototype, 'then', { get() { throw 1 } })"):
            host = self.start()
            host.eval(code)
            self.assertIn(host.eval("await 3").status, ("ok", "error"), code)
            self.ok(host, "delete Object.prototype.then", "true" if "=>" in code else "false")
        for code in ("require('vm').Script = null", "1; require('inspector').Session.prototype.post = null"):
            host = self.start()
            self.ok(host, "1", "1")
            host.eval(code)
            self.ok(host, "await 3", "3")

    def test_errors_in_later_ticks_are_told_and_survived(self):
        host = self.start()
        result = host.eval("await new Promise(r => setTimeout(() => { setImmediate(r); throw new Error('late') })); 5")
        self.assertEqual((result.status, result.value), ("ok", "5"))
        self.assertIn("Uncaught Error: late", result.err)
        result = host.eval("Promise.reject(new Error('nobody')); 6")
        self.assertEqual((result.status, result.value), ("ok", "6"))
        self.assertIn("Uncaught (in promise) Error: nobody", result.err)
        self.ok(host, "setTimeout(() => { throw new Error('between') }, 10); 7", "7")
        host.pump(host.idle, lambda event: event["ev"] == "background")
        self.assertIn("between", host.idle.events[-1]["text"])
        self.ok(host, "process.on('uncaughtException', e => globalThis.mine = e.message); 1", "1")
        self.ok(host, "await new Promise(r => setTimeout(() => { setImmediate(r); throw new Error('own') })); mine", "'own'")

    def test_s6_exit_ends_the_session_with_its_code(self):
        host = self.start()
        self.ok(host, "process.on('exit', code => console.log('bye', code)); 0", "0")
        result = host.submit("process.stdout.write('last '); process.exit(3)")
        code = host.wait_end(result)
        self.assertEqual((code, result.out), (3, "last bye 3\n"))
        self.assertEqual(result.event("exiting")["code"], 3)
        self.assertEqual(result.err, "")

    def test_exit_after_interrupts_and_awaits_says_nothing(self):
        host = self.start()
        self.interrupted(host, "await 1; for (;;) {}")
        self.ok(host, "process.exitCode = 4; 1", "1")
        host.send("exit")
        self.assertEqual((host.wait_end(host.idle), host.idle.err), (0, ""))

    def test_a_lost_host_ends_the_process_whatever_runs(self):
        host = self.start()
        result = host.submit("console.log('up'); for (;;) {}")
        host.pump_until_text(result, "up")
        host.control.close()
        self.assertEqual(host.process.wait(20), -signal.SIGKILL)

    def test_children_do_not_inherit_the_control_channel_and_forks_work(self):
        with tempfile.TemporaryDirectory() as cwd:
            with open(os.path.join(cwd, "child.js"), "w") as file:
                file.write("process.send([process.argv.length, process.execArgv.length, process.env.STEAD_BRIDGE_FD || 'none'])")
            host = self.start(cwd=cwd)
            self.ok(host, "await new Promise(r => require('child_process').fork('./child.js').on('message', r))", "[ 2, 0, 'none' ]")

    def test_st1_whatever_values_do_when_they_are_looked_at(self):
        host = self.start()
        self.ok(host, """const custom = require('util').inspect.custom;
const loops = { [custom]() { while (true) {} } }, throws = { [custom]() { throw new Error('no') } };
const prints = { [custom]() { console.log('printed'); process.stdout.write('part'); return 'P' } };
const guarded = new Proxy({ a: 1 }, { get() { throw 1 }, ownKeys() { throw 2 }, has() { throw 3 }, getPrototypeOf() { throw 4 }, getOwnPropertyDescriptor() { throw 5 } });
Object.defineProperty(globalThis, 'getter', { get() { while (true) {} }, configurable: true }); var last = 7; undefined""")
        data = host.ask("query 1 vars")["data"]
        values = {one["name"]: one["value"] for one in data["vars"]}
        self.assertEqual((values["loops"], values["prints"], values["last"], values["getter"], values["guarded"]),
                         ("<showing it takes too long>", "P", "7", "[accessor]", "{ a: 1 }"))
        self.assertIn("showing it threw Error: no", values["throws"])
        self.assertEqual([event["text"] for event in host.idle.events if event["ev"] == "background"], ["printed\n", "part"])
        self.assertEqual(host.ask("query 2 inspect", "loops")["data"]["value"], "<showing it takes too long>")
        self.assertEqual(host.ask("query 3 inspect", "getter")["data"]["value"], "[Getter]")
        self.assertIn("is a Proxy", host.ask("query 4 inspect", "guarded.a")["error"])
        self.assertIn("is an accessor", host.ask("query 5 inspect", "getter.x")["error"])
        self.assertEqual(host.ask("query 6 inspect", "guraded")["error"], "there is no name `guraded`; near: guarded")
        self.assertIn("near: log", host.ask("query 7 inspect", "console.lgo")["error"])
        self.assertIn("no name", host.ask("query 8 complete", "nope.x")["error"])
        self.ok(host, "1", "1")

    def test_s7_what_the_bridge_itself_has_yet_to_do_is_not_told_as_going_on(self):
        host = self.start()
        # After the eval has ended, Node is kept busy until the clear has come, before it does what the bridge has put off.
        busy = "const until = Date.now() + 300; while (Date.now() < until);"
        self.ok(host, "Promise.resolve().then(() => setImmediate(() => { %s })); undefined" % busy)
        self.assertNotIn("notice", host.ask("clear 1")["data"])

    def test_s7_clear_gives_back_console_and_streams_and_says_what_goes_on(self):
        host = self.start()
        self.ok(host, "console.log = null; process.stdout = { write() {} }; const timer = setInterval(() => {}, 1000); undefined")
        self.assertEqual(host.ask("clear 1")["data"], {"notice": "1 timer of earlier evals goes on"})
        self.ok(host, "console.log('on')", out="on\n")



if __name__ == "__main__":
    unittest.main()
