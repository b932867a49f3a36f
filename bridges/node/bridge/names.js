// Names: what the user has defined, which is every property of the global object that was not there before.

const BASE = new Map();       // names at the start, with the property of those that `clear` gives back
const CONSTANTS = new Set();  // names that were declared with `const`, or imported
const DECLARED = new Set();   // names of BASE that the user declared all the same
const GONE = new Set();       // names that `clear` could only empty
const KNOWN = new Map();      // name -> its value as last seen; weakly, so that nothing is kept alive
const GIVEN = new Map();      // name -> its value, likewise, of what the user's standard library has defined
const FEW = 1000;             // up to so many names are all compared after every eval

/** Only to look at some of Node's globals makes it load them, for up to a tenth of a second. */
function rememberBase() {
  for (const name of ownKeys(G)) if (typeof name === "string") BASE.set(name, null);
  const language = Object.getOwnPropertyNames(globalThis);
  for (const name of [...language, "console", "process", "Buffer", "require", "module", "exports", "setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "queueMicrotask"]) {
    if (BASE.has(name)) BASE.set(name, descriptor(G, name));
  }
}

function isUserName(name) {
  if (typeof name !== "string") return false;
  if (GIVEN.has(name) && isSame(GIVEN.get(name), valueOf(name))) return false;
  if (BASE.has(name)) return DECLARED.has(name);
  return !GONE.has(name) || descriptor(G, name)?.value !== undefined;
}

function userNames() {
  return ownKeys(G).filter(isUserName);
}

/** What stands for a value between evals. */
function token(value) {
  if ((typeof value === "object" && value !== null) || typeof value === "function") return new WeakRef(value);
  return typeof value === "string" && value.length > 1000 ? { text: value.slice(0, 100) + value.slice(-100), length: value.length } : value;
}

function isSame(known, value) {
  if (known instanceof WeakRef) return known.deref() === value;
  if (typeof known === "object" && known !== null) {
    return typeof value === "string" && value.length === known.length && value.slice(0, 100) + value.slice(-100) === known.text;
  }
  return Object.is(known, value);
}

function valueOf(name) {
  const property = descriptor(G, name);
  return property && "value" in property ? property.value : property?.get;
}

/** What the eval did to the names; beyond FEW only those that its code mentions are compared. */
function changes(source) {
  const mentioned = KNOWN.size > FEW ? new Set(source.match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu) ?? []) : null;
  const added = [], rebound = [], removed = [];
  const look = (name) => {
    const isNew = !KNOWN.has(name), value = valueOf(name);
    if (!isNew && isSame(KNOWN.get(name), value)) return;
    (isNew && !GIVEN.delete(name) ? added : rebound).push(name);
    KNOWN.set(name, token(value));
  };
  const drop = (name) => {
    removed.push(name);
    KNOWN.delete(name);
    CONSTANTS.delete(name);
  };
  if (mentioned !== null && callsNothing(source)) {
    for (const name of mentioned) {
      if (descriptor(G, name) !== undefined && isUserName(name)) look(name);
      else if (KNOWN.has(name)) drop(name);
    }
    return listed(added, rebound, removed);
  }
  const names = userNames();
  for (const name of names) if (mentioned === null || mentioned.has(name) || !KNOWN.has(name)) look(name);
  if (KNOWN.size > names.length) {
    const present = new Set(names);
    for (const name of KNOWN.keys()) if (!present.has(name)) drop(name);
  }
  return listed(added, rebound, removed);
}

/**
 * Whether code calls nothing and computes no name, so that it changes no names but those that stand in it. To list
 * thousands takes V8 longer than most evals. What a getter or the like should define is told after the next eval that lists.
 */
function callsNothing(source) {
  return !/[(`\\]|\.\.\.|\b(?:new|import|await|yield|of|class|with)\b/.test(source) && !(source.includes("[") && /=|\+\+|--|\bdelete\b/.test(source));
}

function listed(added, rebound, removed) {
  for (const name of GIVEN.keys()) {
    if (descriptor(G, name) === undefined && GIVEN.delete(name)) removed.push(name);
  }
  if (added.length + rebound.length + removed.length === 0) return undefined;
  let room = CHANGES_LISTED, more = 0;
  const take = (names) => {
    more += Math.max(names.length - room, 0);
    const taken = names.slice(0, room);
    room -= taken.length;
    return taken;
  };
  const changed = {};
  if (added.length) changed.added = take(added).map(describe);
  if (rebound.length) changed.rebound = take(rebound).map(describe);
  if (removed.length) changed.removed = take(removed);
  if (more) changed.more = more;
  return changed;
}

function describe(name) {
  const property = descriptor(G, name);
  if (property && !("value" in property)) return { name, type: "accessor" };
  return { name, type: typeName(property?.value), size: sizeOf(property?.value) };
}

/** Empties the namespace, and gives back what the user put over Node's own globals. */
function clearNames() {
  for (const name of [...userNames(), ...GIVEN.keys()]) {
    if (BASE.has(name)) continue;
    if (!deleteProperty(G, name)) {
      try {
        G[name] = undefined;
      } catch {}
      GONE.add(name);
    }
  }
  for (const [name, property] of BASE) {
    if (property === null) continue;
    const now = descriptor(G, name);
    if (now === undefined || now.value !== property.value || now.get !== property.get) {
      try {
        defineProperty(G, name, property);
      } catch {}
    }
  }
  GIVEN.clear();
  CONSTANTS.clear();
  DECLARED.clear();
  KNOWN.clear();
  giveBackOutputs();
  return { notice: whatGoesOn() };
}

// Node's words for the things that keep it running, each with the user's words for one and for several.
const GOING_ON = {
  Timeout: ["timer", "timers"], Immediate: ["timer", "timers"], ProcessWrap: ["child process", "child processes"],
  TCPServerWrap: ["server", "servers"], PipeServerWrap: ["server", "servers"], TCPSocketWrap: ["connection", "connections"],
  Worker: ["worker", "workers"], FSEventWrap: ["watched file", "watched files"],
};

/** What a clear leaves running, in words; undefined if that is nothing. */
function whatGoesOn() {
  const counts = new Map();
  let own = ownImmediates;
  for (const kind of list(process.getActiveResourcesInfo?.() ?? [])) {
    if (kind === "Immediate" && own-- > 0) continue;
    const words = GOING_ON[kind];
    if (words !== undefined) counts.set(words[1], { count: (counts.get(words[1])?.count ?? 0) + 1, one: words[0] });
  }
  const parts = [...counts].map(([others, { count, one }]) => `${count} ${count === 1 ? one : others}`);
  if (parts.length === 0) return undefined;
  const listed = parts.length === 1 ? parts[0] : parts.slice(0, -1).join(", ") + " and " + parts[parts.length - 1];
  return `${listed} of earlier evals ${parts.length === 1 && listed.startsWith("1 ") ? "goes" : "go"} on`;
}
