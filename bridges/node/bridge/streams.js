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

/** What is printed between evals, or by a callback of an earlier one, is sent by name. */
function background(fd, chunk, from) {
  for (let at = 0; at < chunk.length; at += 1 << 16) {
    const text = apply(Bytes.prototype.utf8Slice, chunk, [at, Math.min(at + (1 << 16), chunk.length)]);
    const event = { ev: "background", stream: fd === 2 ? "err" : "out", text };
    if (from !== null) event.eval = from.eval;
    transmit(event);
  }
}

class Output extends stream.Writable {
  constructor(fd) {
    super({ decodeStrings: true });
    this.fd = fd;
    this._type = "pipe";
    this._isStdio = true;
  }

  _write(chunk, encoding, done) {
    try {
      put(this.fd, chunk);
    } catch (error) {
      return done(error);
    }
    done();
  }

  // Others write here too, so nobody can close it.
  _destroy(error, done) {
    done(error);
  }
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
    if (typeof fresh[name] === "function" && typeof G.console[name] === "function" && name !== "Console") G.console[name] = fresh[name];
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

function isDead(known) {
  try {
    return known === null || known === undefined || known.destroyed === true || known.writableEnded === true;
  } catch {
    return true;
  }
}
