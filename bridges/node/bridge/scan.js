// Scanner: the tokens of a source, each with the brackets it is in; no grammar beyond what tokens need.

const WORD = /(?:[\p{ID_Start}$_#]|\\u(?:[\da-fA-F]{4}|\{[\da-fA-F]+\}))(?:[\p{ID_Continue}$\u200c\u200d]|\\u(?:[\da-fA-F]{4}|\{[\da-fA-F]+\}))*/uy;
const NUMBER = /(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?)n?/y;
const FLAGS = /[\p{ID_Continue}$]*/uy;
const PUNCTUATOR = /\?\?=|\*\*=|>>>=|<<=|>>=|>>>|===|!==|&&=|\|\|=|\.\.\.|=>|==|!=|<=|>=|&&|\|\||\?\?|\?\.(?!\d)|\+\+|--|\+=|-=|\*=|\/=|%=|&=|\|=|\^=|\*\*|<<|>>|[{}()[\];,<>+\-*/%&|^!~?:=.@]/y;
const BLANK = /\s/;
// Tokens inside brackets are dropped again when there are more than this and none that matters.
const MANY = 4000;

function isLineEnd(code) {
  return code === 10 || code === 13 || code === 0x2028 || code === 0x2029;
}

// The functions below are loops: regular expressions run out of stack on a string of some megabytes.

/** Where white space and comments end; -1 if a comment does not. */
function skipSpace(source, at) {
  for (;; at++) {
    const code = source.charCodeAt(at);
    if (code === 32 || (code >= 9 && code <= 13) || (code > 127 && (code === 0xfeff || BLANK.test(source[at])))) continue;
    if (code !== 47) return at;
    const next = source.charCodeAt(at + 1);
    if (next === 47) {
      while (at < source.length && !isLineEnd(source.charCodeAt(at))) at++;
      at--;
    } else if (next === 42) {
      at = source.indexOf("*/", at + 2) + 1;
      if (at === 0) return -1;
    } else {
      return at;
    }
  }
}

function hasLineEnd(source, from, to) {
  for (let at = from; at < to; at++) if (isLineEnd(source.charCodeAt(at))) return true;
  return false;
}

/** Where the string that begins here ends; -1 if it does not. */
function skipString(source, at) {
  const quote = source.charCodeAt(at++);
  for (; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === quote) return at + 1;
    if (code === 92) at += source.startsWith("\r\n", at + 1) ? 2 : 1;
    else if (code === 10 || code === 13) return -1;
  }
  return -1;
}

/** Where a template ends, or its next `${`. */
function skipTemplate(source, at) {
  for (; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === 96) return at + 1;
    if (code === 92) at++;
    else if (code === 36 && source.charCodeAt(at + 1) === 123) return at + 2;
  }
  return -1;
}

function skipRegex(source, at) {
  for (let set = false; ++at < source.length;) {
    const code = source.charCodeAt(at);
    if (isLineEnd(code)) return -1;
    if (code === 92) at++;
    else if (code === 91) set = true;
    else if (code === 93) set = false;
    else if (code === 47 && !set) {
      FLAGS.lastIndex = at + 1;
      return at + 1 + FLAGS.exec(source)[0].length;
    }
  }
  return -1;
}

// Words after which an expression begins.
const BEFORE_OPERAND = new Set(("return typeof instanceof in of new delete void throw case do else yield await extends default const let var class function import export").split(" "));
// Words whose parentheses are followed by a statement.
const HEADS = new Set(["if", "while", "for", "with"]);
const NO_FUNCTION = new Set(["if", "while", "for", "with", "switch", "catch"]);

/**
 * All tokens, or null where the text is none (V8 will say why). Of each: kind (`word` `number` `string` `template`
 * `regex` or the punctuator itself), text, start, end, whether a line end stands before it, the index of the bracket
 * it is in (-1 for none), and for brackets their partner and what they hold. If the text ends in the middle of
 * something, `end.rest` gets what would close all that is open.
 */
