#!/usr/bin/env node
// Runs the binary that npm chose for this machine. The standard streams are handed over, so nothing passes through here.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");
const process = require("node:process");
const { isatty } = require("node:tty");

const say = (line) => process.stderr.write(`${line}\n`);

const name = `stead-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/stead`);
} catch {
  const windows = process.platform === "win32" ? " On Windows, install it inside WSL." : "";
  say(`stead: the package \`${name}\` is not installed, which would bring the binary for this machine.`);
  say(`hint: stead runs on Linux.${windows} Where it should be there, npm was told to leave out optional dependencies: install again without \`--omit=optional\`.`);
  process.exit(2);
}

// What is sent to this process alone is passed on, and the binary decides what it means. A terminal sends Ctrl-C to both,
// and a second one would have another meaning. This comes first: the binary may have answered somebody before the next line runs.
const atTerminal = [0, 1, 2].some((fd) => isatty(fd));
for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !atTerminal) child.kill(signal);
  });
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  say(`stead: could not start \`${binary}\`: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // End as the binary did, so that a shell sees the same.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  process.exit(128 + os.constants.signals[signal]);
});
