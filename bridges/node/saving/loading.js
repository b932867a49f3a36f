// Loading: makes again what saving.js wrote. What does not come back is named and keeps nothing else from coming.

const { Deserializer } = main.require("v8");
const setPrototype = original("Reflect").setPrototypeOf;

/** Reads values, with the memory of views from the file. */
class Reader extends Deserializer {
  constructor(bytes, origin) {
    super(bytes);
    this.origin = origin;
    this.memory = [];
    this.readHeader();
  }

  _readHostObject() {
    const kind = VIEWS_SAVED[this.readUint32()], where = this.readUint32();
    const offset = this.readDouble(), length = this.readDouble();
    const buffer = where === OF_VALUE ? this.readValue() : this.blob(this.readUint32());
    if (kind === "Buffer") return apply(bytesFrom, Bytes, [buffer, offset, length]);
    const View = original(kind);
    if (View === undefined) throw new WorkError("LoadError", `this Node has no ${kind}`);
    return new View(buffer, offset, kind === "DataView" ? length : length / View.BYTES_PER_ELEMENT);
  }

  blob(number) {
    if (this.memory[number] === undefined) {
      const [at, length] = this.origin.manifest.node.blobs[number];
      const buffer = new (original("ArrayBuffer"))(length);
      if (fill(this.origin.fd, bytesFrom(buffer), at) < length) throw new WorkError("LoadError", "the file ends too early");
      this.memory[number] = buffer;
    }
    return this.memory[number];
  }
}

async function load(argument) {
  const [asked] = argument.split("\n");
  const origin = new Origin(asked);
  try {
    const loading = new Loading(readRoot(origin));
    loading.compareVersions(origin.manifest.version);
    await loading.references();
    const report = loading.report(asked);
    if (report.count === 0 && report.failed_count > 0) throw new WorkError("LoadError", `nothing of \`${asked}\` could be loaded`, report);
    return report;
  } finally {
    origin.leave();
  }
}

function readRoot(origin) {
  const [at, length] = origin.manifest.node?.root ?? [0, 0];
  const bytes = length > 0 && checkOf(bytesAt(origin.fd, at, length)) === origin.manifest.node.check ? bytesAt(origin.fd, at, length) : null;
  if (bytes === null) throw new WorkError("LoadError", `\`${origin.asked}\` is damaged: its values are not as they were written`);
  try {
    return new Reader(bytes, origin).readValue();
  } catch (error) {
    if (error instanceof WorkError) throw error;
    throw new WorkError("LoadError", `\`${origin.asked}\` was saved by Node ${cut(String(origin.manifest.version), 40)} and cannot be read by this one, ${process.versions.node}: ${describeThrown(error)}`);
  }
}

class Loading {
  constructor(root) {
    this.root = root;
    this.loaded = [];
    this.failed = [];
    this.warnings = [];
    this.functions = new Map();  // how a function that another one holds was saved -> the function
    this.made = new Map();   // name -> function that was defined
    this.protos = [];        // what each number of a prototype stands for; null if it did not come back
  }

  compareVersions(version) {
    if (String(version).split(".")[0] !== String(MAJOR)) this.warnings.push(`saved by Node ${cut(String(version), 40)}, this is ${process.versions.node}`);
  }

  fail(name, why, type) {
    this.failed.push({ name, type, why });
  }

  /** What modules gave comes first, since classes may extend it; then the rest. */
  async references() {
    for (const [name, origin, constant] of list(this.root.references)) {
      try {
        // Modules are loaded one after the other, as they were imported.
        // oxlint-disable-next-line no-await-in-loop
        this.place(name, await fromOrigin(origin), constant);
      } catch (error) {
        this.fail(name, `its module cannot be loaded: ${whyNot(error)}`, "module");
      }
    }
    await this.protosOfModules();
    this.values((needs) => needs.length === 0);
    for (const one of list(this.root.definitions)) this.define(one);
    this.mend();
    this.values((needs) => needs.length > 0);
    for (const one of list(this.root.definitions)) this.giveParts(one);
  }

  async protosOfModules() {
    for (const proto of list(this.root.protos)) {
      if (proto.none) this.protos.push({ is: null });
      else if (proto.object !== undefined) this.protos.push({ is: proto.object });
      else if (proto.name !== undefined) this.protos.push(null);
      else {
        try {
          // oxlint-disable-next-line no-await-in-loop
          this.protos.push({ is: (await fromOrigin(proto)).prototype });
        } catch {
          this.protos.push(null);
        }
      }
    }
  }

  /** Binds a name of the user's. */
  place(name, value, constant) {
    const known = descriptor(G, name);
    if (known !== undefined && !known.configurable && !known.writable) throw new WorkError("LoadError", "it cannot be set in this session");
    if (BASE.has(name)) DECLARED.add(name);
    if (constant) CONSTANTS.add(name);
    else CONSTANTS.delete(name);
    if (!defineProperty(G, name, known !== undefined && !known.configurable ? { __proto__: null, value } : plainProperty(value))) {
      throw new WorkError("LoadError", "it cannot be set in this session");
    }
    this.loaded.push(name);
  }