function scan(source, end = { rest: null }) {
  const tokens = [];
  const open = [];          // indexes of open brackets; templates with an open `${` too
  let at = source.startsWith("#!") ? Math.max(source.search(/[\n\r]|$/), 0) : 0;
  let line = true;
  const pending = [];       // functions and classes whose body is still to come
  let matters = -1;         // index of the last `import` or `await`

  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    return found && found[0];
  };
  const add = (kind, text) => {
    const token = { kind, text, start: at, end: at + text.length, line, inside: open.length ? open[open.length - 1] : -1, mate: -1, holds: "" };
    tokens.push(token);
    at = token.end;
    line = false;
    return token;
  };
  /** The rest of a template, which began at `start`, from here on. */
  const template = (start, from) => {
    const end = skipTemplate(source, from);
    if (end < 0) return false;
    at = start;
    const token = add("template", source.slice(start, end));
    if (source.charCodeAt(end - 1) === 123) {
      open.push(tokens.length - 1);
      token.holds = "part";
    }
    return true;
  };
  /** The text is over, and something that only ends with `mark` is still open, beside brackets. */
  const ends = (mark) => {
    end.rest = mark;
    for (let n = open.length - 1; n >= 0; n--) {
      const { kind } = tokens[open[n]];
      end.rest += kind === "{" ? "}" : kind === "(" ? ")" : kind === "[" ? "]" : "}`";
    }
    return null;
  };
  /** Data can be long: forgets what stands in this bracket so far, if nothing there matters. */
  const forget = () => {
    const from = open[open.length - 1];
    if (from === undefined || tokens.length - from < MANY || matters > from) return;
    tokens.length = from + 1;
  };

  for (;;) {
    const from = at;
    at = skipSpace(source, at);
    if (at < 0) return ends("*/");
    if (at !== from && !line) line = hasLineEnd(source, from, at);
    if (at >= source.length) break;
    const here = source[at], last = tokens[tokens.length - 1];
    let text;
    if ((text = match(WORD)) !== null) {
      const token = add("word", text);
      if (text === "import" || text === "await") matters = tokens.length - 1;
      const member = last && (last.kind === "." || last.kind === "?.");
      if ((text === "function" || text === "class") && !member) {
        pending.push({ inside: token.inside, holds: text === "class" ? "class" : "function", value: !declares(tokens) });
      }
    } else if ((text = match(NUMBER)) !== null) {
      add("number", text);
    } else if (here === "'" || here === '"') {
      const end = skipString(source, at);
      if (end < 0) {
        const mark = [here, "\n" + here].find((mark) => skipString(source + mark, at) > 0);
        return mark === undefined ? null : ends(mark);
      }
      add("string", source.slice(at, end));
    } else if (here === "`") {
      if (!template(at, at + 1)) return ends("`");
    } else if (here === "/" && wantsOperand(tokens)) {
      const end = skipRegex(source, at);
      if (end < 0) return null;
      add("regex", source.slice(at, end));
    } else if ((text = match(PUNCTUATOR)) === null) {
      return null;
    } else if (text === "}" && open.length && tokens[open[open.length - 1]].holds === "part") {
      open.pop();
      if (!template(at, at + 1)) return ends("`");
    } else if (text === "{" || text === "(" || text === "[") {
      const token = add(text, text);
      if (text === "{") {
        const body = pending.length && pending[pending.length - 1].inside === token.inside ? pending.pop() : null;
        token.holds = body ? body.holds : braceHolds(tokens);
        token.value = body ? body.value : token.holds === "object";
      } else if (text === "(" && last !== undefined && last.kind === "word") {
        const before = tokens[tokens.length - 3];
        const member = before && (before.kind === "." || before.kind === "?.");
        const awaits = last.text === "await" && before && before.text === "for";
        token.holds = member ? "" : awaits ? "for" : last.text;
      }
      open.push(tokens.length - 1);
    } else if (text === "}" || text === ")" || text === "]") {
      const from = open.pop();
      if (from === undefined) return null;
      const opener = tokens[from];
      if (opener.kind + text !== "{}" && opener.kind + text !== "()" && opener.kind + text !== "[]") return null;
      const token = add(text, text);
      token.mate = from;
      token.holds = opener.holds;
      token.value = opener.value;
      opener.mate = tokens.length - 1;
    } else {
      if (text === "," || text === ";") forget();
      add(text, text);
    }
  }
  return open.length ? ends("") : tokens;
}

