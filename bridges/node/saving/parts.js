// Parts: what a function or class has besides what its text gives: properties, methods that were changed or added, prototypes.

// Parts of a function that are looked at by themselves, or that its text gives.
const GIVEN = new Set(["length", "name", "prototype", "arguments", "caller"]);
const OwnSymbol = original("Symbol"), symbolKeyFor = OwnSymbol.keyFor, symbolDescription = descriptor(OwnSymbol.prototype, "description").get;
const WELL_KNOWN = new Map(ownKeys(OwnSymbol).map((name) => [descriptor(OwnSymbol, name).value, name]).filter(([symbol]) => typeof symbol === "symbol"));

/**
 * What a function has besides its text. `values` and `shared` (of its prototype) are saved as values, `keys` are what its text gives
 * again, `added` are functions and accessors that its text does not give. `functionOrigin` tells how a function is made again.
 */
function ownParts(made, source, functionOrigin) {
  const parts = { values: [], shared: [], keys: [], added: [], chain: null, above: null, prototypeLevel: 0, bare: false, name: ownNameOf(made) };
  const isOfText = (key, found) => isClass(made) && [found.value, found.get, found.set].every((one) => one === undefined || isInText(source, key, one));
  const look = (holder, where, values, skip) => {
    for (const key of ownKeys(holder)) {
      if (skip(key)) continue;
      const property = descriptor(holder, key), isData = "value" in property && typeof property.value !== "function";
      const known = encodedKey(key);
      if (isOfText(key, property)) parts.keys.push([where, known]);
      else if (known === null) throw new Unsavable("it has a property whose key is a symbol");
      else if (isData && typeof key === "string") values.push([key, property.value, flagsOf(property)]);
      else if (isData) throw new Unsavable("it has a property whose key is a symbol");
      else parts.added.push([where, known, flagsOf(property), addedPart(property, where ? `prototype.${String(key)}` : String(key), functionOrigin)]);
    }
  };
  look(made, 0, parts.values, (key) => GIVEN.has(key) && (key !== "name" || typeof descriptor(made, "name").value === "string"));
  const prototype = descriptor(made, "prototype")?.value;
  if (typeof prototype === "object" && prototype !== null && !isGenerator(made)) {
    if (isProxy(prototype)) throw new Unsavable("its prototype is a Proxy");
    look(prototype, 1, parts.shared, (key) => key === "constructor");
    lookAtPrototype(made, prototype, parts, functionOrigin);
  }
  return parts;
}

/** What is above a prototype and above the function itself, as an old-style heir has it; and whether it is the prototype that it began with. */
function lookAtPrototype(made, prototype, parts, functionOrigin) {
  const constructor = descriptor(prototype, "constructor");
  if (constructor === undefined) parts.bare = true;
  else if (constructor.value !== made) throw new Unsavable("the constructor of its prototype is another one");
  parts.prototypeLevel = level(prototype);
  const above = getPrototypeOf(prototype), base = getPrototypeOf(made);
  const plain = base === functionPrototype || base === null;
  if (isClass(made)) {
    const expected = plain ? [mainObject, null] : [descriptor(base, "prototype")?.value];
    if (!expected.includes(above)) throw new Unsavable("its prototype was changed after the definition");
    return;
  }
  if (above !== mainObject) parts.chain = originOfPrototype(above, functionOrigin);
  if (!plain) parts.above = functionOrigin(base, "its base");
}

function originOfPrototype(above, functionOrigin) {
  if (above === null) return { none: true };
  const made = isProxy(above) ? undefined : descriptor(above, "constructor")?.value;
  if (typeof made !== "function" || isProxy(made) || descriptor(made, "prototype")?.value !== above) throw new Unsavable("its prototype inherits from an object that is no prototype of a class");
  return functionOrigin(made, "what its prototype inherits from");
}

/** A function or accessor that was added: each function in it as it is found or made again. */
function addedPart({ value, get, set }, key, functionOrigin) {
  const why = `its \`${cut(key, 60)}\`, which was set after the definition,`;
  if (value !== undefined) return { value: functionOrigin(value, why) };
  return { get: get === undefined ? null : functionOrigin(get, why), set: set === undefined ? null : functionOrigin(set, why) };
}

