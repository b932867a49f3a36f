//! The columns of nREPL servers: Clojure's own, and nbb, which is Clojure on Node.

use crate::cannot::{
    Cannot, DESCRIBED_NAMES, INTERRUPTS, LISTED_NAMES, QUESTIONS, READ_TO_THE_END,
    READING_CHILDREN, SAVED,
};
use crate::column::Column;

const NO_LIST: Cannot = ("nREPL has no question for the names of a namespace", LISTED_NAMES);
const NO_TEXT: Cannot = (
    "the server keeps no text of functions, and nREPL has no question for names that are near",
    DESCRIBED_NAMES,
);
const NO_STATE: Cannot = ("nREPL has no way to keep state", SAVED);
const FORMS: Cannot = (
    "each form of Clojure has a value, and all are shown",
    &[
        "S state lasts",
        "O-2 the order of both streams is exact",
        "E-5 output comes while the code runs",
        "O-5 a flood is bounded around a marker",
    ],
);
const ONE_BY_ONE: Cannot = (
    "the server reads and runs forms one by one: what stands before has run",
    &["PY-1 a syntax error anywhere runs nothing", "E-20 incomplete code runs nothing and says so"],
);
const NO_EVALS: Cannot = (
    "frames name a file or the REPL, and no eval",
    &[
        "PY-7 an error starts at the user's code",
        "PY-7 an error in a function of an earlier eval says so",
    ],
);
const PRINTED: Cannot = (
    "nREPL counts an error while a value is printed as one of the code",
    &["PY-16 a value that cannot be shown ends no eval"],
);
const TEXTS: Cannot = ("nREPL's values are text", &["O-9 a picture is kept as a file"]);
const NREPL: Cannot = (
    "the language of the session is `nrepl`, whatever the server runs",
    &["S-10 status names interpreter, version and directory"],
);

pub(crate) static CLOJURE: Column = Column {
    session: "clj",
    language: "clojure",
    kernel: "clojure",
    cannot: &[
        NO_LIST,
        NO_TEXT,
        NO_STATE,
        FORMS,
        ONE_BY_ONE,
        NO_EVALS,
        PRINTED,
        TEXTS,
        NREPL,
        (
            "only what asks by `need-input` is answered: the server's own standard input is empty",
            READING_CHILDREN,
        ),
        (
            "the server calls any code interrupted that it was asked to interrupt, and stops its thread later",
            &[
                "E-3 a hard timeout kills a stubborn child, state stays",
                "E-3 a hard timeout ends what ignores it",
            ],
        ),
        (
            "a Java machine has a heap of its own, which grows when it has to",
            &["S-10 memory and processes of the whole tree are told"],
        ),
        ("`System/exit` ends the server", &["PY-13 an exit ends the eval and says its code"]),
    ],
    ..COLUMN
};

const NO_INTERRUPT: Cannot = ("the server knows no interrupt", INTERRUPTS);
const NO_INPUT: &str = "the server knows no way to ask";

pub(crate) static NBB: Column = Column {
    session: "nbb",
    language: "nbb",
    kernel: "nbb",
    cannot: &[
        NO_LIST,
        NO_TEXT,
        NO_STATE,
        FORMS,
        ONE_BY_ONE,
        NO_EVALS,
        PRINTED,
        TEXTS,
        NREPL,
        NO_INTERRUPT,
        ("a form's value is not waited for", &["PY-4 top-level await"]),
        (NO_INPUT, QUESTIONS),
        (NO_INPUT, READ_TO_THE_END),
        (NO_INPUT, READING_CHILDREN),
        ("`process.exit` ends the server", &["PY-13 an exit ends the eval and says its code"]),
    ],
    complain: "(js/console.error \"TEXT\")",
    write: "(print \"TEXT\")",
    lines: "(dotimes [n VALUE] (println (.padStart (str (inc n)) 99)))",
    syntax_error: ("(+ 1 2))", "Error"),
    chained: (
        "(throw (ex-info \"outer\" {:a 1} (ex-info \"inner\" {:b 2})))",
        &["Caused by: outer {:a 1}", "Caused by: inner {:b 2}"],
    ),
    vandalise: "(def map nil)\n(def str nil)\n(def eval nil)\n(set! (.-stringify js/JSON) nil)",
    spin_stubbornly: "(loop [] (recur))",
    huge_line: "(println (.repeat \"x\" VALUE))",
    allocate: "(def blob (js/Buffer.alloc 40000000 \"x\"))",
    child: "(do (require '[\"child_process\" :as processes]) (processes/spawnSync \"sh\" #js [\"-c\" \"QUOTED\"] #js {:stdio \"inherit\"}) nil)",
    background: "(do (require '[\"child_process\" :as processes]) (processes/spawn \"sh\" #js [\"-c\" \"QUOTED\"] #js {:stdio \"inherit\"}) nil)",
    cwd: "(println (js/process.cwd))",
    env: "(println (aget js/process.env \"NAME\"))",
    exit_session: "(js/process.exit VALUE)",
    at_exit: "(js/process.on \"exit\" (fn [] (js/console.log \"TEXT\")))",
    crash: "(js/process.kill js/process.pid \"SIGKILL\")\n(loop [] (recur))",
    ..COLUMN
};

/// What both are told.
const COLUMN: Column = Column {
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
