// Waits: what an eval awaits at top level, and how it is left when an interrupt ends the eval.
//
// V8 cannot take back an `await`. To end the code behind it once that could run means to terminate it, and then V8 drops
// all promise reactions that are in its queue, whoever's they are. So top-level code awaits a promise of the bridge's own,
// which is left open for ever when the eval is abandoned.

const resolvePromise = MainPromise.resolve;
let strays = false;  // code of an abandoned eval may yet be ended, so that V8 drops its queue
// oxlint-disable-next-line no-thenable
const FOREVER = { __proto__: null, then() {} };

/** What `await x` awaits in place of x (rewrite.js). */
function wait(value) {
  if (!strays && (value === null || (typeof value !== "object" && typeof value !== "function"))) return value;
  const promise = apply(resolvePromise, MainPromise, [value]);
  const { mark } = S;
  if (!S.running || (owner() ?? mark) !== mark) return promise;
  // Through another promise the eval hears one turn of V8's queue later. What has been settled it hears of when Node would.
  if (!strays && isSettled(promise)) return promise;
  let settlers;
  const guard = unowned(() => new MainPromise((...both) => { settlers = both; }));
  // V8 finds the frames that await the guard because these are the guard's own functions, and its only reaction.
  mark.awaited = { promise, handlers: settlers, leave: settlers[0] };
  attach(mark.awaited);
  return guard;
}

/** Whether a promise has come to its end, without running code of the user's. */
function isSettled(promise) {
  try {
    return !/\{\s*<pending>/.test(inspect(promise, { customInspect: false, depth: 0, maxArrayLength: 0, maxStringLength: 0 }));
  } catch {
    return false;
  }
}

function attach({ promise, handlers }) {
  unowned(() => apply(promiseThen, promise, handlers));
}

/** Hears of a promise that the running eval waits for, whatever becomes of the queue; once. */
function hear(what, promise, ...calls) {
  const run = S.run;
  let heard = false;
  const handlers = calls.map((call) => (value) => {
    if (heard || !S.running || S.run !== run) return;
    heard = true;
    call(value);
  });
  S.mark[what] = { promise, handlers };
  attach(S.mark[what]);
}

/** Code that ran for an abandoned eval was ended, and what V8 dropped with it the running eval may have waited for. */
function attachAgain() {
  if (!S.running) return;
  for (const waited of [S.mark.code, S.mark.awaited]) if (waited !== null) attach(waited);
}

/** The eval has ended. If it was abandoned, what it awaits at top level never comes. */
function waitNoMore(mark) {
  const { awaited, abandoned } = mark;
  mark.code = mark.awaited = null;
  strays ||= abandoned;
  if (abandoned && awaited?.leave) unowned(() => awaited.leave(FOREVER));
}
