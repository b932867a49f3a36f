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
  finish(callExitHandlers(S.ending, 0));
  apply(exitNow, process, [0]);
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
