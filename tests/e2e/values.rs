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

/// A fitted model as scikit-learn's: a short repr, and a page that is nearly all style.
const MODEL: &str = "class Model:\n    def _repr_html_(self): return '<style>' + '#x {color: red}' * 4000 + '</style><div>Model</div>'\n    def __repr__(self): return 'Model(alpha=1)'\nModel()";
/// A chart: its repr says nothing.
const CHART: &str = "class Chart:\n    def _repr_html_(self): return '<style>' + '#x {color: red}' * 4000 + '</style><table><tr><td>Rome</td><td>1</td></tr></table>'\nChart()";

#[test]
fn o5_a_model_with_a_page_of_styles_is_its_repr() {
    let env = TestEnv::new(STEAD);
    let text = env.run(["eval", "-n", "py", "--text", "--max-chars", "200", "--", MODEL]);
    assert_eq!(text.stdout, "Model(alpha=1)\n");
    let reply = env.eval(MODEL);
    assert!(reply.to_string().len() < 1000, "{reply}");
    assert!(!env.session_dir("py").join("figures").exists(), "nobody asked for the page");
}

#[test]
fn o9_a_page_is_text_and_a_file_in_every_reply() {
    let env = TestEnv::new(STEAD);
    let reply = env.eval(CHART);
    let display = &reply["data"]["chunks"][0];
    assert_eq!((&display["type"], &display["mime"]), (&"display".into(), &"text/html".into()));
    let path = display["content"].as_str().expect("a path");
    let page = std::fs::read_to_string(path).expect("the page");
    assert_eq!(display["bytes"], page.len());
    assert!(page.contains("color: red") && page.contains("<td>Rome</td>"));
    assert_eq!(reply["data"]["value"], "Rome  1");
    assert!(reply.to_string().len() < 1000, "{reply}");
    for most in ["100", "32000"] {
        let text = env.run(["eval", "-n", "py", "--text", "--max-chars", most, "--", CHART]).stdout;
        let (line, rest) = text.split_once('\n').expect("two lines");
        assert!(line.starts_with("[text/html 61 kB: ") && line.ends_with(".html]"), "{text}");
        assert_eq!(rest, "Rome  1\n");
    }
}

#[test]
fn o5_marks_and_displays_count_in_text_too() {
    let env = TestEnv::new(STEAD);
    env.eval(CHART);
    env.eval("class Note:\n    def _repr_markdown_(self): return 'word ' * 5000");
    for code in [
        "print('y' * 5000); Chart()",
        "import sys\nfor i in range(30): sys.displayhook(Note())",
        "import sys\nfor i in range(30): sys.displayhook(Chart()); print('z' * 99)",
        "'x' * 5000",
        "1 / 0",
    ] {
        for most in [600, 1500] {
            let most_text = most.to_string();
            let run =
                env.run(["eval", "-n", "py", "--text", "--max-chars", &most_text, "--", code]);
            let length = (run.stdout.clone() + &run.stderr).chars().count();
            assert!(length <= most, "{code}: {length} of {most}\n{}{}", run.stdout, run.stderr);
        }
    }
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
