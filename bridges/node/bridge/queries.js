// Queries: what the namespace holds, one name of it, and names to go on with.

function answer(seq, call) {
  let reply;
  try {
    reply = { ev: "reply", seq, data: call() };
  } catch (error) {
    reply = { ev: "reply", seq, error: describeThrown(error) };
  }
  finishQuery(reply);
}

/** As for evals: an interrupt that is on its way is awaited first. */
function finishQuery(reply) {
  if (swap(shared, STATE, RUNNING, IDLE) === KILLING) {
    S.heldReply = reply;
    return;
  }
  wake(shared, STATE);
  S.query = null;
  transmit(reply);
}

function vars() {
  const names = userNames().sort();
  const listed = names.slice(0, VARS_LISTED).map((name) => {
    const property = descriptor(G, name);
    const about = describe(name);
    about.value = property && "value" in property ? cut(shortly(property.value), 100) : "[accessor]";
    return about;
  });
  return { vars: listed, more: Math.max(names.length - VARS_LISTED, 0) };
}

function shortly(value) {
  if (typeof value === "string") return renderString(value, 100);
  return render(value, 100).replace(/\s*\n\s*/g, " ");
}

class Missing extends Error {}

/** The value of a dotted name; getters are not called. */
function find(text) {
  const parts = text.split(".").map((part) => part.trim());
  let value = G;
  for (let n = 0; n < parts.length; n++) {
    if (value === null || value === undefined) throw new Missing(`\`${parts.slice(0, n).join(".")}\` is ${value}`);
    let property;
    for (let at = Object(value); at !== null && property === undefined; at = getPrototypeOf(at)) {
      if (isProxy(at)) throw new Missing(`\`${parts.slice(0, n).join(".")}\` is a Proxy`);
      property = descriptor(at, parts[n]);
    }
    if (property === undefined) throw new Missing(`there is no name \`${parts.slice(0, n + 1).join(".")}\``);
    if (!("value" in property)) {
      // Node's own globals come lazily; anything of the user's may do something.
      if (n > 0 || !BASE.has(parts[n])) throw new Missing(`\`${parts.slice(0, n + 1).join(".")}\` is an accessor`);
      value = getProperty(G, parts[n]);
    } else {
      value = property.value;
    }
  }
  return value;
}

function describeName(name) {
  const value = find(name);
  const about = { name, type: typeName(value), value: render(value), size: sizeOf(value) };
  if (typeof value === "function" && !isProxy(value)) {
    const source = apply(functionText, value, []);
    about.source = cut(source, MESSAGE_BUDGET);
    about.signature = signature(source);
  }
  const members = namesIn(value).filter((member) => !member.startsWith("_"));
  if (members.length) about.members = members.slice(0, COMPLETIONS_LISTED);
  return about;
}

/** The parameters of a function, from its text. */
function signature(source) {
  const arrow = /^(?:async\s+)?([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*=>/u.exec(source);
  if (arrow) return `(${arrow[1]})`;
  const text = "x = " + source, tokens = scan(text);
  if (tokens === null) return undefined;
  const isClass = source.startsWith("class");
  const from = tokens.findIndex((token, at) => token.kind === "(" && (!isClass || tokens[at - 1].text === "constructor"));
  if (from < 0) return isClass ? "()" : undefined;
  return cut(text.slice(tokens[from].start, tokens[tokens[from].mate].end).replace(/\s+/g, " "), 500);
}

/** Names of own and inherited properties, without those that every object has. */
function namesIn(value) {
  const names = new Set();
  if (value === null || value === undefined) return [];
  for (let at = Object(value), depth = 0; at !== null && at !== mainObject && depth < 20; at = getPrototypeOf(at), depth++) {
    if (isProxy(at)) break;
    if (Array.isArray(at) && at.length > 1000) continue;
    for (const name of ownKeys(at)) {
      if (typeof name === "string" && /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) names.add(name);
      if (names.size > 20_000) break;
    }
  }
  return [...names].sort();
}

const KEYWORDS = ("async await break case catch class const continue debugger default delete do else export extends false finally for function if import in instanceof let new null return static super switch this throw true try typeof undefined var void while yield").split(" ");

function complete(text) {
  const expression = /[\p{ID_Start}$_][\p{ID_Continue}$.]*$|$/u.exec(text.trim())[0];
  const dot = expression.lastIndexOf(".");
  const head = expression.slice(0, dot + 1), prefix = expression.slice(dot + 1);
  let names;
  if (dot >= 0) {
    try {
      names = namesIn(find(head.slice(0, -1)));
    } catch {
      names = [];
    }
  } else {
    names = [...new Set([...ownKeys(G).filter((name) => typeof name === "string"), ...KEYWORDS])].sort();
  }
  const hidden = (name) => name === IMPORT || name === CONST || (name.startsWith("_") && !prefix.startsWith("_"));
  const found = names.filter((name) => name.startsWith(prefix) && !hidden(name));
  return { names: found.slice(0, COMPLETIONS_LISTED).map((name) => head + name), more: Math.max(found.length - COMPLETIONS_LISTED, 0) };
}
