// Context: which eval the code that runs now belongs to, through timers and awaits.
//
// Since Node 24 a value travels with callbacks and awaits at no cost. Before that, promises are marked when they are
// made, and callbacks of timers, sockets and the like have a number that tells when they were made. Node's own way
// in those versions, async_hooks, costs more, and aborts the process when an interrupt hits an await.

const asyncHooks = main.require("async_hooks");
const { promiseHooks } = main.require("v8");
const { executionAsyncId } = asyncHooks;
const tags = MAJOR >= 24 ? new asyncHooks.AsyncLocalStorage() : null;
const began = [];      // the first async id of each eval with its mark; the last 1,000
let FIRST = Infinity;  // callbacks with a smaller async id are the bridge's own
let resumed = null;    // the mark of the promise whose continuation runs
let isOwn = false;     // promises that are made now are the bridge's own
let tripwire = null;   // since Node 24: stops the hook that looks for abandoned code

/** What stands for an eval: its id, whether an interrupt has ended it while it awaited something, and what it waits for (waits.js). */
function newMark(id) {
  const mark = { eval: id, abandoned: false, code: null, awaited: null };
  if (tags === null) {
    began.push({ id: nextAsyncId(), mark });
    if (began.length > 1000) began.shift();
  }
  return mark;
}

function nextAsyncId() {
  return new asyncHooks.AsyncResource("stead", { requireManualDestroy: true }).asyncId();
}

/** The mark of the eval whose code runs now; null where that cannot be told. */
function owner() {
  if (tags !== null) return tags.getStore() ?? null;
  const id = executionAsyncId();
  if (id < FIRST) return resumed;
  for (let n = began.length - 1; n >= 0; n--) if (began[n].id <= id) return began[n].mark;
  return null;
}

function owned(mark, call) {
  return tags === null ? call() : tags.run(mark, call);
}

/** What the bridge itself attaches to promises belongs to no eval, so that nothing is ended because of it. */
function unowned(call) {
  if (tags !== null) return tags.run(undefined, call);
  isOwn = true;
  try {
    return call();
  } finally {
    isOwn = false;
  }
}

class Given {
  constructor(object) {
    return object;
  }
}

/** A private field on a promise of the user's, which nobody sees. */
class Marked extends Given {
  #mark = isOwn ? null : owner() ?? (S.running ? S.mark : null);

  static of(promise) {
    return #mark in promise ? promise.#mark : null;
  }
}

function openContext() {
  FIRST = nextAsyncId();
  if (tags !== null) return;
  promiseHooks.createHook({
    init: (promise) => { new Marked(promise); },
    before: (promise) => {
      resumed = Marked.of(promise);
      if (resumed !== null && resumed.abandoned) stopHere();
    },
    after: () => { resumed = null; },
  });
}

/** Code after an `await` that was interrupted must not run when what it awaited comes after all. */
function abandon(mark) {
  mark.abandoned = true;
  if (tags === null || tripwire !== null) return;
  tripwire = promiseHooks.onBefore(() => {
    const mark = tags.getStore();
    if (mark !== undefined && mark.abandoned) stopHere();
  });
}

/** Ends the JavaScript that runs now, at its next call; V8 takes that back when the last frame is left, and drops its queue. */
function stopHere() {
  soon(attachAgain);
  connectInspector();
  withoutToJSON(() => askInspector("Runtime.terminateExecution"));
}
