//! Files that are wrong, each in its own way.

use std::path::Path;

use crate::{
    ConfigKey, ConfigProblem, ConfigValue, Configuration, FileOwner, read_config, read_partly,
};

/// What is wrong with a workspace's file, also when it is taken as a whole.
fn problems(text: &str) -> Vec<ConfigProblem> {
    match read_config(text, Path::new("/w/.stead/config.toml"), FileOwner::Workspace) {
        Err(problems) => problems,
        Ok(file) => Configuration { user: None, workspace: Some(file) }.problems(),
    }
}

#[test]
fn cf1_a_file_is_read_with_the_lines_of_its_values() {
    let text = "# all\nidle_timeout = \"2h\"\nlog = 'info'\n\n[sessions.ml]\ntoolchain = \"python.venv\"\ncwd = \"analysis\"\nenv = { A = \"1\", B = \"x=y\" }\ninit = '''\nimport numpy as np\n'''\nquota = 1000\n\n[sessions.web]\ntoolchain = \"node\"\nfigures = false\n[sessions.web.env]\nPORT = \"80\"\n[toolchains.nice]\nengine = \"python\"\ncmd = \"nice python3\"\n";
    let file = read_config(text, Path::new("/c"), FileOwner::User).unwrap();
    let shown = |table: &crate::ConfigTable, key: ConfigKey| {
        let sourced = table.get(key).unwrap();
        format!("{} {}", sourced.value.shown(), sourced.origin)
    };
    assert_eq!(shown(&file.top, ConfigKey::IdleTimeout), "\"2h\" /c:2");
    let ml = &file.sessions[&"ml".parse().unwrap()].table;
    assert_eq!(shown(ml, ConfigKey::Init), "\"import numpy as np\\n\" /c:9");
    assert_eq!(shown(ml, ConfigKey::Env), "{ A, B } /c:8");
    assert_eq!(shown(ml, ConfigKey::Quota), "1000 /c:12");
    let web = &file.sessions[&"web".parse().unwrap()].table;
    let Some(ConfigValue::Variables(env)) = web.get(ConfigKey::Env).map(|it| &it.value) else {
        panic!("{web:?}");
    };
    assert_eq!(
        (env["PORT"].value.as_str(), env["PORT"].origin.to_string().as_str()),
        ("80", "/c:18")
    );
    assert_eq!(
        shown(&file.toolchains["nice"].table, ConfigKey::Cmd),
        "[\"nice\", \"python3\"] /c:21"
    );
}

