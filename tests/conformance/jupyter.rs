//! The columns of Jupyter kernels: its own one for Python, and xeus-python.

use crate::column::Column;
use crate::python;

/// Why a kernel cannot be as robust as a bridge.
const OWN_CODE: &str =
    "the kernel is Python code in the same interpreter, and sends nothing any more without `json`";
const CELLS: &str =
    "tracebacks are IPython's, which numbers the cells of a kernel and not the evals of a session";
const NO_STDIN: &str = "only `input` and `getpass` ask by the protocol: standard input of the kernel and its children is empty";

const NO_CODE: &str = "IPython's `exit` takes no exit code";
const CLOSED: &str = "the kernel has closed its sockets when exit handlers run";

/// Behaviours that take a second or more with a kernel: new starts, and much to send.
pub(crate) const LONG: &[&str] = &[
    "E-15 code of two megabytes runs",
    "O-5 20 MB are whole, to the byte",
    "O-5 a line of 10 MB is whole",
    "O-6 a search finds lines of all evals of a session",
    "PY-18 deep recursion is an error",
    "E-6 code at the start of a session is interrupted",
    "PY-12 ten interrupts in a row hit no later eval",
    "E-2 a soft timeout gives what there is, and the eval goes on",
    "E-3 a hard timeout ends what ignores it",
    "S-10 memory and processes of the whole tree are told",
    "S-6 the signal that killed an interpreter is told",
    "S-6 an end that nobody was told of keeps the next code from running",
    "S-7 restart begins anew, with another generation",
    "S-7 restart ends what runs",
    "S-9 stop leaves no daemon",
    "S-9 the end of an interpreter leaves no daemon",
    "CF-2 directory and environment are as asked",
    "CF-2 init code runs at every start",
];

pub(crate) static JUPYTER: Column = Column {
    session: "nb",
    language: "ipykernel",
    kernel: "ipykernel",
    cannot: &[
        ("PY-6 what user code breaks, it breaks for itself", OWN_CODE),
        ("PY-7 an error in a function of an earlier eval says so", CELLS),
        (
            "PY-16 a value that cannot be shown ends no eval",
            "IPython counts an error in a `repr` as one of the code",
        ),
        (
            "O-2 the order of both streams is exact",
            "the kernel gathers each stream by itself and publishes it a few times a second",
        ),
        (
            "O-7 what is shown is clean, and the bytes are kept",
            "messages are text: the kernel replaces bytes that are no UTF-8",
        ),
        ("E-8 the end of input is an end of file", NO_STDIN),
        ("E-8 a child that reads is found", NO_STDIN),
        ("E-8 input of any text arrives as it is", NO_STDIN),
        ("E-6 a child that reads is interrupted", NO_STDIN),
        ("S-6 the end of the session is told, then a fresh start", NO_CODE),
        ("S-6 what is said at the end belongs to the eval that ended it", CLOSED),
    ],
    own: &[],
    ..python::COLUMN
};

const THROWN_AWAY: &str =
    "the kernel publishes each piece of a line by itself, and throws away what is not read in time";
const NO_INTERRUPT: &str = "the kernel dies of a signal, and takes no notice of the message";

pub(crate) static XEUS: Column = Column {
    session: "xp",
    language: "xpython",
    kernel: "xpython",
    cannot: &[
        ("E-6 background processes of earlier evals are spared", NO_INTERRUPT),
        ("PY-12 ten interrupts in a row hit no later eval", NO_INTERRUPT),
        ("E-3 a hard timeout interrupts, state stays", NO_INTERRUPT),
        ("E-6 a paused eval is interrupted", NO_INTERRUPT),
        ("E-6 code at the start of a session is interrupted", NO_INTERRUPT),
        ("E-6 an interrupt of an ended eval spares the one that runs", NO_INTERRUPT),
        ("O-5 20 MB are whole, to the byte", THROWN_AWAY),
        ("O-5 a flood is bounded around a marker", THROWN_AWAY),
        ("S-6 the end of the session is told, then a fresh start", NO_CODE),
        ("S-6 what is said at the end belongs to the eval that ended it", CLOSED),
        ("PY-6 what user code breaks, it breaks for itself", OWN_CODE),
        ("PY-7 an error in a function of an earlier eval says so", CELLS),
        (
            "PY-16 a value that cannot be shown ends no eval",
            "IPython counts an error in a `repr` as one of the code",
        ),
        ("E-6 a busy loop is interrupted, state stays", NO_INTERRUPT),
        ("E-6 a sleep is interrupted", NO_INTERRUPT),
        ("E-6 a wait for input is interrupted", NO_INTERRUPT),
        ("E-8 the end of input is an end of file", NO_STDIN),
        ("E-8 a child that reads is found", NO_STDIN),
        ("E-8 input of any text arrives as it is", NO_STDIN),
        ("E-6 a child that reads is interrupted", NO_STDIN),
    ],
    own: &[],
    ..python::COLUMN
};
