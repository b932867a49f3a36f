"""JS-1, JS-2: what an eval runs, shows and reports."""
import os
import tempfile
import unittest

from host import NodeTest


class Evals(NodeTest):
    def test_js2_an_expression_behind_a_class_or_function_has_its_value_shown(self):
        host = self.start()
        self.ok(host, "class A {} [4]", "[ 4 ]")
        self.ok(host, "class B extends (class {}) { f() { return {} } } `x`", "'x'")
        self.ok(host, "function f(a = {}) { return 1 } [5]", "[ 5 ]")
        for code in ("class C {}", "class D {};", "function g() {}", "function h() {};"):
            self.ok(host, code)

    def test_js3_a_package_that_is_not_there_is_named_without_frames_of_nodes(self):
        host = self.start()
        for code in ("import x from 'missing-pkg'", "await import('missing-pkg')"):
            result = host.eval(code)
            self.assertEqual(result.status, "error")
            self.assertIn("missing-pkg", result.traceback)
            self.assertNotIn("node:internal", result.traceback, code)

    def test_js3_frames_of_the_module_loader_do_not_hide_the_users_line(self):
        with tempfile.TemporaryDirectory() as there:
            for name, text in (("throws.js", "throw new TypeError('odd')"), ("asks.js", "\nrequire('missing-pkg')"), ("bad.js", "let let = 1"), ("ok.json", "{")):
                with open(os.path.join(there, name), "w") as file:
                    file.write(text)
            host = self.start(cwd=there)
            for code, at in (("require('missing-pkg')", "<js:1>:1:1"), ("const f = () => require('./none.js')\nf()", "f (<js:2>:1:17)"), ("require.resolve('none')", "<js:3>:1:9"),
                             ("require('node:none')", "<js:4>:1:1"), ("require(5)", "<js:5>:1:1"), ("[1].map(() => require('none'))", "<js:6>:1:15"), ("require('./bad.js')", None), ("require('./ok.json')", None),
                             ("require('./throws.js')", "Object.<anonymous> (%s/throws.js:1:7)" % os.path.realpath(there)),
                             ("require('./asks.js')", "Object.<anonymous> (%s/asks.js:2:1)" % os.path.realpath(there))):
                result = host.eval(code)
                self.assertEqual(result.status, "error")
                self.assertNotIn("node:internal", result.traceback, code)
                if at:
                    first = next(line for line in result.traceback.split("\n") if line.startswith("    at "))
                    self.assertEqual(first.removesuffix(" {"), "    at " + at, (code, result.traceback))

    def test_js1_every_kind_of_declaration_may_follow_every_other(self):
        host = self.start()
        kinds = ["let N = 1", "const N = 1", "class N {}", "function N() {}", "var N = 1", "async function N() {}",
                 "import N from 'fs'", "import * as N from 'fs'", "const { N } = { N: 2 }", "await 0; let N = 3"]
        for first in kinds:
            for second in kinds:
                self.ok(host, first.replace("N", "name"))
                self.ok(host, second.replace("N", "name"))
                self.assertEqual(host.eval("typeof name").status, "ok")

    def test_js1_a_let_without_a_value_is_undefined_again(self):
        host = self.start()
        self.ok(host, "let x = 5")
        self.ok(host, "let x\nString(x)", "'undefined'")

    def test_js1_a_constant_cannot_be_assigned(self):
        host = self.start()
        self.fails(host, "const c = 1; c = 2", "TypeError")
        self.ok(host, "c", "1")
        self.fails(host, "c++", "TypeError")
        self.ok(host, "let c = 3; c = 4; c", "4")

    def test_js1_functions_are_bound_late(self):
        host = self.start()
        self.ok(host, "function helper() { return 1 }\nfunction run() { return helper() }")
        self.ok(host, "function helper() { return 2 }")
        self.ok(host, "run()", "2")

    def test_js1_top_level_await_in_all_its_forms(self):
        host = self.start()
        self.ok(host, "await (async () => 6)()", "6")
        self.ok(host, "const v = await new Promise(r => setTimeout(r, 5, 7)); v", "7")
        self.ok(host, "let n = 0; for await (const x of [1, 2]) n += x\nn", "3")
        self.ok(host, "`${await Promise.resolve('t')}`", "'t'")
        self.ok(host, "var await_ = { await: 1 }; await_.await", "1")

    def test_js1_strict_code_lasts_too(self):
        host = self.start()
        self.ok(host, "'use strict'; let s = 1; function fs1() { return this }")
        self.ok(host, "[s, fs1()]", "[ 1, undefined ]")
        self.fails(host, "'use strict'; undeclared = 1", "ReferenceError")
        self.ok(host, "sloppy = 1", "1")

    def test_js1_imports(self):
        with tempfile.TemporaryDirectory() as cwd:
            files = {
                "esm.mjs": "export default 'd'; export const a = 1, b = 2; export { a as 'odd name' }",
                "side.mjs": "globalThis.side = 'effect'",
                "common.js": "module.exports = { c: 3 }",
                "data.json": '{"k": 9}',
                "node_modules/pkg/package.json": '{"name":"pkg","exports":{"import":"./i.mjs","require":"./r.cjs"}}',
                "node_modules/pkg/i.mjs": "export const how = 'import'",
                "node_modules/pkg/r.cjs": "exports.how = 'require'",
            }
            for name, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(cwd, name)), exist_ok=True)
                with open(os.path.join(cwd, name), "w") as file:
                    file.write(text)
            host = self.start(cwd=cwd)
            self.ok(host, "import d, { a as one, b } from './esm.mjs'\n[d, one, b]", "[ 'd', 1, 2 ]")
            self.ok(host, "import { 'odd name' as odd } from './esm.mjs'; odd", "1")
            self.ok(host, "import * as all from './esm.mjs'; Object.keys(all).length", "4")
            self.ok(host, "import d2, * as all2 from './esm.mjs'; d2 + all2.a", "'d1'")
            self.ok(host, "import './side.mjs'\nside", "'effect'")
            self.ok(host, "import common, { c } from './common.js'; [common.c, c]", "[ 3, 3 ]")
            self.ok(host, "import json from './data.json' with { type: 'json' }\njson.k", "9")
            self.ok(host, "import { how } from 'pkg'; [how, require('pkg').how]", "[ 'import', 'require' ]")
            self.ok(host, "(await import('./esm.mjs')).a", "1")
            self.ok(host, "(() => import('./esm.mjs'))().then(m => m.b)", "2")
            self.ok(host, "require('./common').c", "3")
            self.ok(host, "used(); import { a as used1 } from './esm.mjs'; function used() { return used1 }")
            self.fails(host, "import { nothing } from './esm.mjs'", "SyntaxError")
            self.ok(host, "typeof nothing", "'undefined'")
            self.fails(host, "import x from './none.mjs'", "Error")
            result = self.fails(host, "1\nexport const e = 1", "SyntaxError")
            self.assertIn("<js:%d>:2" % host.count, result.traceback)
            self.assertEqual(host.eval("import.meta.dirname").value, repr(os.path.realpath(cwd)))

    def test_js1_a_script_finds_itself_the_main_module(self):
        host = self.start()
        for _ in range(3):
            self.ok(host, "[typeof module, typeof exports, require.main === module, typeof __filename]", "[ 'object', 'object', true, 'undefined' ]")

    def test_js1_odd_sources(self):
        host = self.start()
        self.ok(host, "#!/usr/bin/env node\n1 + 1", "2")
        self.ok(host, "#!/usr/bin/env node\nawait 1 + 1", "2")
        self.ok(host, "\ufeff3", "3")
        self.ok(host, "4 //# sourceURL=mine.js", "4")
        self.ok(host, "var a1 = 8, b1 = 2, g = 2; a1 /b1/ g", "2")
        self.ok(host, "'" + "x" * (1 << 20) + "'.length", str(1 << 20))
        self.ok(host, "const big = [" + "1," * 200_000 + "]\nbig.length", "200000")
        self.fails(host, "'\0", "SyntaxError")
        self.ok(host, "'\0'.length", "1")
        self.ok(host, "'\\ud800'", "'\\ud800'")
        # What only looks like an object with more behind it is no code at all, and runs nothing.
        self.fails(host, '{ a: 1 }); console.log("ran"', "SyntaxError")
        self.ok(host, "({ a: 1 }).a", "1")
        self.ok(host, "{ a: 1, b: 2 }", "{ a: 1, b: 2 }")
        self.ok(host, "{ a: await 3 }", "{ a: 3 }")
        self.ok(host, "{ let inner = 4; var outer = inner }")
        self.ok(host, "outer", "4")
        self.ok(host, "label: for (;;) { break label }")

    def test_js2_values(self):
        host = self.start()
        self.ok(host, "[1, { a: 'b' }, new Map([[1, new Set([2])]])]", "[ 1, { a: 'b' }, Map(1) { 1 => Set(1) { 2 } } ]")
        self.ok(host, "undefined")
        self.ok(host, "null", "null")
        self.ok(host, "-0", "-0")
        self.ok(host, "10n ** 3n", "1000n")
        self.ok(host, "Symbol('s')", "Symbol(s)")
        self.ok(host, "Promise.resolve(5)", "5")
        self.ok(host, "Promise.resolve()")
        self.ok(host, "for (const x of [1, 2]) x")
        self.ok(host, "({ get boom() { throw 1 } })", "{ boom: [Getter] }")
        types = {"1": "number", "class A {}; A": "class", "() => 1": "function", "new (class Own {})": "Own",
                 "Object.create(null)": "Object", "null": "null", "new Uint8Array(2)": "Uint8Array", "new Proxy({}, {})": "Proxy"}
        for code, name in types.items():
            self.assertEqual(host.eval(code).event("value")["type"], name, code)

    def test_js2_a_value_is_bounded_whatever_it_is(self):
        host = self.start()
        for code in ["'é'.repeat(50e6)", "await '漢'.repeat(30e6)", "Array(10e6).fill(1)", "Array.from({ length: 1000 }, () => ({ a: 'x'.repeat(1000) }))",
                     "Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => ['k' + n, 'v'.repeat(50)]))",
                     "[[Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => ['k' + n, n]))]]",
                     "new Map(Array.from({ length: 1e6 }, (_, n) => [n, n]))", "Buffer.alloc(50e6)", "10n ** 100_000n",
                     "var deep = {}; var at = deep; for (let i = 0; i < 1e5; i++) at = at.next = {}; deep",
                     "const round = {}; round.self = round; round"]:
            result = host.eval(code)
            self.assertEqual(result.status, "ok", code)
            self.assertLessEqual(len(result.value), 2100, code)
        self.assertIn("(50000000 characters)", host.eval("'é'.repeat(50e6)").value)
        self.assertIn("more", host.eval("Array(10e6).fill(1)").value)
        self.assertIn("more", host.eval("Object.fromEntries(Array.from({ length: 9999 }, (_, n) => ['k' + n, n]))").value)

    def test_js2_what_cannot_be_shown_is_said(self):
        host = self.start()
        result = host.eval("({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('broken') } })")
        self.assertEqual(result.status, "ok")
        self.assertIn("broken", result.value)
        self.assertEqual(host.eval("new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })").status, "ok")
        self.ok(host, "1", "1")

    def test_js2_errors(self):
        host = self.start()
        result = self.fails(host, "function f() { throw new TypeError('in f') }\n\nf()", "TypeError")
        self.assertEqual(result.traceback, "TypeError: in f\n    at f (<js:1>:1:22)\n    at <js:1>:3:1")
        result = self.fails(host, "f()", "TypeError")
        self.assertEqual(result.traceback, "TypeError: in f\n    at f (<js:1>:1:22)\n    at <js:2>:1:1")
        result = self.fails(host, "await 1; await (async () => { f() })()", "TypeError")
        self.assertIn("at f (<js:1>:1:22)", result.traceback)
        self.assertNotIn("node:", result.traceback)
        self.fails(host, "new Promise((_, no) => setTimeout(no, 5, new RangeError('later')))", "RangeError")
        result = self.fails(host, "throw new AggregateError([new Error('one'), new Error('two')], 'both')", "AggregateError")
        for part in ("both", "one", "two"):
            self.assertIn(part, result.traceback)
        result = host.eval("throw 3")
        self.assertEqual((result.status, result.error, result.event("error")["message"]), ("error", "number", "3"))
        self.assertEqual(host.eval("throw null").error, "null")
        self.assertEqual(host.eval("throw { code: 7 }").error, "Object")
        self.ok(host, "try { f() } catch (e) { e.stack.split('\\n').length }", "3")
        self.fails(host, "JSON.parse('{')", "SyntaxError")
        self.assertNotIn("^", host.eval("JSON.parse('{')").traceback)

    def test_js2_a_syntax_error_runs_nothing_and_names_its_place(self):
        host = self.start()
        for code in ("console.log(1)\nlet x = 1\nx = = 2", "console.log(1)\nawait 1\nx = = 2", "console.log(1)\n'use strict'\nx = = 2"):
            result = self.fails(host, code, "SyntaxError")
            self.assertEqual(result.out, "")
            self.assertEqual(result.traceback.split("\n")[:3], ["<js:%d>:3" % host.count, "x = = 2", "    ^"])
        result = self.fails(host, "await y; x = = 2", "SyntaxError")
        self.assertEqual(result.traceback.split("\n")[2], " " * 13 + "^")
        self.fails(host, "if (1) { await 1", "SyntaxError")
        self.fails(host, "`unterminated", "SyntaxError")
        self.fails(host, "return 1", "SyntaxError")

    def test_j2_what_the_last_eval_leaves_to_be_done_is_part_of_it(self):
        leaves = "process.on('exit', (code) => console.log('exit', code)); process.once('beforeExit', () => setTimeout(() => console.log('more'), 5)); setTimeout(() => console.log('timer'), 50); console.log('first'); "
        for code, status, value, out in ((leaves + "6 * 7", "ok", "42", "first\ntimer\nmore\nexit 0\n"), (leaves + "await 1; 6 * 7", "ok", "42", "first\ntimer\nmore\nexit 0\n"),
                                         (leaves + "throw new Error('x')", "error", None, "first\nexit 1\n"), ("5", "ok", "5", ""), ("process.on('exit', () => { throw new Error('x') })\n1", "error", None, "")):
            host = self.start()
            host.send("last")
            result = host.eval(code)
            self.assertEqual((result.status, result.value, result.out), (status, value, out), result.events)
            if status == "ok":
                self.assertEqual(host.process.wait(20), 0)
        host = self.start()
        host.send("last")
        result = host.submit("console.log('up'); setInterval(() => {}, 1000)\n1")
        host.pump_until_text(result, "up")
        host.interrupt()
        self.assertEqual(host.finish(result).status, "interrupted")
        host = self.start()
        host.send("last")
        result = host.submit("setTimeout(() => process.exit(4), 5)\n1")
        self.assertEqual(host.wait_end(result), 4)

    def test_j2_an_error_that_nobody_catches_ends_the_last_eval(self):
        before = "process.on('exit', (code) => console.log('exit', code)); setTimeout(() => console.log('later'), 30_000); "
        for code, name in (("setTimeout(() => { throw new RangeError('x') }, 1); 1", "RangeError"), ("Promise.reject(new RangeError('x')); 1", "RangeError"), ("await 1; Promise.reject(new RangeError('x')); 1", "RangeError"),
                           ("await new Promise(() => { setTimeout(() => { throw 5 }, 1) })", "number"), ("process.once('beforeExit', () => { throw new RangeError('x') }); clearTimeout(last)", "RangeError")):
            host = self.start()
            host.send("last")
            result = self.fails(host, before.replace("setTimeout", "const last = setTimeout") + code, name)
            self.assertEqual((result.out, result.err, result.value), ("exit 1\n", "", None), code)
            self.assertEqual(host.process.wait(20), 1)
        for event, code in (("uncaughtException", "setTimeout(() => { throw new RangeError('x') }, 1)"), ("unhandledRejection", "Promise.reject(new RangeError('x'))")):
            host = self.start()
            host.send("last")
            self.ok(host, "process.on('%s', (error) => console.log('own', error.message)); setTimeout(() => console.log('later'), 20); %s; 1" % (event, code), "1", out="own x\nlater\n")

    def test_j2_the_last_eval_has_the_exit_code_that_was_set(self):
        for code, out in (("process.exitCode = 3", ""), ("process.on('exit', (code) => { console.log('exit', code); process.exitCode = 3 }); 1", "exit 0\n"), ("setTimeout(() => { process.exitCode = 3 }, 1); await 1", "")):
            host = self.start()
            host.send("last")
            result = host.submit(code)
            self.assertEqual((host.wait_end(result), result.event("exiting")["code"], result.out), (3, 3, out), code)

    def test_js2_lines_and_columns_are_those_of_the_users_code(self):
        host = self.start()
        for code, *places in (
                ("class A { m() { null.x } }\nnew A().m()", "1:22", "2:9"), ("class B { m() { null.x } } new B().m()", "1:22", "1:36"), ("let a, b; null.x", "1:16"), ("let c\nlet d; null.x", "2:13"),
                ("const e = 1; null.x", "1:19"), ("e = 2", "1:3"), ("let f; e += 1", "1:10"), ("await 1; class D {} null.x", "1:26"), ("let g; await (async () => { null.x })()", "1:34", "1:38"),
                ("import fs from 'fs'; null.x", "1:27"), ("import {\n readFile,\n} from 'fs'; null.x", "3:19"), ("import path from 'path'\nimport { none } from 'fs'\n1", "2:1"), ("class F { static x = null.x }", "1:27", "1:1"),
                ("{ a: null.x }", "1:11"), ("{ a: 1,\n b: null.x }", "2:10"), ("'use strict'; let i; null.x", "1:27"), ("let j; class K {} let l; null.x", "1:31"), ("import.meta.url; null.x", "1:23"),
                ("let m\r\nlet n; null.x", "2:13"), ("`\n${1}`; let o; null.x", "2:20")):
            result = host.eval(code)
            self.assertEqual(result.status, "error", code)
            frames = [line.rpartition("<js:%d>:" % host.count)[2].rstrip(")") for line in result.traceback.split("\n")[1:]]
            self.assertEqual(frames, list(places), (code, result.traceback))
            self.assertNotIn("void 0", result.traceback)
        # A function of an earlier eval, in a timer, and by the user's own look at the stack.
        self.ok(host, "let p; function late() { return new Error('x').stack.split('\\n')[1].trim() }")
        self.ok(host, "let q; late()", "'at late (<js:%d>:1:33)'" % host.count)
        result = host.eval("let r; setTimeout(() => { null.x }, 1); await new Promise((go) => setTimeout(go, 50))")
        self.assertIn("<js:%d>:1:32" % host.count, result.err)

    def test_js2_the_caret_of_a_syntax_error_stands_below_its_place(self):
        host = self.start()
        for code in ("let a; x = = 2", "class E {} x = = 2", "await 1; let y; x = = 2", "import fs from 'fs'; x = = 2", "let process; let r; x = = 2", "let b\nclass F {} let c; x = = 2", "import {\n readFile\n} from 'fs'; x = = 2",
                     "'use strict'; let d; x = = 2", "#!/usr/bin/node\nlet d; x = = 2"):
            _, shown, caret = self.fails(host, code, "SyntaxError").traceback.split("\n")[:3]
            self.assertEqual((shown, len(caret)), (code.split("\n")[-1], len(shown) - 2), code)

    def test_a_failed_eval_leaves_no_name_that_it_did_not_set(self):
        host = self.start()
        result = self.fails(host, "let before = 1; throw new Error('x'); let after = 2", "Error")
        self.assertEqual([name["name"] for name in result.changed["added"]], ["before"])
        self.ok(host, "typeof after", "'undefined'")


if __name__ == "__main__":
    unittest.main()
