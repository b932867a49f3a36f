// Saving: which names can be saved and how, and the file.

const { Serializer } = main.require("v8");
const SAVED_LISTED = 200, FAILED_LISTED = 100;
const [OF_FILE, OF_VALUE] = [0, 1];  // where the memory of a view is

/** Writes values with the memory of views beside them: `blobs` get the bytes, or nothing if this is a trial. */
class Writer extends Serializer {
  constructor(direct, blobs) {
    super();
    this._setTreatArrayBufferViewsAsHostObjects(true);
    this.direct = direct;
    this.blobs = blobs;
    this.writeHeader();
  }

  _writeHostObject(view) {
    const kind = viewKind(view), { buffer, byteOffset, byteLength } = view;
    this.writeUint32(VIEWS_SAVED.indexOf(kind));
    if (this.direct.has(buffer)) {
      this.writeUint32(OF_VALUE);
      this.writeDouble(byteOffset);
      this.writeDouble(byteLength);
      this.writeValue(buffer);
      return;
    }
    // Small Buffers are cut from a pool of memory that they share with other Buffers.
    const pooled = kind === "Buffer" && buffer.byteLength === Bytes.poolSize && byteLength < Bytes.poolSize;
    this.writeUint32(OF_FILE);
    this.writeDouble(pooled ? 0 : byteOffset);
    this.writeDouble(byteLength);
    this.writeUint32(this.blobs === null ? 0 : this.blobs.number(pooled ? view : buffer, pooled ? byteOffset : 0, pooled ? byteLength : buffer.byteLength, buffer));
  }
}

const VIEWS_SAVED = ["Buffer", "DataView", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array",
  "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array", "Float16Array"];

/** Memory that is written to the file, each once. */
class Blobs {
  constructor() {
    this.numbers = new Map();
    this.bytes = [];
  }

  number(holder, from, length, buffer) {
    if (!this.numbers.has(holder)) {
      this.numbers.set(holder, this.bytes.length);
      this.bytes.push(bytesFrom(buffer, from, length));
    }
    return this.numbers.get(holder);
  }
}

/** What the names of a session come to: `values`, `definitions` and `references` by name, and what `failed`. */
class Gathered {
  constructor() {
    this.values = new Map();
    this.definitions = new Map();
    this.references = new Map();
    this.failed = [];
    this.origins = null;
    this.classes = new Map();  // function -> the name that it is defined by
    this.walk = new Walk((made) => this.classOrigin(made), (proto) => this.prototypeOrigin(proto));
  }

  fail(name, why) {
    const value = valueOf(name);
    this.failed.push({ name, type: descriptor(G, name) === undefined ? "" : typeName(value), why });
  }

  originOf(value) {
    this.origins ??= knownOrigins();
    return this.origins.get(value);
  }

  /** How the class of an instance is found again, or why it cannot be. */
  classOrigin(made) {
    if (hasPrivateFields(made)) return "which has private fields";
    const name = this.classes.get(made);
    if (name !== undefined) return { name };
    const origin = this.originOf(made);
    if (origin?.file !== undefined || origin?.imported !== undefined) return origin;
    if (origin?.global === "AggregateError" && origin.key === undefined) return origin;
    return origin === undefined ? "which is no class of the top level" : "which cannot be taken apart";
  }

  /** How a function that a class or function holds is found or made again; throws Unsavable. */
  functionOrigin(made, what) {
    const name = this.classes.get(made);
    if (name !== undefined) return { name };
    try {
      const origin = isProxy(made) ? undefined : this.methodOrigin(made) ?? this.originOf(made);
      if (origin !== undefined) return origin;
      const text = textOf(made), plain = ownKeys(made).every((key) => GIVEN.has(key)) && !isClass(made);
      if (!plain) throw new Unsavable("it has properties of its own, or is a class without a name");
      try {
        return { source: sourceOf(made), strict: isStrictFunction(made, text), called: ownNameOf(made) };
      } catch (error) {
        const method = methodText(text);
        if (!(error instanceof Unsavable) || method === null) throw error;
        return { method, called: ownNameOf(made) };
      }
    } catch (error) {
      if (error instanceof Unsavable) throw new Unsavable(`${what} cannot be saved: ${error.message}`);
      throw error;
    }
  }

