//! The columns of Jupyter kernels for other languages than Python: R, Bash, and TypeScript twice. Their namespace cannot be asked
//! for, so each behaviour begins with a new kernel.

use crate::bash::{self, EXIT_STATUS, GOES_ON, LINE_BY_LINE, NO_AWAIT, NO_EXCEPTIONS, NO_OBJECTS};
use crate::cannot::{
    Cannot, DESCRIBED_NAMES, INTERRUPTS, LISTED_NAMES, QUESTIONS, READ_TO_THE_END,
    READING_CHILDREN, SAVED,
};
use crate::column::Column;
use crate::node::{self, EXITS};

const NO_NAMES: &str = "the protocol has no question for names, and their helper is for Python";
const NO_LIST: Cannot = (NO_NAMES, LISTED_NAMES);
const NO_DESCRIPTION: Cannot = (NO_NAMES, DESCRIBED_NAMES);
const NO_STATE: Cannot = ("the protocol has no way to keep state, and saving is for Python", SAVED);
const NO_STDIN: &str = "what the kernel asks for comes by the protocol: its own standard input, and its children's, is empty";
const NO_FILE: Cannot = (NO_STDIN, READ_TO_THE_END);
const NO_CHILD: Cannot = (NO_STDIN, READING_CHILDREN);
const PYTHON_ONLY: Cannot = (
    "only Python kernels are asked whether code only ends too early",
    &["E-20 incomplete code runs nothing and says so"],
);
const ITS_TRACES: Cannot = (
    "the kernel words errors itself, and knows no ids of evals",
    &["PY-7 an error in a function of an earlier eval says so"],
);
const TEXT: Cannot = (
    "messages are text: the kernel replaces bytes that are no UTF-8, or stops at them",
    &["O-7 what is shown is clean, and the bytes are kept"],
);

pub(crate) static R: Column = Column {
    session: "ir",
    language: "ir",
    kernel: "ir",
    cannot: &[
        NO_LIST,
        NO_DESCRIPTION,
        NO_STATE,
        NO_FILE,
        NO_CHILD,
        PYTHON_ONLY,
        ITS_TRACES,
        TEXT,
        ("R has no await", &["PY-4 top-level await"]),
        ("R's errors have no causes", &["PY-7 chained errors are shown whole"]),
        (
            "`quit` ends the process wherever it is called",
            &["PY-13 an exit ends the eval and says its code"],
        ),
        (
            "the time that the kernel takes grows with the square of the output: minutes for 20 MB",
            &["O-5 20 MB are whole, to the byte"],
        ),
        (
            "R ends if a second interrupt meets it while it handles the first",
            &["E-6 a second interrupt kills a stubborn child, state stays"],
        ),
        (
            "IRkernel's `quit` tells no exit code",
            &["S-6 the end of the session is told, then a fresh start"],
        ),
        (
            "the kernel says nothing of an error that leaves it no room to handle it",
            &["PY-18 deep recursion is an error"],
        ),
    ],
    remark: "# TEXT",
    nothing: "invisible(1)",
    value: ("6 * 7", "[1] 42"),
    picture: "plot(1)",
    big_value: "strrep('x', 1e7)",
    broken_value: "print.broken <- function(x, ...) stop('broken'); structure(1, class = 'broken')",
    say: "cat('TEXT\\n')",
    complain: "message('TEXT', appendLF = FALSE)",
    write: "cat('TEXT')",
    lines: "cat(paste0(sprintf('%99d\\n', 1:VALUE), collapse = ''))",
    huge_line: "cat(strrep('x', VALUE), '\\n', sep = '')",
    set: "NAME <- VALUE",
    tell: "cat(NAME, '\\n', sep = '')",
    forget: "rm(NAME)",
    define: "NAME <- function() cat('TEXT\\n')",
    call: "NAME()",
    allocate: "blob <- rep(1, 5e6)",
    syntax_error: ("x = = 2", "ERROR"),
    fail: ("stop('TEXT')", "ERROR"),
    define_failing: "NAME <- function() stop('TEXT')",
    recurse: "f <- function() f()\nf()",
    vandalise: "print <- paste <- toJSON <- function(...) stop('no')\nc <- 1",
    ask: "NAME <- readline('TEXT')",
    child: "invisible(system(r\"---(COMMAND)---\"))",
    background: "invisible(system(r\"---(sh -c 'COMMAND' &)---\"))",
    cwd: "cat(getwd(), '\\n', sep = '')",
    env: "cat(Sys.getenv('NAME'), '\\n', sep = '')",
    spin: "while (TRUE) {}",
    sleep: "Sys.sleep(1000)",
    spin_stubbornly: "suspendInterrupts(repeat {})",
    exit_session: "quit('no', VALUE)",
    at_exit: "reg.finalizer(.GlobalEnv, function(e) cat('TEXT\\n'), onexit = TRUE)",
    crash: "tools::pskill(Sys.getpid(), 9)",
    ..Column::NONE
};