#[test]
fn cf1_every_wrong_file_names_the_line_the_key_and_the_fix() {
    // Text, line, key and a piece of the fix.
    let wrong: &[(&str, usize, &str, &str)] = &[
        ("\n[sessions.ml]\nidle_timout = \"1h\"\n", 3, "sessions.ml.idle_timout", "`idle_timeout`"),
        ("[sessions.ml]\nlanguage = \"python\"\n", 2, "sessions.ml.language", "`toolchain`"),
        ("[sessions.ml]\nzebra = 1\n", 2, "sessions.ml.zebra", "keys of [sessions.NAME]: "),
        ("[session.ml]\n", 1, "session", "`[sessions.NAME]`"),
        ("idle = 1\n[sessions.ml]\n", 1, "idle", "idle_timeout"),
        ("cwd = \"x\"\n", 1, "cwd", "[sessions.NAME]"),
        ("output = \"json\"\n", 1, "output", "your own file"),
        ("[sessions.ml]\noutput = \"json\"\n", 2, "sessions.ml.output", "at the top"),
        ("log = \"inof\"\n", 1, "log", "\"info\""),
        ("log = \"everything\"\n", 1, "log", "\"warn\" or \"info\""),
        ("log = 1\n", 1, "log", "\"off\" or"),
        ("[sessions.ml]\nidle_timeout = \"soon\"\n", 2, "sessions.ml.idle_timeout", "\"2h\""),
        (
            "[sessions.ml]\nidle_timeout = -1\n",
            2,
            "sessions.ml.idle_timeout",
            "a number of milliseconds",
        ),
        ("[sessions.ml]\nidle_timeout = true\n", 2, "sessions.ml.idle_timeout", "a time such as"),
        ("[sessions.ml]\nquota = \"much\"\n", 2, "sessions.ml.quota", "\"256 MiB\""),
        ("[sessions.ml]\nfigures = \"no\"\n", 2, "sessions.ml.figures", "without quotes"),
        ("[sessions.ml]\ncwd = 5\n", 2, "sessions.ml.cwd", "a path in quotes"),
        ("[sessions.ml]\ncwd = \"\"\n", 2, "sessions.ml.cwd", "a path in quotes"),
        ("[sessions.ml]\ninit = [\"a\"]\n", 2, "sessions.ml.init", "'''"),
        ("[sessions.ml]\nenv = \"A=1\"\n", 2, "sessions.ml.env", "{ NAME = \"value\" }"),
        ("[sessions.ml]\nenv = { A = 1 }\n", 2, "sessions.ml.env.A", "in quotes"),
        ("[sessions.ml.env]\n\"A=B\" = \"1\"\n", 2, "sessions.ml.env.\"A=B\"", "without `=`"),
        ("sessions = 1\n", 1, "sessions", "`[sessions.NAME]`"),
        ("[[sessions]]\nname = \"ml\"\n", 1, "sessions", "`[sessions.NAME]`"),
        ("[sessions]\nml = \"python\"\n", 2, "sessions.ml", "`[sessions.NAME]`"),
        ("[sessions.ML]\n", 1, "sessions.ML", "a-z"),
        ("[sessions.shell-2]\n", 1, "sessions.shell-2", "another name"),
        ("[sessions.py]\n[sessions.python]\n", 2, "sessions.python", "one table"),
        (
            "[sessions.ml]\ntoolchain = \"python.peotry\"\n",
            2,
            "sessions.ml.toolchain",
            "`python.poetry`?",
        ),
        ("[sessions.ml]\ntoolchain = \"cobol\"\n", 2, "sessions.ml.toolchain", "there are: "),
        ("[toolchains.a]\ncmd = \"x\"\n", 1, "toolchains.a", "engine = \"python\""),
        (
            "[toolchains.a]\nengine = \"b\"\n[toolchains.b]\nengine = \"a\"\n",
            2,
            "toolchains.a.engine",
            "name a language",
        ),
        ("[toolchains.a]\nengine = \"a\"\n", 2, "toolchains.a.engine", "name a language"),
        ("[toolchains.a]\nengine = 5\n", 2, "toolchains.a.engine", "a name in quotes"),
        ("[sessions.ml]\nenv = { A = \"a\\u0000\" }\n", 2, "sessions.ml.env.A", "take the"),
        ("[sessions.ml]\ncwd = \"a\\u0000\"\n", 2, "sessions.ml.cwd", "take the"),
        ("[sessions.ml.env]\n\"\" = \"1\"\n", 2, "sessions.ml.env.\"\"", "give it a name"),
        ("[sessions.ml]\ncmd = \"x\"\n", 2, "sessions.ml.cmd", "stands in [toolchains.NAME]"),
        ("[sessions.ml]\nENV = { A = \"1\" }\n", 2, "sessions.ml.ENV", "`env`"),
        ("[sessions.ml.ENV]\nA = \"1\"\n", 1, "sessions.ml.ENV", "`env`"),
        ("[sessions.ml]\nx = { A = \"1\" }\n", 2, "sessions.ml.x", "keys of [sessions.NAME]: "),
        (
            "[toolchains.python.venv]\nengine = \"python.venv\"\n",
            1,
            "toolchains.python.venv",
            "`[toolchains.\"python.venv\"]`",
        ),
        ("zebra = 1\n", 1, "zebra", "quota, [sessions.NAME], [toolchains.NAME], [gateways.NAME]"),
        (
            "[toolchains.a]\nengine = \"python\"\ncmd = \"py --port {port}\"\n",
            3,
            "toolchains.a.cmd",
            "leave it out",
        ),
        (
            "[toolchains.a]\nengine = \"python\"\ncmd = \"py {brige}\"\n",
            3,
            "toolchains.a.cmd",
            "`{bridge}`",
        ),
        (
            "[toolchains.a]\nengine = \"python\"\ncmd = \"py 'x\"\n",
            3,
            "toolchains.a.cmd",
            "second '",
        ),
        (
            "[toolchains.a]\nengine = \"python\"\ncmd = [\"py\", 1]\n",
            3,
            "toolchains.a.cmd",
            "in quotes",
        ),
        (
            "[toolchains.a]\nengine = \"python\"\ncmd = []\n",
            3,
            "toolchains.a.cmd",
            "name a program",
        ),
        (
            "[toolchains.a]\nengine = \"python\"\ncmd = \"py\"\ninterpreter = \"py\"\n",
            1,
            "toolchains.a",
            "keep one",
        ),
        (
            "[toolchains.python.mine]\nengine = \"python\"\n",
            1,
            "toolchains.python.mine",
            "`[toolchains.\"python.mine\"]`",
        ),
    ];
    assert!(wrong.len() >= 30);
    for (text, line, key, fix) in wrong {
        let found = problems(text);
        let one = found.iter().find(|one| one.key.as_deref() == Some(*key));
        let one = one.unwrap_or_else(|| panic!("{text}: {found:?}"));
        assert_eq!(one.line, Some(*line), "{text}: {one}");
        assert!(one.fix.as_deref().unwrap_or_default().contains(fix), "{text}: {one:?}");
        assert!(one.to_string().starts_with("/w/.stead/config.toml:"), "{one}");
    }
}

