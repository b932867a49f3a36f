//! O-8, O-9, E-14: what a reply says about values and about modules, through the real binary.

use stead_testkit::TestEnv;

use crate::STEAD;

#[test]
fn o8_a_value_of_any_size_stays_within_its_budget() {
    let env = TestEnv::new(STEAD);
    for (code, end) in [
        ("list(range(10**6))", "999999] (1000000 items)"),
        ("{i: [i] * 1000 for i in range(1000)}", "(1000 items)"),
        ("'x' * (5 << 20)", "x' (5242880 characters)"),
    ] {
        let value = env.value(code);
        assert!(value.ends_with(end), "{value}");
        assert!(value.chars().count() <= 2000, "{value}");
    }
}

#[test]
fn o9_markdown_of_a_value_is_shown_once() {
    let env = TestEnv::new(STEAD);
    let reply = env.eval("class Note:\n    def _repr_markdown_(self): return '# Title'\nNote()");
    let chunks = reply["data"]["chunks"].as_array().expect("chunks");
    assert_eq!(chunks.len(), 1, "{reply:#}");
    assert_eq!((&chunks[0]["type"], &chunks[0]["content"]), (&"display".into(), &"# Title".into()));
}

#[test]
fn e14_a_module_that_changed_on_disk_is_named_once() {
    let env = TestEnv::new(STEAD);
    let path = env.workspace().join("helpers.py");
    std::fs::write(&path, "x = 1\n").expect("written");
    let notice = |code: &str| env.eval(code)["data"]["notice"].clone();
    notice("import helpers, importlib");
    std::fs::write(&path, "x = 1 + 1\n").expect("written");
    let said = "module helpers changed on disk since it was imported \
                (importlib.reload(helpers) reads it again)";
    assert_eq!(notice("helpers.x"), said);
    assert_eq!(notice("helpers.x"), serde_json::Value::Null);
    assert_eq!(env.value("importlib.reload(helpers).x"), "2");
    assert_eq!(notice("1"), serde_json::Value::Null);
}