  define({ name, source, strict, same, constant }) {
    try {
      const made = same !== undefined ? this.made.get(same) : evaluated(name, source, strict);
      if (made === undefined) throw new WorkError("LoadError", `\`${same}\` could not be loaded`);
      this.made.set(name, made);
      this.place(name, made, constant);
    } catch (error) {
      this.fail(name, whyNot(error), "function");
    }
  }

  values(wanted) {
    for (const [name, value, needs, constant] of list(this.root.values)) {
      if (!wanted(list(needs))) continue;
      const missing = list(needs).find((at) => this.protos[at] === null);
      try {
        if (missing !== undefined) throw new WorkError("LoadError", `its class \`${this.className(missing)}\` could not be loaded`);
        this.place(name, value, constant);
      } catch (error) {
        this.fail(name, whyNot(error), typeName(value));
      }
    }
  }

  className(at) {
    const { name, key, specifier, file, imported } = this.root.protos[at];
    return name ?? key ?? specifier ?? file ?? imported;
  }

  /** Gives objects what V8 did not write. */
  mend() {
    list(this.root.protos).forEach(({ name }, at) => {
      const prototype = name === undefined ? undefined : this.made.get(name)?.prototype;
      if (typeof prototype === "object" && prototype !== null) this.protos[at] = { is: prototype };
    });
    const give = (object, at) => {
      if (at >= 0 && this.protos[at] !== null) setPrototype(object, this.protos[at].is);
    };
    for (const [at, objects] of list(this.root.instances)) for (const object of list(objects)) give(object, at);
    for (const [object, at, props] of list(this.root.fixes)) {
      give(object, at);
      for (const [key, value, flags] of list(props)) defineProperty(object, key, propertyOf(value, flags));
    }
    for (const [object, , , level] of list(this.root.fixes)) settleLevel(object, level);
  }

  /** What was kept in the properties of a function or class; what its text did not give again is named. */
  giveParts({ name, same, parts, level, needs }) {
    const made = this.made.get(name);
    if (same !== undefined || made === undefined) return;
    if (list(needs).some((at) => this.protos[at] === null)) return this.fail(name + ".…", "its properties hold instances of a class that could not be loaded");
    try {
      giveOwnParts(made, parts, (part) => this.functionFrom(part), (key, why) => this.fail(`${name}.${key}`, why, "function"));
    } catch (error) {
      this.fail(`${name}.…`, whyNot(error), "function");
    }
    settleLevel(made, level);
  }

  /** A function that a definition holds. */
  functionFrom(part) {
    if (part.name !== undefined) {
      if (!this.made.has(part.name)) throw new WorkError("LoadError", `\`${part.name}\` could not be loaded`);
      const made = this.made.get(part.name);
      return part.where === undefined ? made : descriptor(part.where ? made.prototype : made, part.key).value;
    }
    if (part.source === undefined && part.method === undefined) {
      const found = fromOrigin(part);
      if (typeof found !== "function") throw new WorkError("LoadError", "its module must be imported first");
      return found;
    }
    if (!this.functions.has(part)) {
      const made = part.method !== undefined ? methodFrom(part.method) : evaluated(part.called ?? "", part.source, part.strict, true);
      if (part.called !== null && ownNameOf(made) !== part.called) defineProperty(made, "name", { __proto__: null, value: part.called, configurable: true });
      this.functions.set(part, made);
    }
    return this.functions.get(part);
  }

  report(asked) {
    S.source = this.loaded.join(" ") + "()";
    return {
      path: asked, loaded: this.loaded.slice(0, SAVED_LISTED), count: this.loaded.length,
      failed: this.failed.slice(0, FAILED_LISTED), failed_count: this.failed.length, warnings: this.warnings,
    };
  }
}

/** A function or class from its text, named as it was. */
function evaluated(name, source, strict, unbound = false) {
  const key = JSON.stringify(name);
  let text = `({ ${key}: ${source}\n})[${key}]`;
  if (strict) text = `(function () { "use strict"; return { ${key}: ${source}\n}; })()[${key}]`;
  // A function that is declared calls itself by whatever its name stands for at that time.
  else if (!unbound && /^(?:async\s+)?function\b/.test(source) && declaredName(source) === name) text = `${source}\n${name}`;
  return runUser(() => globalEval(text + "\n//# sourceURL=" + fileName()));
}

/** A method from its text, without the literal or class that it stood in. */
function methodFrom(text) {
  const holder = runUser(() => globalEval(`({${text}\n})\n//# sourceURL=${fileName()}`));
  const property = descriptor(holder, ownKeys(holder)[0]);
  return property.value ?? property.get ?? property.set;
}

function declaredName(source) {
  return /^(?:async\s+)?function\s*\*?\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)/u.exec(source)?.[1];
}

function whyNot(error) {
  return error instanceof WorkError ? error.message : describeThrown(error);
}

function propertyOf(value, flags) {
  return { __proto__: null, value, writable: (flags & 1) > 0, enumerable: (flags & 2) > 0, configurable: (flags & 4) > 0 };
}

function settleLevel(object, level) {
  if (level === 3) freeze(object);
  else if (level === 2) seal(object);
  else if (level === 1) preventExtensions(object);
}
