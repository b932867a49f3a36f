//! E-20: code that ends too early runs nothing and says so, in JSON and as text.

use stead_testkit::TestEnv;

use crate::STEAD;

#[test]
fn e20_incomplete_code_is_an_error_that_says_so_and_runs_nothing() {
    let env = TestEnv::new(STEAD);
    for (session, set, open, get) in [
        ("py", "x = 1", "print('a',", "print('x' in globals())"),
        ("sh", "x=1", "for i in 1 2; do", "echo ${x-False}"),
        ("js", "x = 1", "if (x) {", "console.log(globalThis.x ?? 'False')"),
    ] {
        let reply = env.json(["eval", "-n", session, &format!("{set}\n{open}")]);
        assert_eq!((&reply["ok"], &reply["status"]), (&false.into(), &"error".into()), "{reply:#}");
        assert_eq!(reply["data"]["error"]["incomplete"], true, "{reply:#}");
        assert_eq!(reply["data"]["error"]["name"], "SyntaxError", "{reply:#}");
        assert!(reply["data"].get("changed").is_none(), "{reply:#}");
        let id = reply["data"]["eval_id"].as_str().expect("an id");
        assert_eq!(
            env.json(["output", id])["data"]["error"]["incomplete"],
            true,
            "as it is read back"
        );
        let told = env.json(["eval", "-n", session, get]);
        assert_eq!(told["data"]["chunks"][0]["content"], "False\n", "{told:#}");
        let wrong = env.json(["eval", "-n", session, "("]);
        assert_eq!(wrong["data"]["error"]["incomplete"], true, "{wrong:#}");
        let wrong = env.json(["eval", "-n", session, ")"]);
        assert!(wrong["data"]["error"].get("incomplete").is_none(), "{wrong:#}");
    }
}

#[test]
fn e20_the_text_says_that_nothing_has_run() {
    let env = TestEnv::new(STEAD);
    let said = env.run(["eval", "-n", "py", "--text", "print(1,"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let text = said.stderr + &said.stdout;
    assert!(text.contains("SyntaxError"), "{text}");
    assert!(text.contains("the code is incomplete; none of it has run"), "{text}");
}