/** Whether the text of a class has a method of this name with this text in it. */
function isInText(source, key, one) {
  if (typeof one !== "function" || isProxy(one)) return false;
  const name = descriptor(one, "name")?.value, plain = typeof key === "symbol" ? `[${symbolText(key)}]` : key;
  if (name !== plain && name !== "get " + plain && name !== "set " + plain) return false;
  return source.includes(apply(functionText, one, []));
}

function symbolText(symbol) {
  return apply(symbolDescription, symbol, []) ?? "";
}

/** A key as it is written; null for a symbol that cannot be found again. */
function encodedKey(key) {
  if (typeof key === "string") return key;
  if (WELL_KNOWN.has(key)) return { known: WELL_KNOWN.get(key) };
  const registered = symbolKeyFor(key);
  return registered === undefined ? null : { registered };
}

function decodedKey(key) {
  if (typeof key === "string") return key;
  return key.known !== undefined ? OwnSymbol[key.known] : OwnSymbol.for(key.registered);
}

function ownNameOf(made) {
  const name = descriptor(made, "name");
  return name !== undefined && typeof name.value === "string" ? name.value : null;
}

function isGenerator(made) {
  return types.isGeneratorFunction(made);
}

/** The text of a method in a literal or class, as it can be made again outside of it: not if it uses `super` or a computed name. */
function methodText(text) {
  const tokens = scan("x = {" + text + "}") ?? [];
  if (tokens.some((token) => token.kind === "word" && token.text === "super") || /^(?:(?:get|set|async)\s+|\*\s*)*\[/.test(text)) return null;
  try {
    new Script("({" + text + "\n})");
    return text;
  } catch {
    return null;
  }
}

// ---- loading ----

/** Gives a function what its text did not give; what does not come back is told to `fail`. */
function giveOwnParts(made, parts, functionFrom, fail) {
  const holders = [made, descriptor(made, "prototype")?.value];
  const expected = [new Set(), new Set()];
  const put = (where, key, property) => {
    expected[where].add(key);
    if (!defineProperty(holders[where], key, property)) fail(String(key), "it cannot be set");
  };
  for (const [where, key] of list(parts.keys)) {
    const own = decodedKey(key);
    expected[where].add(own);
    if (typeof holders[where] !== "object" && typeof holders[where] !== "function" || descriptor(holders[where], own) === undefined) fail(String(own), "its definition does not give it here");
  }
  for (const [key, value, flags] of list(parts.values)) put(0, key, propertyOf(value, flags));
  for (const [key, value, flags] of list(parts.shared)) put(1, key, propertyOf(value, flags));
  for (const [where, key, flags, part] of list(parts.added)) {
    const own = decodedKey(key);
    try {
      put(where, own, part.value !== undefined ? propertyOf(functionFrom(part.value), flags)
        : { __proto__: null, get: part.get === null ? undefined : functionFrom(part.get), set: part.set === null ? undefined : functionFrom(part.set), enumerable: (flags & 2) > 0, configurable: (flags & 4) > 0 });
    } catch (error) {
      fail(String(own), whyNot(error));
    }
  }
  removeOthers(made, parts, holders, expected);
  if (parts.name !== null && ownNameOf(made) !== parts.name) defineProperty(made, "name", { __proto__: null, value: parts.name, configurable: true });
  if (parts.chain !== null) setPrototype(holders[1], parts.chain.none ? null : functionFrom(parts.chain).prototype);
  if (parts.above !== null) setPrototype(made, functionFrom(parts.above));
  if (parts.prototypeLevel) settleLevel(holders[1], parts.prototypeLevel);
}

/** What was removed after the definition is removed again. */
function removeOthers(made, { bare }, holders, expected) {
  for (const where of [0, 1]) {
    const holder = holders[where];
    if ((typeof holder !== "object" && typeof holder !== "function") || holder === null || (where === 1 && isGenerator(made))) continue;
    for (const key of ownKeys(holder)) {
      if (where === 0 ? GIVEN.has(key) : key === "constructor" && !bare) continue;
      if (!expected[where].has(key)) deleteProperty(holder, key);
    }
  }
}
