# State: what the bridge knows between two lines of user code, as a few enums and one object, `S`.
#
# The enums are plain numbers in a class: Python's own `enum` would have to be imported into the user's interpreter, and
# an eval asks for these too often.

class Since:
    """What of the user's may have run since the streams were last put in order; each member promises more than the one before."""
    RAN = 0         # code of the user's: the streams are looked at before an eval and after it
    FLUSHED = 1     # code that has ended. It wrote to our own streams, and nothing is left in them
    SETTLED = 2     # nothing, but output may go to a stream of the user's or be left in one
    CALM = 3        # nothing, output goes to our own streams, and nothing is left in them


class Phase:
    """How far the running eval is. Up to ASKED none runs."""
    IDLE = 0        # no code of the user's runs, but in threads
    ASKED = 1       # a question is answered, which may call code of the user's: what it prints is background output
    RUNNING = 2
    SHOWING = 3     # the eval was interrupted, and its figures are being sent
    REPORTING = 4   # how the eval ended is being put into words, which may call code of the user's


class Interrupt:
    """What an interrupt has done to the running eval."""
    NONE = 0
    RAISED = 1
    SWALLOWED = 2   # the interrupt was raised in a finalizer, which it cannot leave: the next nudge raises it again


class Cancel:
    """An interrupt of an await cancels its task, which is for the loop to do."""
    NOT_ASKED = 0
    ASKED = 1
    DELIVERED = 2


class Life:
    """What this process is to the host."""
    SERVING = 0
    FINISHING = 1   # exit handlers run: output goes to the pipes as it is
    CHILD = 2       # a forked child, to which the control channel does not belong


class UserHandler:
    """The user's own SIGINT handler. It is installed only while code of the user's runs."""
    __slots__ = ("call", "installed")

    def __init__(self, call):
        self.call, self.installed = call, False


class State:
    eval = None         # id of the running or last eval
    phase = Phase.IDLE
    life = Life.SERVING
    since = Since.RAN
    last = None         # stream written last in the running eval; None makes every write ask
    pending = False     # an interrupt came while the bridge could not be interrupted
    interrupt = Interrupt.NONE
    cancel = Cancel.NOT_ASKED
    hung_up = False     # an interrupt ended a nested prompt: reads of this eval answer end of file
    show_until = 0.0    # when the figure that is being rendered, or the value that is being shown, is given up; 0 if none is
    user_sigint = None  # a UserHandler, if the user has one
    stdin_used = False  # something was read from stdin since what was read ahead was last dropped
    draining = False    # what was read ahead is being dropped: reads answer end of file. A thread may set `stdin_used` meanwhile
    ends = False        # the next eval, or the one that runs, is the last: what its code leaves to be done is part of it
    final = None        # the value of the eval's last expression, rendered
    flags = 0           # compiler flags of __future__ imports so far
    loop = None         # the session's asyncio loop, once there was an await
    all_tasks = None    # asyncio's function, from then on: users take modules out of sys.modules
    task = None         # the task of the running eval, while it awaits
    holder = None       # ident of the thread that is sending a frame
    names = 0           # len() of the namespace as last seen
    failed = None       # the error that ended the eval, until it is reported
    report = None       # what is reported of the running work if it fails with an error of the user's code
    nothing_ran = False  # the running work is a standard library that was not compiled yet
    stopped = None      # the line at which an eval failed, where frames are marked
    tree = None         # the code of the running eval as a tree, where frames are marked
    source_size = 0     # characters of all the sources that are kept
    writes = 0          # writes since their pace was last measured
    writes_since = 0.0  # when the pace of writes was last measured
    traced = None       # the user's tracer and profiler, while they are taken off
    copying = None      # the Copying that is being taken or woken
    children = False    # a child was started since it was last known that there is none


# In slots, because these are read and set all the time, and a large dict of an object is slow at both.
DEFAULTS = {name: value for name, value in vars(State).items() if not name.startswith("__")}
S = type("State", (), {"__slots__": tuple(DEFAULTS)})()
for _name, _value in DEFAULTS.items():
    setattr(S, _name, _value)
