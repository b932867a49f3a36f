// Errors: stack traces that show user code only, named by eval.

const BRIDGE = "stead";
const errorText = MainError.prototype.toString;
const isError = util.types.isNativeError;

/**
 * Error.prepareStackTrace of the session: what Node does, without the bridge's frames and without the way into user
 * code: `runUser` is the door, and Node's own frames below the user's last one say nothing. Nor do those of its module
 * loader anywhere.
 */
function prepareStackTrace(error, trace) {
  let header;
  try {
    header = apply(errorText, error, []);
  } catch {
    header = "<error>";
  }
  let text = header;
  for (const line of userFrames(trace)) text += "\n    at " + line;
  return text;
}

function userFrames(trace) {
  const frames = [];
  let loads = false;
  for (let n = 0; n < trace.length; n++) {
    const site = trace[n];
    let file = "", name = "";
    try {
      file = site.getFileName() || site.getScriptNameOrSourceURL() || "";
      name = site.getFunctionName() || "";
    } catch {}
    if (file === BRIDGE) {
      if (name === "runUser") break;
      continue;
    }
    // Frames in which Node checks arguments, compiles and makes its own errors: Node 18 shows them, later versions hide them.
    if (/^node:internal\/(errors|validators|vm)$/.test(file)) continue;
    // Frames in which Node looks for a module and runs it are no code of the user's.
    if (file.startsWith("node:internal/modules/")) {
      loads = true;
      continue;
    }
    let text;
    try {
      text = withPlaces(String(site));
    } catch {
      text = file;
    }
    // The top level of an eval has no name of its own.
    const plain = /^(?:async )?eval \((<[^>]+>:\d+:\d+)\)$/.exec(text);
    frames.push({ text: plain ? plain[1] : text, node: file.startsWith("node:") || text === "eval (<anonymous>)" });
  }
  if (frames.some((frame) => !frame.node)) while (frames[frames.length - 1].node) frames.pop();
  // If no frame is the user's, the rest only tells how Node came to look for the module.
  else if (loads) frames.length = 0;
  return frames.map((frame) => frame.text);
}

/** A string in place of whatever was thrown. */
function describeThrown(value) {
  try {
    if (isError(value)) return cut(apply(errorText, value, []), 300);
    return typeof value === "string" ? cut(value, 300) : cut(inspect(value, { depth: 0, customInspect: false }), 300);
  } catch {
    return typeName(value);
  }
}

function stringOf(value, fallback) {
  return typeof value === "string" ? value : fallback;
}

/** The `error` event for something that user code threw. */
function errorEvent(thrown) {
  if (!isError(thrown)) {
    const text = typeof thrown === "string" ? thrown : render(thrown);
    return { ev: "error", name: typeName(thrown), message: cut(text, MESSAGE_BUDGET), traceback: "Uncaught " + render(thrown) };
  }
  let name = "Error", message = "", traceback;
  try {
    name = stringOf(thrown.name, "") || typeName(thrown);
    message = cut(stringOf(thrown.message, ""), MESSAGE_BUDGET);
  } catch {}
  try {
    traceback = inspect(thrown, { depth: 5, maxArrayLength: 20, maxStringLength: 10_000 });
  } catch {
    try {
      traceback = stringOf(thrown.stack, "");
    } catch {}
  }
  traceback = clean(traceback || (message ? name + ": " + message : name));
  return { ev: "error", name, message, traceback: cut(traceback, TRACEBACK_BUDGET) };
}

/** Takes out frames that were formatted by somebody else's prepareStackTrace. */
function clean(text) {
  if (!text.includes("(stead:") && !text.includes("at stead:")) return text;
  return text.split("\n").filter((line) => !/^\s+at (?:.*\()?(?:stead:\d+|node:inspector:)/.test(line)).join("\n");
}

// Events of code that cannot be compiled, so that none of it has run.
const UNCOMPILED = new WeakSet();

/** The `error` event for code that cannot be compiled; `line` and `column` count from 1. */
function syntaxEvent(message, source, line, column) {
  const incomplete = isIncomplete(source);
  // V8 gives these messages for a text that could not be rewritten, since it is not whole.
  if (incomplete && /^(?:Cannot use import|await is only valid)/.test(message)) message = END;
  const at = `${fileName()}:${line}`;
  const shown = (source.split(/\r\n|[\n\r\u2028\u2029]/)[line - 1] ?? "").replace(/\t/g, " ");
  const from = Math.max(0, Math.min(column - 60, shown.length - 160));
  const arrow = " ".repeat(Math.max(column - 1 - from, 0)) + "^";
  const event = { ev: "error", name: "SyntaxError", message, traceback: `${at}\n${shown.slice(from, from + 160)}\n${arrow}\n\nSyntaxError: ${message}` };
  if (incomplete) event.incomplete = true;
  UNCOMPILED.add(event);
  return event;
}

/** Line and column, from 1, of an offset. */
function position(source, offset) {
  const before = source.slice(0, offset).split("\n");
  return [before.length, before[before.length - 1].length + 1];
}

/** Where and why V8 refuses the text of a plan; null if it does not. */
function compileError(plan, source, prefix = "", suffix = "") {
  try {
    new Script(prefix + withoutHash(plan.text) + suffix, { filename: fileName() });
    return null;
  } catch (error) {
    let line = 1, column = 1;
    try {
      // Node writes the place before the stack: file:line, the line, and a caret below the place.
      const [place, , caret] = error.stack.split("\n");
      line = Number(/:(\d+)$/.exec(place)?.[1] ?? 1);
      column = (caret?.indexOf("^") ?? 0) + 1;
    } catch {}
    if (line === 1) column -= prefix.length;
    return syntaxEvent(stringOf(error.message, "it cannot be compiled"), source, ...placeInSource(plan, line, Math.max(column, 1)));
  }
}

/** An error that nobody caught, in a timer or a promise: told on stderr, and survived. It ends what is the last eval. */
function onUncaught(error, origin) {
  if (isOfImmediates(error)) return onLostImmediate();
  if (apply(listenersOf, process, ["uncaughtException"]) > 1) return;  // the user's own handler deals with it
  if (S.running && (S.ends || S.ending !== null) && !isInterrupted()) return failAll(error);
  const { traceback } = errorEvent(error);
  const head = origin === "unhandledRejection" ? "Uncaught (in promise) " : traceback.startsWith("Uncaught ") ? "" : "Uncaught ";
  put(2, bytesFrom(head + traceback.replace(/^Uncaught /, head.startsWith("Uncaught (") ? "" : "Uncaught ") + "\n"));
}
