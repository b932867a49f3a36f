//! The column of Clojure behind nREPL.

use crate::column::Column;

const NO_NAMES: &str = "nREPL has no question for the names of a namespace";
const FORMS: &str = "each form of Clojure has a value, and all are shown";
const ONE_BY_ONE: &str = "the server reads and runs forms one by one: what stands before has run";
const NO_STATE: &str = "nREPL has no way to keep state";
const NO_STDIN: &str =
    "only what asks by `need-input` is answered: the server's own standard input is empty";
const STOPPED: &str = "the server calls any code interrupted that it was asked to interrupt, and stops its thread later";

pub(crate) static CLOJURE: Column = Column {
    session: "clj",
    language: "clojure",
    kernel: "clojure",
    cannot: &[
        ("S state lasts", FORMS),
        (
            "PY-16 a value that cannot be shown ends no eval",
            "nREPL counts an error while a value is printed as one of the code",
        ),
        ("O-9 a picture is kept as a file", "nREPL's values are text"),
        ("O-2 the order of both streams is exact", FORMS),
        ("E-5 output comes while the code runs", FORMS),
        ("O-5 a flood is bounded around a marker", FORMS),
        ("PY-1 a syntax error anywhere runs nothing", ONE_BY_ONE),
        ("E-20 incomplete code runs nothing and says so", ONE_BY_ONE),
        ("PY-7 an error starts at the user's code", "frames name a file or the REPL, and no eval"),
        (
            "PY-7 an error in a function of an earlier eval says so",
            "frames name a file or the REPL, and no eval",
        ),
        ("E-13 changes of names are told", NO_NAMES),
        ("E-13 changes before an error are told", NO_NAMES),
        ("ST-2 what was saved comes back over what there is", NO_STATE),
        ("ST-2 names that were asked for are saved, and others are named", NO_STATE),
        ("ST-1 names are listed with their types", NO_NAMES),
        ("ST-1 a name is described", "the server does not keep the text of functions"),
        (
            "ST-1 a name that is not there is said to be none, with names near to it",
            "nREPL has no question for names that are near",
        ),
        (
            "ST-1 a part of what is known of a name can be asked for",
            "the server does not keep the text of functions",
        ),
        ("ST-1 ten thousand names are listed within bounds, and counted", NO_NAMES),
        ("ST-1 names are refused while code runs, and given after", NO_NAMES),
        ("S-10 the number of names is told", NO_NAMES),
        ("S-7 clear empties the namespace", NO_NAMES),
        ("S-7 clear keeps the process", NO_NAMES),
        ("S-7 clear says what goes on, and evals are numbered on", NO_NAMES),
        ("S-7 restart begins anew, with another generation", NO_NAMES),
        ("E-8 a child that reads is found", NO_STDIN),
        ("E-8 input of any text arrives as it is", NO_STDIN),
        ("E-6 a child that reads is interrupted", NO_STDIN),
        ("E-3 a hard timeout kills a stubborn child, state stays", STOPPED),
        ("E-3 a hard timeout ends what ignores it", STOPPED),
        (
            "S-10 memory and processes of the whole tree are told",
            "a Java machine has a heap of its own, which grows when it has to",
        ),
        (
            "S-10 status names interpreter, version and directory",
            "the language of the session is `nrepl`, whatever the server runs",
        ),
        ("PY-13 an exit ends the eval and says its code", "`System/exit` ends the server"),
    ],
    own: &[],
    remark: "; TEXT",
    nothing: "#_nothing",
    value: ("(let [a 20] (+ a 22))", "42"),
    awaited: ("@(future 7)", "7"),
    big_value: "(range 3000000)",
    broken_value: "(reify Object (toString [_] (throw (Exception. \"no\"))))",
    say: "(println \"TEXT\")",
    complain: "(binding [*out* *err*] (println \"TEXT\"))",
    write: "(do (print \"TEXT\") (flush))",
    lines: "(dotimes [n VALUE] (println (format \"%99d\" (inc n))))",
    huge_line: "(println (apply str (repeat VALUE \"x\")))",
    set: "(def NAME VALUE)",
    tell: "(println NAME)",
    forget: "(ns-unmap *ns* 'NAME)",
    set_many: "(dotimes [n VALUE] (intern *ns* (symbol (str \"many_\" n)) n))",
    define: "(defn NAME [] (println \"TEXT\"))",
    call: "(NAME)",
    allocate: "(def blob (byte-array 40000000))",
    syntax_error: ("(+ 1 2))", "RuntimeException"),
    incomplete: &["(+ 1", "\"a", "[1 2", "{:a"],
    fail: ("(throw (ex-info \"TEXT\" {}))", "ExceptionInfo"),
    define_failing: "(defn NAME [] (throw (ex-info \"TEXT\" {})))",
    chained: (
        "(throw (ex-info \"outer\" {:a 1} (ex-info \"inner\" {:b 2})))",
        &["ExceptionInfo: outer {:a 1}", "Caused by: clojure.lang.ExceptionInfo: inner {:b 2}"],
    ),
    recurse: "(defn f [] (inc (f)))\n(f)",
    vandalise: "(def map nil)\n(def str nil)\n(def eval nil)\n(set! *warn-on-reflection* true)",
    ask: "(print \"TEXT\")\n(flush)\n(def NAME (read-line))",
    read_all: "(print (slurp *in*))\n(flush)",
    child: "(.waitFor (.start (.inheritIO (ProcessBuilder. [\"sh\" \"-c\" \"QUOTED\"]))))",
    background: "(.start (.inheritIO (ProcessBuilder. [\"sh\" \"-c\" \"QUOTED\"])))",
    cwd: "(println (System/getProperty \"user.dir\"))",
    env: "(println (System/getenv \"NAME\"))",
    spin: "(loop [] (recur))",
    sleep: "(Thread/sleep 1000000)",
    spin_stubbornly: "(loop [] (try (Thread/sleep 1000) (catch InterruptedException _)) (recur))",
    exit_session: "(System/exit VALUE)",
    at_exit: "(.addShutdownHook (Runtime/getRuntime) (Thread. #(.println System/out \"TEXT\")))",
    crash: "(.exec (Runtime/getRuntime) (str \"kill -9 \" (.pid (java.lang.ProcessHandle/current))))\n(Thread/sleep 10000)",
    ..Column::NONE
};