#[test]
fn cf1_where_a_toolchain_is_unknown_all_that_can_be_one_are_named() {
    let found = problems("[sessions.ml]\ntoolchain = \"cobol\"\n");
    let fix = found[0].fix.as_deref().unwrap_or_default();
    let named: Vec<&str> = fix.strip_prefix("there are: ").expect(fix).split(", ").collect();
    assert!(named.is_sorted(), "{named:?}");
    for (name, can_be) in
        [("python", true), ("nrepl", true), ("clojure.bb", true), ("shell", false)]
    {
        assert_eq!(named.contains(&name), can_be, "{name}: {named:?}");
    }
}

#[test]
fn cf1_syntax_errors_name_the_line_the_key_and_what_to_write() {
    for (text, line, key, fix) in [
        ("[sessions.ml]\ncwd = analysis\n", 2, "sessions.ml.cwd", "a path in quotes"),
        ("[sessions.ml]\ncwd =\n", 2, "sessions.ml.cwd", "a value: a path"),
        ("idle_timeout = # soon\n", 1, "idle_timeout", "a value: a time such as"),
        ("[sessions.ml]\nidle_timeout = 1h\n", 2, "sessions.ml.idle_timeout", "a time such as"),
        ("[sessions.ml]\nfigures = True\n", 2, "sessions.ml.figures", "without quotes"),
        ("[sessions.ml.env]\nA = b\n", 2, "sessions.ml.env.A", "a text in quotes"),
        ("[sessions.ml]\nzebra = b\n", 2, "sessions.ml.zebra", "put the value in quotes"),
        ("[sessions.ml\ncwd = \"x\"\n", 1, "", "close the bracket"),
        ("[sessions.ml]]\ncwd = \"x\"\n", 1, "", "alone on its line"),
        ("[sessions.ml]\ncwd: \"x\"\n", 2, "", "with `=`"),
        ("[sessions.ml]\ncwd = \"x\n", 2, "sessions.ml.cwd", "close the quote"),
        ("[sessions.ml]\ncwd = 'x\n", 2, "sessions.ml.cwd", "close the quote"),
        ("[sessions.ml]\ninit = \"\nx = 1\n\"\n", 2, "sessions.ml.init", "close the quote"),
        ("[sessions.ml]\ninit = \"\"\"\nx\n", 2, "sessions.ml.init", "close it with `\"\"\"`"),
        ("[sessions.ml]\nenv = { A = \"1\"\n", 2, "sessions.ml.env", "`}`"),
        ("[sessions.ml]\nenv = { A = \"1\" B = \"2\" }\n", 2, "sessions.ml.env", "a comma"),
        ("[sessions.ml]\ncwd = \"x\" \"y\"\n", 2, "sessions.ml.cwd", "a comment begins"),
        ("[sessions.ml]\ncwd = \"C:\\Users\"\n", 2, "sessions.ml.cwd", "single quotes"),
        ("[sessions.ml]\ninit = \"\"\"\n'\\d'\n\"\"\"\n", 3, "", "single quotes"),
        ("log = \"info\"\nquota = 1\nlog = \"warn\"\n", 3, "log", "keep one"),
        (
            "log = \"info\"\n[sessions.a]\nlog = \"warn\"\nlog = \"off\"\n",
            4,
            "sessions.a.log",
            "keep",
        ),
        ("[sessions.ml]\n[sessions.b]\n[sessions.ml] # x\n", 3, "sessions.ml", "one table"),
        ("[sessions.ml]\nenv = { A = \"1\", A = \"2\" }\n", 2, "sessions.ml.env", "keep one"),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        let one = &found[0];
        let place = (one.line, one.key.as_deref().unwrap_or_default());
        assert_eq!(place, (Some(line), key), "{text}: {found:?}");
        assert!(one.fix.as_deref().unwrap_or_default().contains(fix), "{text}: {found:?}");
    }
    let open = &problems("[sessions.a.env]\nTOKEN = \"hunter2\n\n# x\nB\n")[0];
    assert_eq!(open.problem, "its quotes are not closed");
    let twice = &problems("log = \"info\"\n\nlog = \"warn\"\n")[0];
    assert_eq!(twice.problem, "it is set already, in line 1");
}

