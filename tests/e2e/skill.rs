//! U-4: the skill is written where agents look, and its commands run as they are printed.

use std::fs;
use std::os::unix::fs::symlink;

use stead_testkit::TestEnv;

use crate::STEAD;

#[test]
fn u4_the_commands_of_the_skill_run_as_printed() {
    let env = TestEnv::new(STEAD);
    symlink(env.program(), env.root().join("bin/stead")).unwrap();
    let skill = env.run(["skill"]);
    assert_eq!(skill.code, Some(0), "{skill:?}");
    let mut inside = false;
    let mut ran = 0;
    let mut said = String::new();
    for line in skill.stdout.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => {
                let done = env.other("/bin/sh").args(["-c", line]).output().unwrap();
                let out = String::from_utf8_lossy(&done.stdout);
                assert!(done.status.success(), "{line}: {out}");
                said.push_str(&format!("$ {line}\n{out}\n"));
                ran += 1;
            }
            _ => {}
        }
    }
    assert!(ran > 25, "{ran}");
    for found in
        ["2.5", "3 in /tmp", "epoch 1 done", "your name?", "'Ada'", "line 2997", "[1, 2, 3, 4]"]
    {
        assert!(said.contains(found), "`{found}` is not in\n{said}");
    }
}

#[test]
fn u4_the_skill_is_written_where_agents_look_and_over_nobodys_file() {
    let env = TestEnv::new(STEAD);
    let skill = env.run(["skill"]).stdout;
    for (arguments, below) in [
        (vec!["skill", "--install"], env.workspace()),
        (vec!["skill", "--install", "--scope", "user"], env.root().join("home")),
    ] {
        let reply = env.run(&arguments).json();
        assert_eq!(reply["data"]["files"][0]["action"], "written", "{reply}");
        for place in [".agents/skills/stead/SKILL.md", ".claude/skills/stead/SKILL.md"] {
            assert_eq!(fs::read_to_string(below.join(place)).unwrap(), skill);
        }
        let again = env.run(&arguments).json();
        assert_eq!(again["data"]["files"][1]["action"], "unchanged", "{again}");
    }
    let mine = env.workspace().join("mine.md");
    fs::write(&mine, "my own").unwrap();
    let ran = env.run(["skill", "--path", "mine.md"]);
    assert!(ran.code == Some(2) && ran.stdout.contains("was not written by stead"), "{ran:?}");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "my own");
    let servers = env.workspace().join(".mcp.json");
    fs::write(&servers, r#"{"mcpServers": {"stead": {}, "mine": {}}}"#).unwrap();
    let ran = env.run(["skill", "--plugin", "."]);
    assert!(ran.code == Some(2) && ran.stdout.contains("was not written by stead"), "{ran:?}");
    assert!(!env.workspace().join("README.md").exists(), "all or nothing");
    assert!(fs::read_to_string(&servers).unwrap().contains("mine"));
    assert_eq!(env.run(["skill", "--plugin", "plugin"]).code, Some(0));
    assert_eq!(env.run(["skill", "--path", "a/b/SKILL.md"]).code, Some(0));
    assert_eq!(fs::read_to_string(env.workspace().join("a/b/SKILL.md")).unwrap(), skill);
}

#[test]
fn u4_what_somebody_wrote_into_a_skill_or_plugin_is_kept() {
    let env = TestEnv::new(STEAD);
    let at = |path: &str| env.workspace().join(path);
    assert_eq!(env.run(["skill", "--plugin", "plugin"]).code, Some(0));
    let before = fs::read_to_string(at("plugin/.mcp.json")).unwrap();
    // Each time something else: no copy takes the place of another.
    for mine in [r#"{"mcpServers": {"mine": {}}}"#, r#"{"mcpServers": {"other": {}}}"#] {
        fs::write(at("plugin/.mcp.json"), mine).unwrap();
        let again = env.run(["skill", "--plugin", "plugin"]).json();
        let file = &again["data"]["files"][1];
        assert_eq!(file["action"], "written", "{again}");
        assert_eq!(fs::read_to_string(file["backup"].as_str().unwrap()).unwrap(), mine);
        assert_eq!(fs::read_to_string(at("plugin/.mcp.json")).unwrap(), before);
        assert_eq!(again["data"]["files"][0].get("backup"), None, "{again}");
    }
    env.run(["skill", "--install"]);
    let place = at(".agents/skills/stead/SKILL.md");
    let mine = format!("{}my own advice\n", fs::read_to_string(&place).unwrap());
    fs::write(&place, &mine).unwrap();
    let said = env.run(["skill", "--install", "--text"]).stdout;
    let kept = said.split("(as it was: ").nth(1).and_then(|rest| rest.split(')').next());
    assert_eq!(fs::read_to_string(kept.unwrap()).unwrap(), mine, "{said}");
    let copies = fs::read_dir(env.state_dir().join("clients")).unwrap().flatten();
    let copies = copies.map(|dir| fs::read_dir(dir.path()).unwrap().count());
    assert_eq!(copies.sum::<usize>(), 3);
}