  /** Whether a function is a method that the text of a class gives. */
  methodOrigin(made) {
    const key = ownNameOf(made);
    for (const [owner, name] of key ? this.classes : []) {
      const where = [owner, descriptor(owner, "prototype")?.value].findIndex((holder) => typeof holder === "object" || typeof holder === "function" ? descriptor(holder, key)?.value === made : false);
      if (where >= 0 && isClass(owner) && isInText(apply(functionText, owner, []), key, made)) return { name, where, key };
    }
    return undefined;
  }

  /** How the prototype of an instance is found again, if it is that of a definition. */
  prototypeOrigin(proto) {
    for (const [made, name] of this.classes) if (descriptor(made, "prototype")?.value === proto && !hasPrivateFields(made)) return { name };
    return undefined;
  }

  add(names) {
    const objects = [];
    for (const name of names) {
      const property = descriptor(G, name);
      if (!("value" in property)) this.fail(name, "it is a getter or setter");
      else if (typeof property.value === "symbol") this.fail(name, "it is a symbol");
      else if (typeof property.value === "function") this.define(name, property.value);
      else if (typeof property.value === "object" && property.value !== null) objects.push(name);
      else this.values.set(name, { value: property.value, found: null });
    }
    this.checkDefinitions();
    for (const name of objects) this.addObject(name, valueOf(name));
  }

  define(name, made) {
    const known = this.classes.get(made);
    if (known !== undefined) {
      this.definitions.set(name, { name, same: known });
      return;
    }
    try {
      const origin = isProxy(made) ? undefined : this.originOf(made);
      if (origin !== undefined) {
        this.references.set(name, origin);
        return;
      }
      const source = sourceOf(made), base = isClass(made) ? baseOf(made, source) : null;
      this.definitions.set(name, { name, made, source, base, strict: isStrictFunction(made, source), parts: null, level: level(made), found: null });
      this.classes.set(made, name);
    } catch (error) {
      this.refuse(name, error);
    }
  }

  refuse(name, error) {
    if (error instanceof Unsavable) this.fail(name, error.message);
    else if (isError(error) && typeName(error) === "RangeError") this.fail(name, "it is nested too deeply");
    else this.fail(name, describeThrown(error));
  }

  /** What a class extends must be saved too, and so must what is kept in its properties; until nothing more is refused. */
  checkDefinitions() {
    for (let again = true; again;) {
      again = false;
      for (const [name, one] of this.definitions) {
        try {
          if (one.same !== undefined) {
            if (!this.definitions.has(one.same)) throw new Unsavable(`it is \`${one.same}\`, which is not saved`);
            continue;
          }
          if (one.base !== null && !this.classes.has(one.base) && this.originOf(one.base) === undefined) throw new Unsavable("its base class is not saved");
          one.parts = ownParts(one.made, one.source, (made, what) => this.functionOrigin(made, what));
          const kept = [...one.parts.values, ...one.parts.shared].map(([, value]) => value);
          one.found = this.walk.look(...kept);
          this.trial(kept, one.found);
        } catch (error) {
          this.definitions.delete(name);
          if (one.made) this.classes.delete(one.made);
          this.refuse(name, error);
          again = true;
        }
      }
    }
    for (const { found } of this.definitions.values()) if (found) this.walk.accept(found);
  }

  addObject(name, value) {
    const origin = isProxy(value) ? undefined : this.originOf(value);
    if (origin !== undefined && origin.file === undefined) {
      this.references.set(name, origin);
      return;
    }
    try {
      const found = this.walk.look(value);
      this.trial(value, found);
      this.walk.accept(found);
      this.values.set(name, { value, found });
    } catch (error) {
      // What a module gave comes back by requiring the module again; only plain data is saved as it is now.
      if (origin !== undefined) this.references.set(name, origin);
      else this.refuse(name, error);
    }
  }

  /** V8 has the last word. */
  trial(value, found) {
    new Writer(new Set([...found.direct, ...this.walk.direct]), null).writeValue([value, ...found.fixes.map((fix) => fix.props)]);
  }
}

