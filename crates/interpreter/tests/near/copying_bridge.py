#!/usr/bin/env python3
"""A bridge that keeps one word and can copy itself, with no more than that takes (docs/PROTOCOL.md, "Copies").

Code is one command:
  WORD=x        keeps a word           say          prints it, and its own process
  copy [how]    makes a copy           spawn        starts a child, prints its process
  crash         a signal ends it       exit         it exits
  loop          never ends, and ignores interrupts
The work `checkpoint` makes a copy too, in the way that its label says. The work `save` never ends: a child does it, by a
child of its own; their processes are printed.
A copy that was made `deaf` never wakes, one that was made `mortal` ends when it is woken, one that was made `barren` goes
on without another copy of itself.
"""
import array
import json
import os
import signal
import socket
import subprocess
import time

control = socket.socket(fileno=int(os.environ["STEAD_BRIDGE_FD"]))
nest = socket.socket(fileno=int(os.environ["STEAD_NEST_FD"]))
word, number, inbox = "", 1, b""
signal.signal(signal.SIGINT, lambda *_: None)


def tell(**event):
    control.sendall(json.dumps(event).encode() + b"\n")


def freeze(mine, how):
    """Forks. True in the one that goes on; the copy comes back when it is awake, with False."""
    global control, nest, number
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid:
        theirs.close()
        packet = json.dumps({"copy": mine, "pid": pid, "ms": 1.5, "threads": 0, "lost": [how]}).encode()
        rights = array.array("i", [ours.fileno()])
        nest.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        ours.close()
        return True
    os.setsid()
    for mute in (ours, control, nest):
        mute.close()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    while True:
        text, rights, _, _ = theirs.recvmsg(1000, socket.CMSG_SPACE(6 * 4))
        if not text or how == "mortal":
            os._exit(0)
        if how != "deaf":
            break
    fds = array.array("i")
    fds.frombytes(rights[0][2])
    for fd in (0, 1, 2):
        os.dup2(fds[fd], fd)
    control, nest, number = socket.socket(fileno=fds[3]), socket.socket(fileno=fds[5]), int(text.split()[2])
    if how == "barren" or freeze(mine, how):
        tell(ev="restored", pid=os.getpid(), lost=["a"], variables=1)
    return False


def save_forever():
    """Leaves the writing to a child that has a child, as a shell does by its subshells."""
    child = os.fork()
    if child == 0:
        helper = subprocess.Popen(["sleep", "1000"])
        os.write(1, b"%d %d\n" % (os.getpid(), helper.pid))
        os._exit(helper.wait())
    os.waitpid(child, 0)


def run(code):
    global word, number  # noqa: PLW0603  (its state is what this bridge shows)
    what, _, how = code.partition(" ")
    if "=" in what:
        word = what.split("=")[1]
    elif what == "say":
        os.write(1, b"%s %d\n" % (word.encode(), os.getpid()))
    elif what == "spawn":
        os.write(1, b"%d\n" % subprocess.Popen(["sleep", "1000"]).pid)
    elif what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "exit":
        os._exit(3)
    elif what == "loop":
        os.write(1, b"up\n")
        while True:
            time.sleep(1000)
    elif what == "copy":
        number += 1
        return freeze(number - 1, how)
    return True


tell(ev="hello", protocol=1, language="copy", version="1", executable="", pid=os.getpid(), can=["checkpoint", "saves_all"])
while True:
    while b"\n" not in inbox:
        inbox += control.recv(1 << 16) or os._exit(0)
    line, _, inbox = inbox.partition(b"\n")
    words = line.decode().split()
    while len(inbox) < int(words[-1]):
        inbox += control.recv(1 << 16) or os._exit(0)
    payload, inbox = inbox[:int(words[-1])], inbox[int(words[-1]):]
    if words[0] == "exit":
        os._exit(0)
    if words[0] == "eval" and run(payload.decode()):
        tell(ev="done", eval=words[1], status="ok")
    if words[0] == "work" and words[2] == "save":
        save_forever()
    elif words[0] == "work" and payload == b"refused":
        tell(ev="error", name="CopyRefused", message="there is a pool of threads")
        tell(ev="done", eval=words[1], status="error")
    elif words[0] == "work" and run("copy " + payload.decode()):
        tell(ev="report", data={"copy": number - 1, "ms": 1.5, "threads": 0, "lost": []})
        tell(ev="done", eval=words[1], status="ok")
