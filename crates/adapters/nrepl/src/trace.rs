//! Exceptions of Clojure: the name, the message, and a stack trace cut to the frames of the user's own code.

use stead_host_side::cut;

use crate::edn::{forms, inside, unquoted, value};

/// How many frames of the user's are told.
const MOST_FRAMES: usize = 20;
/// How many frames of a trace are looked at.
const MOST_LOOKED_AT: usize = 5_000;
/// How long the data of an exception may be.
const MOST_DATA: usize = 500;
/// How many characters of a message are told.
const MOST_SAID: usize = 8 << 10;

/// What packages of Clojure, Java and of the server itself begin with.
const NOT_THE_USERS: [&str; 11] = [
    "clojure.",
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "nrepl.",
    "cider.",
    "orchard.",
    "user$eval",
    "babashka.",
    "sci.",
];

/// An exception of the user's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClojureError {
    /// The class of the first cause, without its package: `ArithmeticException`.
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) traceback: Option<String>,
    /// The reader came to the end of the text inside a form.
    pub(crate) ends_too_early: bool,
}

impl ClojureError {
    /// What `#error {…}` says, as Clojure prints a throwable; none if that is not what the text is.
    pub(crate) fn printed(text: &str) -> Option<ClojureError> {
        let form = forms(text).next().filter(|form| form.starts_with("#error"))?;
        if value(form, ":via").is_none() {
            return ClojureError::of_script(form);
        }
        let via: Vec<&str> = inside(value(form, ":via")?).collect();
        let told = |entry: &str| {
            let class = value(entry, ":type").unwrap_or("Throwable").to_owned();
            let message = value(entry, ":message").filter(|message| *message != "nil");
            (class, message.map(unquoted).unwrap_or_default())
        };
        let (class, message) = told(via.last()?);
        let mut lines = String::new();
        for entry in &via {
            let (class, message) = told(entry);
            let data = value(entry, ":data");
            // Clojure's reader wraps its error in an exception without a message, which is left out.
            if message.is_empty() && data.is_some_and(is_about_compiling) {
                continue;
            }
            let data = data.filter(|data| !is_about_compiling(data));
            let data = data.map(|data| format!(" {}", cut(data, MOST_DATA))).unwrap_or_default();
            let word = if lines.is_empty() { "" } else { "Caused by: " };
            let message = cut(&message, MOST_SAID);
            lines += &format!("{word}{class}: {message}{data}\n");
        }
        if let Some(trace) = value(form, ":trace") {
            lines += &frames(trace);
        }
        let ends_too_early = message.starts_with("EOF while reading");
        let (name, message) = (simple(&class), cut(&message, MOST_SAID));
        Some(ClojureError { name, message, traceback: Some(lines), ends_too_early })
    }

    /// The same as ClojureScript prints it: `#error {:message … :data {…} :cause #error {…}}`.
    fn of_script(form: &str) -> Option<ClojureError> {
        let first = value(form, ":message").map(unquoted)?;
        let mut lines = format!("Error: {}", cut(&first, MOST_SAID));
        let data = value(form, ":data").unwrap_or_default();
        if let (Some(line), Some(column)) = (value(data, ":line"), value(data, ":column")) {
            lines += &format!(" (REPL:{line}:{column})");
        }
        lines.push('\n');
        let mut last = ScriptCause { name: "Error".to_owned(), message: first.clone() };
        let causes = std::iter::successors(cause_of(form), |form| cause_of(form));
        for form in causes.take(MOST_FRAMES) {
            let data = if form.starts_with("#error") { value(form, ":data") } else { None };
            let data = data.unwrap_or_default();
            let cause = ScriptCause::read(form);
            // An inner error with a place in the source may only repeat the error around it; then it is left out.
            if cause == last && value(data, ":line").is_some() {
                continue;
            }
            let name = if cause.name == "Error" { "" } else { &format!("{}: ", cause.name) };
            let data =
                if data.is_empty() { String::new() } else { format!(" {}", cut(data, MOST_DATA)) };
            lines += &format!("Caused by: {name}{}{data}\n", cut(&cause.message, MOST_SAID));
            last = cause;
        }
        let ends_too_early = first.contains("EOF while reading");
        let (name, message) = (last.name, cut(&last.message, MOST_SAID));
        Some(ClojureError { name, message, traceback: Some(lines), ends_too_early })
    }