#[test]
fn cf1_what_is_wrong_elsewhere_is_told_beside_what_is_wrong_in_a_table() {
    let path = Path::new("/w/.stead/config.toml");
    let told = |text: &str, users: &str| -> Vec<String> {
        let (workspace, mut found) = read_partly(text, path, FileOwner::Workspace);
        let (user, wrong) = read_partly(users, Path::new("/u"), FileOwner::User);
        let all = Configuration { user: Some(user), workspace: Some(workspace) };
        found.extend(wrong);
        found.extend(all.problems());
        found.into_iter().filter_map(|one| one.key).collect()
    };
    let wrong = "[sessions.a]\ncwdd = \"x\"\n[toolchains.q]\nengine = \"pyton\"\n";
    assert_eq!(told(wrong, ""), ["sessions.a.cwdd", "toolchains.q.engine"]);
    // What uses something that is wrong is not wrong itself.
    let uses = "[toolchains.q]\nengine = 5\n[sessions.a]\ntoolchain = \"q\"\n[toolchains.r]\nengine = \"q\"\n";
    assert_eq!(told(uses, ""), ["toolchains.q.engine"]);
    assert_eq!(told("[sessions.python]\nserver = \"7888\"\n", ""), ["sessions.python.server"]);
    let other = "[sessions.a]\ntoolchain = \"q\"\n[sessions.b]\ngateway = \"g\"\n";
    let users = "[toolchains.q]\nengine = 5\n[gateways.g]\nurl = 5\n";
    assert_eq!(told(other, users), ["toolchains.q.engine", "gateways.g.url"]);
    assert_eq!(told(other, "log = [\n"), ["log"]);
    assert_eq!(told(other, ""), ["sessions.a.toolchain", "sessions.b.gateway"]);
}

#[test]
fn k2_what_is_wrong_with_a_gateway_names_the_line_of_its_key() {
    let wrong = |text: &str| {
        let found = read_config(text, Path::new("/u"), FileOwner::User).unwrap_err();
        format!("{:?} {:?}", found[0].line, found[0].key)
    };
    let url = "[gateways.c]\n\nurl = \"ftp://x\"\n";
    assert_eq!(wrong(url), "Some(3) Some(\"gateways.c.url\")");
    let tokens = "[gateways.c]\nurl = \"http://x\"\ntoken = \"hunter2\"\ntoken_env = \"B\"\n";
    assert_eq!(wrong(tokens), "Some(4) Some(\"gateways.c.token_env\")");
}

#[test]
fn cf1_all_that_is_wrong_is_told_at_once() {
    let found = problems("lgo = 1\n[sessions.ml]\ncwd = 1\nx = 1\n");
    let keys: Vec<_> = found.iter().filter_map(|one| one.key.as_deref()).collect();
    assert_eq!(keys, ["lgo", "sessions.ml.cwd", "sessions.ml.x"]);
}

#[test]
fn cf1_an_empty_file_and_one_with_a_byte_order_mark_are_right() {
    for text in ["", "# only a comment\n", "\u{feff}log = \"warn\"\r\n[sessions.ml]\r\n"] {
        assert_eq!(problems(text), [], "{text:?}");
    }
}

#[test]
fn x5_a_value_of_the_environment_is_never_quoted() {
    let found = problems("[sessions.ml.env]\nTOKEN = [\"hunter2\"]\n");
    assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
}

#[test]
fn cf1_a_word_at_the_top_is_read_without_the_tables_below() {
    let word = |text: &str| crate::word_at_top(text, Path::new("/u"), ConfigKey::Output);
    assert_eq!(
        word("# x\n output = 'json'\n[sessions.a]\nnonsense = 1\n").as_deref(),
        Some("json")
    );
    assert_eq!(word("\u{feff}output = 'text'\r\n").as_deref(), Some("text"));
    for text in
        ["", "[sessions.a]\noutput = 'json'\n", "output = 'loud'\n", "output = \n", "# output\n"]
    {
        assert_eq!(word(text), None, "{text:?}");
    }
}
