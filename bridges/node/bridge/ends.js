// Ends: what the code of a last eval has left to be done is part of that eval, as Node does it at the end of a program.

const removeListeners = process.removeAllListeners, exitNow = process.reallyExit;

/** Lets timers, servers and promises come to their end before the eval does. After an error Node would not wait for them. */
function endAll(result) {
  S.ends = false;
  if (result.status !== "ok") return finish(callExitHandlers(result, 1));
  S.ending = result;
  S.port.unref();  // nothing but the user's own keeps the process alive; what comes through the port comes all the same
}

/** Nothing is left to be done, and Node exits: this is the end of the eval, and then of the process. */
function leaveAll() {
  const result = callExitHandlers(S.ending, 0), code = exitCode();
  if (result.status !== "ok" || code === 0) return endWith(result, 0);
  leave(code);
  apply(exitNow, process, [code]);
}

/** Nobody has caught an error: Node would leave at once what is to be done. */
function failAll(error) {
  S.ends = false;
  endWith(callExitHandlers({ status: "error", error: errorEvent(error) }, 1), 1);
}

/** Ends the eval and the process, except where an interrupt is on its way, which ends the eval in its own way. */
function endWith(result, code) {
  finish(result);
  if (!S.running) apply(exitNow, process, [code]);
}

/** What an exit handler has set `process.exitCode` to. */
function exitCode() {
  try {
    return Number(process.exitCode) || 0;
  } catch {
    return 0;
  }
}

/** Calls the user's exit handlers, which Node does not call again; the result with what came of them. */
function callExitHandlers(result, code) {
  try {
    for (const listener of list(apply(listOf, process, ["exit"]))) {
      if (listener !== onExit) runUser(() => apply(listener, process, [code]));
    }
  } catch (error) {
    if (result.status === "ok") result = { status: "error", error: errorEvent(error) };
  }
  try {
    apply(removeListeners, process, ["exit"]);
  } catch {}
  return result;
}
