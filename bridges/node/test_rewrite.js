// The scanner and what is made of its tokens, without a process: node --test.
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const { inspect } = require("node:util");

const text = ["scan", "operands", "rewrite", "places"].map((name) => fs.readFileSync(path.join(__dirname, "bridge", name + ".js"), "utf8")).join("");
const { scan, rewrite, placeInSource } = new Function("CONSTANTS", "globalEval", text + "; return { scan, rewrite, placeInSource }")(new Set(["OLD"]), eval);

const kinds = (source) => scan(source)?.map((token) => (token.kind === "word" ? token.text : token.kind)).join(" ");

test("JS-1 a slash is a division or begins a regular expression", () => {
  const cases = {
    "a / b / c": "a / b / c",
    "a = /b/ / c": "a = regex / word",
    "f(/a/)": "f ( regex )",
    "(a) / b": "( a ) / b",
    "if (a) /b/.test(c)": "if ( a ) regex . test ( c )",
    "while (a) /b/.c": "while ( a ) regex . c",
    "x.if(a) / b": "x . if ( a ) / b",
    "a[0] / b": "a [ number ] / b",
    "a++ / b": "a ++ / b",
    "a\n++/b/.c": "a ++ regex . c",
    "return /b/": "return regex",
    "x.return / b": "x . return / b",
    "typeof /b/": "typeof regex",
    "{} /b/": "{ } regex",
    "x = {} / b": "x = { } / b",
    "({}) / b": "( { } ) / b",
    "function f() {}\n/b/": "function f ( ) { } regex",
    "x = function () {} / b": "x = function ( ) { } / b",
    "x = class {} / b": "x = class { } / b",
    "class A {}\n/b/": "class A { } regex",
    "`a` / b": "template / b",
    "`${/b/}` / c": "template regex template / c",
    "`${a / b}` / c": "template a / b template / c",
    "/[/]/.x": "regex . x",
    "/\\//g / b": "regex / b",
    "a ? /b/ : /c/": "a ? regex : regex",
    "x = a\n/b/g": "x = a / b / g",
    "yield /b/": "yield regex",
    "!/b/": "! regex",
    "a || /b/": "a || regex",
    "x => /b/": "x => regex",
    "x => { }\n/b/": "x => { } regex",
    "do /a/.b; while (1)": "do regex . b ; while ( number )",
    "else /b/": "else regex",
    "{ a: /b/ }": "{ a : regex }",
    "case /b/:": "case regex :",
    "1 / 2": "number / number",
    "'a' / 2": "string / number",
  };
  for (const [source, expected] of Object.entries(cases)) {
    assert.strictEqual(kinds(source).replace("/ word", "/ c"), expected.replace("/ word", "/ c"), source);
  }
});

test("JS-1 strings, templates and comments hide what is in them", () => {
  for (const source of [
    "'let x = 1; import(\"m\")'", "`let x = 1\nimport('m')`", "// let x\n1", "/* const a\n class B {} */ 1", "'\\'; let x'",
    "`\\`; let x`", "`${`let x ${`import('m')`}`}`", "/let x = 1; import('m')/", "/[/let x]/", "'a\\\nlet x'", "`$let x`", "`$${1}{let x}`",
  ]) assert.strictEqual(rewrite(source).text, source, source);
});

test("JS-1 what is no source is left to V8", () => {
  for (const source of ["`open", "'open", "/* open", "(", ")", "{]", "let x = /open", "\u0001"]) assert.strictEqual(rewrite(source).text, source);
});

