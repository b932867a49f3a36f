//! Files of clients before and after an install, byte for byte (`golden/`); `STEAD_BLESS=1` writes what is after.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::clients::{CLIENTS, McpClient};
use crate::edit::{EditKind, EditResult};
use crate::entry::ServerEntry;

fn entry() -> ServerEntry {
    ServerEntry { command: "/opt/stead/bin/stead".to_owned(), args: vec!["mcp".to_owned()] }
}

fn edited(edited: EditResult) -> (EditKind, String) {
    match edited {
        EditResult::To { did, text } => (did, text),
        EditResult::Same => panic!("nothing was changed"),
    }
}

/// The files before an install, with their client.
fn cases() -> Vec<(&'static McpClient, PathBuf)> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut cases = Vec::new();
    for client in CLIENTS {
        let dir = fs::read_dir(golden.join(client.id));
        let files = dir.unwrap_or_else(|error| panic!("{}: {error}", client.id));
        let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        let before = files.into_iter().filter(|it| it.to_string_lossy().contains(".before."));
        cases.extend(before.map(|path| (client, path)));
    }
    cases
}

#[test]
fn u4_an_install_changes_nothing_but_the_entry_and_a_remove_gives_the_bytes_back() {
    let cases = cases();
    assert!(cases.len() >= CLIENTS.len() + 10, "{}", cases.len());
    for (client, path) in cases {
        let before = fs::read_to_string(&path).unwrap();
        let (did, after) = edited(client.format.add(&before, &entry()).unwrap());
        assert_eq!(did, EditKind::Added, "{}", path.display());
        let golden = PathBuf::from(path.to_str().unwrap().replace(".before.", ".after."));
        if std::env::var_os("STEAD_BLESS").is_some() {
            fs::write(&golden, &after).unwrap();
        }
        assert_eq!(after, fs::read_to_string(&golden).unwrap_or_default(), "{}", golden.display());
        assert_eq!(client.format.add(&after, &entry()), Ok(EditResult::Same), "{}", path.display());
        let (did, back) = edited(client.format.remove(&after).unwrap());
        assert_eq!(did, EditKind::Removed);
        let back = client.format.prune(back, &before);
        assert_eq!(back, before, "{}", path.display());
        assert_eq!(client.format.remove(&before), Ok(EditResult::Same), "{}", path.display());
    }
}

#[test]
fn u4_an_entry_is_read_back_and_its_program_is_renewed_in_place() {
    let newer = ServerEntry { command: "/usr/bin/stead".to_owned(), ..entry() };
    for (client, path) in cases() {
        let before = fs::read_to_string(&path).unwrap();
        let (_, after) = edited(client.format.add(&before, &entry()).unwrap());
        let known = client.format.look(&after).unwrap().expect("it is there");
        assert_eq!(known.command.as_deref(), Some("/opt/stead/bin/stead"), "{}", path.display());
        assert_eq!(known.args, ["mcp"]);
        let (did, renewed) = edited(client.format.add(&after, &newer).unwrap());
        assert_eq!(did, EditKind::Changed);
        assert_eq!(renewed, after.replace("/opt/stead/bin/stead", "/usr/bin/stead"));
    }
}

#[test]
fn u4_an_empty_file_becomes_a_whole_one() {
    for client in CLIENTS {
        for text in ["", "\n", "\u{feff}"] {
            let (_, after) = edited(client.format.add(text, &entry()).unwrap());
            assert!(after.starts_with(text) && after.ends_with('\n'), "{}: {after:?}", client.id);
            assert!(client.format.look(&after).unwrap().is_some(), "{}", client.id);
        }
    }
}

