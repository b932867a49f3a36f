//! Which value wins, and where it came from.

use std::collections::BTreeMap;
use std::path::Path;

use stead_protocol::{EnvironmentSource, KernelChoice, SessionName};

use crate::{
    AskedStart, CommandTemplate, ConfigFile, ConfigKey, ConfigValue, Configuration, FileOwner,
    PlanError, SessionPlan, TemplateError, read_config,
};

const USER: &str = r#"
idle_timeout = "1h"
[sessions.ml]
env = { A = "user", U = "user" }
init = "user()"
[toolchains.slow]
engine = "python"
cmd = "nice python3"
idle_timeout = "2h"
env = { T = "toolchain" }
[toolchains.slower]
engine = "slow"
idle_timeout = "3h"
"#;

const WORKSPACE: &str = r#"
figures = false
[sessions.ml]
toolchain = "slower"
env = { A = "workspace" }
[sessions.plain]
[sessions.js]
cwd = "web"
[sessions.poe]
toolchain = "python.poetry"
interpreter = "/opt/python"
[toolchains.perl]
engine = "perl"
bridge = "tools/bridge.pl"
cmd = "perl -w {bridge}"
"#;

fn configuration() -> Configuration {
    let read = |text, path: &str, owner| Some(read_config(text, Path::new(path), owner).unwrap());
    Configuration {
        user: read(USER, "/u", FileOwner::User),
        workspace: read(WORKSPACE, "/w", FileOwner::Workspace),
    }
}

fn user(text: &str) -> ConfigFile {
    read_config(text, Path::new("/u"), FileOwner::User).unwrap()
}

fn session(name: &str) -> SessionName {
    name.parse().unwrap()
}

fn asked(toolchain: Option<&str>) -> AskedStart {
    AskedStart { toolchain: toolchain.map(str::to_owned), ..AskedStart::default() }
}

#[track_caller]
fn plan(name: &str, asked: &AskedStart) -> SessionPlan {
    configuration().plan(&name.parse().unwrap(), asked).unwrap()
}

fn told(plan: &SessionPlan, key: ConfigKey) -> String {
    let value = &plan.values[&key];
    format!("{} {}", value.value.shown(), value.origin)
}

#[test]
fn cf1_the_order_is_all_toolchain_session_command_line() {
    let ml = plan("ml", &asked(None));
    assert_eq!((ml.engine.name(), ml.configured, ml.uses_workspace), ("python", true, true));
    assert_eq!(told(&ml, ConfigKey::IdleTimeout), "\"3h\" /u:13");
    assert_eq!(told(&ml, ConfigKey::Figures), "false /w:2");
    assert_eq!(told(&ml, ConfigKey::Cmd), "[\"nice\", \"python3\"] /u:8");
    assert_eq!(told(&ml, ConfigKey::Init), "\"user()\" /u:5");
    let own = |text: &str| text.to_owned();
    let variables: BTreeMap<_, _> = ml.variables().into_iter().collect();
    let expected = [("A", "workspace"), ("T", "toolchain"), ("U", "user")];
    assert_eq!(variables, expected.map(|(a, b)| (own(a), own(b))).into());
    assert!(ml.because().unwrap().contains("`cmd` of /u:8, toolchain `slower` (/w:4)"));

    let mut line = asked(None);
    line.values.insert(ConfigKey::IdleTimeout, ConfigValue::Millis(5));
    let ml = plan("ml", &line);
    assert_eq!(told(&ml, ConfigKey::IdleTimeout), "\"5ms\" command line");
}

#[test]
fn s5_a_name_is_a_session_of_the_files_a_toolchain_or_a_language() {
    let environment = |plan: &SessionPlan| plan.environment.clone();
    assert_eq!(plan("py", &asked(None)).engine.name(), "python");
    assert_eq!(plan("plain", &asked(None)).engine.name(), "python");
    assert_eq!(plan("node", &asked(None)).text(ConfigKey::Cwd), Some("web"));
    let uv = plan("python.uv", &asked(None));
    assert_eq!((environment(&uv), uv.configured), (Some(EnvironmentSource::Uv), false));
    assert_eq!(plan("slow", &asked(None)).number(ConfigKey::IdleTimeout), Some(7_200_000));
    assert_eq!(plan("x", &asked(Some("bash"))).engine.name(), "bash");
    let otherwise = AskedStart { otherwise: Some("python".to_owned()), ..AskedStart::default() };
    assert_eq!(plan("x", &otherwise).engine.name(), "python");
    assert_eq!(plan("js", &otherwise).engine.name(), "node");
    let refused = |name: &str, asked| configuration().plan(&name.parse().unwrap(), &asked);
    assert!(matches!(refused("x", asked(None)), Err(PlanError::NothingTold)));
    assert!(matches!(refused("x", asked(Some("cobol"))), Err(PlanError::NoToolchain { .. })));
    assert!(matches!(refused("ml", asked(Some("bash"))), Err(PlanError::OtherEngine { .. })));
}

