// Work: what a session does in its turn besides evals (`work ID WHAT N`), run as an eval is: output, interrupts, the end.

// Functions that saving needs, taken before user code may put something else in their place.
const { closeSync, readSync, fsyncSync, renameSync, unlinkSync, readlinkSync, mkdirSync, readdirSync } = fs;
const { isFrozen, isSealed, isExtensible, freeze, seal, preventExtensions } = G.Object;
const { forEach: mapForEach } = G.Map.prototype, { forEach: setForEach } = G.Set.prototype;

/** Why work failed as a whole, and what is reported of it all the same. */
class WorkError extends Error {
  constructor(name, message, report) {
    super(message);
    this.name = name;
    this.report = report;
  }
}

/** What there is: from its word on the wire to what does it. It gives its report, or a promise of one. */
const WORKS = {
  __proto__: null,
  save: (argument) => saving().save(argument),
  load: (argument) => saving().load(argument),
};

let savingPart = null;

/** What saves and loads, which is made when it is first needed (lib.rs). */
function saving() {
  savingPart ??= makeSaving();
  return savingPart;
}

function doWork(id, what, argument) {
  beginEval(id, "");
  if (isInterrupted()) return finish({ status: "interrupted" });
  const run = S.run, work = WORKS[what];
  const isCurrent = () => S.running && S.run === run;
  const worked = (report) => { if (isCurrent()) later(run, () => finish({ status: "ok", report })); };
  const failed = (error) => { if (isCurrent()) later(run, () => finish({ status: "error", error: workEvent(error), report: error instanceof WorkError ? error.report : undefined })); };
  if (work === undefined) return failed(new WorkError("Unsupported", `this bridge does not know the work \`${what}\``));
  owned(S.mark, () => {
    let report;
    try {
      report = work(argument);
    } catch (error) {
      return failed(error);
    }
    if (isPromise(report)) report.then(worked, failed);
    else worked(report);
  });
}

function workEvent(error) {
  if (error instanceof WorkError) return { ev: "error", name: error.name, message: cut(error.message, MESSAGE_BUDGET) };
  return errorEvent(error);
}

/** What the work that was cut off left undone; called when nothing can interrupt any more. */
function undoWork() {
  const undo = S.undo;
  S.undo = null;
  try {
    undo?.();
  } catch {}
}
