//! E-11, H-2: a limit on the size of files (`ulimit -f`) is met as a full disk is.

use stead_testkit::TestEnv;

use crate::STEAD;

/// Fills the history of a session that may have files of 32 KiB with evals of so many bytes, until one is refused. Returns
/// how many have run.
fn fill(env: &TestEnv, bytes: usize) -> u64 {
    let launched = env.after("ulimit -f 64", &["launch", "python", "-n", "py"]).output().unwrap();
    assert!(launched.status.success(), "{launched:?}");
    for ran in 0.. {
        let code = format!("open('ran', 'a').write('x\\n') and None#{}", "x".repeat(bytes));
        let said = env.eval(&code);
        if said["ok"] == true {
            assert_eq!(said["status"], "complete", "{bytes}: {said:#}");
            continue;
        }
        let error = &said["error"];
        assert_eq!(error["code"], "limit_exceeded", "{bytes}: {said:#}");
        assert!(error["message"].as_str().unwrap().contains("was not run"), "{bytes}: {said:#}");
        return ran;
    }
    unreachable!("a history of 32 KiB takes no more than that")
}

#[test]
fn e11_h2_code_whose_outcome_would_go_beyond_the_file_size_limit_is_not_run() {
    for bytes in [0, 137, 300, 900] {
        let env = TestEnv::new(STEAD);
        let ran = fill(&env, bytes);
        assert_eq!(crate::processes::runs(&env) as u64, ran, "{bytes}");
        let stopped = env.json(["stop", "-n", "py"]);
        assert_eq!(stopped["ok"], true, "{bytes}: {stopped:#}");
        let listed = env.json(["evals", "-n", "py", "--limit", "1000"]);
        let evals = listed["data"]["evals"].as_array().unwrap();
        assert_eq!(evals.len() as u64, ran, "{bytes}");
        assert!(evals.iter().all(|eval| eval["status"] == "complete"), "{bytes}: {listed:#}");
        // The end is recorded as well, so nothing is said to be lost.
        assert_eq!(env.value("6 * 7"), "42", "{bytes}");
    }
}

#[test]
fn e11_h2_code_that_waits_behind_the_last_that_fits_has_an_outcome_too() {
    let env = TestEnv::new(STEAD);
    let launched = env.after("ulimit -f 64", &["launch", "python", "-n", "py"]).output().unwrap();
    assert!(launched.status.success(), "{launched:?}");
    // It is so long that the file is full before the queue is.
    let code = format!("import time\nwhile True: time.sleep(1) #{}", "x".repeat(16_000));
    env.json(["eval", "-n", "py", "--bg", &code]);
    let mut queued = 0;
    let refused = loop {
        let said = env.json(["eval", "-n", "py", "--bg", "1"]);
        if said["ok"] != true {
            break said;
        }
        queued += 1;
    };
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    let listed = env.json(["evals", "-n", "py", "--limit", "1000"]);
    let evals = listed["data"]["evals"].as_array().unwrap();
    assert_eq!(evals.len(), queued + 1);
    assert_eq!(evals[0]["status"], "ended", "{listed:#}");
    assert!(evals[1..].iter().all(|eval| eval["outcome"] == "not_run"), "{listed:#}");
    assert_eq!(env.value("6 * 7"), "42");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("could not be recorded") && queued > 1, "{queued}: {refused:#}");
}
