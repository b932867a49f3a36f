//! Images: files beside the spool, named in replies (SPEC O-9).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;
use crate::talk::{interrupt, outcome, submit, wait_for_file};

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_bridge.pl");

/// One red pixel.
const PIXEL: &str = concat!(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4",
    "2mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
);

fn toy() -> TestEnv {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "perl", "-n", "toy", "--bridge", TOY]);
    assert_eq!(launched["status"], "complete", "{launched:#}");
    env
}

/// Code of the toy bridge that shows something and waits until it is recorded.
fn show(mime: &str, data: &str) -> String {
    let fields = format!("ev => 'display', mime => '{mime}', data => '{data}'");
    format!("tell_host({fields}, ack => JSON::PP::true); command(); ")
}

#[track_caller]
fn eval(env: &TestEnv, code: &str) -> Value {
    let reply = env.json(["eval", "-n", "toy", "--", code]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    reply
}

fn displays(reply: &Value) -> Vec<&Value> {
    let chunks = reply["data"]["chunks"].as_array().unwrap();
    chunks.iter().filter(|chunk| chunk["type"] == "display").collect()
}

fn kinds(reply: &Value) -> Vec<&str> {
    let chunks = reply["data"]["chunks"].as_array().unwrap();
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

#[track_caller]
fn path_of(chunk: &Value) -> PathBuf {
    assert_eq!(chunk["mime"], "image/png", "{chunk:#}");
    let path = PathBuf::from(chunk["content"].as_str().unwrap());
    assert!(path.is_absolute() && path.is_file(), "{chunk:#}");
    path
}

#[test]
fn o9_an_image_is_a_file_whose_path_is_given() {
    let env = toy();
    let show = show("image/png", PIXEL);
    let code = format!("print qq(one\\n); {show} print qq(two\\n); {show} undef");
    let reply = eval(&env, &code);
    assert_eq!(kinds(&reply), ["out", "display", "out", "display"], "{reply:#}");
    let paths: Vec<PathBuf> = displays(&reply).into_iter().map(path_of).collect();
    let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(names, ["1-1.png", "1-2.png"]);
    for path in &paths {
        assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"));
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let line = format!("[image/png 1×1: {}]\n", paths[0].display());
    let text = env.run(["eval", "-n", "toy", "--text", "--", &code]).stdout;
    assert_eq!(
        text,
        format!("one\n{0}two\n{1}", line.replace("/1-1", "/2-1"), line.replace("/1-1", "/2-2"))
    );
    let streamed = env.run(["eval", "-n", "toy", "--stream", "--json", "--", &code]).stdout;
    let lines: Vec<Value> =
        streamed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(path_of(&lines[1]).file_name().unwrap(), "3-1.png");
    env.json(["stop", "-n", "toy"]);
    let again = env.json(["output", "toy:1"]);
    assert_eq!(displays(&again).into_iter().map(path_of).collect::<Vec<_>>(), paths);
}

#[test]
fn o9_an_image_that_cannot_be_kept_harms_nothing() {
    let env = toy();
    let reply = eval(&env, &format!("{} 41 + 1", show("image/png", "!!!")));
    assert_eq!(reply["data"]["value"], "42", "{reply:#}");
    assert_eq!(displays(&reply)[0]["content"], "[not kept: it is no base64]");
    // By hand: JSON::PP takes half a minute for so much.
    let large = concat!(
        r#"my $line = '{"ev":"display","mime":"image/png","data":"' . ('A' x (24 << 20)) . '"}' . "\n"; "#,
        "syswrite $ctl, $line; 'alive'"
    );
    let reply = eval(&env, large);
    assert_eq!(displays(&reply)[0]["content"], "[not kept: it is larger than 16 MiB]");
    assert_eq!(reply["data"]["value"], "alive");
    let figures = env.session_dir("toy").join("figures");
    let _ = fs::remove_dir_all(&figures);
    fs::write(&figures, "in the way").unwrap();
    let reply = eval(&env, &format!("{} 'alive'", show("image/png", PIXEL)));
    let said = displays(&reply)[0]["content"].as_str().unwrap();
    assert!(said.contains("could not be written"), "{reply:#}");
    assert_eq!(reply["data"]["value"], "alive");
}

#[test]
fn o9_a_file_that_is_gone_is_said_to_be_gone() {
    let env = toy();
    let reply = eval(&env, &format!("{} undef", show("image/png", PIXEL)));
    let path = path_of(displays(&reply)[0]);
    fs::remove_file(&path).unwrap();
    let reply = env.json(["output", "toy:1"]);
    assert_eq!(displays(&reply)[0]["content"], "[its file is no longer kept]");
    let text = env.run(["output", "toy:1", "--text"]).stdout;
    assert_eq!(text, "[image/png 1×1, its file is no longer kept]\n");
    // A link that leads out of the session's directory is not followed.
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let reply = env.json(["output", "toy:1"]);
    assert_eq!(displays(&reply)[0]["content"], "[its file is not in the session's directory]");
}

#[test]
fn o9_text_of_another_kind_stays_in_the_reply() {
    let env = toy();
    let reply = eval(&env, &format!("{} undef", show("text/latex", "$x$")));
    assert_eq!(displays(&reply)[0]["mime"], "text/latex");
    assert_eq!(displays(&reply)[0]["content"], "$x$");
    assert!(!env.session_dir("toy").join("figures").exists());
}

#[test]
fn o9_a_page_lies_in_a_file_and_its_size_is_told() {
    let env = toy();
    let reply = eval(&env, &format!("{} undef", show("text/html", "<b>bold</b>")));
    let display = displays(&reply)[0];
    assert_eq!(
        (&display["mime"], &display["bytes"]),
        (&Value::from("text/html"), &Value::from(11))
    );
    let path = PathBuf::from(display["content"].as_str().unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "<b>bold</b>");
    let text = env.run(["output", "toy:1", "--text"]).stdout;
    assert_eq!(text, format!("[text/html 11 bytes: {}]\n", path.display()));
    let raw = env.run(["output", "toy:1", "--raw"]).stdout;
    assert!(!raw.contains("<b>"), "{raw}");
}

#[test]
fn o9_images_of_earlier_interpreters_stay_and_new_ones_get_new_names() {
    let env = toy();
    let code = format!("{} undef", show("image/png", PIXEL));
    eval(&env, &code);
    env.json(["restart", "-n", "toy"]);
    eval(&env, &code);
    env.json(["stop", "-n", "toy"]);
    env.json(["launch", "perl", "-n", "toy", "--bridge", TOY]);
    eval(&env, &code);
    let entries = fs::read_dir(env.session_dir("toy").join("figures")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["1-1.png", "2-1.png", "3-1.png"]);
}

/// A Python with matplotlib and other libraries.
pub(crate) fn venv() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join(".test/venv/bin/python");
    let python = std::env::var_os("STEAD_TEST_VENV").map_or(default, PathBuf::from);
    assert!(python.is_file(), "no Python with packages at {}: run ./test", python.display());
    python
}

#[test]
fn o9_py17_matplotlib_figures_come_as_files() {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "python", "-n", "py", "--python", venv().to_str().unwrap()]);
    assert_eq!(launched["status"], "complete", "{launched:#}");
    let count = |code: &str| {
        let reply = env.json(["eval", "-n", "py", "--timeout", "120s", "--", code]);
        let images = displays(&reply).len();
        displays(&reply).into_iter().for_each(|chunk| drop(path_of(chunk)));
        (images, reply)
    };
    let (images, reply) = count("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('made')");
    assert_eq!((images, kinds(&reply)), (1, vec!["out", "display"]), "{reply:#}");
    assert_eq!(count("1 + 1").0, 0);
    assert_eq!(count("plt.title('changed')\nNone").0, 1);
    let (images, failed) = count("plt.xlabel('x')\n1/0");
    assert_eq!((images, kinds(&failed)), (1, vec!["display", "error"]), "{failed:#}");
    let (images, asked) = count("plt.figure(); plt.plot([1])\nx = input('so? ')\nplt.title(x)");
    assert_eq!((images, asked["status"].as_str()), (1, Some("waiting_input")), "{asked:#}");
    assert_eq!(asked["data"]["prompt"], "so? ");
    let answered = env.json(["input", "-n", "py", "yes"]);
    assert_eq!(displays(&answered).len(), 1, "{answered:#}");
    let (images, reply) = count("print('a'); plt.plot([3]); plt.show(); print('b')");
    assert_eq!((images, kinds(&reply)), (1, vec!["out", "display", "out"]), "{reply:#}");
}

