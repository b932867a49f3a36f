// The loop: commands as they come, and the life of the process.

function onSignal() {}

/** Survives SIGINT, and errors that nobody catches, also where user code took the handlers away. */
function guardProcess() {
  const guards = [["SIGINT", onSignal], ["uncaughtException", onUncaught], ["exit", onExit]];
  for (const [event, handler] of guards) {
    try {
      if (!list(apply(listOf, process, [event])).includes(handler)) apply(addFirst, process, [event, handler]);
    } catch {}
  }
}

const listOf = process.listeners;
const addFirst = process.prependListener;

function onExit(code) {
  if (S.finishing) return;
  if (S.ending !== null && S.running && !code) return leaveAll();
  leave(Number(code) || 0);
}

function leave(code) {
  S.finishing = true;
  poke(shared, STATE, IDLE);
  transmit({ ev: "exiting", code });
}

function command(words, payload) {
  switch (words[0]) {
    case "eval":
      return doEval(words[1], payload);
    case "work":
      return words[2] === "stdlib" ? doStdlib(words[1], payload) : doWork(words[1], words[2], payload);
    case "query": {
      const seq = S.query = Number(words[1]);
      S.run = peek(shared, RUN);
      return answer(seq, () => {
        if (words[2] === "vars") return vars();
        if (words[2] === "inspect") return describeName(payload.trim());
        if (words[2] === "complete") return complete(payload);
        if (words[2] === "definitions") return definitions(payload);
        throw new Missing(`no query \`${words[2]}\``);
      });
    }
    case "clear": {
      const seq = S.query = Number(words[1]);
      S.run = peek(shared, RUN);
      return answer(seq, clearNames);
    }
    case "last":
      S.ends = true;
      return poke(shared, STATE, IDLE);
    case "exit":
      poke(shared, STATE, IDLE);
      S.finishing = true;
      return apply(exitProcess, process, [0]);
    default:
      poke(shared, STATE, IDLE);
  }
}

/** The main thread only awaits something: what runs ends here. */
function onInterrupt() {
  if (S.running && isInterrupted()) finish({ status: "interrupted", awaited: true });
}

/** What ran was ended by the other thread, or had just ended by itself. */
function onTerminated() {
  posted = Math.min(posted, peek(shared, WRITTEN));
  swap(shared, STATE, KILLING, RUNNING);
  if (S.running) {
    finish({ status: "interrupted" });
  } else if (S.query !== null) {
    finishQuery(S.heldReply ?? { ev: "reply", seq: S.query, error: "it was interrupted" });
    S.heldReply = null;
  } else {
    poke(shared, STATE, IDLE);
  }
}

function onMessage({ data }) {
  // An interrupt may have cut off the code that resets these.
  resumed = null;
  isOwn = false;
  try {
    if (data === "interrupt") onInterrupt();
    else if (data === "terminated") onTerminated();
    else if (data !== "poke") command(data[0], data[1]);
  } catch (error) {
    // Nothing of the user's should get here; go on all the same.
    transmit({ ev: "log", text: "bridge: " + describeThrown(error) });
    if (S.running) finish({ status: "error", error: errorEvent(error) });
  }
}

/** The first command is read here, while the other thread is still starting. */
function firstCommand() {
  let head = "";
  while (!head.endsWith("\n")) head += apply(Bytes.prototype.latin1Slice, main.read(1), [0, 1]);
  const words = head.slice(0, -1).split(" ");
  const bytes = main.read(Number(words[words.length - 1]));
  poke(shared, RUN, 1);
  poke(shared, STATE, RUNNING);
  poke(shared, GO, 1);
  wake(shared, GO);
  onMessage({ data: [words, apply(Bytes.prototype.utf8Slice, bytes, [0, bytes.length])] });
}

function start() {
  startThread();
  delete process.env.STEAD_BRIDGE_FD;
  process.execArgv = [];
  G.Error.prepareStackTrace = prepareStackTrace;
  openOutputs();
  try {
    watchChildren();
  } catch {}  // this Node does not show its internal modules: the order of output is then as the host sees it
  openInput();
  openModules();
  rememberBase();
  guardProcess();
  openContext();
  S.query = S.heldReply = null;
  S.port.onmessage = onMessage;
  S.port.start();
  transmit({
    ev: "hello", protocol: 1, language: "node", version: process.versions.node, executable: process.execPath, pid: process.pid,
    can: ["clear", "vars", "inspect", "complete", "changed", "interrupts", "waits", "save", "load", "stdlib", "definitions", "last"],
  });
  firstCommand();
}

start();