#[test]
fn u4_an_entry_in_another_form_keeps_what_the_user_gave_it() {
    let client = |id: &str| CLIENTS.iter().find(|client| client.id == id).unwrap().format;
    let cases = [
        (
            "cursor",
            r#"{"mcpServers": {"stead": {"command": "stead", "args": ["mcp", "--workspace", "/p"], "env": {"A": "1"}}}}"#,
            r#"{"mcpServers": {"stead": {"command": "/opt/stead/bin/stead", "args": ["mcp", "--workspace", "/p"], "env": {"A": "1"}}}}"#,
        ),
        (
            "cursor",
            "{\"mcpServers\": {\"stead\": {\n  \"command\": \"uvx\", // x\n  \"args\": [\"stead\", \"mcp\"]}}}",
            "{\"mcpServers\": {\"stead\": {\n  \"command\": \"/opt/stead/bin/stead\", // x\n  \"args\": [\"mcp\"]}}}",
        ),
        (
            "opencode",
            r#"{"mcp": {"stead": {"type": "local", "command": ["stead", "mcp"], "enabled": false}}}"#,
            r#"{"mcp": {"stead": {"type": "local", "command": ["/opt/stead/bin/stead", "mcp"], "enabled": false}}}"#,
        ),
        (
            "codex",
            "[mcp_servers.stead]\ncommand = 'stead' # old\nenv = { A = \"1\" }\n",
            "[mcp_servers.stead]\ncommand = \"/opt/stead/bin/stead\" # old\nargs = [\"mcp\"]\nenv = { A = \"1\" }\n",
        ),
        (
            "codex",
            "[mcp_servers.stead]\ncommand = \"npx\"\nargs = [\"-y\", \"stead@1\", \"mcp\", \"--workspace\", \"/p\"]\n",
            "[mcp_servers.stead]\ncommand = \"/opt/stead/bin/stead\"\nargs = [\"mcp\", \"--workspace\", \"/p\"]\n",
        ),
        (
            "opencode",
            "{\"mcp\": {\"stead\": {\"type\": \"local\", \"command\": [\"/old/stead\", // x\n  \"mcp\", \"--workspace\", \"/p\"]}}}",
            "{\"mcp\": {\"stead\": {\"type\": \"local\", \"command\": [\"/opt/stead/bin/stead\", // x\n  \"mcp\", \"--workspace\", \"/p\"]}}}",
        ),
        (
            "goose",
            "extensions:\n  stead:\n    cmd: stead # here\n    args: [mcp]\n    envs: {A: b}\n",
            "extensions:\n  stead:\n    cmd: /opt/stead/bin/stead # here\n    args: [mcp]\n    envs: {A: b}\n",
        ),
    ];
    for (id, before, after) in cases {
        let (did, text) = edited(client(id).add(before, &entry()).unwrap());
        assert_eq!((did, text.as_str()), (EditKind::Changed, after), "{id}");
    }
}

