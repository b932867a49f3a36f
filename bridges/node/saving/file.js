// Files: a save file is written beside its place and put there as a whole, and read with suspicion (docs/SAVED.md).

const HEAD = "STEADSAVE1\n", TRAILER = 51, FORMAT = 1;
const CALL_MOST = 64 << 20;  // bytes of one call of the system, so that an interrupt does not wait long

function checkOf(bytes) {
  return main.require("crypto").createHash("sha256").update(bytes).digest("hex");
}

/** What the system said. */
function reasonOf(error) {
  const text = stringOf(error?.message, "");
  return /^E[A-Z0-9]+: ([^,]+)/.exec(text)?.[1] ?? describeThrown(error);
}

/** What stands at a path, if it is no regular file. */
function otherSort(stat) {
  if (stat.isDirectory()) return "a directory";
  if (stat.isFIFO()) return "a FIFO";
  if (stat.isSocket()) return "a socket";
  return stat.isFile() ? null : "a device";
}

/** Where a file is to be, behind symbolic links; it need not be there yet. */
function finalPath(asked) {
  let file = asked;
  for (let n = 0; n < 40; n++) {
    let linked;
    try {
      linked = readlinkSync(file);
    } catch {
      return file;
    }
    file = path.resolve(path.dirname(file), linked);
  }
  throw new WorkError("SaveError", `could not write \`${asked}\`: too many symbolic links`);
}

/** The file that is being written, under a name of its own until it is whole. */
class Target {
  constructor(asked, force) {
    this.asked = asked;
    this.fd = -1;
    this.temporary = null;
    this.at = 0;
    this.trying(() => this.open(force));
  }

  trying(call) {
    try {
      return call();
    } catch (error) {
      this.leave();
      throw error instanceof WorkError ? error : new WorkError("SaveError", `could not write \`${this.asked}\`: ${reasonOf(error)}`);
    }
  }

  open(force) {
    if (this.asked.endsWith("/")) throw new WorkError("SaveError", `\`${this.asked}\` is no name of a file`);
    this.path = finalPath(path.resolve(here(), this.asked));
    this.folder = path.dirname(this.path);
    const stat = statSync(this.path, { throwIfNoEntry: false });
    const sort = stat === undefined ? null : otherSort(stat);
    if (sort !== null) throw new WorkError("SaveError", `\`${this.asked}\` is ${sort}`);
    if (stat !== undefined && !force && !isSaved(this.path)) {
      throw new WorkError("SaveError", `\`${this.asked}\` is a file that was not saved by stead, and would be lost`);
    }
    mkdirSync(this.folder, { recursive: true });
    // A name may have 255 bytes.
    const whole = bytesFrom(path.basename(this.path));
    const name = apply(Bytes.prototype.utf8Slice, whole, [0, Math.min(whole.length, 200)]).replace(/\ufffd+$/, "");
    this.removeLeftovers("." + name + ".");
    const temporary = path.join(this.folder, `.${name}.${process.pid}.tmp`);
    this.fd = openSync(temporary, "wx", 0o600);
    this.temporary = temporary;
    S.undo = () => this.leave();
    this.add(bytesFrom(HEAD));
  }

  /** What a killed save to the same place has left. */
  removeLeftovers(start) {
    for (const name of readdirSync(this.folder)) {
      const pid = name.startsWith(start) && name.endsWith(".tmp") ? name.slice(start.length, -4) : "";
      if (!/^\d{1,7}$/.test(pid) || (Number(pid) !== process.pid && statSync("/proc/" + pid, { throwIfNoEntry: false }))) continue;
      try {
        unlinkSync(path.join(this.folder, name));
      } catch {}
    }
  }

  /** Adds bytes; gives where they begin. */
  add(bytes) {
    const from = this.at;
    this.trying(() => {
      for (let at = 0; at < bytes.length; at += CALL_MOST) writeAll(this.fd, bytes.subarray(at, at + CALL_MOST));
    });
    this.at += bytes.length;
    return from;
  }

