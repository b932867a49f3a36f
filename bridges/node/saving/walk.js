// Walking: whether a value comes back as what it is.
//
// V8 writes values by structured clone, which keeps identity but drops prototypes, attributes of properties and more without a
// word. So each value is walked first, without calling anything of the user's: what clone would drop is noted as a fix that is
// saved beside it, and what cannot be mended is refused by name.

const { types } = util;
const DEEP = 500;  // V8 reads and writes by recursion, and its stack ends at about twice this depth
const bufferOf = descriptor(getPrototypeOf(original("Uint8Array").prototype), "buffer").get;
const bufferOfView = descriptor(original("DataView").prototype, "buffer").get;

/** What the language itself has by this name, whatever the user has declared since. */
function original(name) {
  return BASE.get(name)?.value ?? getProperty(G, name);
}

/** Why a value cannot be saved. */
class Unsavable extends Error {}

/** The kinds that V8 knows, and the prototype that it gives to each. */
const KINDS = [
  ["array", Array.isArray, original("Array").prototype],
  ["map", types.isMap, original("Map").prototype],
  ["set", types.isSet, original("Set").prototype],
  ["date", types.isDate, original("Date").prototype],
  ["regexp", types.isRegExp, original("RegExp").prototype],
  ["error", types.isNativeError, null],
  ["view", types.isArrayBufferView, null],
  ["buffer", types.isArrayBuffer, original("ArrayBuffer").prototype],
  ["boxed", types.isBoxedPrimitive, null],
];
const REFUSED = [
  [types.isPromise, "a promise"],
  [types.isWeakMap, "a WeakMap"],
  [types.isWeakSet, "a WeakSet"],
  [types.isGeneratorObject, "a generator that is under way"],
  [types.isMapIterator, "an iterator"],
  [types.isSetIterator, "an iterator"],
  [types.isArgumentsObject, "an `arguments` object"],
  [types.isModuleNamespaceObject, "a module"],
  [types.isSharedArrayBuffer, "memory that is shared with other threads"],
  [types.isExternal, "an object of Node's own"],
];
const ERRORS = new Map(["Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError"].map((name) => [original(name).prototype, name]));

/** What has been found out about values so far; `classOf` tells how a class is found again, or throws, `prototypeOf` the same of a prototype without one. */
class Walk {
  constructor(classOf, prototypeOf) {
    this.classOf = classOf;
    this.prototypeOf = prototypeOf;
    this.good = new Map();      // objects of what is saved -> what was found with the name that had them first
    this.accepted = [];         // what was found with each name, in this order
    this.direct = new Set();    // memory that is a value itself
  }

  /** Looks at all that values hold. Gives what has to be mended when they are read, or throws Unsavable. */
  look(...values) {
    const found = { values, seen: new Set(), fixes: [], owners: new Set(), direct: [], needs: [] };
    const stack = values.map((value) => [value, 1, ""]);
    while (stack.length) {
      const [item, depth, where] = stack.pop();
      if (typeof item === "symbol") throw new Unsavable(`${within(where)}a symbol`);
      if (typeof item === "function") throw new Unsavable(`${within(where)}a function`);
      if (typeof item !== "object" || item === null || found.seen.has(item)) continue;
      const owner = this.good.get(item);
      if (owner !== undefined) {
        found.owners.add(owner);
        continue;
      }
      if (depth > DEEP) throw new Unsavable(`it is nested more than ${DEEP} levels deep`);
      found.seen.add(item);
      const children = [];
      this.object(item, where, found, (child, key) => children.push([child, depth + 1, where.length > 60 ? where : where + key]));
      for (let n = children.length - 1; n >= 0; n--) stack.push(children[n]);
    }
    return found;
  }

  /** The value will be saved. */
  accept(found) {
    for (const item of found.seen) this.good.set(item, found);
    found.seen.clear();
    this.accepted.push(found);
    for (const item of found.direct) this.direct.add(item);
  }

