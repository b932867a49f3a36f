//! The column of a Jupyter kernel for another language than Python: R. Its namespace cannot be asked for, so each behaviour begins
//! with a new kernel.

use crate::column::Column;

const NO_NAMES: &str = "the protocol has no question for names, and their helper is for Python";
const NO_STATE: &str = "the protocol has no way to keep state, and saving is for Python";
const NO_STDIN: &str = "what the kernel asks for comes by the protocol: its own standard input, and its children's, is empty";
const PYTHON_ONLY: &str = "only Python kernels are asked whether code only ends too early";
const ITS_TRACES: &str = "the kernel words errors itself, and knows no ids of evals";
const TEXT: &str =
    "messages are text: the kernel replaces bytes that are no UTF-8, or stops at them";

/// What no kernel but Python's can do, and then what this one cannot.
macro_rules! cannot {
    ($($more:expr,)*) => { &[
        ("E-13 changes of names are told", NO_NAMES),
        ("E-13 changes before an error are told", NO_NAMES),
        ("ST-2 what was saved comes back over what there is", NO_STATE),
        ("ST-2 names that were asked for are saved, and others are named", NO_STATE),
        ("ST-1 names are listed with their types", NO_NAMES),
        ("ST-1 a name is described", NO_NAMES),
        ("ST-1 a name that is not there is said to be none, with names near to it", NO_NAMES),
        ("ST-1 a part of what is known of a name can be asked for", NO_NAMES),
        ("ST-1 ten thousand names are listed within bounds, and counted", NO_NAMES),
        ("ST-1 names are refused while code runs, and given after", NO_NAMES),
        ("S-10 the number of names is told", NO_NAMES),
        ("S-7 clear empties the namespace", NO_NAMES),
        ("S-7 clear keeps the process", NO_NAMES),
        ("S-7 clear says what goes on, and evals are numbered on", NO_NAMES),
        ("E-20 incomplete code runs nothing and says so", PYTHON_ONLY),
        ("PY-7 an error in a function of an earlier eval says so", ITS_TRACES),
        ("E-8 the end of input is an end of file", NO_STDIN),
        ("E-8 a child that reads is found", NO_STDIN),
        ("E-8 input of any text arrives as it is", NO_STDIN),
        ("E-6 a child that reads is interrupted", NO_STDIN),
        $($more,)*
    ] };
}

pub(crate) static R: Column = Column {
    session: "ir",
    language: "ir",
    kernel: "ir",
    cannot: cannot![
        ("PY-4 top-level await", "R has no await"),
        ("PY-7 chained errors are shown whole", "R's errors have no causes"),
        (
            "PY-13 an exit ends the eval and says its code",
            "`quit` ends the process wherever it is called"
        ),
        ("O-7 what is shown is clean, and the bytes are kept", TEXT),
        (
            "O-5 20 MB are whole, to the byte",
            "the time that the kernel takes grows with the square of the output: minutes for 20 MB",
        ),
        (
            "E-6 a second interrupt kills a stubborn child, state stays",
            "R ends if a second interrupt meets it while it handles the first",
        ),
        (
            "S-6 the end of the session is told, then a fresh start",
            "IRkernel's `quit` tells no exit code"
        ),
        (
            "PY-18 deep recursion is an error",
            "the kernel says nothing of an error that leaves it no room to handle it",
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
    spin_stubbornly: "repeat tryCatch(repeat {}, interrupt = function(e) NULL)",
    exit_session: "quit('no', VALUE)",
    at_exit: "reg.finalizer(.GlobalEnv, function(e) cat('TEXT\\n'), onexit = TRUE)",
    crash: "tools::pskill(Sys.getpid(), 9)",
    ..Column::NONE
};
