//! The columns of Jupyter kernels: its own one for Python, and xeus-python.

use crate::cannot::{Cannot, INTERRUPTS, READ_TO_THE_END, READING_CHILDREN};
use crate::column::Column;
use crate::python;

pub(crate) const OWN_CODE: Cannot = (
    "the kernel is Python code in the same interpreter, and sends nothing any more without `json`",
    &["PY-6 what user code breaks, it breaks for itself"],
);
pub(crate) const CELLS: Cannot = (
    "tracebacks are IPython's, which numbers the cells of a kernel and not the evals of a session",
    &["PY-7 an error in a function of an earlier eval says so"],
);
pub(crate) const REPR: Cannot = (
    "IPython counts an error in a `repr` as one of the code",
    &["PY-16 a value that cannot be shown ends no eval"],
);
pub(crate) const GATHERED: Cannot = (
    "the kernel gathers each stream by itself and publishes it a few times a second",
    &["O-2 the order of both streams is exact"],
);
pub(crate) const REPLACED: Cannot = (
    "messages are text: the kernel replaces bytes that are no UTF-8",
    &["O-7 what is shown is clean, and the bytes are kept"],
);
const NO_STDIN: &str = "only `input` and `getpass` ask by the protocol: standard input of the kernel and its children is empty";
pub(crate) const NO_FILE: Cannot = (NO_STDIN, READ_TO_THE_END);
pub(crate) const NO_CHILD: Cannot = (NO_STDIN, READING_CHILDREN);
pub(crate) const NO_CODE: Cannot = (
    "IPython's `exit` takes no exit code",
    &["S-6 the end of the session is told, then a fresh start"],
);
pub(crate) const CLOSED: Cannot = (
    "the kernel has closed its sockets when exit handlers run",
    &["S-6 what is said at the end belongs to the eval that ended it"],
);

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
    cannot: &[OWN_CODE, CELLS, REPR, GATHERED, REPLACED, NO_FILE, NO_CHILD, NO_CODE, CLOSED],
    own: &[],
    ..python::COLUMN
};

pub(crate) static XEUS: Column = Column {
    session: "xp",
    language: "xpython",
    kernel: "xpython",
    cannot: &[
        OWN_CODE,
        CELLS,
        REPR,
        NO_FILE,
        NO_CHILD,
        NO_CODE,
        CLOSED,
        ("the kernel dies of a signal, and takes no notice of the message", INTERRUPTS),
        (
            "the kernel dies of a signal, and takes no notice of the message",
            &["E-6 a wait for input is interrupted"],
        ),
        (
            "the kernel publishes each piece of a line by itself, and throws away what is not read in time",
            &["O-5 20 MB are whole, to the byte", "O-5 a flood is bounded around a marker"],
        ),
        (
            "what children write goes past the kernel, and may come before what the kernel publishes",
            &["O-1 a child's output is the eval's"],
        ),
    ],
    own: &[],
    ..python::COLUMN
};