  object(item, where, found, child) {
    if (isProxy(item)) throw new Unsavable(`${within(where)}a Proxy`);
    const proto = getPrototypeOf(item), fix = { object: item, proto: undefined, props: [], level: level(item) };
    const plain = proto === mainObject && !types.isArgumentsObject(item);
    if (!plain) for (const [is, text] of REFUSED) if (is(item)) throw new Unsavable(`${within(where)}${text}`);
    const kind = plain ? undefined : KINDS.find(([, is]) => is(item));
    const usual = kind === undefined ? mainObject : kind[0] === "view" ? viewPrototype(item) : kind[0] === "boxed" ? boxedPrototype(item) : kind[2];
    if (kind !== undefined && kind[0] === "error") {
      if (!ERRORS.has(proto)) fix.proto = this.prototype(proto, where, found, child);
      // V8 tells kinds of errors apart by the name that they have.
      else if (errorKindByName(item) !== ERRORS.get(proto)) fix.proto = { global: ERRORS.get(proto) };
    } else if (proto !== usual) fix.proto = this.prototype(proto, where, found, child);
    this.parts(kind === undefined ? "object" : kind[0], item, where, fix, found, child);
    if (fix.proto !== undefined || fix.props.length || fix.level) found.fixes.push(fix);
  }

  /** How the prototype of an object is found again: null, a class, or an object that is saved too. */
  prototype(proto, where, found, child) {
    if (proto === null) return { none: true };
    if (isProxy(proto)) throw new Unsavable(`${within(where)}a Proxy`);
    const made = descriptor(proto, "constructor")?.value;
    if (typeof made === "function" && !isProxy(made) && descriptor(made, "prototype")?.value === proto) {
      const origin = this.classOf(made);
      if (typeof origin === "string") throw new Unsavable(`${within(where)}an instance of \`${cut(nameOf(made), 100)}\`, ${origin}`);
      return origin;
    }
    const origin = this.prototypeOf(proto);
    if (origin !== undefined) return origin;
    child(proto, ".__proto__");
    return { object: proto };
  }

  parts(kind, item, where, fix, found, child) {
    switch (kind) {
      case "object": return this.properties(item, where, fix, child, true);
      case "array": return this.elements(item, where, fix, child);
      case "map":
        apply(mapForEach, item, [(value, key) => { child(key, ".keys()"); child(value, ".values()"); }]);
        break;
      case "set":
        apply(setForEach, item, [(value) => child(value, ".values()")]);
        break;
      case "view": {
        const buffer = apply(types.isDataView(item) ? bufferOfView : bufferOf, item, []);
        if (types.isSharedArrayBuffer(buffer)) throw new Unsavable(`${within(where)}memory that is shared with other threads`);
        refuseResizable(buffer, where);
        if (!types.isDataView(item) && !hasMoreThanItems(item)) return;
        break;
      }
      case "buffer":
        refuseResizable(item, where);
        found.direct.push(item);
        break;
    }
    this.properties(item, where, fix, child, false);
  }

  /** Properties that V8 writes (`written`), if they are as an assignment makes them, and those that it does not. */
  properties(item, where, fix, child, written) {
    const view = types.isTypedArray(item), error = types.isNativeError(item), text = types.isStringObject(item);
    for (const key of ownKeys(item)) {
      if (typeof key === "symbol") throw new Unsavable(`${having(where)}a property whose key is a symbol`);
      if ((view || text) && (/^\d+$/.test(key) || (text && key === "length"))) continue;
      const property = descriptor(item, key);
      if (error && (key === "stack" || (key === "message" && typeof property.value === "string" && flagsOf(property) === 5))) continue;
      if (!("value" in property)) throw new Unsavable(`${having(where)}a getter or setter, \`${cut(key, 60)}\``);
      if (key === "lastIndex" && types.isRegExp(item) && property.value === 0) continue;
      child(property.value, keyed(key));
      const flags = flagsOf(property);
      if (!written || flags !== 7) fix.props.push([key, property.value, flags]);
    }
  }

