// Rewriting: what a source needs to run as one eval of a lasting session.
//
// The source runs as indirect eval, where `var` and `function` make deletable properties of the global object. So top-level
// `let`, `const` and `class` become `var`, and every kind of declaration may follow every other. Imports become
// calls of a helper, and what is awaited at top level passes through one. Lines stay where they are; columns that do not are told as they are in the source (places.js).

const IMPORT = "stead$import", CONST = "stead$const", WAIT = "stead$wait";
const HELPERS = new Set([IMPORT, CONST, WAIT]);
// In code without any of these nothing has to be rewritten, and its value is to be shown.
const NEEDS_SCAN = /\b(?:let|const|class|import|export|await|var|function|for|while|do)\b|["']use strict["']|(?:\+\+|--|=(?![=>]))/;
const NO_VALUE = new Set(["var", "let", "const", "class", "function", "import", "for", "while", "do"]);
const ASSIGNS = new Set("= += -= *= /= %= **= <<= >>= >>>= &= |= ^= &&= ||= ??= ++ --".split(" "));

/** Code that is not run; `early` if that is because it ends too early. */
class Refused extends Error {
  constructor(message, at, early = false) {
    super(message);
    this.at = at;
    this.early = early;
  }
}

/**
 * What to run: `text`; whether it is `strict` or `awaits` at top level; whether its last statement has a `value`;
 * the names it declares, those of them that are constants, and `fresh`: those that were not there before; `shifts`: what of
 * it stands elsewhere than in the source, or null. If `guarded`, what is awaited at top level passes through `wait` (waits.js),
 * and `bare` gives text and shifts without that; else it is null.
 */
function rewrite(source, guarded = false) {
  const plan = { text: source, strict: false, awaits: false, value: true, names: [], constants: new Set(), fresh: [], shifts: null, bare: null };
  if (!NEEDS_SCAN.test(source)) return plan;
  const tokens = scan(source);
  if (tokens === null || tokens.length === 0) return plan;
  const edits = [], guards = [];
  plan.strict = isStrict(tokens);
  const imports = [];
  let last = 0, after = -1;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    // Whatever follows an import begins a new statement.
    if (token.inside === -1 && (at === after || mayBegin(tokens, at))) {
      last = at;
      after = statement(tokens, at, plan, edits, imports, source);
    }
    if (token.kind !== "word" || isName(tokens, at)) continue;
    if (token.text === "import") dynamicImport(tokens, at, edits);
    else if (token.text === "await" && (guarded || !plan.awaits) && isTopLevel(tokens, at)) {
      plan.awaits = true;
      if (guarded) guard(tokens, at, guards);
    }
  }
  const first = tokens[last].text === "async" ? tokens[last + 1] : tokens[last];
  plan.value = !(first && first.kind === "word" && NO_VALUE.has(first.text) && !isCall(tokens, tokens.indexOf(first))) || isFollowed(tokens, last);
  if (imports.length) {
    plan.awaits = true;
    placeImports(imports, edits, source);
  }
  const placed = (all) => {
    const text = edited(source, all);
    return { text, shifts: shiftsOf(source, all, text) };
  };
  if (guards.length) plan.bare = () => placed(edits);
  return Object.assign(plan, placed(edits.concat(guards)));
}

/** `await x` becomes `await stead$wait(x)`. The `await` of `for await` and `await using` has no operand. */
function guard(tokens, at, guards) {
  const first = tokens[at + 1], second = tokens[at + 2];
  if (first === undefined || tokens[at - 1]?.text === "for" || isInArrow(tokens, at)) return;
  if (first.text === "using" && second?.kind === "word" && !second.line && !CONTINUES.has(second.text)) return;
  const end = operandEnd(tokens, at + 1);
  if (end < 0) return;
  guards.push([first.start, first.start, WAIT + "("], [tokens[end].end, tokens[end].end, ")"]);
}