#[test]
fn cf3_the_last_layer_that_names_a_program_decides() {
    let poe = plan("poe", &asked(None));
    assert_eq!(
        (poe.environment.clone(), poe.text(ConfigKey::Interpreter)),
        (None, Some("/opt/python"))
    );
    // A language that fits leaves it at that.
    let poe = plan("poe", &asked(Some("py")));
    assert_eq!(poe.text(ConfigKey::Interpreter), Some("/opt/python"));
    assert_eq!(plan("ml", &asked(Some("python"))).toolchain.unwrap().value, "slower");
    // A toolchain of the command line is not started with the program of another.
    let poe = plan("poe", &asked(Some("python.uv")));
    assert_eq!(
        (poe.environment.clone(), poe.text(ConfigKey::Interpreter)),
        (Some(EnvironmentSource::Uv), None)
    );
    let mut line = asked(Some("slow"));
    line.values.insert(ConfigKey::Interpreter, ConfigValue::Text("/bin/py".to_owned()));
    let slow = plan("x", &line);
    assert_eq!((slow.command(), slow.text(ConfigKey::Interpreter)), (None, Some("/bin/py")));
}

#[test]
fn cf3_a_bridge_of_ones_own_may_have_a_command_and_a_language_of_any_name() {
    let perl = plan("perl", &asked(None));
    assert_eq!(
        (perl.engine.name(), perl.text(ConfigKey::Bridge)),
        ("perl", Some("tools/bridge.pl"))
    );
    assert_eq!(perl.command().unwrap().words(), ["perl", "-w", "{bridge}"]);
    let mut line = asked(Some("cobol"));
    line.values.insert(ConfigKey::Bridge, ConfigValue::Text("/b".to_owned()));
    assert_eq!(plan("x", &line).engine.name(), "cobol");
}

#[test]
fn cf3_a_port_on_the_command_line_is_refused_where_none_is_used() {
    let mut line = asked(Some("python"));
    let command = CommandTemplate::split("py {port}").unwrap();
    line.values.insert(ConfigKey::Cmd, ConfigValue::Command(command));
    let error = configuration().plan(&"x".parse().unwrap(), &line).unwrap_err();
    assert!(matches!(error, PlanError::Template(_)), "{error:?}");
}

#[test]
fn cf3_a_toolchain_of_a_built_in_name_replaces_it() {
    let text = "[toolchains.python]\ninterpreter = \"/opt/py\"\n[toolchains.\"python.venv\"]\nengine = \"python.venv\"\ninit = \"x = 1\"\n";
    let file = read_config(text, Path::new("/u"), FileOwner::User).unwrap();
    let configuration = Configuration { user: Some(file), workspace: None };
    assert_eq!(configuration.problems(), []);
    let plan = |name: &str| configuration.plan(&name.parse().unwrap(), &asked(None)).unwrap();
    assert_eq!(plan("python").text(ConfigKey::Interpreter), Some("/opt/py"));
    assert_eq!(plan("py").text(ConfigKey::Interpreter), Some("/opt/py"));
    let venv = plan("python.venv");
    assert_eq!(
        (venv.environment.clone(), venv.text(ConfigKey::Init)),
        (Some(EnvironmentSource::Venv), Some("x = 1"))
    );
}