/** What a brace holds: `object`, `class`, `function` (a body) or `block`. */
function braceHolds(tokens) {
  const at = tokens.length - 1, before = tokens[at - 1];
  if (before === undefined) return "block";
  if (before.kind === "=>") return "function";
  if (before.kind === ")") return NO_FUNCTION.has(before.holds) ? "block" : "function";
  if (before.kind === "word") {
    if (before.text === "static" && inBody(tokens, at, "class")) return "function";
    return BEFORE_OPERAND.has(before.text) && before.text !== "do" && before.text !== "else" ? "object" : "block";
  }
  if (before.kind === ";" || before.kind === "{" || before.kind === "}") return "block";
  if (before.kind === ":") return inBody(tokens, at, "object") || questions(tokens, at) ? "object" : "block";
  return "object";
}

/** Whether the `function` or `class` at the end of these is a declaration. */
function declares(tokens) {
  const at = tokens.length - 1, before = tokens[at - 1];
  if (before && before.kind === "word" && before.text === "async") return mayBegin(tokens, at - 1);
  return mayBegin(tokens, at) || (before !== undefined && before.kind === "word" && (before.text === "export" || before.text === "default"));
}

function inBody(tokens, at, holds) {
  const inside = tokens[at].inside;
  return inside >= 0 && tokens[inside].holds === holds;
}

/** Whether the `:` before the token belongs to a `?`. */
function questions(tokens, at) {
  for (let n = at - 2; n >= 0 && tokens[n].inside === tokens[at].inside && tokens[n].kind !== ";"; n--) {
    if (tokens[n].kind === "?") return true;
  }
  return tokens[at].inside >= 0 && tokens[tokens[at].inside].kind !== "{";
}

/** Whether a token at the end of these would begin an operand: then `/` begins a regular expression. */
function wantsOperand(tokens) {
  const last = tokens[tokens.length - 1];
  if (last === undefined) return true;
  switch (last.kind) {
    case "word": {
      const before = tokens[tokens.length - 2];
      if (before && (before.kind === "." || before.kind === "?.")) return false;
      return BEFORE_OPERAND.has(last.text);
    }
    case "number": case "string": case "regex": case "]": return false;
    case "template": return last.holds === "part";
    case ")": return HEADS.has(last.holds);
    case "}": return !last.value;
    case "++": case "--": return !endsOperand(tokens, tokens.length - 2) || last.line;
    default: return true;
  }
}

/** Whether the token can end an expression. */
function endsOperand(tokens, at) {
  return at >= 0 && !wantsOperand(at === tokens.length - 1 ? tokens : tokens.slice(Math.max(at - 2, 0), at + 1));
}

const CONTINUES = new Set(["in", "instanceof", "of", "as"]);
const FOLLOWS_BLOCK = new Set(["else", "catch", "finally"]);

/** Whether a statement may begin at this token, by semicolons, blocks and line ends. */
function mayBegin(tokens, at) {
  const token = tokens[at], before = tokens[at - 1];
  if (token.kind === ")" || token.kind === "}" || token.kind === "]") return false;
  if (before === undefined || before === tokens[token.inside]) return before === undefined || before.kind === "{";
  if (before.kind === ";") return true;
  if (token.kind === "word" && (CONTINUES.has(token.text) || FOLLOWS_BLOCK.has(token.text))) return false;
  if (before.kind === "}" && !before.value) {
    return !(token.kind === "word" || token.line) ? !isInfix(token) : true;
  }
  if (!token.line || !endsOperand(tokens, at - 1)) return false;
  return !isInfix(token) || token.kind === "++" || token.kind === "--";
}

/** Whether the token, on a line of its own, goes on with the expression of the line before. */
function isInfix(token) {
  switch (token.kind) {
    case "word": case "number": case "string": case "regex": case "{": case "!": case "~": case "@": return false;
    case "template": return true;
    default: return true;
  }
}