    /// The error of a server that tells no more than `ex` and the text that it wrote to stderr.
    pub(crate) fn plain(ex: &str, written: &str) -> ClojureError {
        let class = ex.strip_prefix("class ").unwrap_or(ex).trim();
        let is_class = !class.is_empty()
            && class.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '$' | '_'));
        let written = written.trim();
        let first = written.lines().map(str::trim).find(|line| !line.is_empty());
        let (name, message) = match (is_class, first) {
            (true, Some(first)) => (simple(class), first),
            (true, None) => (simple(class), ""),
            (false, _) => ("Error".to_owned(), class.lines().next().unwrap_or_default()),
        };
        let ends_too_early = message.contains("EOF while reading");
        let message = cut(message, MOST_SAID);
        ClojureError { name, message, traceback: None, ends_too_early }
    }
}

/// A cause of an exception in ClojureScript, where anything can be thrown.
#[derive(Debug, PartialEq, Eq)]
struct ScriptCause {
    name: String,
    message: String,
}

impl ScriptCause {
    /// Exceptions of Clojure are maps with a tag, those of JavaScript `#object[TypeError TypeError: no]`, and anything else is a value.
    fn read(form: &str) -> ScriptCause {
        let error = |message: String| ScriptCause { name: "Error".to_owned(), message };
        if form.starts_with("#error") {
            return error(value(form, ":message").map(unquoted).unwrap_or_default());
        }
        let object =
            form.strip_prefix("#object[").map(|rest| rest.strip_suffix(']').unwrap_or(rest));
        let Some((class, said)) = object.and_then(|object| object.split_once(' ')) else {
            return error(unquoted(form));
        };
        let said = said.trim();
        // A JavaScript error writes its name before its message, and the name alone if it has no message.
        let message = match said.strip_prefix(class) {
            Some("") => "",
            Some(rest) => rest.strip_prefix(": ").unwrap_or(said),
            None => said,
        };
        ScriptCause { name: class.to_owned(), message: message.to_owned() }
    }
}

/// The form that an exception in ClojureScript has as its cause. A value has none, whatever keys it has.
fn cause_of(form: &str) -> Option<&str> {
    let cause = if form.starts_with("#error") { value(form, ":cause") } else { None };
    cause.filter(|cause| *cause != "nil")
}

/// Whether the data of an exception only say where the compiler was, which its message says, too.
fn is_about_compiling(data: &str) -> bool {
    data.starts_with("#:clojure.error") || data.contains(":clojure.error/phase")
}

/// The name of a class without its package, and without the class that it stands in.
fn simple(class: &str) -> String {
    class.rsplit(['.', '$']).next().unwrap_or(class).to_owned()
}

/// The frames of the user's code, and the frame in which the exception was thrown.
fn frames(trace: &str) -> String {
    let mut lines = String::new();
    let (mut shown, mut more, mut left_out) = (0, 0, 0);
    let mut last = String::new();
    for (nth, frame) in inside(trace).take(MOST_LOOKED_AT).enumerate() {
        let words: Vec<&str> = inside(frame).collect();
        let [class, method, file, line] = words.as_slice() else { continue };
        let is_users = !NOT_THE_USERS.iter().any(|other| class.starts_with(other));
        // The frame that threw says something even if it is not the user's, unless it is a helper which only throws.
        if !is_users && (nth > 0 || *class == "clojure.lang.Util") {
            left_out += 1;
            continue;
        }
        let told = format!("{} ({}:{line})", function(class, method), place(&unquoted(file)));
        // Clojure calls a function by way of another method of its class, so one call has several equal frames.
        if told == last {
            continue;
        }
        if shown == MOST_FRAMES {
            more += 1;
            continue;
        }
        lines += &format!("    at {told}\n");
        last = told;
        shown += 1;
    }
    if more > 0 {
        lines += &format!("    ({more} more)\n");
    }
    if left_out > 0 {
        lines += &format!("    ({left_out} frames of Clojure and Java left out)\n");
    }
    lines
}

fn place(file: &str) -> &str {
    match file {
        "NO_SOURCE_FILE" | "NO_SOURCE_PATH" | "" => "REPL",
        file => file,
    }
}

/// The name of a function as the user wrote it: `app.core/run!` for `app.core$run_BANG_`.
fn function(class: &str, method: &str) -> String {
    let Some((space, names)) = class.split_once('$') else { return format!("{class}/{method}") };
    let plain = |name: &str| demunged(name.split("__").next().unwrap_or(name));
    let names: Vec<String> = names.split('$').map(plain).collect();
    format!("{}/{}", demunged(space), names.join("/"))
}

