#!/usr/bin/env python3
"""A bridge whose main thread reads a line of input for each eval and prints it, while another thread hears interrupts and takes
its time before it passes one on (docs/PROTOCOL.md, "Interrupts")."""
import json
import os
import queue
import socket
import threading
import time

control = socket.socket(fileno=int(os.environ["STEAD_BRIDGE_FD"]))
evals, interrupted = queue.Queue(), set()


def tell(**event):
    control.sendall(json.dumps(event).encode() + b"\n")


def listen():
    inbox = b""
    while True:
        while b"\n" not in inbox:
            inbox += control.recv(1 << 16) or os._exit(0)
        line, _, inbox = inbox.partition(b"\n")
        words = line.decode().split()
        while len(inbox) < int(words[-1]):
            inbox += control.recv(1 << 16) or os._exit(0)
        inbox = inbox[int(words[-1]):]
        if words[0] == "exit":
            os._exit(0)
        elif words[0] == "interrupt":
            # As on a machine with much else to do: longer than it takes the host to look after the interrupt.
            time.sleep(0.3)
            interrupted.add(words[1])
            tell(ev="interrupted", eval=words[1])
        elif words[0] == "eval":
            evals.put(words[1])


tell(ev="hello", protocol=1, language="slow", version="1", executable="", pid=os.getpid(), can=["interrupts"])
threading.Thread(target=listen, daemon=True).start()
while True:
    eval_id = evals.get()
    os.write(1, os.read(0, 100))
    tell(ev="done", eval=eval_id, status="interrupted" if eval_id in interrupted else "ok")
