// Values: a bounded text for any value, whatever its size or its way to show itself.

// Ways to show a value, from rich to poor; the first that fits the budget is taken.
const VIEWS = [
  { depth: 6, maxArrayLength: 200, maxStringLength: 2000, keys: 200 },
  { depth: 4, maxArrayLength: 60, maxStringLength: 1000, keys: 60 },
  { depth: 3, maxArrayLength: 25, maxStringLength: 300, keys: 25 },
  { depth: 2, maxArrayLength: 12, maxStringLength: 120, keys: 12 },
  { depth: 1, maxArrayLength: 8, maxStringLength: 80, keys: 8 },
  { depth: 0, maxArrayLength: 5, maxStringLength: 60, keys: 5 },
];
const WALK_LIMIT = 3000;

function render(value, budget = VALUE_BUDGET) {
  if (typeof value === "string") return renderString(value, budget);
  if (typeof value === "bigint" && value > 10n ** 2000n) return cut(value.toString(), budget);
  let text = "";
  try {
    for (const view of VIEWS) {
      const shown = bounded(value, view);
      text = inspect(shown, { depth: view.depth, maxArrayLength: view.maxArrayLength, maxStringLength: view.maxStringLength, breakLength: 100, compact: 3 });
      if (typeof text !== "string") text = String(text);
      if (text.length <= budget) return text;
    }
  } catch (error) {
    return cut(`[${typeName(value)}: showing it threw ${describeThrown(error)}]`, 500);
  }
  return cut(text, budget);
}

function renderString(value, budget) {
  if (value.length <= budget) {
    const text = inspect(value);
    return text.length <= budget ? text : cut(text, budget);
  }
  const half = (budget >> 1) - 30;
  const head = inspect(value.slice(0, half), { maxStringLength: null, breakLength: Infinity }), tail = inspect(value.slice(value.length - half), { breakLength: Infinity });
  return `${cut(head.slice(0, -1), budget >> 1)} … ${cut(tail.slice(1), budget >> 1)} (${value.length} characters)`;
}

/**
 * The value itself, or where an object in it has very many properties a copy that has the first of them: inspect
 * counts the items of arrays, maps and sets, but shows every property of an object.
 */
function bounded(value, view) {
  const seen = new Map();
  let left = WALK_LIMIT;
  const copy = (value, depth) => {
    if (typeof value !== "object" || value === null || depth > view.depth || left-- < 0 || isProxy(value)) return value;
    if (seen.has(value)) return seen.get(value);
    seen.set(value, value);
    const array = Array.isArray(value);
    if (!array && !isPlain(value)) return value;
    if (array && value.length > 100_000 && depth === 0 && view === VIEWS[0]) return value;
    let keys;
    if (array) {
      keys = [];
      for (let n = 0; n < value.length && n < view.maxArrayLength; n++) keys.push(String(n));
    } else {
      keys = Object.keys(value);
    }
    let result = value, more = 0;
    if (!array && keys.length > view.keys) {
      more = keys.length - view.keys;
      keys.length = view.keys;
      result = Object.create(getPrototypeOf(value));
      seen.set(value, result);
      for (const key of keys) defineProperty(result, key, descriptor(value, key));
    }
    for (const key of keys) {
      const property = descriptor(value, key);
      if (property === undefined || !("value" in property)) continue;
      const inner = copy(property.value, depth + 1);
      if (inner === property.value) continue;
      if (result === value) {
        result = array ? apply(sliceArray, value, [0, view.maxArrayLength + 1]) : apply(assign, null, [Object.create(getPrototypeOf(value)), value]);
        seen.set(value, result);
      }
      defineProperty(result, key, plainProperty(inner));
    }
    if (more) result[`… ${more} more`] = MORE;
    return result;
  };
  return copy(value, 0);
}

const sliceArray = G.Array.prototype.slice;
const assign = G.Object.assign;
const MORE = { [inspect.custom]: () => "properties" };

/** An object that inspect shows by its properties, and by nothing of its own. */
function isPlain(value) {
  const prototype = getPrototypeOf(value);
  return prototype === mainObject || prototype === null || prototype === Object.prototype;
}

/** The name of a value's type: what typeof says, or the constructor's name. */
function typeName(value) {
  if (value === null) return "null";
  if (typeof value === "function") return isClass(value) ? "class" : "function";
  if (typeof value !== "object") return typeof value;
  if (isProxy(value)) return "Proxy";
  if (util.types.isModuleNamespaceObject(value)) return "Module";
  try {
    for (let at = value, depth = 0; at !== null && depth < 100 && !isProxy(at); at = getPrototypeOf(at), depth++) {
      const property = descriptor(at, "constructor");
      if (property && typeof property.value === "function") {
        const name = descriptor(property.value, "name");
        if (name && typeof name.value === "string" && name.value) return cut(name.value, 100);
      }
    }
  } catch {}
  return "Object";
}

const functionText = G.Function.prototype.toString;

function isClass(value) {
  try {
    return !isProxy(value) && descriptor(value, "prototype") !== undefined && apply(functionText, value, []).startsWith("class");
  } catch {
    return false;
  }
}

const sizeOfTyped = descriptor(getPrototypeOf(G.Uint8Array.prototype), "length").get;
const sizeOfMap = descriptor(G.Map.prototype, "size").get;
const sizeOfSet = descriptor(G.Set.prototype, "size").get;

/** How much is in it, where that can be told without asking the value itself. */
function sizeOf(value) {
  try {
    if (typeof value === "string") return String(value.length);
    if (typeof value !== "object" || value === null || isProxy(value)) return undefined;
    if (Array.isArray(value)) return String(value.length);
    if (util.types.isTypedArray(value)) return String(apply(sizeOfTyped, value, []));
    if (util.types.isMap(value)) return String(apply(sizeOfMap, value, []));
    if (util.types.isSet(value)) return String(apply(sizeOfSet, value, []));
    if (util.types.isAnyArrayBuffer(value)) return String(value.byteLength);
  } catch {}
  return undefined;
}