#[test]
fn k1_a_kernel_makes_a_session_one_of_jupyter_and_fits_no_other() {
    let kernel = || Some(KernelChoice::Name { name: "ir".to_owned() });
    let with = |toolchain| AskedStart { kernel: kernel(), ..asked(toolchain) };
    for toolchain in [None, Some("jupyter")] {
        let plan = plan("r", &with(toolchain));
        assert_eq!((plan.engine.name(), plan.kernel, plan.toolchain), ("jupyter", kernel(), None));
    }
    let refused = |name: &str, asked: &AskedStart| {
        configuration().plan(&name.parse().unwrap(), asked).unwrap_err()
    };
    let python = refused("r", &with(Some("slow")));
    assert!(matches!(&python, PlanError::NoKernels { language } if language == "python"));
    let configured = refused("ml", &with(None));
    assert!(matches!(&configured, PlanError::OtherEngine { has, .. } if has == "python"));
    // What starts a kernel stands in its description, so another command would be of no use.
    let command = ConfigValue::Command(CommandTemplate::split("nice ir").unwrap());
    let values = BTreeMap::from([(ConfigKey::Cmd, command)]);
    let commanded = refused("r", &AskedStart { values, ..asked(Some("jupyter")) });
    assert!(matches!(commanded, PlanError::Template(TemplateError::Kernel)));
}

#[test]
fn cf3_a_toolchain_may_begin_with_one_that_has_a_bridge() {
    let users = "[toolchains.perl]\nengine = \"perl\"\nbridge = \"b.pl\"\n[toolchains.slow]\nengine = \"perl\"\ncmd = \"nice perl {bridge}\"\n[toolchains.more]\nengine = \"slow\"\ninit = \"1\"\n[sessions.odd]\ntoolchain = \"perl\"\ninterpreter = \"/usr/bin/perl\"\n";
    let all = Configuration { user: Some(user(users)), workspace: None };
    for name in ["slow", "more"] {
        let plan = all.plan(&session(name), &AskedStart::default()).unwrap();
        assert_eq!(plan.engine.name(), "perl");
        assert_eq!(plan.text(ConfigKey::Bridge), Some("b.pl"), "{name}");
        assert_eq!(plan.command().unwrap().words()[0], "nice", "{name}");
    }
    let problems = all.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let problem = problems[0].to_string();
    assert!(problem.contains(":12: `sessions.odd.interpreter`"), "{problem}");
}

#[test]
fn k1_a_file_names_a_kernel_for_a_session_or_a_toolchain() {
    let users = "[sessions.stats]\nkernel = \"ir\"\n[toolchains.julia]\nengine = \"jupyter\"\nkernel = \"julia-1.11\"\n[sessions.other]\ntoolchain = \"julia\"\nkernel = \"julia-1.10\"\n";
    let all = Configuration { user: Some(user(users)), workspace: None };
    assert!(all.problems().is_empty(), "{:?}", all.problems());
    let kernel = |name: &str, asked: &AskedStart| {
        let plan = all.plan(&session(name), asked).unwrap();
        assert_eq!(plan.engine.name(), "jupyter");
        plan.kernel
    };
    let named = |name: &str| Some(KernelChoice::Name { name: name.to_owned() });
    let plain = AskedStart::default();
    assert_eq!(kernel("stats", &plain), named("ir"));
    assert_eq!(kernel("julia", &plain), named("julia-1.11"));
    assert_eq!(kernel("other", &plain), named("julia-1.10"));
    let asked = AskedStart { kernel: named("xr"), ..AskedStart::default() };
    assert_eq!(kernel("stats", &asked), named("xr"));
}

#[test]
fn k1_a_kernel_or_a_command_that_fits_no_engine_is_a_problem() {
    for (text, key, said) in [
        (
            "[sessions.a]\ntoolchain = \"python\"\nkernel = \"ir\"\n",
            "sessions.a.kernel",
            "no Jupyter",
        ),
        (
            "[toolchains.a]\nengine = \"bash\"\nkernel = \"ir\"\n",
            "toolchains.a.kernel",
            "no Jupyter",
        ),
        ("[toolchains.a]\nengine = \"jupyter\"\ncmd = \"x\"\n", "toolchains.a.cmd", "kernel.json"),
        (
            "[toolchains.b]\nengine = \"python\"\ncmd = \"x {port}\"\n[toolchains.a]\nengine = \"b\"\n",
            "toolchains.b.cmd",
            "no port",
        ),
    ] {
        let problems = Configuration { user: Some(user(text)), workspace: None }.problems();
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert_eq!(problems[0].key.as_deref(), Some(key));
        assert!(problems[0].problem.contains(said) && problems[0].line.is_some(), "{problems:?}");
    }
}

