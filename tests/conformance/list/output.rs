//! What code writes: streams, order, floods, background.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;
use stead_testkit::{ReadLines, wait_for};

use crate::column::{Behaviour, join, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("O-2 streams are told apart", apart),
    ("O-2 the order of both streams is exact", order),
    ("O-2 output without a line end stays so", no_line_end),
    ("O-1 a child's output is the eval's", child),
    ("O-1 output of the next eval is its own", own),
    ("O-1 background output comes once, marked", background),
    ("O-1 background output while another eval runs is marked", background_meanwhile),
    ("O-7 unicode goes through", unicode),
    ("O-7 what is shown is clean, and the bytes are kept", clean),
    ("O-5 20 MB are whole, to the byte", flood),
    ("O-5 a line of 10 MB is whole", huge_line),
    ("E-5 output comes while the code runs", stream),
];

fn apart(talk: &Talk<'_>) {
    let column = talk.column;
    let code = join([column.say("a"), column.complain("b"), column.say("c")]);
    talk.eval(code).complete().out("a\nc\n").err("b\n");
}

fn order(talk: &Talk<'_>) {
    let column = talk.column;
    let each = |n: u32| join([column.say(&n.to_string()), column.complain(&format!("not {n}"))]);
    let code = (0..20).map(each).collect::<Vec<_>>().join("\n");
    let wanted: Vec<_> =
        (0..20).flat_map(|n| [("out", format!("{n}\n")), ("err", format!("not {n}\n"))]).collect();
    let wanted: Vec<_> = wanted.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
    talk.eval(code).complete().chunks(&wanted);
}

fn no_line_end(talk: &Talk<'_>) {
    talk.says(talk.column.write("a\\r\\nb"), "a\nb");
    talk.says(talk.column.say("next"), "next\n");
}

fn child(talk: &Talk<'_>) {
    let column = talk.column;
    let code = join([column.say("before"), column.child("echo out; echo err >&2")]);
    talk.eval(code).complete().out("before\nout\n").err("err\n");
}

fn own(talk: &Talk<'_>) {
    for n in 0..10 {
        let text = format!("eval {n}");
        talk.says(talk.column.say(&text), &format!("{text}\n"));
    }
}

fn background(talk: &Talk<'_>) {
    let column = talk.column;
    let late = "until [ -e go ]; do sleep 0.01; done; echo overdue; : > gone";
    talk.eval(column.background(late)).complete().out("");
    talk.make_file("go");
    talk.wait_for_file("gone");
    if !column.kernel.is_empty() {
        // A kernel reads what its children write when it finds the time, and says it was of the code that runs by then.
        wait_for("the kernel to tell of it", || talk.was_written("overdue"));
    }
    talk.eval(column.say("now")).background("overdue\n").out("now\n");
    talk.eval(column.say("then")).background("").out("then\n");
}

fn background_meanwhile(talk: &Talk<'_>) {
    let column = talk.column;
    let late = "until [ -e go ]; do sleep 0.01; done; echo late; : > gone";
    talk.eval(column.background(late)).complete();
    let id = talk.start_up(&column.wait_for_file("gone"));
    talk.make_file("go");
    // Which eval wrote it cannot be told while one runs; that none is lost can.
    let reply = talk.end(&id).complete();
    let told = reply.data()["chunks"].to_string();
    assert_eq!(told.matches("late").count(), 1, "{told}");
}

fn unicode(talk: &Talk<'_>) {
    talk.says(talk.column.say("größe 漢字 🎉"), "größe 漢字 🎉\n");
}

fn clean(talk: &Talk<'_>) {
    let bytes = b"10%\r100%\n\x1b[31mred\x1b[0m\n\xff\n";
    std::fs::write(talk.env.workspace().join("bytes"), bytes).expect("the workspace is there");
    let reply = talk.eval(talk.column.child("cat bytes")).complete();
    let shown = reply.text();
    assert!(
        shown.starts_with("100%\nred\n") && !shown.contains(['\u{1b}', '\u{fffd}']),
        "{shown:?}"
    );
    let mut raw = talk.env.command(["output", &reply.id(), "--raw"]);
    let raw = raw.output().expect("the binary runs").stdout;
    assert_eq!(raw, bytes);
}

fn flood(talk: &Talk<'_>) {
    const LINES: u64 = 200_000;
    let code = piece(talk.column.lines).replace("VALUE", &LINES.to_string());
    let reply = talk.eval(code).complete().total_bytes(20_000_000);
    let id = reply.id();
    let mut raw = talk.env.spawn(["output", &id, "--raw"]);
    let mut text = String::new();
    raw.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
    assert!(raw.wait().expect("it ends").success());
    assert_eq!(text.len(), 20_000_000);
    assert!(text.lines().zip(1..=LINES).all(|(line, n)| line == format!("{n:99}")));
}

fn huge_line(talk: &Talk<'_>) {
    let code = piece(talk.column.huge_line).replace("VALUE", "10000000");
    let reply = talk.eval(code).complete().total_bytes(10_000_001);
    let raw = talk.raw(&reply.id()).stdout;
    assert_eq!(raw.len(), 10_000_001);
    assert!(raw.trim_end_matches('\n').bytes().all(|byte| byte == b'x'));
}

fn stream(talk: &Talk<'_>) {
    let column = talk.column;
    let code = join([column.say("early"), column.wait_for_file("go"), column.say("late")]);
    let mut command = talk.env.command(["eval", "-n", column.session, "--stream", "--", &code]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let lines = ReadLines::of(child.stdout.take().expect("a pipe"));
    // A kernel may send a line and its end apart.
    let expect = |text: &str| {
        let mut come = String::new();
        while come != text {
            let line = lines.next_line().expect("a chunk");
            let chunk: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(chunk["type"], "out", "{line}");
            come += chunk["content"].as_str().expect("text");
            assert!(text.starts_with(&come), "{come:?}");
        }
    };
    expect("early\n");
    talk.make_file("go");
    expect("late\n");
    let last = lines.next_line().expect("the end");
    assert!(last.contains("\"done\"") && last.contains("complete"), "{last}");
    assert!(child.wait().expect("it ends").success());
}
