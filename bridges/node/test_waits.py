"""JS-3: what an interrupted eval awaited is there for others, and an await is Node's own in all else."""
import subprocess
import unittest

from host import NODE, NodeTest


class Waits(NodeTest):
    def interrupted(self, host, code):
        result = host.submit("console.log('up'); " * ("'up'" not in code) + code)
        host.pump_until_text(result, "up\n")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted", code)
        return result

    # Each way to wait for `p`; the first three with nothing of the user's own in between.
    PLAIN = ["await p; ran = 1", "p", "const x = [await p]; ran = 1"]
    NESTED = ["await (async () => { await p; ran = 1 })()", "(async () => { await p; ran = 1 })()", "await p.then(() => { ran = 1 })", "await Promise.all([p, 1]); ran = 1", "for await (const one of [p]) ran = 1"]

    def test_js3_what_an_interrupted_eval_awaited_can_be_awaited_again(self):
        host = self.start()
        for code in self.PLAIN + self.NESTED:
            self.ok(host, "let ran = 0, settle; const p = new Promise((done) => { settle = done }); undefined")
            self.interrupted(host, code)
            self.ok(host, "setTimeout(settle, 1, 42); await p", "42")
            self.ok(host, "await p", "42")
            self.ok(host, "setTimeout(() => {}, 1); ran", "0")

    def test_js3_a_promise_as_the_last_value_can_be_interrupted_and_awaited_again(self):
        host = self.start()
        for code in self.PLAIN + self.NESTED:
            self.ok(host, "let ran = 0, settle; const p = new Promise((done) => { settle = done }); undefined")
            self.interrupted(host, code)
            self.ok(host, "setTimeout(settle, 1, 42); p", "42")

    def test_js3_background_code_goes_on_when_an_interrupted_eval_awaited_the_same(self):
        host = self.start()
        for code in self.PLAIN:
            self.ok(host, "let ran = 0, settle; const p = new Promise((done) => { settle = done }); undefined")
            self.interrupted(host, code)
            self.ok(host, "let steps = 0; const service = (async () => { await p; steps++; await p; steps++ })(); undefined")
            self.interrupted(host, code)
            self.ok(host, "setTimeout(settle, 1); await service; steps", "2")
            self.ok(host, "ran", "0")

    def test_js3_a_deferred_promise_settled_by_code_can_be_awaited(self):
        host = self.start()
        for code in self.PLAIN + self.NESTED:
            self.ok(host, "let ran = 0, settle; const p = new Promise((done) => { settle = done }); undefined")
            self.interrupted(host, code)
            self.ok(host, "settle(5); await p", "5")
            self.ok(host, "await new Promise((go) => setImmediate(go)); ran", "0")

    def test_js3_the_end_of_a_worker_or_child_can_be_awaited_again(self):
        host = self.start()
        starts = ["new (require('worker_threads').Worker)('require(\"worker_threads\").parentPort.once(\"message\", () => {})', { eval: true })",
                  "require('child_process').spawn('cat', { stdio: ['pipe', 'inherit', 'inherit'] })"]
        for start, stop in zip(starts, ("one.postMessage(1)", "one.stdin.end()")):
            self.ok(host, "const one = %s; const ended = new Promise((done) => one.on('exit', done)); undefined" % start)
            self.interrupted(host, "await ended")
            self.ok(host, stop + "; await ended", "0")

    def test_js3_a_rejection_of_what_was_abandoned_is_not_told(self):
        host = self.start()
        for code in self.PLAIN:
            self.ok(host, "let fail; const p = new Promise((_, no) => { fail = no }); undefined")
            self.interrupted(host, code)
            result = host.eval("fail(new Error('late')); await new Promise((go) => setTimeout(go, 1)); 1")
            self.assertEqual((result.value, result.err), ("1", ""))

    def test_js3_each_abandoned_await_of_a_loop_is_let_go(self):
        host = self.start()
        self.ok(host, "let n = 0, settle; undefined")
        self.interrupted(host, "for (;;) { n++; await new Promise((done) => { settle = done; if (n < 1000) setImmediate(done); else console.log('up') }); }")
        self.ok(host, "settle(); await 1; n", "1000")

    def test_js2_frames_that_await_are_in_stack_traces(self):
        host = self.start()
        self.ok(host, "async function slow() { await new Promise((go) => setTimeout(go, 1)); null.x }\nasync function outer() { await slow() }")
        for code, column in (("await outer()", 1), ("let a; [1, await outer()]", 12), ("await await outer()", 7), ("f(await outer()); function f() {}", 3)):
            trace = self.fails(host, code, "TypeError").traceback.split("\n")
            self.assertEqual(trace[1:], ["    at slow (<js:1>:1:76)", "    at async outer (<js:1>:2:26)", "    at async <js:%d>:1:%d" % (host.count, column)], code)

    def test_js1_awaits_of_settled_promises_come_in_nodes_order(self):
        host = self.start()
        turns = "const order = [], tell = (what) => () => { order.push(what) }; Promise.resolve().then(tell(1)).then(tell(2)).then(tell(3)).then(tell(4)).then(tell(5)); "
        for code in ("await null", "await Promise.resolve()", "await {}", "await (async () => {})()", "await null; order.push('a'); await Promise.resolve(); order.push('b'); await 1",
                     "try { await Promise.reject(1) } catch {}", "const p = Promise.resolve(); order.push(await p.then === p.then); await p"):
            whole = turns + code + "; order.push('end'); "
            plain = subprocess.run([NODE, "--input-type=module", "-e", whole + "setImmediate(() => console.log(order.join()))"], capture_output=True, text=True, check=True).stdout.strip()
            self.assertEqual(host.eval(whole + "await new Promise((go) => setImmediate(go)); order.join()").value, "'%s'" % plain, code)

    def test_js1_an_await_takes_what_node_takes(self):
        host = self.start()
        self.ok(host, "class Sub extends Promise { then(...both) { seen++; return super.then(...both) } } let seen = 0; [await new Sub((go) => setTimeout(go, 1, 4)), seen]", "[ 4, 1 ]")
        self.ok(host, "await { then(done) { setTimeout(done, 1, 5) } }", "5")
        self.ok(host, "Promise = null; await (async () => 6)()", "6")
        self.ok(host, "const odd = (async () => 7)(); Object.defineProperty(odd, Symbol.toStringTag, { get() { throw 1 } }); await odd", "7")
        self.fails(host, "await { get then() { throw new RangeError('x') } }", "RangeError")
        self.fails(host, "await new this.Sub((_, no) => setTimeout(no, 1, new RangeError('x')))", "RangeError")

    def test_st1_the_helper_is_no_name_of_the_users(self):
        host = self.start()
        self.ok(host, "await 1; async function f() { await g() } const g = async () => await f.length; await g(); [f, g].join().includes('stead')", "false")
        self.ok(host, "Object.keys(globalThis).filter((name) => name.includes('stead'))", "[]")
        self.assertEqual(host.ask("query 1 complete", "stead")["data"]["names"], [])
        self.assertNotIn("near", host.ask("query 2 inspect", "stead$wai")["error"])


if __name__ == "__main__":
    unittest.main()
