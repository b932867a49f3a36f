// Node bridge: runs evals in the user's Node and reports to the session host.
//
// Wire:   words and bytes in, one JSON object per line out, on STEAD_BRIDGE_FD (docs/PROTOCOL.md).
// Needs:  Node 18 or newer, no package; leaves no name behind in the user's namespace but three hidden helpers.
// Tested: ../test_bridge.js, and tests/conformance.
//
// lib.rs joins the files of this folder into the body of one function, this one first: what all the others use,
// and the control channel. boot.js runs it in a V8 context of its own. User code lives in the main context: what it does
// to Array.prototype, JSON or Promise does not reach the bridge. What comes from Node's modules is bound here, once.
"use strict";

const { process, Buffer, Error: MainError, TypeError: MainTypeError, Promise: MainPromise } = main.global;
const G = main.global;
const globalEval = main.eval;
const fs = main.require("fs");
const util = main.require("util");
const vm = main.require("vm");
const stream = main.require("stream");
const timers = main.require("timers");
const { Worker, MessageChannel, moveMessagePortToContext } = main.require("worker_threads");
const { writeSync, openSync, fstatSync, statSync } = fs;
const { inspect } = util;
const { Script } = vm;
const { isPromise, isProxy } = util.types;
const { setImmediate, setTimeout, clearTimeout } = timers;
let ownImmediates = 0;       // those of `soon` that have not run

/** An immediate of the bridge's own, which is none of those that user code has left (whatGoesOn). */
function soon(call) {
  ownImmediates++;
  setImmediate(() => {
    ownImmediates--;
    call();
  });
}
const nextTick = process.nextTick;
const promiseThen = MainPromise.prototype.then;
const exitProcess = process.exit;
const currentDirectory = process.cwd;
const listenersOf = process.listenerCount;
const Bytes = Buffer;
const bytesFrom = Buffer.from;
// Functions of the main context, because some of Node's properties are made when they are looked at, in the context that looks.
const { getOwnPropertyDescriptor, ownKeys: keysOf, getPrototypeOf, defineProperty, deleteProperty, get: getProperty } = G.Reflect;
const { apply } = Reflect;
const { setPrototypeOf } = Object;
const mainObject = G.Object.prototype;
const rejectPromise = MainPromise.reject;
const MAJOR = parseInt(process.versions.node);

const VALUE_BUDGET = 2000, TRACEBACK_BUDGET = 64 * 1024, MESSAGE_BUDGET = 8 * 1024;
const CHANGES_LISTED = 50, VARS_LISTED = 500, COMPLETIONS_LISTED = 200;

// What the bridge knows between two lines of user code.
const S = {
  eval: null,        // id of the running or last eval
  running: false,    // an eval is under way
  stdlib: false,     // the running eval is the user's standard library
  mark: null,        // what stands for the running or last eval (context.js)
  run: 0,            // counts commands; tells a callback of an abandoned eval from one of the running eval
  ends: false,       // the next eval, or the one that runs, is the last (ends.js)
  ending: null,      // the result of its code, while what that left to be done goes on
  finishing: false,  // exit handlers run: output goes to the pipes as it is
  last: 1,           // descriptor written last in the running eval
  open: false,       // the eval's last line on stdout has no end yet: it may be a prompt
  undo: null,        // takes back what work has not finished (work.js)
};

// ---- objects of the main context, whose prototypes are the user's ------------------------------

function descriptor(object, key) {
  const property = getOwnPropertyDescriptor(object, key);
  return property === undefined ? undefined : setPrototypeOf(property, null);
}

function list(array) {
  const items = [];
  for (let n = 0; n < array.length; n++) items.push(array[n]);
  return items;
}

function ownKeys(object) {
  return list(keysOf(object));
}

/** A property as a plain assignment makes it. */
function plainProperty(value) {
  return { __proto__: null, value, writable: true, enumerable: true, configurable: true };
}

function hiddenProperty(value) {
  return { __proto__: null, value, writable: true, enumerable: false, configurable: true };
}

// ---- memory shared with the thread that reads the control channel (thread.js) ------------------

const GO = 0, STATE = 1, RUN = 2, INTERRUPTED = 3, ACKS = 4, WRITTEN = 5;
const IDLE = 0, RUNNING = 1, KILLING = 2;
const shared = new Int32Array(new G.SharedArrayBuffer(64));
const { load: peek, store: poke, compareExchange: swap, wait: sleepOn, notify: wake } = Atomics;
let posted = 0;      // frames given to that thread to send
let asked = 0;       // acknowledgements asked for

/** Sleeps without anything to wait for. */
function nap(ms) {
  sleepOn(shared, 15, 0, ms);
}

// ---- the control channel -----------------------------------------------------------------------

const SURROGATES = /[\ud800-\udfff]/;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Half a surrogate pair is no JSON, so it is spelled out. */
function whole(text) {
  if (!SURROGATES.test(text)) return text;
  return text.replace(LONE, (half) => "\\u" + half.charCodeAt(0).toString(16));
}

function frame(event) {
  return JSON.stringify(event, (key, value) => (typeof value === "string" ? whole(value) : value)) + "\n";
}

/**
 * Sends events. While user code runs it can be cut off at any call, in the middle of a write too, and half a frame
 * would end the session: then the other thread writes. Otherwise the main thread does, once the other is through.
 */
function transmit(...events) {
  let text = "";
  for (let n = 0; n < events.length; n++) text += frame(events[n]);
  if (peek(shared, STATE) !== IDLE && S.port) {
    S.port.postMessage(text);
    posted++;
    return;
  }
  for (let done; (done = peek(shared, WRITTEN)) < posted;) sleepOn(shared, WRITTEN, done, 1000);
  try {
    writeAll(main.fd, bytesFrom(text));
  } catch {
    exitProcess.call(process, 70);  // the host cannot be reached any more
  }
}

/** Writes all bytes, even if the pipe was made non-blocking. */
function writeAll(fd, bytes) {
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at, bytes.length - at);
    } catch (error) {
      if (error.code !== "EAGAIN" && error.code !== "EINTR") throw error;
      nap(1);
    }
  }
}

/** Lets the host take all that is in both pipes, so that what is written next comes after it. */
function synchronize() {
  asked++;
  transmit({ ev: "sync" });
  for (let seen; (seen = peek(shared, ACKS)) < asked;) {
    if (sleepOn(shared, ACKS, seen, 1000) === "timed-out") asked = seen;  // order is not worth a hang
  }
}

function cut(text, budget) {
  if (text.length <= budget) return text;
  const mark = ` … (${text.length} characters) … `;
  const room = Math.max(budget - mark.length, 2);
  return text.slice(0, room - (room >> 1)) + mark + text.slice(text.length - (room >> 1));
}
