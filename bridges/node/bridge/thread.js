// The other thread: reads the control channel while user code keeps the main thread busy, and stops that code on request.

/** Runs in a worker, from its text: nothing of the rest of the bridge is in reach. */
function controlThread() {
  const { workerData: { shared, control, port } } = require("worker_threads");
  const net = require("net");
  const fs = require("fs");
  const { Session } = require("inspector");
  const GO = 0, STATE = 1, RUN = 2, INTERRUPTED = 3, ACKS = 4, WRITTEN = 5;
  const RUNNING = 1, KILLING = 2;
  const PATIENCE = 10;  // ms in which a main thread that only awaits something answers an interrupt by itself
  let inbox = Buffer.alloc(0);

  Atomics.wait(shared, GO, 0);
  const socket = new net.Socket({ fd: control, readable: true, writable: false });
  socket.on("data", (data) => {
    inbox = inbox.length ? Buffer.concat([inbox, data]) : data;
    while (command());
  });
  // The host is gone.
  socket.on("end", () => process.kill(process.pid, "SIGKILL"));
  socket.on("error", () => process.kill(process.pid, "SIGKILL"));
  port.on("message", (text) => {
    write(text);
    Atomics.add(shared, WRITTEN, 1);
    Atomics.notify(shared, WRITTEN);
  });

  function write(text) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length;) {
      try {
        at += fs.writeSync(control, bytes, at);
      } catch (error) {
        if (error.code !== "EAGAIN") process.kill(process.pid, "SIGKILL");
        Atomics.wait(shared, 15, 0, 1);
      }
    }
  }

  /** Takes one command from the inbox, if a whole one is there. */
  function command() {
    const end = inbox.indexOf(10);
    if (end < 0) return false;
    const words = inbox.toString("latin1", 0, end).split(" ");
    const need = end + 1 + Number(words[words.length - 1]);
    if (inbox.length < need) return false;
    const payload = inbox.toString("utf8", end + 1, need);
    inbox = inbox.subarray(need);
    if (words[0] === "ack") {
      Atomics.add(shared, ACKS, 1);
      Atomics.notify(shared, ACKS);
    } else if (words[0] === "interrupt") {
      interrupt(words[1]);
    } else {
      Atomics.add(shared, RUN, 1);
      Atomics.store(shared, STATE, RUNNING);
      port.postMessage([words, payload]);
    }
    return true;
  }

  /** The host never sends an interrupt behind the next command, so it is for what runs, or comes late. */
  function interrupt(id) {
    if (Atomics.load(shared, STATE) !== RUNNING) return;
    Atomics.store(shared, INTERRUPTED, Atomics.load(shared, RUN));
    port.postMessage("interrupt");
    Atomics.wait(shared, STATE, RUNNING, PATIENCE);
    if (Atomics.compareExchange(shared, STATE, RUNNING, KILLING) !== RUNNING) return;
    terminate();
    // Only now may the host interrupt the program that the main thread waits for. Until the main thread has been terminated
    // it writes through this thread, so the lines do not mix.
    if (id !== "-") write(JSON.stringify({ ev: "interrupted", eval: id }) + "\n");
  }

  /**
   * Ends the JavaScript that runs on the main thread; nothing there can catch it. V8 confirms it when a call has been
   * left. Where none is running any more the next one is hit, so calls are made until it has been one of these.
   */
  function terminate() {
    const session = new Session();
    session.connectToMainThread();
    let pause = 5, timer;
    const again = () => {
      port.postMessage("poke");
      timer = setTimeout(again, (pause = Math.min(pause * 2, 1000)));
    };
    timer = setTimeout(again, pause);
    session.post("Runtime.terminateExecution", () => {
      clearTimeout(timer);
      session.disconnect();  // an exit would wait for the session
      port.postMessage("terminated");
    });
  }
}

function startThread() {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker("(" + controlThread + ")()", {
    eval: true,
    execArgv: [],
    env: main.require("worker_threads").SHARE_ENV,
    workerData: { shared, control: main.fd, port: port2 },
    transferList: [port2],
  });
  worker.unref();
  // In the bridge's own context events are made without the user's prototypes.
  S.port = moveMessagePortToContext(port1, main.context);
}
