// Operands: where the operand of an `await` ends, by the tokens alone.

const PREFIXES = new Set(["+", "-", "!", "~", "++", "--", "typeof", "void", "delete", "await", "new"]);

/** The index of the last token of the operand that begins at this index; -1 where the tokens cannot tell. */
function operandEnd(tokens, at) {
  while (tokens[at] && PREFIXES.has(tokens[at].text) && !(tokens[at].text === "new" && tokens[at + 1]?.kind === ".")) at++;
  if (tokens[at] === undefined) return -1;
  const { inside } = tokens[at];
  let end = primaryEnd(tokens, at);
  for (let next = end; next >= 0;) {
    end = next;
    next = suffixEnd(tokens, end + 1, inside);
  }
  if (end < 0) return -1;
  const after = tokens[end + 1];
  if (after === undefined) return end;
  if (after.kind === "=>") return -1;
  return (after.kind === "++" || after.kind === "--") && !after.line ? end + 1 : end;
}

/** What begins an operand, without what follows it: `a` of `a.b()`. */
function primaryEnd(tokens, at) {
  const token = tokens[at];
  switch (token.kind) {
    case "number": case "string": case "regex": return at;
    case "template": return templateEnd(tokens, at);
    case "(": case "[": case "{": return token.mate;
    case "word": break;
    default: return -1;
  }
  const after = tokens[at + 1];
  if (token.text === "class") return bodyEnd(tokens, at, "class");
  if (token.text === "function") return bodyEnd(tokens, at, "function");
  if (token.text === "async" && after !== undefined && !after.line) {
    if (after.text === "function") return bodyEnd(tokens, at + 1, "function");
    // An arrow function is no operand.
    if (after.kind === "word" && tokens[at + 2]?.kind === "=>") return -1;
  }
  return token.text.startsWith("#") ? -1 : at;
}

/** The end of a class or function that begins here. */
function bodyEnd(tokens, at, holds) {
  const { inside } = tokens[at];
  for (let n = at + 1; n < tokens.length && tokens[n].inside >= inside; n++) {
    if (tokens[n].inside === inside && tokens[n].kind === "{" && tokens[n].holds === holds) return tokens[n].mate;
  }
  return -1;
}

/** The end of the template that begins here, with all its parts. */
function templateEnd(tokens, at) {
  const { inside } = tokens[at];
  for (let n = at; n < tokens.length && tokens[n].inside >= inside; n++) {
    if (tokens[n].inside === inside && tokens[n].kind === "template" && tokens[n].holds !== "part") return n;
  }
  return -1;
}

/** The end of `.x`, `?.x`, `[…]`, `(…)` or a template that follows an operand, on the next line too; -1 if none does. */
function suffixEnd(tokens, at, inside) {
  const token = tokens[at], after = tokens[at + 1];
  if (token === undefined || token.inside !== inside) return -1;
  switch (token.kind) {
    case ".": return after?.kind === "word" ? at + 1 : -1;
    case "?.":
      if (after?.kind === "word") return at + 1;
      return after?.kind === "(" || after?.kind === "[" ? after.mate : -1;
    case "(": case "[": return token.mate;
    case "template": return token.text.startsWith("`") ? templateEnd(tokens, at) : -1;
    default: return -1;
  }
}

/** Whether the token is in an arrow function's expression: `() => f(await x)`. */
function isInArrow(tokens, at) {
  for (let n = at; n >= 0;) {
    const token = tokens[n], before = tokens[n - 1];
    if (before === undefined || before === tokens[token.inside]) {
      n = token.inside;  // what is before the bracket that the token is in
    } else if (token.kind === "," || token.kind === ";" || mayBegin(tokens, n)) {
      // A statement or an item of a list begins here; the bracket around it may still be in an arrow function.
      n = token.inside;
    } else if (before.kind === "=>") {
      return true;
    } else {
      n = before.mate >= 0 && before.mate < n - 1 ? before.mate : n - 1;
    }
  }
  return false;
}