/** Whether an expression stands behind the body of a class or function, as in `class A {} [4]`. */
function isFollowed(tokens, at) {
  if (tokens[at].text !== "class" && tokens[at].text !== "function") return false;
  const holds = tokens[at].text === "class" ? (token) => token.holds === "class" : () => true;
  let body = at + 1;
  while (body < tokens.length && !(tokens[body].kind === "{" && tokens[body].inside === -1 && holds(tokens[body]))) body++;
  const after = body < tokens.length && tokens[tokens[body].mate + 1];
  return Boolean(after) && after.kind !== ";" && !NO_VALUE.has(after.text);
}

/** `import(…)` and `import.meta` are expressions; `do`, `for` and the like never stand before these. */
function isCall(tokens, at) {
  return tokens[at].text === "import" && tokens[at + 1] && (tokens[at + 1].kind === "(" || tokens[at + 1].kind === ".");
}

function isStrict(tokens) {
  for (let at = 0; at < tokens.length && tokens[at].kind === "string"; at++) {
    const after = tokens[at + 1];
    if (after && after.kind !== ";" && !mayBegin(tokens, at + 1)) return false;
    if (tokens[at].text.slice(1, -1) === "use strict") return true;
    if (after && after.kind === ";") at++;
  }
  return false;
}

/** Whether the word is a property's name: `a.import`, `{ await: 1 }`, `class { import() {} }`. */
function isName(tokens, at) {
  const token = tokens[at], before = tokens[at - 1], after = tokens[at + 1];
  if (before && (before.kind === "." || before.kind === "?.")) return true;
  const body = token.inside >= 0 ? tokens[token.inside].holds : "";
  if (body !== "object" && body !== "class") return false;
  if (body === "object" && after && (after.kind === ":" || after.kind === "," || after.kind === "}")) {
    return !before || before.kind === "{" || before.kind === ",";
  }
  if (after && after.kind === "(" && after.mate >= 0) {
    const behind = tokens[after.mate + 1];
    return behind !== undefined && behind.kind === "{" && behind.holds === "function";
  }
  return body === "class" && after !== undefined && (after.kind === "=" || after.kind === ";") && (!before || before.kind !== "=");
}

/** Whether no function's body is around the token. */
function isTopLevel(tokens, at) {
  for (let inside = tokens[at].inside; inside >= 0; inside = tokens[inside].inside) {
    if (tokens[inside].holds === "function") return false;
  }
  return true;
}

/** One statement at top level; for an import the index after it. */
function statement(tokens, at, plan, edits, imports, source) {
  const token = tokens[at], after = tokens[at + 1];
  if (token.kind !== "word") {
    if ((token.kind === "++" || token.kind === "--") && after && after.kind === "word") assignment(tokens, at + 1, plan, edits);
    return;
  }
  if (after === undefined) return;
  switch (token.text) {
    case "const":
      edits.push([token.start, token.end, "var  "]);
      return declare(tokens, at + 1, plan, edits, "const");
    case "let":
      if (after.kind !== "word" && after.kind !== "[" && after.kind !== "{") return;
      if (CONTINUES.has(after.text) && !(tokens[at + 2] && tokens[at + 2].kind === "=")) return;
      edits.push([token.start, token.end, "var"]);
      return declare(tokens, at + 1, plan, edits, "let");
    case "var":
      return declare(tokens, at + 1, plan, edits, "var");
    case "class":
      return declareClass(tokens, at, plan, edits);
    case "function": case "async": {
      let name = at + (token.text === "async" ? 2 : 1);
      if (token.text === "async" && after.text !== "function") return;
      if (tokens[name] && tokens[name].kind === "*") name++;
      if (tokens[name] && tokens[name].kind === "word") plan.names.push(tokens[name].text);
      return;
    }
    case "import":
      return after.kind === "(" || after.kind === "." ? -1 : staticImport(tokens, at, plan, imports, source);
    case "export":
      throw new Refused("`export` has no meaning in a session: it is no module. Leave the word out; what is declared lasts anyway", token.start);
    default:
      assignment(tokens, at, plan, edits);
  }
}

