//! O-5: a reply has as many characters as it may have, whatever it is made of.

use std::fs;

use serde_json::json;
use stead_testkit::wait_for;

use crate::rig::served;

const MOST: usize = 8_000;

#[test]
fn o5_no_reply_is_longer_than_it_may_be() {
    let (_env, mut server) = served();
    let codes = [
        "import sys\nfor i in range(4000): print(); print(file=sys.stderr)",
        "for i in range(4000): print('[x: forged]')",
        "print('x' * 100_000)",
        "for i in range(4000): print(i)\n'y' * 100_000",
        "raise ValueError('z' * 100_000)",
        "globals().update({'n%d' % i: i for i in range(10_000)})",
        "globals().update({'m' * 500 + str(i): i for i in range(100)})",
        "class D:\n def _repr_markdown_(self): return 'm ' * 50_000\nD()",
        "class H:\n def _repr_html_(self): return '<p>h</p>' * 50_000\nH()",
        "try:\n from IPython.display import display\nexcept ImportError: display = print\n\
         for i in range(200): display(D())",
        "import threading\nfor i in range(2000): print('é' * 3)",
    ];
    for code in codes {
        let reply = server.eval(code);
        let length = reply.text.chars().count();
        assert!(length <= MOST, "{code}: {length} characters\n{}", &reply.text[..600]);
        assert!(reply.closing().starts_with("[py:"), "{}", reply.closing());
    }
    // The marks take most of the room here, and what is left is lines of both streams.
    let reply = server.eval(codes[0]);
    let length = reply.text.chars().count();
    assert!(length > MOST / 2, "{length} characters: the room is used");
    reply.text.lines().find(|line| line.contains("left out; read on: output")).expect("a gap");
    let id = reply.id();
    for arguments in [
        json!({"id": id, "offset": 0}),
        json!({"id": id, "tail": 5000}),
        json!({"session": "py", "tail": 5000}),
        json!({"session": "py", "grep": "", "context": 3}),
    ] {
        let reply = server.call("output", arguments.clone());
        let length = reply.text.chars().count();
        assert!(length <= MOST, "{arguments}: {length} characters");
    }
    let reply = server.call("eval", json!({"code": codes[0], "max_chars": 20_000}));
    let length = reply.text.chars().count();
    assert!((10_000..=20_000).contains(&length), "{length} characters");
    server.eval("def f():\n '''d'''\nf.__doc__ = 'doc\\n' * 20_000\nclass C: pass");
    for arguments in [
        json!({"session": "py"}),
        json!({"session": "py", "name": "f"}),
        json!({"session": "py", "name": "f", "what": "doc"}),
        json!({"session": "py", "name": "n", "what": "complete"}),
    ] {
        let reply = server.call("inspect", arguments.clone());
        let length = reply.text.chars().count();
        assert!(length <= MOST, "{arguments}: {length} characters");
        reply.closing();
    }
    let reply =
        server.call("shell", json!({"command": "for i in $(seq 3000); do echo; echo >&2; done"}));
    assert!(reply.text.chars().count() <= MOST, "{}", reply.text.len());
    let wrong = server.call("eval", json!({"code": "1", "session": "x".repeat(100_000)}));
    assert!(wrong.failed && wrong.text.chars().count() <= MOST);
}

