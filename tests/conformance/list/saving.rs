//! Names and values in files (SPEC ST-2): what every language that can do it promises alike.

use crate::column::{Behaviour, join};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("ST-2 what was saved comes back over what there is", comes_back),
    ("ST-2 names that were asked for are saved, and others are named", asked),
];

fn comes_back(talk: &Talk<'_>) {
    let column = talk.column;
    talk.eval(join([column.set("n", 41), column.define("f", "kept")])).complete();
    let saved = talk.command(["save", "a.stead", "n", "f"]).ok();
    assert_eq!((&saved.data()["count"], &saved.data()["failed_count"]), (&2.into(), &0.into()));
    let code = [column.set("n", 1), column.define("f", "another"), column.set("mine", 3)];
    talk.eval(join(code)).complete();
    talk.load("a.stead").complete().has("count", 2);
    talk.says(join([column.tell("n"), column.call("f"), column.tell("mine")]), "41\nkept\n3\n");
}

fn asked(talk: &Talk<'_>) {
    talk.eval(join([talk.column.set("a", 1), talk.column.set("b", 2)])).complete();
    let saved = talk.command(["save", "a.stead", "b", "nowhere"]).ok();
    let data = saved.data();
    assert_eq!(data["saved"], serde_json::json!(["b"]), "{data:#}");
    assert_eq!(data["failed"][0]["name"], "nowhere", "{data:#}");
    talk.command(["save", "b.stead", "nowhere"]).status("error");
    assert!(!talk.has_file("b.stead"));
}