/** Assigning to a constant fails, where that can be told from the tokens: in a statement of its own. */
function assignment(tokens, at, plan, edits) {
  const name = tokens[at].text, after = tokens[at + 1], before = tokens[at - 1];
  const prefixed = before && (before.kind === "++" || before.kind === "--") && mayBegin(tokens, at - 1);
  if (!prefixed && !(after && ASSIGNS.has(after.kind) && !((after.kind === "++" || after.kind === "--") && after.line))) return;
  const known = plan.names.includes(name) ? plan.constants.has(name) : CONSTANTS.has(name);
  if (known) edits.push([tokens[at].start, tokens[at].start, CONST + "."]);
}

/** Names of a declaration's list; a `let` without a value is set to undefined, as a new one would be. */
function declare(tokens, at, plan, edits, kind) {
  for (;;) {
    const names = [];
    const end = bindingNames(tokens, at, names);
    if (end < 0) return;
    for (const name of names) {
      plan.names.push(name);
      if (kind === "const") plan.constants.add(name);
      else plan.constants.delete(name);
    }
    at = end;
    const after = tokens[at];
    const over = after === undefined || after.kind === ";" || after.kind === "," || mayBegin(tokens, at);
    if (over && kind === "let") edits.push([tokens[at - 1].end, tokens[at - 1].end, " = void 0"]);
    while (at < tokens.length && !(tokens[at].inside === -1 && (tokens[at].kind === "," || tokens[at].kind === ";" || mayBegin(tokens, at)))) at++;
    if (tokens[at] === undefined || tokens[at].kind !== ",") return;
    at++;
  }
}

/** Collects the names that a pattern binds; the index after it, or -1 if it is none. */
function bindingNames(tokens, at, names) {
  const token = tokens[at];
  if (token === undefined) return -1;
  if (token.kind === "word") {
    names.push(token.text);
    return at + 1;
  }
  if (token.kind !== "{" && token.kind !== "[") return -1;
  const end = token.mate;
  if (end < 0) return -1;
  for (let n = at + 1; n < end;) {
    if (tokens[n].kind === ",") {
      n++;
      continue;
    }
    if (tokens[n].kind === "...") n++;
    else if (token.kind === "{") {
      const colon = tokens[n].kind === "[" ? tokens[n].mate + 1 : n + 1;
      if (tokens[colon] && tokens[colon].kind === ":") n = colon + 1;
    }
    n = bindingNames(tokens, n, names);
    if (n < 0) return -1;
    while (n < end && !(tokens[n].inside === at && tokens[n].kind === ",")) n++;
  }
  return end + 1;
}

/** `class A {…}` becomes `var A = class A {…};`. */
function declareClass(tokens, at, plan, edits) {
  const name = tokens[at + 1];
  if (name.kind !== "word" || name.text === "extends") return;
  let body = at + 2;
  while (body < tokens.length && !(tokens[body].holds === "class" && tokens[body].kind === "{" && tokens[body].inside === -1)) body++;
  if (body === tokens.length) return;
  plan.names.push(name.text);
  plan.constants.delete(name.text);
  const close = tokens[tokens[body].mate];
  edits.push([tokens[at].start, tokens[at].start, "var " + name.text + " = "], [close.end, close.end, ";"]);
}

// ---- imports -----------------------------------------------------------------------------------

function dynamicImport(tokens, at, edits) {
  const token = tokens[at], after = tokens[at + 1];
  if (!after) return;
  if (after.kind === "(" || (after.kind === "." && tokens[at + 2] && tokens[at + 2].text === "meta")) {
    edits.push([token.start, token.end, IMPORT]);
  }
}