/// The kernel types code into a terminal of its own, where Bash is interactive.
pub(crate) static BASH_KERNEL: Column = Column {
    session: "bk",
    language: "bash_kernel",
    kernel: "bash_kernel",
    cannot: &[
        NO_LIST,
        NO_DESCRIPTION,
        NO_STATE,
        NO_FILE,
        NO_CHILD,
        PYTHON_ONLY,
        TEXT,
        EXIT_STATUS,
        NO_OBJECTS,
        NO_AWAIT,
        LINE_BY_LINE,
        GOES_ON,
        NO_EXCEPTIONS,
        ("code that reads hangs: the terminal of the kernel's shell gets no line", QUESTIONS),
        (
            "the kernel's shell has one terminal: what goes to stderr comes as stdout",
            &[
                "O-2 streams are told apart",
                "O-2 the order of both streams is exact",
                "O-1 a child's output is the eval's",
                "PY-1 a syntax error is an error, and state stays",
            ],
        ),
        ("the kernel ends the last line", &["O-2 output without a line end stays so"]),
        (
            "the kernel reads its terminal only while code runs: what comes between is output of the next eval",
            &["O-1 background output comes once, marked"],
        ),
        (
            "the kernel types code line by line: an interrupt that meets the shell between two lines is lost, and what follows runs on",
            INTERRUPTS,
        ),
        (
            "the shell has jobs: it takes a pause of its command for a stop, and goes on without it",
            &[
                "E-10 a paused eval stands still and goes on",
                "E-10 a pause counts toward no timeout",
            ],
        ),
        (
            "the kernel types code line by line and waits for the prompt after each",
            &["E-15 code of two megabytes runs"],
        ),
        (
            "the kernel looks for its prompt in each line by itself: minutes for 10 MB",
            &["O-5 20 MB are whole, to the byte", "O-5 a line of 10 MB is whole"],
        ),
        (
            "the kernel reads its terminal in parts, and a line end that comes in two gets longer",
            &["O-5 a flood is bounded around a marker"],
        ),
        (
            "`exit` ends the kernel's shell, and the kernel starts another one",
            &[
                "PY-13 an exit ends the eval and says its code",
                "S-6 the end of the session is told, then a fresh start",
                "S-6 what is said at the end belongs to the eval that ended it",
            ],
        ),
    ],
    own: &[],
    picture: "base64 -d <<<iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII= | display",
    fail: ("(echo 'TEXT' >&2; exit 3)", "Error"),
    // A shell that is interactive says which job it has started, unless another one has.
    background: "(sh -c 'COMMAND' &)",
    tells_interrupts: true,
    crash: "kill -9 $PPID; sleep 1000",
    ..bash::COLUMN
};

/// What both kernels of TypeScript are told.
const TYPESCRIPT: Column = Column {
    own: &[],
    lines: "console.log(Array.from({ length: VALUE }, (_, n) => String(n + 1).padStart(99)).join('\\n'))",
    set: "var NAME = VALUE",
    ..node::COLUMN
};

