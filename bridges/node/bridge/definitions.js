// Definitions: what the statements of a source text define, and what is wrong with it. None of it is run.

const SHORT_LINE = 200, DEFINITIONS_LISTED = 20_000;

/** What is wrong with a text; it is told as it is. */
class SourceProblem extends Error {
  name = "";
}

/** The statements at the top of a text, in order: which names each declares, and on which lines it stands. */
function definitions(source) {
  let plan;
  try {
    plan = rewrite(source);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new SourceProblem(`line ${position(source, error.at)[0]}: ${error.message}`);
  }
  const refused = plan.awaits ? compileError(plan, source, "(async () => {", "\n})") : compileError(plan, source);
  if (refused) throw new SourceProblem(`line ${/:(\d+)\n/.exec(refused.traceback)?.[1] ?? 1}: ${refused.message}`);
  const tokens = scan(source);
  if (tokens === null) throw new SourceProblem("it cannot be parted into statements");
  const starts = statementStarts(tokens, source);
  if (starts.length > DEFINITIONS_LISTED) throw new SourceProblem(`it has ${starts.length} statements, and at most ${DEFINITIONS_LISTED} are listed`);
  const lines = source.split("\n"), lineOf = lineFinder(lines), found = [];
  let last = 0;
  starts.forEach((at, n) => {
    const end = n + 1 < starts.length ? starts[n + 1] - 1 : tokens.length - 1;
    const from = lineOf(tokens[at].start), to = lineOf(tokens[end].end - 1), comment = commentAbove(lines, from, last);
    const doc = comment < from ? docIn(lines.slice(comment - 1, from - 1)) : undefined;
    for (const about of definedBy(tokens, at, end, source)) {
      if (comment < from) about.comment = comment;
      if (about.kind !== "head" && about.name) about.doc = doc;
      found.push({ ...about, from, to });
    }
    last = to;
  });
  return { definitions: found };
}

/** Indexes of the tokens that begin a statement at top level. */
function statementStarts(tokens, source) {
  const starts = [];
  let after = -1;
  for (let at = 0; at < tokens.length; at++) {
    if (tokens[at].inside !== -1 || !(at === after || mayBegin(tokens, at))) continue;
    if (tokens[at].kind === ";") continue;
    starts.push(at);
    if (tokens[at].text === "import") after = statement(tokens, at, emptyPlan(), [], [], source) ?? -1;
  }
  return starts;
}

function emptyPlan() {
  return { names: [], constants: new Set() };
}

/** What finds the number of the line, from 1, that an offset is in. */
function lineFinder(lines) {
  const ends = [];
  let end = 0;
  for (const line of lines) ends.push(end += line.length + 1);
  return (offset) => {
    let low = 0, high = ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] > offset) high = middle;
      else low = middle + 1;
    }
    return low + 1;
  };
}

/** The first line of the comment right above a statement, or its own first line. */
function commentAbove(lines, from, last) {
  let at = from;
  while (at - 1 > last) {
    const line = lines[at - 2].trim();
    if (line.startsWith("//")) {
      at--;
    } else if (line.endsWith("*/")) {
      let first = at - 1;
      while (first > last && !lines[first - 1].includes("/*")) first--;
      if (first <= last || !lines[first - 1].trim().startsWith("/*")) break;
      at = first;
    } else {
      break;
    }
  }
  return at;
}

/** The first line of text in a comment. */
function docIn(lines) {
  const texts = lines.map((line) => line.trim().replace(/^(?:\/\/+|\/\*+|\*+(?!\/))\s*/, "").replace(/\s*\*+\/$/, "").trim());
  return cut(texts.find((text) => text !== "") ?? "", SHORT_LINE) || undefined;
}

/** An entry for each name that a statement declares, or one without a name. */
function definedBy(tokens, at, end, source) {
  const token = tokens[at], plan = emptyPlan(), text = source.slice(token.start, tokens[end].end);
  const shown = cut(text.split(/[\r\n]/, 1)[0].trim(), SHORT_LINE);
  if (at === 0 && token.kind === "string" && (end === at || (end === at + 1 && tokens[end].kind === ";"))) return [{ name: "", kind: "head" }];
  statement(tokens, at, plan, [], [], source);
  const names = [...new Set(plan.names)];
  if (token.text === "import") return (names.length ? names : [""]).map((name) => ({ name, kind: "module", signature: shown }));
  if (token.text === "class" && names.length) return [{ name: names[0], kind: "class" }];
  if ((token.text === "function" || token.text === "async") && names.length) return [{ name: names[0], kind: "function", signature: signature(text) }];
  if (names.length === 1) return [{ name: names[0], ...kindOf(tokens, at + 2, end, source, shown) }];
  if (names.length === 0 && token.kind === "word" && tokens[at + 1]?.kind === "=") return [{ name: token.text, ...kindOf(tokens, at + 1, end, source, shown) }];
  return (names.length ? names : [""]).map((name) => ({ name, kind: isRequire(tokens, at, end) ? "module" : "other", signature: shown }));
}

/** What kind of thing stands behind the `=` at this index. */
function kindOf(tokens, at, end, source, shown) {
  if (tokens[at]?.kind !== "=" || at >= end) return { kind: "other", signature: shown };
  if (isRequire(tokens, at, end)) return { kind: "module", signature: shown };
  let first = at + 1;
  if (tokens[first].text === "class") return { kind: "class" };
  const text = source.slice(tokens[first].start, tokens[end].end);
  if (tokens[first].text === "async" && first < end && !tokens[first + 1].line) first++;
  const head = tokens[first];
  const arrow = head.kind === "(" && head.mate >= 0 ? tokens[head.mate + 1] : tokens[first + 1];
  if (head.text === "function" || ((head.kind === "(" || head.kind === "word") && arrow?.kind === "=>")) return { kind: "function", signature: signature(text) };
  return { kind: "other", signature: shown };
}

/** Whether a declaration takes its value from `require(…)` or `import(…)` as such. */
function isRequire(tokens, at, end) {
  for (let n = at; n < end; n++) {
    if (tokens[n].kind !== "=" || tokens[n].inside !== -1) continue;
    const first = tokens[n + 1].text === "await" ? n + 2 : n + 1;
    const word = tokens[first]?.text;
    return (word === "require" || word === "import") && tokens[first + 1]?.kind === "(";
  }
  return false;
}
