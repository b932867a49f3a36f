"""Work in a process of its own, which the kernel places anew.

Where a client, its server and those behind it happen to run makes a warm eval twice as fast or half as fast, and the kernel leaves
them there while they are in use. One client for a whole run would tell the luck of that run; one for each batch tells what is usual.
"""

import json
import os
import signal
import traceback

from processes import pipe


def apart(place, work):
    """What `work` returns, done in a fork of this process; what it started there is ended with it."""
    ours, theirs = pipe()
    pid = os.fork()
    if not pid:
        _child(place, work, theirs)
    os.close(theirs)
    try:
        with open(ours, "rb") as answer:
            written = answer.read()
    except BaseException:
        os.kill(pid, signal.SIGTERM)
        raise
    finally:
        os.waitpid(pid, 0)
    if not written:
        raise RuntimeError("a batch failed, as told above")
    return json.loads(written)


def _child(place, work, answers):
    """Never returns. The children that were there before are the parent's to end."""
    status = 1
    place.children = []
    try:
        done = json.dumps(work()).encode()
        while done:
            done = done[os.write(answers, done):]
        status = 0
    except KeyboardInterrupt:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        for client in place.children:
            client.close()
        os._exit(status)