test("JS-1 declarations at top level become var, others stay", () => {
  const cases = {
    "let a = 1": "var a = 1",
    "const a = 1": "var   a = 1",
    "let a, b = 2, c": "var a = void 0, b = 2, c = void 0",
    "let a\nlet b\nb": "var a = void 0\nvar b = void 0\nb",
    "let { a, b: [c] } = x": "var { a, b: [c] } = x",
    "let [a] = x": "var [a] = x",
    "let\na = 1": "var\na = 1",
    "let of = 1": "var of = 1",
    "let = 1": "let = 1",
    "let in x": "let in x",
    "x.let = 1": "x.let = 1",
    "{ let a = 1 }": "{ let a = 1 }",
    "if (a) { const b = 1 }": "if (a) { const b = 1 }",
    "for (const a of b) {}": "for (const a of b) {}",
    "for (let i = 0;;) {}\nlet i = 1": "for (let i = 0;;) {}\nvar i = 1",
    "const f = () => { let a; return a }": "var   f = () => { let a; return a }",
    "const f = function () {}, g = 1\nlet h": "var   f = function () {}, g = 1\nvar h = void 0",
    "class A {}": "var A = class A {};",
    "class A extends B(class {}) { m() {} }\n(1)": "var A = class A extends B(class {}) { m() {} };\n(1)",
    "x = class A {}": "x = class A {}",
    "f(class {})": "f(class {})",
    "x =\nclass A {}": "x =\nclass A {}",
    "f()\nclass A {}": "f()\nvar A = class A {};",
    "switch (a) { case 1: let b }": "switch (a) { case 1: let b }",
    "try { let a } catch { const b = 1 } finally { class C {} }": "try { let a } catch { const b = 1 } finally { class C {} }",
    "let a = { let: 1 }.let": "var a = { let: 1 }.let",
    "let a = b\n? c\n: d\nlet e = 1": "var a = b\n? c\n: d\nvar e = 1",
    "a;let b = 1;c": "a;var b = 1;c",
    "function f() {} let a = 1": "function f() {} var a = 1",
  };
  for (const [source, expected] of Object.entries(cases)) assert.strictEqual(rewrite(source).text, expected, source);
});

test("JS-1 names of patterns", () => {
  const names = (source) => rewrite(source).names.join(" ");
  assert.strictEqual(names("const { a, b: c, d = 1, ['e']: f, 'g': { h }, ...i } = x, [j, , k = 2, ...[l]] = y"), "a c d f h i j k l");
  assert.strictEqual(names("let a = b, c = { d: e }, f = (g, h) => g"), "a c f");
  assert.strictEqual(names("async function* f() {}\nfunction g() {}\nclass H {}"), "f g H");
});

test("JS-1 imports", () => {
  const lines = (source) => rewrite(source).text;
  assert.strictEqual(lines("import a from 'm'\na"), "var {\"default\": a} = await stead$import.names('m', null, \"default\");\na");
  assert.strictEqual(lines("import { a as b, default as c } from 'm';"), "var {\"a\": b, \"default\": c} = await stead$import.names('m', null, \"a\", \"default\");");
  assert.strictEqual(lines("import * as n from 'm'"), "var n = await stead$import.names('m', null);");
  assert.strictEqual(lines("import 'm'"), "await stead$import.names('m', null);");
  assert.strictEqual(lines("import {\n  a,\n  b,\n} from 'm'\nc").split("\n").length, 5);
  assert.strictEqual(lines("import j from './j' with { type: 'json' }"), "var {\"default\": j} = await stead$import.names('./j', { type: 'json' }, \"default\");");
  assert.strictEqual(lines("import('m')"), "stead$import('m')");
  assert.strictEqual(lines("f(() => import('m'))"), "f(() => stead$import('m'))");
  assert.strictEqual(lines("import.meta.url"), "stead$import.meta.url");
  for (const source of ["x.import('m')", "({ import: 1 })", "({ import() {} })", "class A { import(a) { return a } }".replace("class A", "x = class"), "({ import })"]) {
    assert.strictEqual(lines(source), source);
  }
  assert.throws(() => rewrite("export default 1"), /no module/);
  assert.throws(() => rewrite("1\nexport { a }"), /no module/);
  assert.throws(() => rewrite("import { a } fro 'm'"), /not complete/);
});

