// Evals: runs one, waits for what it awaits, and reports how it ended.

let inspectorSession = null, postToInspector = null;

function fileName() {
  return S.stdlib ? STDLIB_FILE : "<" + S.eval + ">";
}

/** The one door to user code: stack traces end at this frame. */
function runUser(call) {
  return call();
}

function beginEval(id, source) {
  S.eval = id;
  S.run = peek(shared, RUN);
  S.running = true;
  S.source = source;
  S.last = 1;
  S.open = false;
  asked = peek(shared, ACKS);
  repairOutputs();
  placeRequire();
  guardProcess();
  S.mark = newMark(id);
  timersBefore = countTimers();
}

function doEval(id, payload) {
  const source = payload.charCodeAt(0) === 0xfeff ? payload.slice(1) : payload;
  beginEval(id, source);
  if (isInterrupted()) return finish({ status: "interrupted" });
  let plan;
  try {
    const wrapped = isObject(source);
    plan = rewrite(wrapped ? "(" + source + "\n)" : source, true);
    plan.lead = wrapped ? 1 : 0;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return finish({ status: "error", error: syntaxEvent(error.message, source, ...position(source, error.at)) });
  }
  keepShifts(plan);
  if (!plan.awaits && plan.names.some(isAccessor)) {
    const refused = compileError(plan, source);
    if (refused) return finish({ status: "error", error: refused });
  }
  owned(S.mark, () => {
    if (wanting.size > 0) arrange();
    if (plan.awaits) runAwaiting(plan);
    else runPlainly(plan);
  });
}

