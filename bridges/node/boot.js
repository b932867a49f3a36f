// Given to Node with `-e`: reads the bridge from the control channel and runs it in a V8 context of its own.
// lib.rs takes comments and indentation off. It is a block, so that the user's namespace has no name of it.
{
  const fs = require("fs"), vm = require("vm"), fd = Number(process.env.STEAD_BRIDGE_FD);
  if (parseInt(process.versions.node) < 18) {
    fs.writeSync(2, "stead needs Node 18 or newer; " + process.execPath + " is " + process.version + "\n");
    process.exit(1);
  }
  if (isNaN(fd)) {
    fs.writeSync(2, "the variable STEAD_BRIDGE_FD is missing: a command that starts a session's interpreter must pass its environment on\n");
    process.exit(1);
  }
  const read = (count) => {
    const data = Buffer.alloc(count);
    for (let at = 0, got; at < count; at += got) {
      got = fs.readSync(fd, data, at, count - at);
      // The host is gone.
      if (got === 0) process.exit(0);
    }
    return data;
  };
  let head = "";
  while (!head.endsWith("\n")) head += read(1);
  const source = String(read(Number(head.split(" ")[1])));
  const context = vm.createContext();
  const bridge = vm.compileFunction(source, ["main"], { filename: "stead", parsingContext: context });
  // What the bridge needs of the user's context. Only a function that was made there imports what the user would.
  bridge({ context, global: globalThis, require, eval, fd, read, load: eval("(name, options) => import(name, options)") });
}
