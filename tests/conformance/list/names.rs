//! The user's names: changes, lists, descriptions, clearing.

use serde_json::json;
use stead_testkit::is_alive;

use crate::column::{Behaviour, join, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("E-13 changes of names are told", changes),
    ("E-13 changes before an error are told", changes_before_an_error),
    ("ST-1 names are listed with their types", listed),
    ("ST-1 a name is described", described),
    ("ST-1 a name that is not there is said to be none, with names near to it", unknown),
    ("ST-1 a part of what is known of a name can be asked for", parts),
    ("ST-1 ten thousand names are listed within bounds, and counted", many),
    ("ST-1 names are completed", completed),
    ("ST-1 names are refused while code runs, and given after", busy),
    ("S-10 the number of names is told", counted),
    ("S-7 clear empties the namespace", clear),
    ("S-7 clear keeps the process", clear_keeps_the_process),
    ("S-7 clear says what goes on, and evals are numbered on", clear_leaves_children),
];

fn changes(talk: &Talk<'_>) {
    let column = talk.column;
    let code = join([column.set("a", 1), column.set("b", 2)]);
    talk.eval(code).changed(&["a", "b"], &[], &[]);
    let code = join([column.set("a", 3), column.set("c", 4)]);
    talk.eval(code).changed(&["c"], &["a"], &[]);
    talk.eval(piece(column.forget).replace("NAME", "a")).changed(&[], &[], &["a"]);
    talk.eval(column.tell("b")).changed(&[], &[], &[]);
}

fn changes_before_an_error(talk: &Talk<'_>) {
    let (code, _) = talk.column.fail;
    let code = join([talk.column.set("a", 1), piece(code).replace("TEXT", "oh no")]);
    talk.eval(code).status("error").changed(&["a"], &[], &[]);
}

fn listed(talk: &Talk<'_>) {
    let (number, function) = talk.column.types;
    assert_eq!(talk.vars(), []);
    talk.eval(join([talk.column.set("n", 3), talk.column.define("f", "text")])).complete();
    let wanted = [("f", function), ("n", number)].map(|(n, t)| (n.to_owned(), t.to_owned()));
    assert_eq!(talk.vars(), wanted);
}

fn described(talk: &Talk<'_>) {
    let (number, function) = talk.column.types;
    talk.eval(join([talk.column.set("n", 345), talk.column.define("f", "its text")])).complete();
    talk.command(["inspect", "n"]).ok().contains(&[number, "345"]);
    talk.command(["inspect", "f"]).ok().contains(&[function, "its text"]);
}

fn unknown(talk: &Talk<'_>) {
    talk.eval(talk.column.set("counter", 1)).complete();
    talk.command(["inspect", "nowhere"]).refused("bad_request");
    talk.command(["inspect", "conter"]).refused("bad_request").says("counter");
    let asked = json!({ "session": talk.column.session, "name": "countre" });
    let text = talk.mcp("inspect", asked);
    assert!(text.contains("countre") && text.contains("near: counter"), "{text}");
    talk.says(talk.column.say("on"), "on\n");
}

fn parts(talk: &Talk<'_>) {
    let column = talk.column;
    talk.eval(join([column.set("n", 345), column.define("f", "its text")])).complete();
    let value = talk.command(["inspect", "n", "--what", "value"]).ok();
    assert_eq!((&value.data()["value"], value.data().get("members")), (&"345".into(), None));
    let source = talk.command(["inspect", "f", "--what", "source"]).ok();
    assert!(source.data()["source"].as_str().is_some_and(|text| text.contains("its text")));
    assert_eq!(source.data().get("value"), None);
    talk.command(["inspect", "f", "--what", "doc"]).ok();
    for (what, wanted) in [("value", "["), ("source", "its text")] {
        let asked = json!({ "session": column.session, "name": "f", "what": what });
        let text = talk.mcp("inspect", asked);
        assert!(text.contains(wanted), "{what}: {text}");
    }
}

fn many(talk: &Talk<'_>) {
    talk.eval(piece(talk.column.set_many).replace("VALUE", "10000")).complete();
    let reply = talk.command(["vars"]).ok();
    let shown = reply.data()["vars"].as_array().expect("a list").len() as u64;
    let more = reply.data()["more"].as_u64().expect("a number");
    assert!(shown <= 500 && shown + more >= 10_000, "{shown} and {more}");
    let asked = json!({ "session": talk.column.session });
    let text = talk.mcp("inspect", asked);
    assert!(text.contains("many_") && text.chars().count() <= 8_000, "{text}");
    talk.command(["inspect", "many_7777"]).ok().contains(&["7777"]);
}

fn completed(talk: &Talk<'_>) {
    let column = talk.column;
    talk.eval(join([column.define("lighthouse", "1"), column.define("lightship", "2")])).complete();
    let asked = json!({ "session": column.session, "name": "lights", "what": "complete" });
    let text = talk.mcp("inspect", asked);
    assert!(text.starts_with("lightship") && !text.contains("lighthouse"), "{text}");
}

fn busy(talk: &Talk<'_>) {
    let (number, _) = talk.column.types;
    talk.eval(talk.column.set("x", 41)).complete();
    let id = talk.start_up(&talk.column.wait_for_file("go"));
    talk.command(["vars"]).ok().says("names cannot be looked at now");
    talk.command(["inspect", "x"]).ok().contains(&[number]).says("what the last result told of x");
    talk.command(["inspect", "nowhere"]).refused("session_busy");
    talk.make_file("go");
    talk.end(&id).complete();
    let names: Vec<_> = talk.vars().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"x".to_owned()), "{names:?}");
}

fn counted(talk: &Talk<'_>) {
    let before = talk.status()["variables"].as_u64().expect("a number");
    talk.eval(join([talk.column.set("a", 1), talk.column.set("b", 2)])).complete();
    assert_eq!(talk.status()["variables"].as_u64(), Some(before + 2));
}

fn clear(talk: &Talk<'_>) {
    let column = talk.column;
    talk.eval(join([column.set("x", 1), column.define("f", "text")])).complete();
    talk.command(["clear"]).ok();
    assert_eq!(talk.vars(), []);
    talk.eval(column.set("x", 2)).changed(&["x"], &[], &[]);
}

fn clear_keeps_the_process(talk: &Talk<'_>) {
    let before = talk.status();
    talk.command(["clear"]).ok();
    let after = talk.status();
    assert_eq!((&before["pid"], &before["generation"]), (&after["pid"], &after["generation"]));
}

fn clear_leaves_children(talk: &Talk<'_>) {
    let column = talk.column;
    talk.eval(column.background("echo $$ > pid; exec sleep 1000")).complete();
    let (pid, before) = (talk.pid_in("pid"), talk.eval(column.set("x", 1)).id());
    talk.command(["clear"]).ok().says("goes on");
    assert!(is_alive(pid));
    let after = talk.eval(column.set("x", 1)).id();
    let number = |id: &str| id.rsplit(':').next().and_then(|n| n.parse::<u64>().ok());
    assert_eq!(number(&after), number(&before).map(|n| n + 2), "{before} {after}");
    talk.command(["stop"]).ok();
}
