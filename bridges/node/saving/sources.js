// Sources: functions and classes come back by their text, what a module gave by the module's name.

const functionPrototype = original("Function").prototype;
const LOOKED = "stead$looked";
// Requiring one of these modules prints a warning.
const WARNING = new Set(["punycode", "sys", "wasi", "sqlite", "trace_events"]);

/** The text of a function, if it uses no variable from around it; throws Unsavable. */
function textOf(made) {
  if (isProxy(made)) throw new Unsavable("it is a Proxy");
  const text = apply(functionText, made, []);
  if (/\{\s*\[native code\]\s*\}$/.test(text)) throw new Unsavable("it is a bound function, or one of Node's own that no module exports");
  const captured = capturedBy(made);
  if (captured !== null) throw new Unsavable(`it uses variables of the function or block that it was made in: ${captured}`);
  return text;
}

/** The text from which a function or class can be made again at the top level; throws Unsavable. */
function sourceOf(made) {
  const text = textOf(made);
  try {
    new Script("(" + text + "\n)");
  } catch {
    throw new Unsavable("it is a method, which has no text of its own");
  }
  return text;
}

/** Names of variables that a function has from where it was made, and that are not global; null for none. */
function capturedBy(made) {
  connectInspector();
  defineProperty(G, LOOKED, hiddenProperty(made));
  const names = new Set();
  try {
    const post = (method, message) => {
      let result = {};
      withoutToJSON(() => askInspector(method, { __proto__: null, ...message }, (error, answer) => { result = answer ?? {}; }));
      return result;
    };
    const membersOf = (objectId) => post("Runtime.getProperties", { objectId, ownProperties: true });
    const { result } = post("Runtime.evaluate", { expression: LOOKED, objectGroup: LOOKED });
    const scopes = list(membersOf(result.objectId).internalProperties ?? []).find((one) => one.name === "[[Scopes]]");
    if (scopes === undefined) return "which cannot be told";
    for (const { value } of list(membersOf(scopes.value.objectId).result)) {
      if (!value || value.description === "Global" || value.description === "Script") continue;
      for (const { name } of list(membersOf(value.objectId).result)) names.add(name);
    }
    post("Runtime.releaseObjectGroup", { objectGroup: LOOKED });
  } finally {
    deleteProperty(G, LOOKED);
  }
  // A function's own name, and the private names of a class, are in its text.
  const own = nameOf(made);
  const others = [...names].filter((name) => name !== own && !name.startsWith("#") && !name.startsWith("."));
  return others.length ? others.slice(0, 5).map((name) => `\`${name}\``).join(", ") : null;
}

/** Whether a function was made in strict mode; of those without `arguments` of their own it cannot be told. */
function isStrictFunction(made, text) {
  return /^function\b/.test(text) && descriptor(made, "arguments") === undefined;
}

/** What a class extends: null for nothing; throws if that cannot be found again by its name. */
function baseOf(made, text) {
  const base = getPrototypeOf(made);
  if (base === functionPrototype || base === null) return null;
  const tokens = scan("x = " + text) ?? [];
  const from = tokens.findIndex((token) => token.kind === "word" && token.text === "extends" && token.inside === -1);
  let words = "";
  for (let n = from + 1; from > 0 && n < tokens.length && tokens[n].kind !== "{"; n++) words += tokens[n].text;
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u.test(words)) {
    throw new Unsavable("its base class is made by an expression");
  }
  let found;
  try {
    found = find(words);
  } catch {}
  if (found !== base) throw new Unsavable(`its base class \`${words}\` has been redefined`);
  return base;
}

/** Whether a class keeps private fields in its instances, where nobody can see them. */
function hasPrivateFields(made) {
  for (let at = made; typeof at === "function" && at !== functionPrototype; at = getPrototypeOf(at)) {
    if ((scan("x = " + apply(functionText, at, [])) ?? []).some((token) => token.kind === "word" && token.text.startsWith("#"))) return true;
  }
  return false;
}

/** From an object or function of Node or of a module to how it is found again. */
function knownOrigins() {
  const origins = new Map();
  const add = (value, origin) => {
    if (((typeof value === "object" && value !== null) || typeof value === "function") && !origins.has(value)) origins.set(value, origin);
  };
  const addAll = (holder, origin) => {
    if (isProxy(holder)) return;
    for (const key of ownKeys(holder)) {
      if (typeof key !== "string") continue;
      let property;
      try {
        property = descriptor(holder, key);
      } catch {}  // a module that is still being loaded
      if (property && "value" in property) add(property.value, { ...origin, key });
    }
  };
  const holders = [];
  // Only globals that were looked at when the session began: some are loaded by a look at them.
  for (const [name, property] of BASE) {
    if (property === null || !("value" in property) || name === "exports" || name === "module" || DECLARED.has(name)) continue;
    const { value } = property;
    add(value, { global: name });
    if ((typeof value === "object" && value !== null && value !== G) || typeof value === "function") holders.push([value, { global: name }]);
  }
  for (const id of list(Module.builtinModules)) {
    if (id.startsWith("_") || WARNING.has(id) || !list(process.moduleLoadList).includes("NativeModule " + id)) continue;
    const whole = main.require(id);
    add(whole, { builtin: id });
    if ((typeof whole === "object" && whole !== null) || typeof whole === "function") holders.push([whole, { builtin: id }]);
  }
  for (const file of Object.keys(Module._cache)) {
    const { exports } = Module._cache[file];
    const origin = { file, specifier: specifierOf(file) };
    add(exports, origin);
    if ((typeof exports === "object" && exports !== null) || typeof exports === "function") holders.push([exports, origin]);
  }
  for (const [specifier, space] of IMPORTED) {
    add(space, { imported: specifier });
    holders.push([space, { imported: specifier }]);
  }
  for (const [holder, origin] of holders) addAll(holder, origin);
  return origins;
}

/** What to require for a file: the name of its package, if that leads to it. */
function specifierOf(file) {
  const at = file.lastIndexOf("/node_modules/");
  if (at < 0) return null;
  const inside = file.slice(at + "/node_modules/".length), parts = inside.split("/");
  const name = parts.slice(0, inside.startsWith("@") ? 2 : 1).join("/");
  for (const specifier of [name, inside]) {
    try {
      if (requireHere.resolve(specifier) === file) return specifier;
    } catch {}
  }
  return null;
}

/** The value that has such an origin; a promise of it where a module has to be imported. */
function fromOrigin({ global, builtin, file, specifier, imported, key }) {
  const part = (whole) => {
    if (key === undefined) return whole;
    if (whole === null || whole === undefined || !(key in Object(whole))) throw new WorkError("LoadError", `it has no \`${key}\` any more`);
    return whole[key];
  };
  if (global !== undefined) return part(getProperty(G, global));
  if (builtin !== undefined) return part(main.require(builtin));
  if (imported !== undefined) return apply(promiseThen, getProperty(G, IMPORT)(imported), [part]);
  if (specifier !== null) {
    try {
      return part(requireHere(specifier));
    } catch {}
  }
  return part(requireHere(file));
}
