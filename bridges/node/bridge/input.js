// Input: process.stdin, one stream for each eval that uses it.
//
// Descriptor 0 stays as it is, blocking, for fs.readSync(0) and for children. When a stream wants data, a description
// of the same pipe that is the bridge's own is opened and waited on; the host sees the main thread wait for it. It is
// closed as soon as nobody wants any, so that what is not read stays for others.

const net = main.require("net");
const { O_RDONLY, O_NONBLOCK } = fs.constants;

let stdin = null;            // the stream that process.stdin is now
const wanting = new Set();   // streams that wait for data
let source = null;           // the socket, while it is open
let target = null;           // the stream that the socket reads for
let look = null;             // timer of the next look at readers of earlier evals
let pause = 0;
let timersBefore = 0;        // timers that earlier evals have left
let child = null;            // the child of the running eval that was last given the session's input: its id, and what was told

class Input extends stream.Readable {
  constructor() {
    super({ highWaterMark: 64 * 1024 });
    this.fd = 0;
    this.eval = S.eval;      // the eval that asked last
    this.abandoned = false;  // an interrupt ended that eval
    this.retired = false;    // the next eval gets another stream
    // A tick later, as Node's own stdin does it: code that pauses may resume at once.
    super.on("pause", () => nextTick(() => { if (!this.readableFlowing) withdraw(this); }));
  }

  on(event, listener) {
    super.on(event, listener);
    // The stream may have been asked to read before anybody listened to it.
    if (wanting.has(this)) settleSoon(this);
    return this;
  }

  addListener(event, listener) { return this.on(event, listener); }

  _read() {
    this.eval = S.running ? S.eval : this.eval;
    this.abandoned = false;
    wanting.add(this);
    settleSoon(this);
  }

  _destroy(error, done) {
    wanting.delete(this);
    arrange();
    done(error);
  }

  ref() { return this; }
  unref() { return this; }
}

function openInput() {
  stdin = null;
  defineProperty(process, "stdin", {
    __proto__: null,
    configurable: true,
    enumerable: true,
    get: currentInput,
    set: (value) => { stdin = value; },
  });
}

/** Between evals it is still the last one's, which what that eval has left behind may pause or read. */
function currentInput() {
  const over = stdin !== null && stdin.retired === true && (S.running || stdin.destroyed || stdin.readableEnded);
  if (stdin === null || over) stdin = new Input();
  return stdin;
}

/** A stream that was paused wants nothing any more; when it goes on it asks again. */
function withdraw(reader) {
  wanting.delete(reader);
  reader._readableState.reading = false;
  if (reader === target) arrange();
}

/** Opens the source for a reader, but later: one that has just been answered often asks for more although its eval is about to end. */
function settleSoon(reader) {
  soon(() => soon(() => { if (wanting.has(reader) && source === null) settleDown(); }));
}

/** Whether anybody would hear of what a stream reads. A stream reads ahead, also for a listener that has had enough. */
function isHeard(reader) {
  if (reader.listenerCount("readable") > 0) return true;
  // Neither flowing nor paused: the eval calls read() by hand, which is over when it ends.
  if (reader.readableFlowing === null) return S.running;
  return reader.readableFlowing && reader.listenerCount("data") + reader.listenerCount("end") > 0;
}

/** The reader that gets the next input: one of the running eval, else one of an earlier eval if that cannot be a mistake. */
function nextReader(older) {
  let found = null;
  for (const reader of wanting) {
    if (!isHeard(reader)) continue;
    if (S.running ? reader.eval === S.eval || older : !reader.abandoned) found = reader;
  }
  return found;
}

function arrange(older = false) {
  target = nextReader(older);
  if (target === null) closeSource();
  else if (source === null) openSource();
  if (target === null && S.running && wanting.size > 0 && look === null) {
    pause = 20;
    look = setTimeout(lookAtOlder, pause).unref();
  }
}