pub(crate) static DENO: Column = Column {
    session: "deno",
    language: "deno",
    kernel: "deno",
    cannot: &[
        NO_LIST,
        NO_DESCRIPTION,
        NO_STATE,
        NO_FILE,
        NO_CHILD,
        PYTHON_ONLY,
        ITS_TRACES,
        EXITS,
        (
            "what `Deno.stdout` and children write is lost in the kernel, and `console.log` ends each line",
            &[
                "O-2 output without a line end stays so",
                "O-1 a child's output is the eval's",
                "O-1 background output comes once, marked",
                "O-1 background output while another eval runs is marked",
                "O-7 what is shown is clean, and the bytes are kept",
                "E-6 a child that runs is interrupted",
            ],
        ),
        ("the kernel tells no causes of errors", &["PY-7 chained errors are shown whole"]),
        (
            "a kernel that ends takes with it what it has not published yet",
            &["S-6 what is said at the end belongs to the eval that ended it"],
        ),
        (
            "the kernel is idle before it has published what was printed: of much, the rest is background output",
            &["O-5 20 MB are whole, to the byte", "O-5 a line of 10 MB is whole"],
        ),
        (
            "the message that interrupts reaches code that runs, and not code that waits",
            &["E-6 a sleep is interrupted"],
        ),
    ],
    picture: "({ [Deno.jupyter.$display]() { return { 'image/png': 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=' } } })",
    broken_value: "({ [Symbol.for('Deno.customInspect')]() { throw new Error('broken') } })",
    write: "Deno.stdout.writeSync(new TextEncoder().encode('TEXT')); undefined",
    allocate: "var blob = new Uint8Array(40_000_000).fill(1); undefined",
    ask: "var NAME = prompt('TEXT')",
    vandalise: "JSON.stringify = Array.prototype.push = Promise.prototype.then = null
Object.prototype.toJSON = () => { throw 1 }; globalThis.Buffer = process = undefined",
    // What a child writes itself is lost.
    child: "for (const line of new TextDecoder().decode(new Deno.Command('sh', { args: ['-c', 'COMMAND'] }).outputSync().stdout).match(/.+/g) ?? []) console.log(line)",
    syntax_error: ("x = = 2", "Error"),
    background: "new Deno.Command('sh', { args: ['-c', 'COMMAND'], stdin: 'inherit', stdout: 'inherit', stderr: 'inherit' }).spawn(); undefined",
    // The message that interrupts reaches code that runs, and not code that waits.
    spin_stubbornly: "await new Promise(done => setTimeout(done, 1e6))",
    at_exit: "addEventListener('unload', () => console.log('TEXT'))",
    crash: "Deno.kill(Deno.pid, 'SIGKILL'); while (true) {}",
    ..TYPESCRIPT
};

pub(crate) static TSLAB: Column = Column {
    session: "tslab",
    language: "tslab",
    kernel: "tslab",
    cannot: &[
        NO_LIST,
        NO_DESCRIPTION,
        NO_STATE,
        NO_FILE,
        NO_CHILD,
        PYTHON_ONLY,
        ITS_TRACES,
        TEXT,
        EXITS,
        ("the kernel knows no way to ask", QUESTIONS),
        (
            "the kernel prints the value of code to stdout",
            &[
                "PY-2 the last expression is the value",
                "O-8 a big value is bounded",
                "PY-4 top-level await",
            ],
        ),
        (
            "the kernel counts an error while a value is printed as one of the code",
            &["PY-16 a value that cannot be shown ends no eval"],
        ),
        (
            "the kernel writes errors to stderr, and sends no word of them",
            &["PY-7 an error starts at the user's code", "PY-7 chained errors are shown whole"],
        ),
        (
            "the kernel is JavaScript in the same process",
            &["PY-6 what user code breaks, it breaks for itself"],
        ),
    ],
    picture: "import { display } from 'tslab'; display.png(Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=', 'base64'))",
    // What is declared is hoisted in the code that declares it, and gone if that does not come to its end.
    set: ";(globalThis as any).NAME = VALUE; undefined",
    tell: "console.log((globalThis as any).NAME)",
    syntax_error: ("x = = 2", "Error"),
    allocate: "var blob = Buffer.alloc(40_000_000, 'x')",
    tells_interrupts: true,
    ..TYPESCRIPT
};
