"""Runs in the virtual environment of the peer `ipykernel`: executes code by jupyter_client and tells how long it took.

Wire:  {"id", "code"} a line on descriptor 0, {"id", "value"} a line on descriptor 3. `first`: seconds from nothing to the
       first answer of a new kernel; a number: seconds of each of so many evals; `versions`.
The clock runs here, so that the peer does not pay for this process.
"""
import json
import os
import sys
import time

import ipykernel
import jupyter_client
from jupyter_client.manager import start_new_kernel


def execute(client):
    """One eval, until its value is there and the kernel says that it is idle again."""
    asked = client.execute("1+1")
    value = None
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != asked:
            continue
        if message["msg_type"] == "execute_result":
            value = message["content"]["data"]["text/plain"]
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    client.get_shell_msg(timeout=60)
    if value != "2":
        raise RuntimeError(f"the kernel answered {value!r}")


def takes(action, *arguments):
    began = time.perf_counter()
    result = action(*arguments)
    return time.perf_counter() - began, result


def first():
    manager, client = start_new_kernel(kernel_name="python3")
    execute(client)
    return manager, client


def stop(manager, client):
    client.stop_channels()
    manager.shutdown_kernel(now=True)


kernel = None
for line in sys.stdin.buffer:
    request = json.loads(line)
    if request["code"] == "versions":
        value = f"ipykernel {ipykernel.__version__}, jupyter_client {jupyter_client.__version__}, Python {sys.version.split()[0]}"
    elif request["code"] == "first":
        value, started = takes(first)
        stop(*started)
    else:
        kernel = kernel or first()
        value = [takes(execute, kernel[1])[0] for _ in range(int(request["code"]))]
    os.write(3, json.dumps({"id": request["id"], "value": value}).encode() + b"\n")
if kernel:
    stop(*kernel)
