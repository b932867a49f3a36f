// Streams: process.stdout and process.stderr, which know the eval that writes.

function put(fd, chunk) {
  if (S.finishing) return writeAll(fd, chunk);
  const from = owner();
  if (!S.running || (from !== null && from !== S.mark)) return background(fd, chunk, from);
  if (S.last !== fd) {
    synchronize();
    S.last = fd;
  }
  if (fd === 1 && chunk.length) S.open = chunk[chunk.length - 1] !== 10;
  writeAll(fd, chunk);
}

/**
 * What was written so far comes before what a child writes, and what that wrote before it was waited for comes before what
 * is written next. All of child_process starts its children here. The same for who writes to a descriptor.
 */
function watchChildren() {
  const before = () => { if (S.running && !S.finishing) synchronize(); };
  const after = () => { S.last = 0; };
  const { Process } = binding("process_wrap"), sync = binding("spawn_sync");
  const { spawn } = Process.prototype, { spawn: spawnSync } = sync;
  Process.prototype.spawn = function (...args) {
    before();
    const problem = apply(spawn, this, args);
    if (!problem && isGivenInput(args)) childReads(this.pid);
    return problem;
  };
  // Node calls this when the child has ended, before any code of the user's hears of it.
  const ends = new WeakMap();
  defineProperty(Process.prototype, "onexit", {
    __proto__: null, configurable: true,
    get() { return ends.get(this); },
    set(ended) { ends.set(this, function (...args) { after(); childEnds(this.pid); return apply(ended, this, args); }); },
  });
  fs.writeSync = function (fd, ...args) {
    if ((fd === 1 || fd === 2) && S.running && S.last !== fd) {
      synchronize();
      S.last = fd;
    }
    return apply(writeSync, fs, [fd, ...args]);
  };
  defineProperty(fs.writeSync, "name", { __proto__: null, value: "writeSync", configurable: true });
  sync.spawn = function (...args) {
    before();
    try {
      return apply(spawnSync, this, args);
    } finally {
      after();
    }
  };
}

/** Whether a child has the session's input as its own. Late Nodes pass the list of its descriptors by itself, others in an object. */
function isGivenInput(args) {
  try {
    const stdio = args[0]?.stdio ?? list(args).find((one) => Array.isArray(one) && typeof one[0]?.type === "string");
    return stdio[0].fd === 0;
  } catch {
    return false;
  }
}

/** A module of Node's own; asked for by the user, it may come with a warning. */
function binding(name) {
  const quiet = process.noDeprecation;
  process.noDeprecation = true;
  try {
    return process.binding(name);
  } finally {
    if (quiet === undefined) delete process.noDeprecation; else process.noDeprecation = quiet;
  }
}

/** What is printed between evals, or by a callback of an earlier one, is sent by name. */
function background(fd, chunk, from) {
  for (let at = 0; at < chunk.length; at += 1 << 16) {
    const text = apply(Bytes.prototype.utf8Slice, chunk, [at, Math.min(at + (1 << 16), chunk.length)]);
    const event = { ev: "background", stream: fd === 2 ? "err" : "out", text };
    if (from !== null) event.eval = from.eval;
    transmit(event);
  }
}

/**
 * process.stdout and process.stderr. They write at once and keep no state: an interrupt that cuts off a Writable's own
 * write leaves it waiting for ever for the end of that write. Others write there too, so nobody can close them.
 */
class Output extends stream.Writable {
  constructor(fd) {
    super();
    this.fd = fd;
    this._type = "pipe";
    this._isStdio = true;
  }

  write(chunk, encoding, done) {
    if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    put(this.fd, bytesOf(chunk, encoding));
    if (typeof done === "function") nextTick(done, null);
    return true;
  }

  end(chunk, encoding, done) {
    if (typeof chunk === "function") [chunk, done] = [undefined, chunk];
    else if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (typeof done === "function") nextTick(done);
    nextTick(() => this.emit("finish"));
    return this;
  }

  destroy() { return this; }
  destroySoon() { return this; }
  cork() {}
  uncork() {}
}

function bytesOf(chunk, encoding) {
  if (typeof chunk === "string") return bytesFrom(chunk, typeof encoding === "string" ? encoding : "utf8");
  if (util.types.isUint8Array(chunk)) return apply(bytesFrom, Bytes, [chunk.buffer, chunk.byteOffset, chunk.byteLength]);
  const error = new MainTypeError('The "chunk" argument must be of type string or an instance of Buffer or Uint8Array. Received ' + typeName(chunk));
  error.code = chunk === null ? "ERR_STREAM_NULL_VALUES" : "ERR_INVALID_ARG_TYPE";
  throw error;
}

const spares = [0, 1, 2].map((fd) => {
  try {
    return openSync("/proc/self/fd/" + fd, fd === 0 ? "r" : "a");
  } catch {
    return -1;
  }
});

let out, err, stdout, stderr;

function openOutputs() {
  if (isDead(out)) out = new Output(1);
  if (isDead(err)) err = new Output(2);
  stdout = out;
  stderr = err;
  const accessor = (get, set) => ({ __proto__: null, configurable: true, enumerable: true, get, set });
  defineProperty(process, "stdout", accessor(() => stdout, (value) => { stdout = value; }));
  defineProperty(process, "stderr", accessor(() => stderr, (value) => { stderr = value; }));
  // An attached inspector makes the methods of the global console slow; these are the same without it.
  const fresh = new G.console.Console({ stdout: out, stderr: err });
  for (const name of ownKeys(fresh)) {
    if (typeof fresh[name] === "function" && typeof G.console[name] === "function" && name !== "Console") {
      G.console[name] = fresh[name];
      consoleMethods.set(name, fresh[name]);
    }
  }
}

/** Gives back what an earlier eval closed or took away; a replacement of the user's stays. */
function repairOutputs() {
  for (let fd = 0; fd < 3; fd++) {
    try {
      fstatSync(fd);
    } catch {
      try {
        openSync("/proc/self/fd/" + spares[fd], fd === 0 ? "r" : "a");  // takes the lowest free number
      } catch {}
    }
  }
  try {
    if (isDead(out) || isDead(err)) openOutputs();
  } catch {}  // user code has broken streams as such
  if (isDead(stdout)) stdout = out;
  if (isDead(stderr)) stderr = err;
}

const consoleMethods = new Map();

/** Gives back streams and methods of the console that the user put others in the place of. */
function giveBackOutputs() {
  try {
    repairOutputs();
    stdout = out;
    stderr = err;
    for (const [name, method] of consoleMethods) if (G.console[name] !== method) G.console[name] = method;
  } catch {}  // user code has made them unchangeable
}

function isDead(known) {
  try {
    return known === null || known === undefined || known.destroyed === true || known.writableEnded === true;
  } catch {
    return true;
  }
}