/** All of it as one value, so that objects which two names share are written once. */
function rootOf(gathered) {
  const protos = [], numbers = new Map(), instances = new Map(), fixes = [];
  const number = (origin) => {
    const key = origin.object ?? JSON.stringify(origin);
    if (!numbers.has(key)) {
      numbers.set(key, protos.length);
      protos.push(origin);
    }
    return numbers.get(key);
  };
  for (const found of gathered.walk.accepted) {
    const needs = new Set();
    for (const { object, proto, props, level } of found.fixes) {
      const at = proto === undefined ? -1 : number(proto);
      if (at >= 0) needs.add(at);
      if (props.length || level) fixes.push([object, at, props, level]);
      else if (instances.has(at)) instances.get(at).push(object);
      else instances.set(at, [object]);
    }
    // Objects that this name shares with an earlier name need what the earlier name needed.
    for (const owner of found.owners) for (const at of owner.needs) needs.add(at);
    found.needs = [...needs];
  }
  const values = [...gathered.values].map(([name, { value, found }]) => [name, value, found === null ? [] : found.needs, CONSTANTS.has(name)]);
  const definitions = inOrder(gathered).map((one) => (one.same !== undefined
    ? { name: one.name, same: one.same, constant: CONSTANTS.has(one.name) }
    : { name: one.name, source: one.source, strict: one.strict, parts: one.parts, level: one.level, needs: one.found.needs, constant: CONSTANTS.has(one.name) }));
  const references = [...gathered.references].map(([name, origin]) => [name, origin, CONSTANTS.has(name)]);
  // V8 follows objects that it has not written yet: in the order in which values were walked, it never goes deeper than the walk did.
  const order = gathered.walk.accepted.map((found) => found.values);
  return { order, values, definitions, references, protos, instances: [...instances], fixes };
}

/** Definitions, with what a class extends before it. */
function inOrder({ definitions, classes }) {
  const ordered = new Set();
  const put = (one) => {
    if (ordered.has(one)) return;
    const before = one.same ?? (one.base ? classes.get(one.base) : undefined);
    if (before !== undefined && definitions.has(before)) put(definitions.get(before));
    ordered.add(one);
  };
  for (const one of definitions.values()) put(one);
  return [...ordered];
}

function save(argument) {
  const [asked, force = "", ...wanted] = argument.split("\n");
  const gathered = new Gathered(), names = [];
  for (const name of wanted.length ? new Set(wanted) : userNames()) {
    if (descriptor(G, name) === undefined) gathered.fail(name, "there is no such name");
    else if (!isUserName(name) || HELPERS.has(name)) gathered.fail(name, "it is Node's own");
    else names.push(name);
  }
  if (wanted.length && !names.length) {
    const [{ name, why }] = gathered.failed;
    throw new WorkError("SaveError", `nothing was saved: ${why === "there is no such name" ? `there is no name \`${name}\`` : `\`${name}\`: ${why}`}`);
  }
  const target = new Target(asked, force === "force");
  try {
    return writeSaved(target, gathered, names);
  } catch (error) {
    target.leave();
    throw error;
  }
}

function writeSaved(target, gathered, names) {
  gathered.add(names);
  const saved = names.filter((name) => gathered.values.has(name) || gathered.definitions.has(name) || gathered.references.has(name));
  if (!saved.length && gathered.failed.length) {
    // A file with nothing in it must not take the place of an earlier one.
    const reasons = gathered.failed.slice(0, 5).map(({ name, why }) => `\`${name}\`: ${why}`);
    throw new WorkError("SaveError", `nothing was saved: ${reasons.join("; ")}`);
  }
  const blobs = new Blobs(), writer = new Writer(gathered.walk.direct, blobs);
  writer.writeValue(rootOf(gathered));
  const root = writer.releaseBuffer();
  const check = checkOf(root), at = target.add(root);
  const places = blobs.bytes.map((bytes) => [target.add(bytes), bytes.length]);
  const bytes = target.finish({
    format: FORMAT, language: "node", version: process.versions.node, saved: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
    session: S.eval.slice(0, S.eval.lastIndexOf(":")), cwd: here(), names: saved.map(aboutSaved), failed: gathered.failed, packages: {},
    node: { root: [at, root.length], check, blobs: places },
  });
  return {
    path: target.asked, bytes, saved: saved.slice(0, SAVED_LISTED), count: saved.length,
    failed: gathered.failed.slice(0, FAILED_LISTED), failed_count: gathered.failed.length,
  };
}

function aboutSaved(name) {
  const about = describe(name);
  about.value = cut(shortly(valueOf(name)), 100);
  return about;
}
