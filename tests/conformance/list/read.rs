//! Reading what was written: parts, lines, search, later.

use crate::column::{Behaviour, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("O-5 a flood is bounded around a marker", bounded),
    ("O-6 output is read in parts, by offset", parts),
    ("O-6 output is searched, with line numbers and context", search),
    ("O-6 a search finds lines of all evals of a session", search_all),
    ("O-6 output can be read after its session was stopped", after_stop),
    ("E-16 evals are listed with code, outcome and who ran them", listed),
];

fn lines(talk: &Talk<'_>, count: u32) -> String {
    let code = piece(talk.column.lines).replace("VALUE", &count.to_string());
    talk.eval(code).complete().id()
}

fn bounded(talk: &Talk<'_>) {
    let id = lines(talk, 10_000);
    let reply = talk.output(&id, ["--max-chars", "2000"]).total_bytes(1_000_000);
    let shown = reply.text();
    assert!(shown.chars().count() <= 2_200 && shown.contains("left out"), "{shown}");
    assert!(shown.trim_start().starts_with("1\n") && shown.ends_with(" 10000\n"), "{shown}");
    talk.output(&id, ["--tail", "2"]).out(&format!("{:99}\n{:99}\n", 9_999, 10_000));
}

fn parts(talk: &Talk<'_>) {
    let id = lines(talk, 30);
    let mut read = String::new();
    for n in 0..3 {
        let reply = talk.output(&id, ["--offset", &(n * 1_000).to_string(), "--limit", "1000"]);
        read += &reply.text();
    }
    let wanted: String = (1..=30).map(|n| format!("{n:99}\n")).collect();
    assert_eq!(read, wanted);
}

fn search(talk: &Talk<'_>) {
    let id = lines(talk, 500);
    let reply = talk.output(&id, ["--grep", " 25[01]$", "--context", "1"]);
    let text = reply.data().to_string();
    for line in ["249", "250", "251", "252"] {
        assert!(text.contains(&format!(" {line}")), "{line}: {text}");
    }
    assert!(!text.contains(" 253"), "{text}");
}

fn search_all(talk: &Talk<'_>) {
    talk.says(talk.column.say("needle one"), "needle one\n");
    talk.says(talk.column.say("hay"), "hay\n");
    talk.says(talk.column.say("needle two"), "needle two\n");
    talk.command(["output", "--session", "--grep", "^needle (one|two)$"])
        .ok()
        .contains(&["needle one", "needle two"]);
}

fn after_stop(talk: &Talk<'_>) {
    let id = talk.eval(talk.column.say("kept")).complete().id();
    talk.command(["stop"]).ok();
    talk.output(&id, []).complete().out("kept\n");
    talk.output(&id, ["--grep", "kep"]).contains(&["kept"]);
}

fn listed(talk: &Talk<'_>) {
    let code = talk.column.say("listed");
    let id = talk.eval(&code).complete().id();
    let reply = talk.command(["evals"]).ok();
    let evals = reply.data()["evals"].as_array().expect("a list").clone();
    let last = evals.last().expect("an eval");
    assert_eq!((&last["eval_id"], &last["status"]), (&id.into(), &"complete".into()), "{last:#}");
    assert_eq!((&last["code"], &last["by"]), (&code.into(), &"cli".into()), "{last:#}");
}
