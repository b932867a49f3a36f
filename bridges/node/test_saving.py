"""Save and load: what a session has comes back in another process, as what it was, or is named."""
import json
import os
import resource
import subprocess
import tempfile

from host import NodeTest, driver

VALUES = r"""
let number = 1.5, minus = -0, nan = NaN, text = 'größe \u0000 \ud83d\ude00', big = 12345678901234567890n, yes = true, nothing = null, none = undefined;
const list = [1, , 'x', [2]]; list.extra = 'e';
const plain = { a: 1, 'b c': { d: [1, 2] }, ['__proto__x']: 2 };
const map = new Map([[plain, 'p'], ['k', new Map()]]), set = new Set([plain, 1]);
const date = new Date(86400000), bad = new Date(NaN), re = /a(?<n>b)/giu; re.lastIndex = 2;
const typed = new Float64Array([1, 2, 3]), bytes = new Uint8Array(typed.buffer), part = new Int16Array(typed.buffer, 8, 2), view = new DataView(typed.buffer), memory = new ArrayBuffer(4), over = new Uint8Array(memory);
const buffer = Buffer.from('hello'), large = Buffer.alloc(100000, 7);
const error = new RangeError('far', { cause: { why: 1 } }); error.code = 'E_FAR';
const many = new AggregateError([new Error('one')], 'all');
const bare = Object.assign(Object.create(null), { q: 1 }), frozen = Object.freeze({ z: [1] }), sealed = Object.seal([1, 2]), closed = Object.preventExtensions({ n: 1 });
const hidden = Object.defineProperty({ seen: 1 }, 'unseen', { value: 2 });
const cyclic = { name: 'c' }; cyclic.self = cyclic; cyclic.list = [cyclic, plain];
const child = Object.create(plain, { own: { value: 1, enumerable: true, writable: true, configurable: true } });
const boxed = [new Number(1), new String('s'), new Boolean(false), Object(1n)];
var old = 'var'; const FIXED = 'const';
"""
CHECKS = r"""
const assert = require('assert');
assert.deepStrictEqual([number, nan, text, big, yes, nothing, none], [1.5, NaN, 'größe \u0000 \ud83d\ude00', 12345678901234567890n, true, null, undefined]);
assert(Object.is(minus, -0)); assert(!(1 in list) && list.length === 4 && list.extra === 'e' && list[3][0] === 2 && Array.isArray(list));
assert(map.get(plain) === 'p' && set.has(plain) && map.get('k') instanceof Map && plain['b c'].d[1] === 2 && plain['__proto__x'] === 2);
assert(+date === 86400000 && isNaN(bad) && re.source === 'a(?<n>b)' && re.flags === 'giu' && re.lastIndex === 2 && re instanceof RegExp);
assert(bytes.buffer === typed.buffer && part.buffer === typed.buffer && part.byteOffset === 8 && part.length === 2 && view.buffer === typed.buffer && view instanceof DataView && typed[2] === 3);
assert(over.buffer === memory && memory.byteLength === 4);
assert(Buffer.isBuffer(buffer) && String(buffer) === 'hello' && buffer.buffer.byteLength < 1000 && Buffer.isBuffer(large) && large[99999] === 7);
assert(error instanceof RangeError && error.message === 'far' && error.cause.why === 1 && error.code === 'E_FAR' && /far/.test(error.stack));
assert(many instanceof AggregateError && many.errors[0].message === 'one');
assert(Object.getPrototypeOf(bare) === null && bare.q === 1 && Object.isFrozen(frozen) && !Object.isFrozen(frozen.z) && Object.isSealed(sealed) && !Object.isExtensible(closed) && !Object.isSealed(closed));
assert(hidden.unseen === 2 && Object.keys(hidden).length === 1); assert(cyclic.self === cyclic && cyclic.list[0] === cyclic && cyclic.list[1] === plain);
assert(Object.getPrototypeOf(child) === plain && child.a === 1 && child.own === 1);
assert(boxed[0] instanceof Number && boxed[1] instanceof String && boxed[2].valueOf() === false && typeof boxed[3].valueOf() === 'bigint');
old = 'changed'; 1
"""
CODE = r"""
function twice(x) { return x * 2 }
async function later(x) { await null; return twice(x) }
function* count(n) { for (let i = 0; i < n; i++) yield i }
const add = (a, b) => a + b + OFFSET, OFFSET = 10;
const named = function inner(n) { return n ? n * inner(n - 1) : 1 };
twice.calls = { n: 3 };
class Point { static made = 0; constructor(x, y) { this.x = x; this.y = y; Point.made++ } get sum() { return this.x + this.y } static origin() { return new Point(0, 0) } }
class Named extends Point { constructor(n, ...rest) { super(...rest); this.n = n } toString() { return this.n + super.sum } }
class Fault extends TypeError { constructor(m, code) { super(m); this.code = code } get name() { return 'Fault' } }
class Bag extends Map { total() { let t = 0; for (const v of this.values()) t += v; return t } }
class Stack extends Array { top() { return this[this.length - 1] } }
const also = Point;
const p = new Point(1, 2), q = new Named('q', 3, 4), pair = { p, q, both: [p, q] }, fault = new Fault('bad', 7), bag = new Bag([['a', 2], ['b', 3]]), stack = Stack.from([1, 2, 3]);
bag.owner = p;
Point.first = p;
function Old(v) { this.v = v } Old.prototype.get = function () { return this.v };
const fs2 = require('fs'), { join } = require('path'), log = console.log, M = Math, max = Math.max;
"""


