//! What a command answered, and what must hold of it.

use serde_json::Value;
use stead_testkit::chunks;

use crate::column::Column;

/// Names of the bridges' own that no traceback may show.
const OURS: [&str; 5] = ["<stead>", "__stead", "(stead:", "at stead:", "run_user"];

/// The one JSON object of a command. Each check gives it back for the next one.
#[derive(Debug)]
pub(crate) struct Reply(pub(crate) Value);

impl Reply {
    pub(crate) fn data(&self) -> &Value {
        &self.0["data"]
    }

    /// The eval that it is about.
    #[track_caller]
    pub(crate) fn id(&self) -> String {
        let id = self.data()["eval_id"].as_str();
        id.unwrap_or_else(|| panic!("no eval: {:#}", self.0)).to_owned()
    }

    #[track_caller]
    fn holds(self, what: &str, holds: bool) -> Reply {
        assert!(holds, "{what} does not hold of {:#}", self.0);
        self
    }

    #[track_caller]
    fn is(self, what: &str, found: &Value, wanted: &Value) -> Reply {
        assert_eq!(found, wanted, "{what} of {:#}", self.0);
        self
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Reply {
        let ok = self.0["ok"] == true;
        self.holds("ok", ok)
    }

    #[track_caller]
    pub(crate) fn status(self, status: &str) -> Reply {
        let found = self.0["status"].clone();
        self.is("status", &found, &status.into())
    }

    #[track_caller]
    pub(crate) fn complete(self) -> Reply {
        self.status("complete")
    }

    /// The code of an error that kept a request from being carried out.
    #[track_caller]
    pub(crate) fn refused(self, code: &str) -> Reply {
        let found = self.0["error"]["code"].clone();
        self.is("error code", &found, &code.into())
    }

    #[track_caller]
    pub(crate) fn has(self, field: &str, wanted: impl Into<Value>) -> Reply {
        let found = self.data()[field].clone();
        self.is(field, &found, &wanted.into())
    }

    #[track_caller]
    pub(crate) fn no_value(self) -> Reply {
        let none = self.data()["value"].is_null();
        self.holds("no value", none)
    }

    /// The value is shown, in at most so many characters.
    #[track_caller]
    pub(crate) fn value_within(self, limit: usize) -> Reply {
        let value = self.data()["value"].as_str();
        let within = value.is_some_and(|text| text.chars().count() <= limit);
        self.holds("a bounded value", within)
    }

    /// All pieces, by kind, in order.
    #[track_caller]
    pub(crate) fn chunks(self, wanted: &[(&str, &str)]) -> Reply {
        let same = chunks(&self.0).into_iter().eq(wanted.iter().copied());
        self.holds(&format!("{wanted:?}"), same)
    }

    /// All pieces, of whichever kind, in one text.
    pub(crate) fn text(&self) -> String {
        chunks(&self.0).into_iter().map(|(_, text)| text).collect()
    }

    /// All that went to standard output, in one piece.
    #[track_caller]
    pub(crate) fn out(self, text: &str) -> Reply {
        self.stream("out", text)
    }

    /// The code wrote `up` before it was interrupted, and nothing else.
    #[track_caller]
    pub(crate) fn up(self, column: &Column) -> Reply {
        if !column.tells_interrupts {
            return self.out("up\n").err("");
        }
        let only = self.written("out").trim_end_matches('\n') == "up";
        self.holds("only up", only)
    }

    #[track_caller]
    pub(crate) fn err(self, text: &str) -> Reply {
        self.stream("err", text)
    }

    #[track_caller]
    pub(crate) fn background(self, text: &str) -> Reply {
        self.stream("background", text)
    }

    #[track_caller]
    fn stream(self, kind: &str, text: &str) -> Reply {
        assert_eq!(self.written(kind), text, "{kind} of {:#}", self.0);
        self
    }

    /// All pieces of this kind in one text.
    pub(crate) fn written(&self, kind: &str) -> String {
        let pieces = chunks(&self.0).into_iter().filter(|(of, _)| *of == kind);
        pieces.map(|(_, text)| text).collect()
    }

    /// So many bytes went to the streams in all, of which a part is shown.
    #[track_caller]
    pub(crate) fn total_bytes(self, count: u64) -> Reply {
        let found = self.data()["truncated"]["total_bytes"].clone();
        self.is("total_bytes", &found, &count.into())
    }

    #[track_caller]
    pub(crate) fn error_name(self, name: &str) -> Reply {
        let found = self.data()["error"]["name"].clone();
        self.is("error name", &found, &name.into())
    }

    /// Whether the error says that the code ends too early.
    #[track_caller]
    pub(crate) fn incomplete(self, wanted: bool) -> Reply {
        let found = self.data()["error"]["incomplete"].clone();
        self.is("incomplete", &found, &if wanted { true.into() } else { Value::Null })
    }

    /// The traceback, or the message where there is none, has these parts, and nothing of ours.
    #[track_caller]
    pub(crate) fn traceback(self, parts: &[&str]) -> Reply {
        let error = &self.data()["error"];
        let text = error["traceback"].as_str().or(error["message"].as_str()).unwrap_or_default();
        let holds = parts.iter().all(|part| text.contains(part))
            && !OURS.iter().any(|ours| text.contains(ours));
        self.holds(&format!("a clean traceback with {parts:?}"), holds)
    }

    /// A word of the notice, or of the error's message.
    #[track_caller]
    pub(crate) fn says(self, word: &str) -> Reply {
        let said = format!("{}{}", self.data()["notice"], self.0["error"]);
        self.holds(word, said.contains(word))
    }

    /// Names that are new, bound anew and gone.
    #[track_caller]
    pub(crate) fn changed(self, added: &[&str], rebound: &[&str], removed: &[&str]) -> Reply {
        let changed = &self.data()["changed"];
        let found = ["added", "rebound", "removed"].map(|what| names(&changed[what]));
        assert_eq!(found, [added, rebound, removed].map(<[&str]>::to_vec), "{:#}", self.0);
        self
    }

    /// Its data, as text, has all of these.
    #[track_caller]
    pub(crate) fn contains(self, parts: &[&str]) -> Reply {
        let text = self.data().to_string();
        let holds = parts.iter().all(|part| text.contains(part));
        self.holds(&format!("{parts:?}"), holds)
    }
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|one| one["name"].as_str().or(one.as_str()).unwrap_or("?")).collect()
}