#[test]
fn u4_what_is_broken_is_refused_with_its_line() {
    let client = |id: &str| CLIENTS.iter().find(|client| client.id == id).unwrap().format;
    for (id, text, said) in [
        ("cursor", "{\n  \"mcpServers\": {\n", "line 3, column 1: the file ends inside an object"),
        ("cursor", "{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: a comma is missing"),
        ("cursor", "{\"a\": tru}", "line 1, column 7: `tru` is no value"),
        ("cursor", "{\"a\": 01e400}", "line 1, column 7: `01e400` is no value"),
        ("cursor", "{\"a\": 1.e400}", "line 1, column 7: `1.e400` is no value"),
        ("cursor", "{\"a\": \"x\n\"}", "line 1, column 7: a string begins here"),
        ("cursor", "{} {}", "line 1, column 4: there is more"),
        ("cursor", "[1]", "line 1: `the outermost value` is an array and not an object"),
        ("cursor", "{\n\"mcpServers\": null}", "line 2: `mcpServers` is null and not an object"),
        ("cursor", "{/* x", "a comment begins here and never ends"),
        ("cursor", "{\"mcpServers\": {\"stead\": {\"url\": \"http://x\"}}}", "starts no program"),
        ("codex", "a = 1\nb = \n", "line 2, column 5"),
        ("codex", "[a]\n[a]\n", "line 2"),
        ("codex", "mcp_servers = 3\n", "line 1: `mcp_servers` is integer and not a table"),
        ("goose", "a: b: c\n", "line 1, column 5"),
        ("goose", "a: 1\nextensions: [1]\n", "line 2: `extensions` is a list"),
        ("goose", "extensions: {a: {cmd: x}}\n", "a mapping in braces"),
        ("goose", "a: 1\n---\nb: 1\n", "line 2: a second document begins here"),
    ] {
        let error = client(id).add(text, &entry()).expect_err(text).to_string();
        assert!(error.contains(said), "{text:?}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(client("cursor").add(&deep, &entry()).unwrap_err().to_string().contains("too deeply"));
}

#[test]
fn u4_the_page_about_clients_shows_every_entry_as_it_is_written() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clients.md");
    let mut page = fs::read_to_string(page).unwrap();
    let entry = ServerEntry { command: "/usr/local/bin/stead".to_owned(), ..entry() };
    for client in CLIENTS {
        let text = client.format.example(&entry);
        let word = match client.format {
            crate::ConfigFormat::Json { .. } => "json",
            crate::ConfigFormat::Toml => "toml",
            crate::ConfigFormat::Yaml => "yaml",
        };
        let block = format!("```{word}\n{text}```");
        page = page.replace(&format!("EXAMPLE {}\n", client.id), &format!("{block}\n"));
        assert!(page.contains(&block), "{} is not shown as\n{block}", client.title);
        assert!(
            page.contains(&format!("| {} | `{}` |", client.title, client.id)),
            "{}",
            client.title
        );
    }
    if std::env::var_os("STEAD_BLESS").is_some() {
        fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clients.md"), page).unwrap();
    }
}

#[test]
fn u4_oddly_written_files_come_back_too() {
    let client = |id: &str| CLIENTS.iter().find(|client| client.id == id).unwrap().format;
    for (id, text) in [
        ("codex", "\u{feff}model = 1\n[mcp_servers.a]\ncommand='a'\n"),
        ("codex", "[mcp_servers]\n\n[mcp_servers.a]\nx = \"\"\"\n[b]\n\"\"\"\n"),
        (
            "codex",
            "[mcp_servers]\na = { command = 'é' } # c\n# more\n\n\n[[hooks]]\nx = 1\n[[hooks]]\nx = 2\n# end",
        ),
        ("codex", "mcp_servers = {}\n"),
        ("codex", "mcp_servers = { }\r\n[a]\r\nb = 1"),
        ("codex", "# only a comment"),
        ("goose", "---\nextensions:\n  a: {cmd: x}\n"),
        (
            "goose",
            "\u{feff}a: 1\nextensions: # mine\n  # first\n  a:\n    cmd: é # x\n    # inside\n  # after\n\n# far\nz: |\n  text\n  more\n",
        ),
        ("goose", "extensions:\n  a:\n    text: |\n      one\n      two\n\nb: 1\n"),
        ("goose", "extensions:\n  a:\n    text: >-\n      one\n\n      two\n"),
        (
            "goose",
            "x: &a {b: 1}\ny: *a\nextensions:\n  \"a b\":\n    args:\n    - 'x'\n    -\n      y\n",
        ),
        ("goose", "extensions:\n  a:\n    cmd: x"),
        ("goose", "a: \"x\n  y\"\nextensions:\n  a:\n    cmd: x\n    list: [1,\n      2]\n"),
        ("zed", "{}"),
        ("zed", "{\"a\": [1e400, -1.5E+999, 123456789012345678901234567890]}"),
        ("zed", "{ \"a\": [1, /* x */ 2,], }"),
        ("zed", "{\"context_servers\":{\n\n}}"),
        ("zed", "{\"context_servers\" : {\n  // a\n  \"b\": {} // c\n  ,\n  // d\n}\n}"),
        ("zed", "{\n\"a\":1,\n\n\"b\":{\"c\":[{}]}\n\n}\n\n"),
        ("zed", "/* a */ { /* b */ } /* c */"),
    ] {
        let (_, after) = edited(
            client(id).add(text, &entry()).unwrap_or_else(|error| panic!("{text:?}: {error}")),
        );
        let (_, back) =
            edited(client(id).remove(&after).unwrap_or_else(|error| panic!("{after:?}: {error}")));
        let back = client(id).prune(back, text);
        if id == "zed" && text.contains("{\n\n}") {
            // What stood between the braces of an empty list is not known any more; the copy of the file has it.
            assert_eq!(back, text.replace("\n\n", ""));
        } else if text.contains("{ }") {
            assert_eq!(back.replace("{}", "{ }"), text);
        } else {
            assert_eq!(back, text, "by way of {after:?}");
        }
    }
    let scattered = "[mcp_servers.stead.env]\nA = '1'\n\n[b]\nc = 1\n\n[mcp_servers.stead] # x\ncommand = 'stead'\n\n[d]\n";
    let (_, text) = edited(client("codex").remove(scattered).unwrap());
    assert_eq!(text, "\n[b]\nc = 1\n\n[d]\n");
    let (_, text) = edited(
        client("codex")
            .remove("a = 1\nmcp_servers.stead.command = 'x'\nmcp_servers.stead.args = []\nb = 2\n")
            .unwrap(),
    );
    assert_eq!(text, "a = 1\nb = 2\n");
    let twice =
        r#"{"mcpServers": {"stead": {"command": "stead"}, "b": {}, "stead": {"command": "c"}}}"#;
    let (_, text) = edited(client("cursor").remove(twice).unwrap());
    assert_eq!(text, r#"{"mcpServers": {"b": {}}}"#);
    let theirs = twice.replace("\"stead\"}", "\"docker\"}");
    assert!(client("cursor").remove(&theirs).is_err(), "one of them is not ours");
}

/// Any JSON, written in any way.
fn any_json() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec![
        "",
        " ",
        "\n",
        "\n  ",
        "\r\n\t",
        " // x\n",
        "/* {\",\" */",
        "\n\n  // y }\n  ",
    ]);
    let key = prop::sample::select(vec![
        "\"a\"",
        "\"mcpServers\"",
        "\"\\u00e9\\\"\"",
        "\"x y\"",
        "\"stéad\"",
    ]);
    let leaf = prop::sample::select(vec![
        "1",
        "-2.50e3",
        "true",
        "null",
        "\"t // \\\\ext\"",
        "\"\"",
        "{}",
        "[]",
    ]);
    let leaf = leaf.prop_map(str::to_owned);
    let value = leaf.prop_recursive(4, 24, 4, {
        let (space, key) = (space.clone(), key.clone());
        move |inner| {
            let comma = prop::bool::ANY;
            let items = prop::collection::vec((space.clone(), inner.clone(), space.clone()), 0..4);
            let array = (items, comma, space.clone()).prop_map(|(items, comma, end)| {
                let all: Vec<String> =
                    items.iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
                let comma = if comma && !all.is_empty() { "," } else { "" };
                format!("[{}{comma}{end}]", all.join(","))
            });
            let member = (space.clone(), key.clone(), space.clone(), inner, space.clone());
            let object = (prop::collection::vec(member, 0..4), comma, space.clone()).prop_map(
                |(members, comma, end)| {
                    let one = |(a, key, b, value, c): &(&str, &str, &str, String, &str)| {
                        format!("{a}{key}{b}:{value}{c}")
                    };
                    let all: Vec<String> = members.iter().map(one).collect();
                    let comma = if comma && !all.is_empty() { "," } else { "" };
                    format!("{{{}{comma}{end}}}", all.join(","))
                },
            );
            prop_oneof![array, object.clone(), object]
        }
    });
    (space.clone(), value, space).prop_map(|(begin, value, end)| format!("{begin}{value}{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn u4_any_json_that_is_changed_is_changed_back(text in any_json()) {
        let format = CLIENTS.iter().find(|client| client.id == "cursor").unwrap().format;
        match format.add(&text, &entry()) {
            Ok(EditResult::To { text: after, .. }) => {
                prop_assert_eq!(format.add(&after, &entry()), Ok(EditResult::Same));
                let (_, back) = edited(format.remove(&after).unwrap());
                let back = format.prune(back, &text);
                let bare = |text: &str| text.split_whitespace().collect::<String>();
                prop_assert_eq!(bare(&back), bare(&text), "by way of {:?}", after);
            }
            Ok(EditResult::Same) => prop_assert!(false, "nothing was added"),
            Err(crate::EditTrouble::NotATable { .. }) => {}
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn u4_no_text_makes_an_editor_fail(text in "[{}\\[\\]\",:#/*=a\\-\\.|>&\\n\\r \\\\0-9'é]{0,60}") {
        for client in CLIENTS {
            let _ = client.format.add(&text, &entry()).map(|edited| match edited {
                EditResult::To { text, .. } => client.format.remove(&text).unwrap(),
                EditResult::Same => EditResult::Same,
            });
        }
    }
}