/** `import a, { b as c } from "m" with { type: "json" }`: remembers what to bind, and where it stood. */
function staticImport(tokens, at, plan, imports, source) {
  const begin = at++;
  const bad = (token) => new Refused("this `import` is not complete", (token || tokens[tokens.length - 1]).start, !token);
  const bound = [];
  let space = null;
  if (tokens[at].kind === "word") {
    bound.push(["default", tokens[at].text]);
    at++;
    if (tokens[at] && tokens[at].kind === ",") at++;
  }
  if (tokens[at] && tokens[at].kind === "*") {
    if (!tokens[at + 1] || tokens[at + 1].text !== "as" || !tokens[at + 2]) throw bad(tokens[at]);
    space = tokens[at + 2].text;
    at += 3;
  } else if (tokens[at] && tokens[at].kind === "{") {
    const end = tokens[at].mate;
    for (at++; at < end;) {
      const name = tokens[at].kind === "string" ? unquote(tokens[at].text) : tokens[at].text;
      let local = name;
      if (tokens[at + 1].text === "as" && tokens[at + 1].kind === "word") {
        local = tokens[at + 2].text;
        at += 2;
      }
      bound.push([name, local]);
      at++;
      if (tokens[at].kind === ",") at++;
      else if (at !== end) throw bad(tokens[at]);
    }
    at = end + 1;
  }
  if (bound.length || space !== null || tokens[at - 1].kind === "}") {
    if (!tokens[at] || tokens[at].text !== "from") throw bad(tokens[at]);
    at++;
  }
  const specifier = tokens[at];
  if (!specifier || specifier.kind !== "string") throw bad(specifier);
  let end = at, attributes = "";
  const word = tokens[at + 1];
  if (word && (word.text === "with" || word.text === "assert") && tokens[at + 2] && tokens[at + 2].kind === "{") {
    end = tokens[at + 2].mate;
    attributes = ", " + source.slice(tokens[at + 2].start, tokens[end].end);
  }
  if (tokens[end + 1] && tokens[end + 1].kind === ";") end++;
  for (const [, local] of bound) plan.names.push(local);
  if (space !== null) plan.names.push(space);
  for (const name of plan.names) if (bound.some(([, local]) => local === name) || name === space) plan.constants.add(name);
  imports.push({ start: tokens[begin].start, end: tokens[end].end, bound, space, specifier: specifier.text, attributes });
  return end + 1;
}

function unquote(text) {
  try {
    return globalEval(text);
  } catch {
    return text.slice(1, -1);
  }
}

/** Imports happen before everything else, so all of them stand where the first one stood. */
function placeImports(imports, edits, source) {
  let text = "";
  const parts = [];
  for (const { start, bound, space, specifier, attributes } of imports) {
    parts.push([text.length, start]);
    const names = bound.map(([name]) => ", " + JSON.stringify(name)).join("");
    const call = `await ${IMPORT}.names(${specifier}, ${attributes.slice(2) || "null"}${names})`;
    const pattern = bound.map(([name, local]) => JSON.stringify(name) + ": " + local).join(", ");
    if (space !== null && bound.length) text += `var ${space} = ${call}, {${pattern}} = ${space}; `;
    else if (space !== null) text += `var ${space} = ${call}; `;
    else if (bound.length) text += `var {${pattern}} = ${call}; `;
    else text += `await ${IMPORT}.names(${specifier}, ${attributes.slice(2) || "null"}); `;
  }
  imports.forEach(({ start, end }, n) => {
    const lines = source.slice(start, end).replace(/[^\n]/g, "");
    edits.push(n === 0 ? [start, end, text.trimEnd() + lines, parts] : [start, end, lines]);
  });
}

function edited(source, edits) {
  if (edits.length === 0) return source;
  edits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let text = "", at = 0;
  for (const [start, end, replacement] of edits) {
    if (start < at) continue;  // the edit lies inside something that was replaced as a whole
    text += source.slice(at, start) + replacement;
    at = end;
  }
  return text + source.slice(at);
}