#[test]
fn o9_the_next_plot_begins_a_new_figure_and_savefig_saves_the_last_one() {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "python", "-n", "py", "--python", venv().to_str().unwrap()]);
    assert_eq!(launched["status"], "complete", "{launched:#}");
    let eval = |code: &str| env.json(["eval", "-n", "py", "--timeout", "120s", "--", code]);
    let picture = |code: &str| {
        let reply = eval(code);
        let shown = displays(&reply);
        assert_eq!(shown.len(), 1, "{reply:#}");
        fs::read(path_of(shown[0])).unwrap()
    };
    let first = picture("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3]); plt.show()");
    let second = picture("plt.plot([3, 2, 1])\nlines = len(plt.gca().lines)");
    assert_ne!(first, second);
    assert_eq!(eval("lines")["data"]["value"], "1");
    let saved = eval("import os\nplt.savefig('second.png')\nos.path.abspath('second.png')");
    assert!(saved.to_string().contains("saved the last one, of py:2"), "{saved:#}");
    let path = saved["data"]["value"].as_str().unwrap().trim_matches('\'').to_owned();
    assert_eq!(fs::read(path).unwrap(), second, "the file is the picture that was shown");
}

#[test]
fn e6_an_interrupted_eval_gives_up_a_figure_that_takes_too_long() {
    let env = TestEnv::new(STEAD);
    let launched = env.json(["launch", "python", "-n", "py", "--python", venv().to_str().unwrap()]);
    assert_eq!(launched["status"], "complete", "{launched:#}");
    // The first figure of a process takes longer than others, which an interrupt leaves only a second.
    env.eval("import matplotlib.pyplot as plt; plt.plot([1]); plt.show()");
    let code = "import time, matplotlib.pyplot as plt\n\
        class Slow(plt.Artist):\n    def draw(self, renderer): time.sleep(1000)\n\
        plt.plot([1]); plt.figure().add_artist(Slow())\n\
        open('up', 'w').close()\nwhile True: pass";
    let id = submit(&env, code);
    wait_for_file(&env, "up");
    interrupt(&env);
    let reply = outcome(&env, &id);
    assert_eq!(reply["status"], "interrupted", "{reply:#}");
    assert_eq!(displays(&reply).len(), 1, "{reply:#}");
    let note = "[1 figure was not shown because of the interrupt; plt.show() shows it]";
    assert!(reply.to_string().contains(note), "{reply:#}");
    assert_eq!(env.value("1 + 1"), "2");
}