  /** Looks at the items of a long list without making a text of every index; false if it has holes: then its keys are the fewer. */
  denseItems(item, child) {
    const held = [], { length } = item;
    for (let n = 0; n < length; n++) {
      if (!hasOwn(item, n)) return false;
      const value = item[n];
      if (typeof value === "object" || typeof value === "function" || typeof value === "symbol") held.push([value, n]);
    }
    for (const [value, n] of held) child(value, `[${n}]`);
    return true;
  }

  elements(item, where, fix, child) {
    if (item.length > 100_000 && !hasMoreThanItems(item) && this.denseItems(item, child)) return;
    for (const key of ownKeys(item)) {
      if (key === "length") continue;
      if (typeof key === "symbol") throw new Unsavable(`${having(where)}a property whose key is a symbol`);
      const property = descriptor(item, key);
      if (!("value" in property)) throw new Unsavable(`${having(where)}a getter or setter, \`${cut(key, 60)}\``);
      child(property.value, keyed(key));
      const flags = flagsOf(property);
      // A frozen list is frozen again as a whole.
      if (flags !== 7 && fix.level < 2) fix.props.push([key, property.value, flags]);
    }
  }
}

/** The kind that V8 takes an error for: by its `name`, own or inherited. */
function errorKindByName(item) {
  for (let at = item; at !== null && !isProxy(at); at = getPrototypeOf(at)) {
    const name = descriptor(at, "name");
    if (name !== undefined) return [...ERRORS.values()].includes(name.value) ? name.value : "Error";
  }
  return "Error";
}

const hasOwn = (item, key) => apply(ownProperty, item, [key]);
const ownProperty = original("Object").prototype.hasOwnProperty;

function flagsOf({ writable, enumerable, configurable }) {
  return (writable ? 1 : 0) | (enumerable ? 2 : 0) | (configurable ? 4 : 0);
}

function keyed(key) {
  return /^\d+$/.test(key) ? `[${key}]` : `.${cut(key, 40)}`;
}

function within(where) {
  return where === "" ? "it is " : `it holds, at \`${where}\`, `;
}

function having(where) {
  return where === "" ? "it has " : within(where);
}

/** 0: anything can be done to it; 1: nothing can be added, 2: it is sealed, 3: frozen. */
function level(item) {
  if (isExtensible(item)) return 0;
  return isFrozen(item) ? 3 : isSealed(item) ? 2 : 1;
}

/** Whether a list has properties besides its items; to ask for all keys would make a text of every index. */
function hasMoreThanItems(item) {
  if (item.length <= 1000) return true;
  return /more items?,/.test(inspect(item, { depth: 0, maxArrayLength: 0, maxStringLength: 10, customInspect: false, breakLength: Infinity }));
}

function refuseResizable(buffer, where) {
  if (buffer.resizable) throw new Unsavable(`${within(where)}memory that can grow`);
  try {
    new OwnBytes(buffer);
  } catch {
    throw new Unsavable(`${within(where)}memory that was given to another thread`);
  }
}

const OwnBytes = original("Uint8Array");

const tagOf = descriptor(getPrototypeOf(original("Uint8Array").prototype), Symbol.toStringTag).get;

/** The name of a view's kind: `Uint8Array`, `DataView`, and `Buffer`. */
function viewKind(view) {
  if (types.isDataView(view)) return "DataView";
  const kind = apply(tagOf, view, []);
  return kind === "Uint8Array" && isBuffer(view) ? "Buffer" : kind;
}

function isBuffer(view) {
  for (let at = getPrototypeOf(view); at !== null && !isProxy(at); at = getPrototypeOf(at)) if (at === Bytes.prototype) return true;
  return false;
}

function viewPrototype(view) {
  return (viewKind(view) === "Buffer" ? Bytes : original(viewKind(view))).prototype;
}

function boxedPrototype(item) {
  if (types.isNumberObject(item)) return original("Number").prototype;
  if (types.isStringObject(item)) return original("String").prototype;
  if (types.isBooleanObject(item)) return original("Boolean").prototype;
  return types.isBigIntObject(item) ? original("BigInt").prototype : original("Symbol").prototype;
}

function nameOf(made) {
  const name = descriptor(made, "name");
  return name && typeof name.value === "string" && name.value ? name.value : "(anonymous)";
}