test("JS-2 every character of the source that is left has its place", () => {
  const sources = [
    "let a, b; f(1)\nclass A { m() {} } g(2)", "import x, { y as z } from 'm'; h(3)\nimport 'n'; i(4)", "const c = 1; class B {}; class C {} j(5)", "import('m'); OLD = 2; k(6)",
    "import {\n  a,\n} from 'm' with { type: 'json' }; l(7)", "let a\r\nlet b; m(8)", "n(9)", "let s = `\n\u2028`; let t; o(0)",
  ];
  for (const source of [...sources, "let p, q; await r(1).s(2) + await t(3)[u(4)]; v(5)", "import('m'); await import(w(6)); OLD = await x(7)\ny(8)", "let z = `${await a(1)}${b(2)}`; c(3)"]) {
    const plan = rewrite(source, true);
    const lines = (text) => text.split(/\r\n|[\n\r\u2028\u2029]/);
    lines(plan.text).forEach((text, line) => {
      for (const call of text.matchAll(/\b[a-z]\(\d\)/g)) {
        const [there, column] = placeInSource(plan, line + 1, call.index + 1);
        assert.strictEqual(lines(source)[there - 1].slice(column - 1, column + 3), call[0], source);
      }
    });
  }
});

test("JS-1 await at top level is told from await in functions", () => {
  for (const source of ["await 1", "x = await y", "`${await x}`", "for await (const a of b) {}", "{ await 1 }", "if (await a) {}", "f(await x)", "[await x]"]) {
    assert.strictEqual(rewrite(source).awaits, true, source);
  }
  for (const source of ["async function f() { await 1 }", "f(async () => { await 1 })", "x = { async m() { await 1 } }", "x = class { async m() { await 1 } }", "x.await", "({ await: 1 })", "1"]) {
    assert.strictEqual(rewrite(source).awaits, false, source);
  }
});

test("JS-1 what is awaited at top level passes through the helper, and nothing else", () => {
  const cases = {
    "await a": "await ~(a)",
    "await a.b?.[c](d)`e${await f}g` + h": "await ~(a.b?.[c](d)`e${await ~(f)}g`) + h",
    "await a\n.b\n(c)\nd": "await ~(a\n.b\n(c))\nd",
    "await a++\nb": "await ~(a++)\nb",
    "await a\n++b": "await ~(a)\n++b",
    "await -a, b": "await ~(-a), b",
    "await await typeof a ** b": "await ~(await ~(typeof a)) ** b",
    "await new A(b).c / d / e": "await ~(new A(b).c) / d / e",
    "await new new.target(b)": "await ~(new new.target(b))",
    "await function* () { await a }() / 2": "await ~(function* () { await a }()) / 2",
    "await async function () { await a }()": "await ~(async function () { await a }())",
    "await async(b)": "await ~(async(b))",
    "await class extends (class {}) { m() {} }.x": "await ~(class extends (class {}) { m() {} }.x)",
    "await { a }.a": "await ~({ a }.a)",
    "await /a/g.b ? c : d": "await ~(/a/g.b) ? c : d",
    "await a?.5 : b": "await ~(a)?.5 : b",
    "await import(await a)": "await ~(stead$import(await ~(a)))",
    "`a${await b}c${await d}`": "`a${await ~(b)}c${await ~(d)}`",
    "for (const a of await b) await c": "for (const a of await ~(b)) await ~(c)",
    "if (await a) { await b } else await c": "if (await ~(a)) { await ~(b) } else await ~(c)",
    "let a = await b, c = () => 1, d = await e": "var a = await ~(b), c = () => 1, d = await ~(e)",
    "class A extends await b {}": "var A = class A extends await ~(b) {};",
    "for await (const a of b) c": "for await (const a of b) c",
    "await using a = b": "await using a = b",
    "await using": "await ~(using)",
    "await async () => 1": "await async () => 1",
    "f = async () => await a": "f = async () => await a",
    "f = async a => [b, await c(await d)]": "f = async a => [b, await c(await d)]",
    "f = async () => `${await a}`\nawait b": "f = async () => `${await a}`\nawait ~(b)",
    "await": "await",
  };
  for (const [source, expected] of Object.entries(cases)) {
    assert.strictEqual(rewrite(source, true).text, expected.replaceAll("~", "stead$wait"), source);
    assert.doesNotMatch(rewrite(source).text, /stead\$wait/);
  }
});

