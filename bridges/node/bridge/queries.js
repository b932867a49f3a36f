// Queries: what the namespace holds, one name of it, and names to go on with.

function answer(seq, call) {
  let reply;
  try {
    reply = { ev: "reply", seq, data: call() };
  } catch (error) {
    reply = { ev: "reply", seq, error: error instanceof Missing ? error.message : describeThrown(error) };
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

const LIST_MS = 4000, LOOK_MS = 1000;  // for all values of a list, and for one answer of one value
const TOO_SLOW = "<showing it takes too long>";

function vars() {
  const names = userNames().sort();
  const shown = names.slice(0, VARS_LISTED), listed = [], until = Date.now() + LIST_MS;
  let began = 0;
  const more = () => {
    while (listed.length < shown.length) {
      began = Date.now();
      const name = shown[listed.length], property = descriptor(G, name), about = describe(name);
      about.value = property && "value" in property ? cut(shortly(property.value), 100) : "[accessor]";
      listed.push(about);
    }
    return true;
  };
  while (listed.length < shown.length) {
    const left = until - Date.now();
    if (left > 0 && within(Math.min(left, LOOK_MS), more)) break;
    // Showing a value may run the user's code. A value that takes too long is passed over, as are all that are left when the time is over.
    if (left <= 0 || Date.now() - began > LOOK_MS / 2) listed.push({ ...describe(shown[listed.length]), value: TOO_SLOW });
  }
  return { vars: listed, more: Math.max(names.length - VARS_LISTED, 0) };
}

const callWithin = new Script("callWithin()");

/** What a call gives; undefined if it takes longer than that. Only a script of its own can be given a time. */
function within(ms, call) {
  let result;
  main.context.callWithin = () => { result = call(); };
  try {
    callWithin.runInContext(main.context, { timeout: Math.ceil(ms) });
  } catch (error) {
    if (error?.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    return undefined;
  } finally {
    delete main.context.callWithin;
  }
  return result;
}

function shortly(value) {
  if (typeof value === "string") return renderString(value, 100);
  return render(value, 100).replace(/\s*\n\s*/g, " ");
}

class Missing extends Error {}

/** What a getter gives is not known without calling it. */
class Accessor {
  constructor(property) {
    this.property = property;
  }
}

/** The value of a dotted name; getters are not called. */
function find(text) {
  const parts = text.split(".").map((part) => part.trim());
  let value = G;
  for (let n = 0; n < parts.length; n++) {
    const before = cut(parts.slice(0, n).join("."), 200), whole = cut(parts.slice(0, n + 1).join("."), 200);
    if (value === null || value === undefined) throw new Missing(`\`${before}\` is ${value}`);
    let property;
    for (let at = Object(value); at !== null && property === undefined; at = getPrototypeOf(at)) {
      if (isProxy(at)) throw new Missing(`\`${before}\` is a Proxy, and only its own code knows what it has`);
      property = descriptor(at, parts[n]);
    }
    if (property === undefined) throw new Missing(`there is no name \`${whole}\`${nearNames(parts[n], n === 0 ? globalNames() : namesIn(value))}`);
    if (!("value" in property)) {
      // Getters of Node's own globals only load them; a getter of the user's may do anything.
      if (n === parts.length - 1 && (n > 0 || !BASE.has(parts[n]))) return new Accessor(property);
      if (n > 0 || !BASE.has(parts[n])) throw new Missing(`\`${whole}\` is an accessor, which is not called to look at it`);
      value = getProperty(G, parts[n]);
    } else {
      value = property.value;
    }
  }
  return value;
}

function globalNames() {
  return ownKeys(G).filter((name) => typeof name === "string" && !HELPERS.has(name));
}

const NEAR_NAMES = 3, NEAR_AMONG = 20_000;

/** What the user may have meant: names that differ by a letter or two. */
function nearNames(name, names) {
  const near = [], most = name.length > 4 ? 2 : 1;
  for (const other of names.slice(0, NEAR_AMONG)) {
    if (Math.abs(other.length - name.length) > most && other.toLowerCase() !== name.toLowerCase()) continue;
    const far = distance(name.slice(0, 100).toLowerCase(), other.toLowerCase());
    if (far <= most) near.push([far, other]);
  }
  near.sort((a, b) => a[0] - b[0]);
  return near.length ? "; near: " + near.slice(0, NEAR_NAMES).map(([, other]) => other).join(", ") : "";
}

/** How many letters have to be added, removed, replaced or swapped. */
function distance(a, b) {
  let two = [], one = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(one[j] + 1, row[j - 1] + 1, one[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], two[j - 2] + 1);
    }
    [two, one] = [one, row];
  }
  return one[b.length];
}

function describeName(name) {
  const value = find(name);
  if (value instanceof Accessor) return describeAccessor(name, value.property);
  const about = { name, type: typeName(value), value: within(LOOK_MS, () => render(value)) ?? TOO_SLOW, size: sizeOf(value) };
  if (typeof value === "function" && !isProxy(value)) {
    const source = apply(functionText, value, []);
    about.source = cut(source, MESSAGE_BUDGET);
    about.signature = signature(source);
  }
  const members = namesIn(value).filter((member) => !member.startsWith("_"));
  if (members.length) about.members = members.slice(0, COMPLETIONS_LISTED);
  if (members.length > COMPLETIONS_LISTED) about.more_members = members.length - COMPLETIONS_LISTED;
  return about;
}

function describeAccessor(name, { get, set }) {
  const kinds = [get && "Getter", set && "Setter"].filter(Boolean).join("/");
  const about = { name, type: "accessor", value: `[${kinds}]` };
  const call = get ?? set;
  if (typeof call === "function" && !isProxy(call)) about.source = cut(apply(functionText, call, []), MESSAGE_BUDGET);
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
    const value = find(head.slice(0, -1));
    names = value instanceof Accessor ? [] : namesIn(value);
  } else {
    names = [...new Set([...ownKeys(G).filter((name) => typeof name === "string"), ...KEYWORDS])].sort();
  }
  const hidden = (name) => HELPERS.has(name) || (name.startsWith("_") && !prefix.startsWith("_"));
  const found = names.filter((name) => name.startsWith(prefix) && !hidden(name));
  return { names: found.slice(0, COMPLETIONS_LISTED).map((name) => head + name), more: Math.max(found.length - COMPLETIONS_LISTED, 0) };
}