#[test]
fn o5_a_reply_keeps_to_few_characters_and_its_last_line_is_whole() {
    let (_env, mut server) = served();
    server.call(
        "eval",
        json!({"code": "1", "session": "a-session-of-another-name", "language": "python"}),
    );
    let names = "{'name_number_%d' % i + 'x' * 60: 'v' * i for i in range(40)}";
    let codes = [
        "import sys\nfor i in range(400): print('out', i); print('err', i, file=sys.stderr)",
        "print('x' * 5000)\n['y'] * 5000",
        "def f(n): return f(n - 1) if n else {}['missing ' * 200]\nf(20)",
        "raise ValueError('z' * 5000)",
        &format!("globals().update({names})\nprint('o' * 300)"),
        "import no_such_module_of_a_very_long_name_indeed_which_is_not_installed",
        "class D:\n def _repr_markdown_(self): return 'm ' * 5000\nD()",
        "print('q' * 400)\ninput('Really? ' * 100)",
    ];
    let ends = |reply: &crate::reply::Reply, call: &str, most: usize| {
        let length = reply.text.chars().count();
        assert!(length <= most.max(500), "{call}: {length} of {most} characters\n{}", reply.text);
        assert!(reply.closing().starts_with("[py:"), "{call}: {}", reply.text);
    };
    for code in codes {
        for most in [1, 200, 500, 600, 900, 1500] {
            let reply = server.call("eval", json!({"code": code, "max_chars": most}));
            ends(&reply, code, most);
            let id = reply.id();
            if code.contains("input(") {
                reply.contains("waits for input, prompt \"");
                reply.contains(&format!("answer: input {{\"target\":\"{id}\",\"text\":\"…\"}}"));
                server.call("control", json!({"target": id, "action": "interrupt"}));
            }
            for arguments in [
                json!({"id": id, "offset": 0}),
                json!({"id": id, "tail": 100}),
                json!({"id": id, "code": true}),
                json!({"id": id, "grep": ".", "context": 2}),
                json!({"session": "py", "grep": "."}),
                json!({"session": "py", "tail": 100}),
            ] {
                let mut arguments = arguments;
                arguments["max_chars"] = json!(most);
                ends(&server.call("output", arguments.clone()), &arguments.to_string(), most);
            }
        }
    }
    // What a search does not show is counted.
    let found =
        server.call("output", json!({"id": "py:1", "grep": "out", "context": 0, "max_chars": 500}));
    let shown = found.body().lines().filter(|line| *line != "--").count();
    found.contains(&format!(
        "[py:1 400 matches in 800 lines, {} not shown; read around",
        400 - shown
    ));
    assert!(shown > 5, "{}", found.text);
    // The last lines are the ones that are kept.
    let last = server
        .call("output", json!({"session": "a-session-of-another-name", "tail": 1, "max_chars": 1}));
    last.expect("a-session-of-another-name:1:1value:1\n[a-session-of-another-name: last 1 line]");
    let wrong = json!({"code": "1", "session": "x".repeat(5000), "max_chars": 300});
    let wrong = server.call("eval", wrong);
    assert!(wrong.failed && wrong.text.chars().count() <= 500, "{}", wrong.text);
    assert!(wrong.text.starts_with("[bad_request: "), "{}", wrong.text);
}

#[test]
fn o5_a_long_list_of_sessions_begins_with_those_that_live_and_goes_on() {
    let (env, mut server) = served();
    server.call("eval", json!({"code": "1", "session": "old", "language": "python"}));
    server.call("eval", json!({"code": "import os; os._exit(3)", "session": "old"}));
    // A host that leaves removes ended sessions beyond a number: it must not see those that are made here.
    wait_for("the host to leave", || env.processes().len() == 1);
    let workspace = fs::read_dir(env.state_dir().join("sessions")).unwrap().next().unwrap();
    let workspace = workspace.unwrap().path();
    for number in 0..400 {
        let (from, to) = (workspace.join("old"), workspace.join(format!("old-{number}")));
        fs::create_dir(&to).unwrap();
        for file in ["meta.json", "history.jsonl", "history.idx", "keys.jsonl"] {
            fs::copy(from.join(file), to.join(file)).unwrap();
        }
        let meta = fs::read_to_string(to.join("meta.json")).unwrap();
        let meta = meta.replace("\"old\"", &format!("\"old-{number}\""));
        fs::write(to.join("meta.json"), meta).unwrap();
    }
    server.call("eval", json!({"code": "1", "session": "zz", "language": "python"}));
    let mut seen = 0;
    let mut offset = 0;
    loop {
        let reply = server.call("sessions", json!({"offset": offset}));
        assert!(reply.text.chars().count() <= MOST, "{}", reply.text.len());
        let lines = reply.text.lines().count() - 1;
        if offset == 0 {
            assert!(reply.text.starts_with("zz (python"), "{}", reply.text);
            assert!(reply.closing().starts_with("[sessions: 402 in "), "{}", reply.closing());
        }
        seen += lines;
        offset += lines;
        if !reply.closing().contains("left out") {
            break;
        }
        assert!(reply.closing().contains(&format!("\"offset\":{offset}")), "{}", reply.closing());
    }
    assert_eq!(seen, 402);
}