/** `{ a: 1 }` is meant as an object, if it can be one; as code it would be a block with a label. */
function isObject(source) {
  if (!/^\s*\{/.test(source) || /;\s*$/.test(source)) return false;
  return refusal("[(" + source + "\n)]", "})") === null;
}

/** Whether the interrupt for this command came before its code could run. */
function isInterrupted() {
  return peek(shared, INTERRUPTED) === S.run;
}

function isAccessor(name) {
  const property = descriptor(G, name);
  return property !== undefined && !("value" in property);
}

/** Makes room for declarations over Node's lazy globals, which are accessors, and keeps the kinds of names. */
function declareNames(plan, placed) {
  for (const name of plan.names) {
    if (BASE.has(name)) DECLARED.add(name);
    if (plan.constants.has(name)) CONSTANTS.add(name);
    else CONSTANTS.delete(name);
    const property = descriptor(G, name);
    if (property === undefined) plan.fresh.push(name);
    const plain = plainProperty(undefined);
    if (property === undefined ? placed : property.configurable && !("value" in property)) defineProperty(G, name, plain);
  }
}

function runPlainly(plan) {
  const text = plan.text + "\n//# sourceURL=" + fileName();
  let value;
  try {
    declareNames(plan, false);
    // Strict code in an eval would keep its variables to itself, so it runs as a script.
    value = plan.strict
      ? runUser(() => new Script(text, { filename: fileName() }).runInThisContext({ displayErrors: false }))
      : runUser(() => globalEval(text));
  } catch (error) {
    return failed(error, plan);
  }
  settle(plan.value ? value : undefined, plan);
}

/** Connecting takes milliseconds, so it is not done at the start; soon after, because user code may break what it needs. */
function connectInspector() {
  if (inspectorSession !== null) return;
  const { Session } = main.require("inspector");
  const session = new Session();
  session.connect();
  postToInspector = session.post;  // the user may put another in its place
  inspectorSession = session;
}

/** Sends the inspector a message, with a callback for its answer. */
function askInspector(...message) {
  apply(postToInspector, inspectorSession, message);
}

/** Why V8 refuses code that awaits; null if it does not. Its awaits are guarded only where V8 takes that. */
function compileAwaiting(plan, source) {
  const refused = compileError(plan, source, "(async () => {", "\n})");
  if (refused === null || plan.bare === null) return refused;
  Object.assign(plan, plan.bare(), { bare: null });
  keepShifts(plan);
  return compileError(plan, source, "(async () => {", "\n})");
}

/** Whatever awaits at top level runs in V8's REPL mode, which only its inspector offers. */
function runAwaiting(plan) {
  const refused = compileAwaiting(plan, S.source);
  if (refused) return finish({ status: "error", error: refused });
  connectInspector();
  declareNames(plan, true);
  const run = S.run;
  const isCurrent = () => S.running && S.run === run;
  let result = null;
  // The inspector would turn the result into JSON, however long it is. The first promise that is made is that of the
  // code as a whole, and its value holds the result: it is taken out there, before the inspector sees it.
  const stop = promiseHooks.onInit((promise) => {
    if (result !== null) return;
    result = promise;
    stop();
    hear("code", promise, (holder) => {
      let value;
      try {
        value = holder[".repl_result"];
        holder[".repl_result"] = undefined;
      } catch {}  // a `then` that user code gave to all objects has put something else in its place
      settle(plan.value ? value : undefined, plan);
    }, (error) => failed(error, plan));
  });
  const message = { __proto__: null, expression: withoutHash(plan.text) + "\n//# sourceURL=" + fileName(), replMode: true };
  try {
    runUser(() => withoutToJSON(() => askInspector("Runtime.evaluate", message, (error, answer) => {
      const details = answer?.exceptionDetails;
      if (result !== null || !details || !isCurrent()) return;
      const text = String(details.exception?.description ?? details.text).split("\n")[0].replace(/^SyntaxError: /, "");
      finish({ status: "error", error: syntaxEvent(text, S.source, ...placeInSource(plan, details.lineNumber + 1, details.columnNumber + 1)) });
    })));
  } finally {
    if (result === null) stop();
  }
}

function withoutHash(text) {
  return text.startsWith("#!") ? "//" + text.slice(2) : text;
}

/** Node's inspector module builds its messages with JSON.stringify, which a toJSON on every object would break. */
function withoutToJSON(call) {
  const known = descriptor(mainObject, "toJSON");
  if (known === undefined || !known.configurable) return call();
  const restore = () => defineProperty(mainObject, "toJSON", known);
  defineProperty(mainObject, "toJSON", { __proto__: null, configurable: true, get() { restore(); return undefined; } });
  return call();
}

/** The value of the last expression: a promise is awaited. */
function settle(value, plan) {
  if (!isPromise(value)) return completed(value);
  hear("awaited", value, completed, (error) => failed(error, plan));
}

function failed(error, plan) {
  const run = S.run;
  let event = null;
  // Names that the code did not come to define are taken away again.
  for (const name of plan.fresh) if (valueOf(name) === undefined) deleteProperty(G, name);
  if (isError(error) && !plan.awaits && isSyntaxError(error)) event = compileError(plan, S.source);
  event ??= errorEvent(error);
  later(run, () => finish({ status: "error", error: event }));
}

function isSyntaxError(error) {
  return typeName(error) === "SyntaxError";
}

/** An eval ends one turn of the loop later, when rejections that nobody handles have been told. */
function completed(value) {
  const run = S.run;
  later(run, () => {
    const result = { status: "ok" };
    if (value !== undefined) result.value = { ev: "value", text: render(value), type: typeName(value) };
    finish(result);
  });
}

function later(run, call) {
  setImmediate(() => {
    if (S.running && S.run === run) call();
  });
}

/** The `error` event of an interrupt. */
function interruptEvent(awaited) {
  const message = awaited ? "the eval was interrupted; what it awaited is abandoned" : "the eval was interrupted";
  return { ev: "error", name: "Interrupted", message, traceback: "Interrupted: " + message };
}

/** Ends the eval. From here on no interrupt can hit; of one that is on its way `onTerminated` tells. */
function finish(result) {
  if (!S.running) return;
  if (S.ends && result.status !== "interrupted" && !isInterrupted()) return endAll(result);
  if (swap(shared, STATE, RUNNING, IDLE) === KILLING) return;
  wake(shared, STATE);
  // Code that ends after an interrupt may have ended because of it: the host ends the input of a blocking read.
  const interrupted = result.status === "interrupted" || isInterrupted();
  retireInput(interrupted);
  S.running = false;
  S.ending = null;
  S.port.ref();
  const events = [];
  if (interrupted) {
    result = { status: "interrupted", error: interruptEvent(result.awaited) };
    abandon(S.mark);
  }
  waitNoMore(S.mark);
  if (S.undo) undoWork();
  if (result.report) events.push({ ev: "report", data: result.report });
  if (result.error) events.push(result.error);
  if (result.value && !S.stdlib) events.push(result.value);
  const done = { ev: "done", eval: S.eval, status: result.status };
  if (UNCOMPILED.has(result.error)) done.nothing_ran = true;
  try {
    if (S.stdlib) events.push({ ev: "report", data: libraryReport(result.error) });
    done.changed = changes(S.source);
    done.variables = KNOWN.size;
    done.notice = staleNotice();
  } catch (trouble) {
    events.push({ ev: "log", text: describeThrown(trouble) });
  }
  S.source = "";
  transmit(...events, done);
  resumeInput();
  if (inspectorSession === null) soon(connectInspector);
}