/**
 * A reader made by an earlier eval may be what this one waits for: `await rl.question()`. It is if this eval has left
 * a prompt, or if nothing else is left that could wake it.
 */
function lookAtOlder() {
  look = null;
  if (!S.running || wanting.size === 0 || source !== null) return;
  const others = list(process.getActiveResourcesInfo()).filter((kind) => kind !== "MessagePort" && kind !== "Worker");
  if (S.open || others.length === 0) return arrange(true);
  pause = Math.min(pause * 2, 250);
  look = setTimeout(lookAtOlder, pause).unref();
}

/** How many timers are set that keep the process alive. */
function countTimers() {
  return list(process.getActiveResourcesInfo()).filter((kind) => kind === "Timeout").length;
}

/** A child may read the session's input. When the code that starts it has run, it is told whether a timer goes on beside the child. */
function childReads(pid) {
  if (!S.running || S.finishing) return;
  const one = child = { pid, eval: S.eval, told: null };
  soon(() => tellTimers(one));
}

function childEnds(pid) {
  if (child !== null && child.pid === pid) child = null;
}

/** Nothing tells us of a timer that is set later, so we look. */
function tellTimers(one) {
  if (one !== child || !S.running || one.eval !== S.eval) return;
  const none = hasNoTimers();
  if (none !== one.told) transmit({ ev: "stdin_wait", tid: one.pid, eval: S.eval, no_timers: none });
  one.told = none;
  setTimeout(tellTimers, 100, one).unref();
}

/** V8 sets timers of its own, which the host cannot tell from the user's: only we know whether there are any. */
function hasNoTimers() {
  return countTimers() <= timersBefore;
}

/** Opens or closes the source as wanted now; between evals a moment later, when the host has emptied the pipe. */
function settleDown() {
  if (S.running) arrange();
  else resumeInput();
}

function openSource() {
  let fd;
  try {
    fd = openSync("/proc/self/fd/" + (spares[0] < 0 ? 0 : spares[0]), O_RDONLY | O_NONBLOCK);
  } catch (error) {
    const reader = target;
    wanting.delete(reader);
    reader.destroy(error);
    return;
  }
  const opened = new net.Socket({ fd, readable: true, writable: false });
  source = opened;
  opened.on("data", (data) => hand(opened, data));
  opened.on("end", () => hand(opened, null));
  opened.on("error", () => hand(opened, null));
  if (S.running) transmit({ ev: "stdin_wait", tid: process.pid, eval: S.eval, no_timers: hasNoTimers() });
}

function closeSource() {
  if (source === null) return;
  const closed = source;
  source = null;
  closed.destroy();
}

function hand(from, data) {
  if (from !== source || target === null) return;
  const reader = target;
  wanting.delete(reader);
  closeSource();
  if (data !== null) S.open = false;
  reader.push(data);
}

/** At the end of an eval: input that the eval read and did not use is dropped; a stream that it used is left to it. */
function retireInput(interrupted) {
  if (look !== null) clearTimeout(look);
  look = null;
  closeSource();
  if (interrupted) for (const reader of wanting) if (reader.eval === S.eval) reader.abandoned = true;
  if (!(stdin instanceof Input) || stdin.retired) return;
  try {
    const used = wanting.has(stdin) || stdin.readableDidRead || stdin.readableEnded || stdin.destroyed || stdin.readableLength > 0;
    if (!used && stdin.listenerCount("data") + stdin.listenerCount("readable") === 0) return;
    if (!wanting.has(stdin)) {
      while (stdin.read() !== null);
      // The last read() has asked for more data, which nobody wants.
      withdraw(stdin);
    }
  } catch {}
  stdin.retired = true;
}

/** After an eval: readers that it left behind are answered when nothing runs. The host empties the pipe first. */
function resumeInput() {
  if (wanting.size > 0) setTimeout(() => { if (!S.running) arrange(); }, 10).unref();
}
