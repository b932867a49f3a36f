// Immediates: what an interrupt leaves of Node's own list of them.
//
// Node runs immediates one after the other and notes in a list which is next. An interrupt that ends one of them leaves it
// there as the next, and as one that is over: from then on Node throws an error of its own in place of running anything, again and
// again, and does nothing else. Nothing of the list is in reach but the immediates themselves, which V8's inspector finds.

/** Whether an error that nobody caught is that of Node. */
function isOfImmediates(error) {
  try {
    return /reading '_idleNext'/.test(error.message);
  } catch {
    return false;
  }
}

/** Node has thrown that error. If it cannot be helped the session ends: Node would throw it without end. */
function onLostImmediate() {
  let freed = false;
  try {
    freed = freeImmediates();
  } catch {}
  if (freed) return;
  S.finishing = true;
  // The other thread must not have to write this event, because that thread ends with the process.
  posted = Math.min(posted, peek(shared, WRITTEN));
  poke(shared, STATE, IDLE);
  transmit({ ev: "exiting", code: 70, reason: "an interrupt has broken Node's list of immediates, and it could not be mended" });
  apply(exitProcess, process, [70]);
}

/** Makes the one that was ended run as one that does nothing, so that Node goes on behind it. Whether that was done. */
function freeImmediates() {
  connectInspector();
  const place = "__stead_immediate_" + S.run;
  let found, freed = false;
  G[place] = getPrototypeOf(keep());
  try {
    withoutToJSON(() => {
      askInspector("Runtime.evaluate", { __proto__: null, expression: place }, (_, answer) => { found = answer?.result?.objectId; });
      askInspector("Runtime.queryObjects", { __proto__: null, prototypeObjectId: found }, (_, answer) => { found = answer?.objects?.objectId; });
      const call = { __proto__: null, objectId: found, functionDeclaration: String(revive), returnByValue: true };
      askInspector("Runtime.callFunctionOn", call, (_, answer) => { freed = answer?.result?.value > 0; });
      askInspector("Runtime.releaseObject", { __proto__: null, objectId: found }, () => {});
    });
  } finally {
    delete G[place];
  }
  return freed;
}

/** Runs with all immediates as `this`; how many were ended. One that came to its end has no function any more. */
function revive() {
  let ended = 0;
  for (const one of this) {
    if (!one._destroyed || !one._onImmediate) continue;
    one._destroyed = false;
    one._onImmediate = () => {};
    one._argv = undefined;
    ended++;
  }
  return ended;
}

/** Node counts one that runs twice off twice, and runs none while it counts none: one that waits for ever makes up for that. */
function keep() {
  const one = setImmediate(keep);
  one.unref();
  return one;
}