class Saving(NodeTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.file = os.path.join(self.folder, "a.stead")

    def report(self, result):
        self.assertEqual((result.status, result.out, result.err), ("ok", "", ""), result.events)
        return result.event("report")["data"]

    def save(self, host, *names, path=None, force=""):
        return self.report(self.work(host, "save", path or self.file, force, *names))

    def load(self, host, path=None):
        return self.report(self.work(host, "load", path or self.file))

    def refused(self, result, name, words):
        self.assertEqual((result.status, result.error), ("error", name), result.events)
        self.assertIn(words, result.event("error")["message"])

    def why(self, host, code, *names):
        """Why each name that the code makes is not saved."""
        self.assertEqual(host.eval(code).status, "ok", code)
        report = self.save(host, "anchor", *names)
        self.assertEqual(report["saved"], ["anchor"])
        return {one["name"]: one["why"] for one in report["failed"]}

    def test_st2_values_come_back_with_identity(self):
        host, fresh = self.start(), self.start()
        self.ok(host, VALUES)
        report = self.save(host)
        self.assertEqual(report["failed"], [])
        self.assertEqual((report["bytes"], os.stat(self.file).st_mode & 0o777), (os.path.getsize(self.file), 0o600))
        loaded = self.load(fresh)
        self.assertEqual((sorted(loaded["loaded"]), loaded["failed"], loaded["warnings"]), (sorted(report["saved"]), [], []))
        self.ok(fresh, CHECKS, "1")
        self.fails(fresh, "FIXED = 1", "TypeError")
        with open(self.file, "rb") as file:
            data = file.read()
        _, start, length = data[-51:].split()
        manifest = json.loads(data[int(start):int(start) + int(length)].decode())
        self.assertEqual((manifest["format"], manifest["language"], manifest["session"], len(manifest["names"])), (1, "node", "js", report["count"]))
        self.assertIn({"name": "typed", "type": "Float64Array", "size": "3", "value": "Float64Array(3) [ 1, 2, 3 ]"}, manifest["names"])

    def test_st2_functions_classes_and_modules_come_back(self):
        host, fresh = self.start(), self.start()
        self.ok(host, CODE)
        report = self.save(host)
        self.assertEqual(report["failed"], [])
        loaded = self.load(fresh)
        self.assertEqual(loaded["failed"], [])
        self.ok(fresh, r"""
            const assert = require('assert');
            assert(twice(4) === 8 && twice.calls.n === 3 && add(1, 2) === 13 && named(4) === 24 && named.name === 'inner' && add.name === 'add');
            assert.deepStrictEqual([...count(3)], [0, 1, 2]); assert(await later(5) === 10);
            assert(p instanceof Point && p.sum === 3 && q instanceof Named && String(q) === 'q7' && pair.both[0] === p && pair.q === q);
            assert(Point.made === 2 && Point.first === p && also === Point && Point.origin().sum === 0 && Named.prototype instanceof Point);
            assert(fault instanceof Fault && fault instanceof TypeError && fault.code === 7 && fault.name === 'Fault' && fault.message === 'bad');
            assert(bag instanceof Bag && bag.total() === 5 && bag.owner === p && stack instanceof Stack && stack.top() === 3 && stack.length === 3);
            assert(fs2 === require('fs') && join === require('path').join && log === console.log && M === Math && max === Math.max);
            1""", "1")
        self.ok(fresh, "function twice() { return 'new' }")
        self.ok(fresh, "later(1)", "'new'")
        # What was loaded can be saved again.
        again = self.save(fresh, *report["saved"])
        self.assertEqual(again["failed"], [])

    def test_st2_what_was_changed_after_the_definition_comes_back(self):
        host, fresh = self.start(), self.start()
        self.ok(host, r"""
            class P { a() { return 1 } b() { return 1 } get g() { return 1 } static s() { return 1 } static t = 5; gone() {} [Symbol.iterator]() { return [1].values() } }
            function named() { return 'named' }
            P.prototype.a = function () { return 2 }; P.prototype.c = () => 3; P.prototype.n = named; Object.assign(P.prototype, { m() { return 4 }, async am() { return 5 } });
            Object.defineProperty(P.prototype, 'g', { get() { return 6 }, set: function (x) { this.got = x }, configurable: true }); P.s = console.log; P.u = require('path').join;
            delete P.prototype.gone; delete P.t; P.prototype[Symbol.toPrimitive] = function () { return 7 }; P.prototype[Symbol.for('reg')] = function () { return 8 };
            P.prototype.alias = P.prototype.b;
            Object.defineProperty(P, 'name', { value: 'Other' });
            const p = new P();
            function A(x) { this.x = x } A.prototype.get = function () { return this.x }; A.make = function (x) { return new A(x) };
            function B(x) { A.call(this, x) } B.prototype = Object.create(A.prototype); B.prototype.constructor = B; B.prototype.twice = function () { return this.get() * 2 };
            function C(x) { A.call(this, x) } Object.setPrototypeOf(C.prototype, A.prototype); Object.setPrototypeOf(C, A);
            function D() {} D.prototype = { d() { return 'd' } };
            function E() {} E.prototype = Object.create(Array.prototype, { constructor: { value: E, writable: true, configurable: true } }); Object.freeze(D.prototype);
            const b = new B(3), c = new C(4), d = new D(), e = new E();
            class Q extends P { q() { return super.b() } } const q = new Q();
            1""", "1")
        self.assertEqual(self.save(host)["failed"], [])
        check = r"""
            require('assert'); const ok = require('assert');
            ok(p.a() === 2 && p.b() === 1 && p.c() === 3 && p.n === named && p.m() === 4 && await p.am() === 5 && p.g === 6 && P.s === console.log && P.u === require('path').join);
            p.g = 9; ok(p.got === 9 && !('gone' in p) && !('t' in P) && +p === 7 && p[Symbol.for('reg')]() === 8 && [...p][0] === 1 && p.alias() === 1 && P.name === 'Other' && p.m.name === 'm' && p.c.name === '' && p.alias === p.b);
            ok(b instanceof B && b instanceof A && b.twice() === 6 && c.get() === 4 && C.make(5).x === 5 && b.constructor === B && d.d() === 'd' && Object.isFrozen(D.prototype) && d.constructor === Object);
            ok(e instanceof E && e instanceof Array && q.q() === 1 && q.a() === 2 && Object.getPrototypeOf(C) === A); delete p.got; 1"""
        self.ok(host, check, "1")
        for _ in range(2):
            loaded = self.load(fresh)
            self.assertEqual((loaded["failed"], loaded["warnings"]), ([], []))
            self.ok(fresh, check.replace("const ok", "var ok"), "1")
            self.assertEqual(self.save(fresh, "p", "P", "named", "A", "B", "C", "D", "E", "b", "c", "d", "e", "Q", "q")["failed"], [])
            fresh = self.start()

    def test_st2_what_cannot_come_back_as_it_was_changed_is_refused_by_name(self):
        host = self.start()
        self.ok(host, "let anchor = 1")
        for code, name, words in (
            ("class A { f() {} } { let n = 0; A.prototype.f = () => ++n }", "A", "its `prototype.f`, which was set after the definition, cannot be saved: it uses variables of the function or block"),
            ("class B {} B.prototype[Symbol('own')] = 1", "B", "a property whose key is a symbol"),
            ("class C {} C[Symbol.for('x')] = {}", "C", "a property whose key is a symbol"),
            ("class D {} D.f = (function () {}).bind(1)", "D", "its `f`, which was set after the definition, cannot be saved: it is a bound function"),
            ("class E {} Object.setPrototypeOf(E.prototype, { x: 1 })", "E", "its prototype was changed after the definition"),
            ("function F() {} F.prototype = Object.create({ x: 1 }); F.prototype.constructor = F", "F", "its prototype inherits from an object that is no prototype"),
        ):
            with self.subTest(code):
                self.assertIn(words, self.why(host, code + "; 1", name)[name])

    def test_st2_errors_boxed_values_and_long_lists_come_back_as_they_were(self):
        host, fresh = self.start(), self.start()
        self.ok(host, r"""
            const named = Object.assign(new Error('m'), { name: 'TypeError' }), own = Object.assign(new TypeError('m'), { name: 'Mine' }), odd = new Error(); odd.message = { a: 1 };
            const box = Object.assign(new String('abc'), { tag: 1 }), num = Object.assign(new Number(5), { unit: 'm' }), cold = Object.freeze(new Boolean(true));
            const sparse = []; sparse[4294967294 - 1] = { x: 1 }; sparse[5] = 2; const wide = new Array(4294967295), holes = new Array(200000); holes[7] = [1];
            const dense = Array.from({ length: 200000 }, (_, n) => n); dense[199999] = sparse[4294967293]; const proto = JSON.parse('{"__proto__": 1, "a": 2}'); 1""", "1")
        self.assertEqual(self.save(host)["failed"], [])
        self.assertEqual(self.load(fresh)["failed"], [])
        self.ok(fresh, r"""
            const ok = require('assert'), of = Object.getPrototypeOf;
            ok(of(named) === Error.prototype && named.name === 'TypeError' && of(own) === TypeError.prototype && own.name === 'Mine' && odd.message.a === 1);
            ok(box.tag === 1 && String(box) === 'abc' && box.length === 3 && num.unit === 'm' && +num === 5 && Object.isFrozen(cold));
            ok(sparse.length === 4294967294 && sparse[5] === 2 && sparse[4294967293] === dense[199999] && Object.keys(sparse).length === 2 && wide.length === 4294967295 && !(0 in wide) && holes[7][0] === 1 && !(0 in holes) && holes.length === 200000);
            ok(Object.keys(proto).join() === '__proto__,a' && of(proto) === Object.prototype); 1""", "1")

    def test_st2_what_would_come_back_as_something_else_is_refused_by_name(self):
        host = self.start()
        self.ok(host, "let anchor = 1")
        reasons = {
            "sym = Symbol('s')": "a symbol", "inside = { deep: [Symbol('s')] }": "it holds, at `.deep[0]`, a symbol", "pr = Promise.resolve(1)": "a promise", "wm = new WeakMap()": "a WeakMap",
            "gen = (function* () { yield 1 })()": "a generator", "prox = new Proxy({}, {})": "Proxy", "counter = (() => { let hits = 0; return () => ++hits })()": "variables of the function or block that it was made in: `hits`",
            "holder = { fn() {} }": "it holds, at `.fn`, a function", "bound = (function () {}).bind(1)": "a bound function", "getter = { get x() { throw 1 } }": "a getter or setter, `x`",
            "keyed = { [Symbol('k')]: 1 }": "a property whose key is a symbol", "page = new URL('http://x/')": "an instance of `URL`", "stream = require('stream').Readable.from(['a'])": "it ",
            "timer = setTimeout(() => {}, 1e6)": "it ", "shared = new SharedArrayBuffer(4)": "shared with other threads", "given = (() => { const b = new ArrayBuffer(8), v = new Uint8Array(b); structuredClone(b, { transfer: [b] }); return v })()": "given to another thread", "args = (function () { return arguments })(1)": "an `arguments` object",
            "local = (() => { class Local {} ; return new Local() })()": "an instance of `Local`, which is no class of the top level", "ref = new WeakRef({})": "an instance of `WeakRef`",
            "secret = new (class Secret { #x = 1 })()": "which has private fields", "it = [1].values()": "it ", "deep = (() => { let o = {}; for (let i = 0; i < 100000; i++) o = { o }; return o })()": "nested more than",
            "fmt = new Intl.NumberFormat()": "an instance of `NumberFormat`", "inProto = Object.create({ f() {} })": "a function", "method = ({ m() { return super.toString() } }).m": "it is a method",
        }
        for code, words in reasons.items():
            with self.subTest(code):
                self.assertIn(words, self.why(host, code + "; 1", code.split(" ")[0])[code.split(" ")[0]])
        self.assertIn("getter", self.why(host, "Object.defineProperty(globalThis, 'acc', { get() { throw 1 }, configurable: true }); 1", "acc")["acc"])
        self.ok(host, "class A { v() { return 1 } }; let a = new A(); class B extends A {}; const mixin = (C) => class extends C {}; class D extends mixin(A) {}")
        self.ok(host, "class A { v() { return 2 } }")
        why = self.why(host, "1", "a", "B", "D")
        self.assertIn("an instance of `A`, which is no class of the top level", why["a"])
        self.assertIn("its base class `A` has been redefined", why["B"])
        self.assertIn("its base class is made by an expression", why["D"])

    def test_st2_saving_calls_nothing_of_the_users(self):
        host = self.start()
        self.ok(host, "globalThis.calls = 0; let v = { a: 1, toJSON() { calls++ } }, w = { a: 1 }; Object.prototype.toJSON = function () { calls++ }; Map.prototype.forEach = () => { calls++ }; var m = new Map([[1, 2]]); 1", "1")
        report = self.save(host, "w", "m", "calls")
        self.assertEqual((report["saved"], report["failed"]), (["w", "m", "calls"], []))
        self.ok(host, "delete Object.prototype.toJSON; calls", "0")

    def test_st2_names_that_shadow_the_language_do_not_matter(self):
        host, fresh = self.start(), self.start()
        self.ok(host, "var Map = 1, Date = 2, Error = 3, Uint8Array = 4, Buffer = 5, Object = 6, JSON = 7, Promise = 8, Reflect = 9; var kept = [new globalThis.Set([1]), { a: 1 }]")
        self.assertEqual(self.save(host)["failed"], [])
        loaded = self.load(fresh)
        self.assertIn("Map", loaded["loaded"])
        self.ok(fresh, "[Map, Date, kept[0] instanceof Set, kept[1].a]", "[ 1, 2, true, 1 ]")

    def test_st2_files_of_the_project_and_packages(self):
        with open(os.path.join(self.folder, "lib.js"), "w") as file:
            file.write("class Thing { hi() { return 'hi ' + this.n } }; module.exports = { Thing, make: (n) => Object.assign(new Thing(), { n }), data: { d: 1 } }")
        with open(os.path.join(self.folder, "esm.mjs"), "w") as file:
            file.write("export const x = 5; export default function main() { return 'main' } export class E { e() { return 'e' } }")
        package = os.path.join(self.folder, "node_modules", "pack")
        os.makedirs(package)
        with open(os.path.join(package, "index.js"), "w") as file:
            file.write("exports.run = () => 'ran'")
        host, fresh = self.start(cwd=self.folder), self.start(cwd=self.folder)
        self.ok(host, "import main, { x, E } from './esm.mjs'; import * as space from './esm.mjs'; const lib = require('./lib'), { make, data } = lib, thing = make(3), pack = require('pack'), e = new E(); data.d = 2; null", "null")
        self.assertEqual(self.save(host)["failed"], [])
        self.assertEqual(self.load(fresh)["failed"], [])
        self.ok(fresh, "[main(), x, space.x, e.e(), e instanceof E, thing.hi(), thing instanceof lib.Thing, make(1).n, data.d, pack.run(), pack === require('pack')].join(' ')",
                "'main 5 5 e true hi 3 true 1 2 ran true'")
        for name in ("lib.js", "esm.mjs"):
            os.unlink(os.path.join(self.folder, name))
        gone = self.start(cwd=self.folder)
        loaded = self.load(gone)
        why = {one["name"]: one["why"] for one in loaded["failed"]}
        self.assertEqual(sorted(why), ["E", "e", "lib", "main", "make", "space", "thing"])
        self.assertIn("its module cannot be loaded", why["lib"])
        self.assertIn("its class `Thing` could not be loaded", why["thing"])
        self.ok(gone, "[x, data.d, pack.run()]", "[ 5, 2, 'ran' ]")

    def test_st2_names_that_share_instances_of_a_class_that_does_not_come_back_fail_too(self):
        host, fresh = self.start(), self.start()
        self.ok(host, "globalThis.allowed = true; class Picky { static ok = (() => { if (!globalThis.allowed) throw new Error('not here') })() }; const one = new Picky(), two = { one }, three = [two], free = { a: 1 }")
        self.save(host, "Picky", "one", "two", "three", "free")
        loaded = self.load(fresh)
        self.assertEqual(({one["name"] for one in loaded["failed"]}, loaded["loaded"]), ({"Picky", "one", "two", "three"}, ["free"]))

    def test_st2_named_ones_only_and_those_that_are_not_there(self):
        host, fresh = self.start(), self.start()
        self.ok(host, "let a = 1, b = 2; const c = 3")
        report = self.save(host, "a", "nope", "c", "console")
        self.assertEqual((report["saved"], report["failed"]), (["a", "c"], [
            {"name": "nope", "type": "", "why": "there is no such name"}, {"name": "console", "type": "Object", "why": "it is Node's own"}]))
        self.load(fresh)
        self.ok(fresh, "[a, typeof b, c]", "[ 1, 'undefined', 3 ]")
        os.unlink(self.file)
        self.refused(self.work(host, "save", self.file, "", "nope", "nix"), "SaveError", "nothing was saved: there is no name `nope`")
        self.ok(host, "let sym = Symbol('s')")
        self.refused(self.work(host, "save", self.file, "", "sym"), "SaveError", "nothing was saved: `sym`: it is a symbol")
        self.assertEqual(os.listdir(self.folder), [])

    def test_st2_loading_over_existing_names(self):
        host, used = self.start(), self.start()
        self.ok(host, "const a = 'saved'; let b = [1]; function f() { return 'saved' }")
        self.save(host)
        self.ok(used, "const b = 'old', f = 1; let a = 'old', mine = 'kept'; Object.defineProperty(globalThis, 'locked', { value: 1 }); 1", "1")
        self.assertEqual(sorted(self.load(used)["loaded"]), ["a", "b", "f"])
        self.ok(used, "b = 2; [a, b, f(), mine]", "[ 'saved', 2, 'saved', 'kept' ]")
        self.ok(host, "var locked = 5")
        self.save(host, "locked")
        # A load of which nothing comes back has failed, and says why.
        nothing = self.work(used, "load", self.file)
        self.assertEqual((nothing.status, nothing.event("error")["name"]), ("error", "LoadError"), nothing.events)
        failed = nothing.event("report")["data"]["failed"]
        self.assertEqual(failed, [{"name": "locked", "type": "number", "why": "it cannot be set in this session"}])

    def test_st2_refused_targets_odd_paths_and_links(self):
        host = self.start(cwd=self.folder)
        self.ok(host, "let x = 1")
        other, fifo = os.path.join(self.folder, "other"), os.path.join(self.folder, "fifo")
        with open(other, "w") as file:
            file.write("precious\n")
        os.mkfifo(fifo)
        for path, words in ((other, "would be lost"), (self.folder, "is a directory"), (fifo, "is a FIFO"), ("/dev/null", "is a device"), (other + "/below", "could not write"), (self.folder + "/", "no name of a file")):
            self.refused(self.work(host, "save", path, ""), "SaveError", words)
        for path in (fifo, self.folder, "/dev/null"):
            self.refused(self.work(host, "load", path), "LoadError", "is a ")
            self.refused(self.work(host, "save", path, "force"), "SaveError", "is a ")
        with open(other) as file:
            self.assertEqual(file.read(), "precious\n")
        self.save(host, path=other, force="force")
        os.symlink("other", os.path.join(self.folder, "link"))
        os.symlink("not yet", os.path.join(self.folder, "dangling"))
        for name in ("-dash", "a b", "it's \"q\"", "$(id)", "*", "ü…", "new/deep/er/file", "n" * 250, "link", "dangling"):
            path = os.path.join(self.folder, name)
            self.assertEqual(self.save(host, path=path)["path"], path)
            self.assertEqual(self.load(host, path=path)["loaded"], ["x"])
        self.assertTrue(os.path.islink(os.path.join(self.folder, "link")) and os.path.isfile(os.path.join(self.folder, "not yet")))
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".tmp")], [])

    def test_st2_a_disk_that_takes_no_more_keeps_the_old_file(self):
        host = self.start()
        self.ok(host, "let x = 1")
        self.save(host)
        with open(self.file, "rb") as file:
            before = file.read()
        self.ok(host, "x = 'y'.repeat(100000); 1", "1")
        resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
        self.refused(self.work(host, "save", self.file, ""), "SaveError", "could not write `%s`: file too large" % self.file)
        resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(os.listdir(self.folder), ["a.stead"])
        self.save(host)

    def test_st2_leftovers_of_killed_saves_go_and_those_of_living_ones_stay(self):
        host = self.start()
        self.ok(host, "let x = 1")
        ended = subprocess.Popen(["true"])
        ended.wait()
        dead, alive = (os.path.join(self.folder, ".a.stead.%d.tmp" % pid) for pid in (ended.pid, os.getpid()))
        for path in (dead, alive):
            open(path, "w").close()
        self.save(host)
        self.assertEqual(sorted(os.listdir(self.folder)), [os.path.basename(alive), "a.stead"])

    def test_st2_files_that_cannot_be_loaded(self):
        host, fresh = self.start(), self.start()
        self.ok(host, "let x = [1, 2], b = Buffer.from('b')")
        self.save(host)
        with open(self.file, "rb") as file:
            whole = file.read()
        path = os.path.join(self.folder, "b")
        for end in range(len(whole)):
            with open(path, "wb") as file:
                file.write(whole[:end])
            self.refused(self.work(fresh, "load", path), "LoadError", "`%s` is " % path)
        for data, words in ((whole + b"\n", "not whole"), (whole.replace(b'"format":1', b'"format":9'), "newer version of stead (format 9)"), (b"\0" * 100, "no file that stead has saved"),
                            (whole.replace(b'"node"', b'"bash"', 1), "a session of bash"), (whole[:30] + bytes([whole[30] ^ 1]) + whole[31:], "damaged"), (whole.replace(b"STEADSAVE1", b"STEADSAVE2"), "newer version of stead")):
            with open(path, "wb") as file:
                file.write(data)
            self.refused(self.work(fresh, "load", path), "LoadError", words)
        self.refused(self.work(fresh, "load", path + "none"), "LoadError", "no such file or directory")
        self.ok(fresh, "typeof x", "'undefined'")

    def test_st2_an_interrupted_save_leaves_nothing_behind(self):
        host = self.start()
        self.ok(host, "let x = 1; 1", "1")
        self.save(host, "x")
        self.ok(host, "var lots = []; for (let i = 0; i < 2e6; i++) lots.push({ i }); 1", "1")
        for _ in range(3):
            host.count += 1
            host.send("work js:%d save" % host.count, self.file + "2\n\nlots")
            result = driver.Result()
            while not [name for name in os.listdir(self.folder) if name.endswith(".tmp")]:
                pass
            host.interrupt()
            host.finish(result)
            self.assertEqual(result.status, "interrupted")
            self.assertEqual(os.listdir(self.folder), ["a.stead"])
            self.ok(host, "x + 1", "2")

    def test_st2_an_interrupted_load_of_a_module_that_does_not_come(self):
        host, fresh = self.start(cwd=self.folder), self.start(cwd=self.folder)
        module = os.path.join(self.folder, "hang.mjs")
        with open(module, "w") as file:
            file.write("export class H {}")
        self.ok(host, "import { H } from './hang.mjs'; let x = 1")
        self.save(host)
        with open(module, "w") as file:
            file.write("console.log('up'); await new Promise(() => {}); export class H {}")
        fresh.count += 1
        fresh.send("work js:%d load" % fresh.count, self.file)
        result = driver.Result()
        fresh.pump_until_text(result, "up")
        fresh.interrupt()
        self.assertEqual(fresh.finish(result).status, "interrupted")
        self.ok(fresh, "typeof x", "'undefined'")

    def test_st2_many_names_and_a_large_array(self):
        host, fresh = self.start(), self.start()
        self.ok(host, "for (let i = 0; i < 10000; i++) globalThis['many_' + i] = { i, text: 'value ' + i }; for (let i = 0; i < 100; i++) globalThis['not_' + i] = Symbol(i); var big = new Float64Array(1e7).fill(1.5); 1", "1")
        report = self.save(host)
        self.assertEqual((report["count"], len(report["saved"]), report["failed_count"], len(report["failed"])), (10001, 200, 100, 100))
        loaded = self.load(fresh)
        self.assertEqual((loaded["count"], len(loaded["loaded"])), (10001, 200))
        self.ok(fresh, "[many_9999.text, big.length, big[9999999]]", "[ 'value 9999', 10000000, 1.5 ]")

    def test_st2_unknown_work_is_refused(self):
        host = self.start()
        self.refused(self.work(host, "sing", "x"), "Unsupported", "does not know the work `sing`")
        self.ok(host, "1", "1")