test("JS-1 an await in any place has the value that it has without the helper", async () => {
  const { constructor: AsyncFunction } = async () => {};
  const firsts = ["1", "/a\\/b/g", "`a${n}b${`x${n}`}`", "n", "o", "f", "[n, await 2]", "{ a: n }", "(n, o)", "function () { return 3 }", "async function* named(a = {}) { yield {} }", "class {}",
    "class K extends (class {}) { static s = {} }", "new f", "new o.f(1)", "f`x${1}y`", "async", "async()", "(() => ({ then(go) { go(9) } }))()", "Promise.resolve(o)", "[...'ab']"];
  const befores = ["", "typeof ", "void ", "! ", "-", "await ", "typeof await "];
  const behinds = ["", ".a", "?.['a']", "\n.b", "\n['a']", "/* c */ .a", "?.f?.(await 2)", "?.a.b?.c", "?.5:1"];
  const afters = ["", " + 1", ", 5", " ? 1 : 2", " instanceof Object", "\n;[1]", " == 1 && await 3", " / 2 / 1", "\n++n", "; n++"];
  const arounds = ["return =", "return [=]", "return `<${=}>`", "return f(=, await 4)", "if (=) { return 1 } else return =", "var z = =\nreturn z", "for (const i of [1]) { var y = = }\nreturn y", "return (async () => =)()"];
  const shown = async (text) => {
    const f = function (x) { return this instanceof f ? undefined : x };
    const names = { n: 7, f, o: { a: { b: { c: 4 } }, b: 2, f }, async: (...all) => all.length, stead$wait: (x) => x };
    try {
      return inspect(await new AsyncFunction(...Object.keys(names), text)(...Object.values(names)), { depth: 4 });
    } catch (error) {
      return error instanceof SyntaxError ? "" : error.name;
    }
  };
  let tried = 0, n = 0;
  for (const first of firsts) for (const before of befores) for (const behind of behinds) for (const after of afters) {
    // Each combination in one of the places in turn: all in all of them would take a minute.
    const source = arounds[n++ % arounds.length].replaceAll(/=(?! =)/g, () => `await ${before}${first}${behind}${after}`);
    // oxlint-disable-next-line no-await-in-loop
    const expected = await shown(source);
    if (expected === "") continue;
    // oxlint-disable-next-line no-await-in-loop
    assert.strictEqual(await shown(rewrite(source, true).text), expected, source);
    tried++;
  }
  assert.ok(tried > 5000, String(tried));
});

test("JS-2 which last statement has a value", () => {
  for (const source of ["1", "let a = 1; a", "let a = 1\na", "if (a) b", "f()", "import('m')", "import a from 'm'\n[a]", "for (;;) {}\na", "function f() {}\nf()", "async () => 1", "({})", "x = 1", "class A {}\nnew A"]) {
    assert.strictEqual(rewrite(source).value, true, source);
  }
  for (const source of ["let a = 1", "1; let a = 1", "1\nconst a = [\n1]", "function f() {}", "async function f() {}", "class A {}", "for (;;) {}", "while (a) b", "import 'm'", "a; var b", "do a; while (b)"]) {
    assert.strictEqual(rewrite(source).value, false, source);
  }
});

test("JS-1 assignments to constants are found in statements of their own", () => {
  assert.strictEqual(rewrite("OLD = 2").text, "stead$const.OLD = 2");
  assert.strictEqual(rewrite("OLD++; --OLD").text, "stead$const.OLD++; --stead$const.OLD");
  assert.strictEqual(rewrite("const a = 1\na += 2").text, "var   a = 1\nstead$const.a += 2");
  for (const source of ["OLD == 2", "OLD === 2", "OLD.x = 2", "x.OLD = 2", "OLD => 1", "f(OLD)", "OLD\n++x"]) assert.strictEqual(rewrite(source).text, source);
  assert.strictEqual(rewrite("let OLD = 1; OLD = 2").text, "var OLD = 1; OLD = 2");
});