fn demunged(name: &str) -> String {
    let signs = [
        ("_QMARK_", "?"),
        ("_BANG_", "!"),
        ("_STAR_", "*"),
        ("_PLUS_", "+"),
        ("_GT_", ">"),
        ("_LT_", "<"),
        ("_EQ_", "="),
        ("_SLASH_", "/"),
        ("_AMPERSAND_", "&"),
        ("_SHARP_", "#"),
        ("_PERCENT_", "%"),
        ("_COLON_", ":"),
        ("_SINGLEQUOTE_", "'"),
        ("_", "-"),
    ];
    signs.iter().fold(name.to_owned(), |name, (written, sign)| name.replace(written, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIVIDED: &str = r#"#error {
 :cause "Divide by zero"
 :via
 [{:type clojure.lang.ExceptionInfo
   :message "outer"
   :data {:a 1}
   :at [user$go_BANG_ invokeStatic "NO_SOURCE_FILE" 3]}
  {:type java.lang.ArithmeticException
   :message "Divide by zero"
   :at [clojure.lang.Numbers divide "Numbers.java" 190]}]
 :trace
 [[clojure.lang.Numbers divide "Numbers.java" 190]
  [clojure.lang.Numbers divide "Numbers.java" 3911]
  [my_app.core$go_BANG_ invokeStatic "core.clj" 3]
  [my_app.core$go_BANG_ invoke "core.clj" 3]
  [user$eval137$fn__138 invoke "NO_SOURCE_FILE" 1]
  [nrepl.middleware.interruptible_eval$evaluate$fn__1 invoke "interruptible_eval.clj" 87]
  [java.lang.Thread run "Thread.java" 840]]}"#;

    #[test]
    fn k3_a_stack_trace_has_the_causes_and_the_frames_of_the_user() {
        let error = ClojureError::printed(DIVIDED).unwrap();
        assert_eq!((&*error.name, &*error.message), ("ArithmeticException", "Divide by zero"));
        let expected = "clojure.lang.ExceptionInfo: outer {:a 1}
Caused by: java.lang.ArithmeticException: Divide by zero
    at clojure.lang.Numbers/divide (Numbers.java:190)
    at my-app.core/go! (core.clj:3)
    (4 frames of Clojure and Java left out)
";
        assert_eq!(error.traceback.as_deref(), Some(expected));
    }

    #[test]
    fn k3_what_a_plain_server_says_is_an_error_too() {
        let error = ClojureError::plain("class java.lang.Exception", "Execution error\nboom\n");
        assert_eq!((&*error.name, &*error.message), ("Exception", "Execution error"));
        let script = r#"#error {:message "outer", :data {:line 1, :column 3}, :cause #error {:message "boom", :data {:a 1}}}"#;
        let error = ClojureError::printed(script).unwrap();
        let traceback = "Error: outer (REPL:1:3)\nCaused by: boom {:a 1}\n";
        assert_eq!((&*error.message, error.traceback.as_deref()), ("boom", Some(traceback)));
        for (cause, name, message, line) in [
            ("#object[Error Error: inner]", "Error", "inner", "inner"),
            (
                "#object[TypeError TypeError: no (f) [x]]",
                "TypeError",
                "no (f) [x]",
                "TypeError: no (f) [x]",
            ),
            ("#object[RangeError RangeError]", "RangeError", "", "RangeError: "),
            ("#object[Odd [object Object]]", "Odd", "[object Object]", "Odd: [object Object]"),
            ("\"text\"", "Error", "text", "text"),
            ("{:cause 1}", "Error", "{:cause 1}", "{:cause 1}"),
            (":kw", "Error", ":kw", ":kw"),
        ] {
            let inner = format!("#error {{:message \"outer\", :data {{:a 1}}, :cause {cause}}}");
            let script = format!(
                "#error {{:message \"outer\", :data {{:line 1, :column 1}}, :cause {inner}}}"
            );
            let error = ClojureError::printed(&script).unwrap();
            let traceback =
                format!("Error: outer (REPL:1:1)\nCaused by: outer {{:a 1}}\nCaused by: {line}\n");
            assert_eq!((&*error.name, &*error.message), (name, message), "{cause}");
            assert_eq!(error.traceback, Some(traceback), "{cause}");
        }
        let error = ClojureError::plain("Error: x is not defined", "");
        assert_eq!((&*error.name, &*error.message), ("Error", "Error: x is not defined"));
        assert_eq!(ClojureError::printed("#object[x]"), None);
        assert_eq!(ClojureError::printed(""), None);
        assert_eq!(ClojureError::printed("#error {:cause \"x\" :vi"), None);
    }

    #[test]
    fn e20_the_end_of_the_text_inside_a_form_is_seen() {
        let text = r#"#error {:cause "EOF while reading" :via [{:type java.lang.RuntimeException :message "EOF while reading"}] :trace []}"#;
        assert!(ClojureError::printed(text).unwrap().ends_too_early);
    }
}