  /** Ends the file with its manifest and puts it into its place. */
  finish(manifest) {
    const bytes = bytesFrom(frame(manifest).trimEnd());
    const from = this.add(bytes);
    const digits = (number) => String(number).padStart(20, "0");
    this.add(bytesFrom(`STEADEND ${digits(from)} ${digits(bytes.length)}\n`));
    this.trying(() => {
      fsyncSync(this.fd);
      renameSync(this.temporary, this.path);
      this.temporary = null;
    });
    this.leave();
    try {
      const folder = openSync(this.folder, "r");
      fsyncSync(folder);
      closeSync(folder);
    } catch {}
    return this.at;
  }

  /** Closes it, and removes what has not come into its place. */
  leave() {
    S.undo = null;
    const { fd, temporary } = this;
    this.fd = -1;
    this.temporary = null;
    if (fd >= 0) closeSync(fd);
    if (temporary !== null) unlinkSync(temporary);
  }
}

function isSaved(file) {
  const fd = openSync(file, "r");
  try {
    return textAt(fd, 0, HEAD.length).startsWith(HEAD.slice(0, -2));
  } finally {
    closeSync(fd);
  }
}

/** Fills bytes from a place in a file; how many there were. */
function fill(fd, bytes, at) {
  let done = 0;
  while (done < bytes.length) {
    const got = readSync(fd, bytes, done, Math.min(bytes.length - done, CALL_MOST), at + done);
    if (got === 0) break;
    done += got;
  }
  return done;
}

function bytesAt(fd, at, length) {
  const bytes = Bytes.alloc(length);
  if (fill(fd, bytes, at) < length) throw new WorkError("LoadError", "the file ends too early");
  return bytes;
}

function textAt(fd, at, length) {
  const bytes = Bytes.alloc(length);
  return apply(Bytes.prototype.utf8Slice, bytes, [0, fill(fd, bytes, at)]);
}

/** A save file that is being read. */
class Origin {
  constructor(asked) {
    this.asked = asked;
    this.fd = -1;
    try {
      // Opening a FIFO would wait for somebody who writes.
      const file = path.resolve(here(), asked), sort = otherSort(statSync(file));
      if (sort !== null) throw new WorkError("LoadError", `\`${asked}\` is ${sort}`);
      this.fd = openSync(file, "r");
      S.undo = () => this.leave();
      this.manifest = this.readManifest(fstatSync(this.fd).size);
    } catch (error) {
      this.leave();
      throw error instanceof WorkError ? error : new WorkError("LoadError", `could not read \`${asked}\`: ${reasonOf(error)}`);
    }
  }

  readManifest(size) {
    const refuse = (text) => new WorkError("LoadError", `\`${this.asked}\` ${text}`);
    const head = textAt(this.fd, 0, HEAD.length);
    if (!head.startsWith(HEAD.slice(0, -2))) throw refuse("is no file that stead has saved");
    if (head !== HEAD.slice(0, head.length)) throw refuse("was saved by a newer version of stead");
    const found = /^STEADEND (\d{20}) (\d{20})\n$/.exec(textAt(this.fd, Math.max(size - TRAILER, 0), TRAILER));
    const from = Number(found?.[1]), length = Number(found?.[2]);
    if (!found || from + length + TRAILER !== size || from < HEAD.length) throw refuse("is not whole: it was cut off, or changed since it was saved");
    let manifest = null;
    try {
      manifest = JSON.parse(textAt(this.fd, from, length));
    } catch {}
    if (manifest === null || typeof manifest !== "object") throw refuse("is damaged: it cannot be told what is in it");
    if (!(manifest.format <= FORMAT)) throw refuse(`was saved by a newer version of stead (format ${cut(String(manifest.format), 20)})`);
    if (manifest.language !== "node") throw refuse(`was saved by a session of ${cut(String(manifest.language), 40)}, and this one is of node`);
    return manifest;
  }

  leave() {
    S.undo = null;
    if (this.fd >= 0) closeSync(this.fd);
    this.fd = -1;
  }
}