#[test]
fn cf1_a_session_that_could_not_start_is_a_problem_with_its_line_and_key() {
    let gateway = "[gateways.hub]\nurl = \"https://hub.example/\"\n";
    // What a file has besides a gateway, the line and the key that are to blame, a piece of the fix.
    for (text, line, key, fix) in [
        (
            "[sessions.s]\ntoolchain = \"python\"\nserver = \"7888\"\n",
            3,
            "sessions.s.server",
            "nrepl",
        ),
        ("[sessions.py]\nserver = \"7888\"\n", 2, "sessions.py.server", "nrepl"),
        ("[sessions.s]\nkernel = \"ir\"\nserver = \"7888\"\n", 3, "sessions.s.server", "nrepl"),
        (
            "[toolchains.s]\nengine = \"python\"\nserver = \"7888\"\n",
            3,
            "toolchains.s.server",
            "nrepl",
        ),
        ("[sessions.s]\ngateway = \"nope\"\n", 2, "sessions.s.gateway", "there are: hub"),
        ("[sessions.s]\ngateway = \"hud\"\n", 2, "sessions.s.gateway", "did you mean `hub`?"),
        (
            "[sessions.s]\ntoolchain = \"python\"\ngateway = \"hub\"\n",
            3,
            "sessions.s.gateway",
            "not both",
        ),
        ("[sessions.s]\ntoolchain = \"gateway\"\n", 2, "sessions.s.toolchain", "gateway = "),
        ("[sessions.s]\ntoolchain = \"nrepl\"\n", 2, "sessions.s.toolchain", "clojure.bb"),
        ("[sessions.nrepl]\ncwd = \"x\"\n", 1, "sessions.nrepl.toolchain", "server = "),
        (
            "[sessions.s]\ntoolchain = \"jupyter\"\ninterpreter = \"py\"\n",
            3,
            "sessions.s.interpreter",
            "`kernel`",
        ),
        (
            "[toolchains.\"s.t\"]\nengine = \"nrepl\"\ninterpreter = \"py\"\n",
            3,
            "toolchains.\"s.t\".interpreter",
            "`cmd`",
        ),
        (
            "[sessions.s]\ntoolchain = \"python.venv.jupyter\"\nkernel = \"ir\"\n",
            3,
            "sessions.s.kernel",
            "jupyter",
        ),
    ] {
        let text = format!("{text}{gateway}");
        let problems = Configuration { user: Some(user(&text)), workspace: None }.problems();
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        let one = &problems[0];
        assert_eq!((one.line, one.key.as_deref()), (Some(line), Some(key)), "{text}");
        assert!(one.fix.as_deref().unwrap().contains(fix), "{one:?}");
    }
    for right in [
        "[sessions.s]\ngateway = \"hub\"\n",
        "[sessions.s]\ngateway = \"https://hub.example\"\n",
        "[sessions.s]\ntoolchain = \"nrepl\"\nserver = \"7888\"\n",
        "[sessions.s]\ntoolchain = \"clojure.bb\"\n",
        "[toolchains.s]\nengine = \"nrepl\"\n",
    ] {
        let text = format!("{right}{gateway}");
        let problems = Configuration { user: Some(user(&text)), workspace: None }.problems();
        assert_eq!(problems, [], "{right}");
    }
}

#[test]
fn k3_a_server_is_named_in_one_way_and_only_where_there_are_servers() {
    let with = |toolchain, key, value: ConfigValue| AskedStart {
        values: BTreeMap::from([(key, value)]),
        ..asked(Some(toolchain))
    };
    let address = || ConfigValue::Text("localhost:7888".to_owned());
    let plan_of = |asked: &AskedStart| configuration().plan(&"dev".parse().unwrap(), asked);
    let reached = plan_of(&with("nrepl", ConfigKey::Server, address())).unwrap();
    assert_eq!(reached.text(ConfigKey::Server), Some("localhost:7888"));
    // An address takes the place of what the toolchain would start.
    let reached = plan_of(&with("clojure.bb", ConfigKey::Server, address())).unwrap();
    assert_eq!((reached.engine.name(), reached.environment), ("nrepl", None));
    let started = plan_of(&asked(Some("clojure.bb"))).unwrap();
    assert_eq!(started.environment, Some(EnvironmentSource::Babashka));
    let command = ConfigValue::Command(CommandTemplate::split("bb --nrepl-server {port}").unwrap());
    assert!(plan_of(&with("nrepl", ConfigKey::Cmd, command)).unwrap().command().is_some());
    assert!(matches!(plan_of(&asked(Some("nrepl"))), Err(PlanError::NoServer)));
    let python = plan_of(&with("python", ConfigKey::Server, address()));
    assert!(matches!(python, Err(PlanError::NoServers { language }) if language == "python"));
}
