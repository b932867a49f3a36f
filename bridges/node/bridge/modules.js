// Modules: `require` and `import` from the session's directory, and which of its files have changed since.

const { createRequire, Module } = main.require("module");
const path = main.require("path");
const url = main.require("url");
const FILES_WATCHED = 300;

const IMPORTED = new Map();  // specifier -> what importing it gave
const LOADED = new Map();    // file of the project -> { module, stamp }
let sessionModule = null, requireHere = null, requireFrom = null;

function here() {
  try {
    return apply(currentDirectory, process, []);
  } catch {
    return requireFrom ?? "/";  // the directory was removed
  }
}

/** `require`, `module` and `exports`, as a script would find them; `require.main === module` holds. */
function openModules() {
  const module = sessionModule = new Module("<session>");
  module.paths = Module._nodeModulePaths(here());
  module.loaded = true;
  const place = () => defineProperty(G, "module", plainProperty(module));
  place();
  setImmediate(place);  // when Node is through with boot.js, it puts another `module` there
  defineProperty(G, "exports", plainProperty(module.exports));
  process.mainModule = module;
  placeRequire();
  delete G.__filename;
  delete G.__dirname;
  defineProperty(G, IMPORT, hiddenProperty(makeImport()));
  defineProperty(G, CONST, hiddenProperty(new Proxy({}, constantHandler)));
  defineProperty(G, WAIT, hiddenProperty(wait));
}

/** `require` follows the current directory; a replacement of the user's stays. */
function placeRequire() {
  const cwd = here();
  if (requireFrom === cwd || (requireHere !== null && G.require !== requireHere)) return;
  requireFrom = cwd;
  requireHere = createRequire(path.join(cwd, "<session>"));
  requireHere.main = sessionModule;
  const property = plainProperty(requireHere);
  defineProperty(G, "require", property);
  if (BASE.size) BASE.set("require", property);
}

const constantHandler = {
  get: (_, name) => getProperty(G, name),
  set: () => {
    throw new MainTypeError("Assignment to constant variable.");
  },
};

/** What `import(…)` and `import … from` become. */
function makeImport() {
  const load = (specifier, options) => {
    let wanted;
    try {
      wanted = resolveImport(String(specifier));
    } catch (error) {
      return apply(rejectPromise, MainPromise, [error]);
    }
    const attributes = options?.with ?? options?.assert;
    const loaded = attributes ? main.load(wanted, { with: attributes, assert: attributes }) : main.load(wanted);
    attach({ promise: loaded, handlers: [(space) => { IMPORTED.set(wanted, space); }, () => {}] });
    return loaded;
  };
  const names = (specifier, attributes, ...wanted) => {
    const loaded = load(specifier, attributes ? { with: attributes } : undefined);
    return wait(unowned(() => apply(promiseThen, loaded, [(space) => {
      let found = space;
      for (const name of wanted) {
        if (name in space) continue;
        // Node finds the exports of a CommonJS module by reading its text, and does not find all of them.
        const whole = space.default;
        if (whole === null || (typeof whole !== "object" && typeof whole !== "function") || !(name in whole)) {
          throw new G.SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
        }
        if (found === space) found = Object.assign(Object.create(null), space);
        found[name] = whole[name];
      }
      return found;
    }])));
  };
  const result = (specifier, options) => load(specifier, options);
  result.names = names;
  defineProperty(result, "meta", { __proto__: null, get: () => ({ dirname: here(), url: url.pathToFileURL(here() + "/").href, resolve: resolveImport }) });
  return result;
}

/** Relative specifiers are taken from the current directory, as are packages. */
function resolveImport(specifier) {
  if (specifier.startsWith("./") || specifier.startsWith("../") || specifier === "." || specifier === ".." || specifier.startsWith("/")) {
    const found = new url.URL(specifier, url.pathToFileURL(here() + "/"));
    watchImport(found);
    return found.href;
  }
  return specifier;
}

// ---- files that change (SPEC E-14) -------------------------------------------------------------

function stampOf(file) {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? "" : stat.mtimeMs + ":" + stat.size;
}

function isOfProject(file, root) {
  return file.startsWith(root) && !file.includes("/node_modules/");
}

function watchImport(found) {
  try {
    const file = url.fileURLToPath(found);
    if (LOADED.size < FILES_WATCHED && isOfProject(file, here() + "/") && !LOADED.has(file)) LOADED.set(file, { module: null, stamp: stampOf(file) });
  } catch {}
}

/** Names modules of the project whose files have changed since they were loaded, once. */
function staleNotice() {
  const stale = [];
  const root = here() + "/";
  const cache = Module._cache;
  for (const [file, known] of LOADED) {
    const module = known.module === null ? null : cache[file];
    if (known.module !== null && module !== known.module) {
      LOADED.delete(file);  // the user dropped the module, or has loaded it anew
      continue;
    }
    const stamp = stampOf(file);
    if (stamp === known.stamp) continue;
    known.stamp = stamp;
    stale.push([file, known.module !== null]);
  }
  for (const file of Object.keys(cache)) {
    if (LOADED.size >= FILES_WATCHED) break;
    if (!LOADED.has(file) && isOfProject(file, root)) LOADED.set(file, { module: cache[file], stamp: stampOf(file) });
  }
  if (stale.length === 0) return undefined;
  const relative = (file) => "./" + path.relative(here(), file);
  const [file, required] = stale[0];
  const how = required
    ? `delete require.cache[require.resolve('${relative(file)}')], then require it again`
    : `import('${relative(file)}?2')`;
  return `changed on disk since loaded: ${stale.slice(0, 10).map(([file]) => relative(file)).join(", ")}${stale.length > 10 ? ` and ${stale.length - 10} more` : ""}; to reload: ${how}`;
}
