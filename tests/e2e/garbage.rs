//! H-2: garbage on every socket and pipe, clients that do not read, full disks, few descriptors.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use stead_testkit::{Hook, TestEnv, wait_for};

use crate::STEAD;

const HELLO: &[u8] =
    b"{\"id\":1,\"request\":{\"op\":\"hello\",\"protocol\":1,\"client\":\"test\"}}\n";
/// How much a host may grow under any abuse.
const GROWTH: u64 = 32 << 20;

fn socket(env: &TestEnv) -> PathBuf {
    let mut found = fs::read_dir(env.runtime_dir()).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.extension().is_some_and(|e| e == "sock")).expect("a socket")
}

fn connect(env: &TestEnv) -> UnixStream {
    let stream = UnixStream::connect(socket(env)).expect("the host listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// One line of the host's, as JSON; `None` if it hung up.
fn line(stream: &mut UnixStream) -> Option<Value> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match stream.read(&mut byte) {
            Ok(0) => return None,
            Ok(_) if byte[0] == b'\n' => return Some(serde_json::from_slice(&line).unwrap()),
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&line)),
        }
    }
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// A session that must be as good after the abuse as it was before.
struct Victim {
    env: TestEnv,
    host: u32,
    before: u64,
}

impl Victim {
    fn new() -> Victim {
        let env = TestEnv::new(STEAD);
        env.value("x = 41");
        let host = env.host_pid();
        let before = resident(host);
        Victim { env, host, before }
    }

    #[track_caller]
    fn is_well(&self) {
        assert_eq!(self.env.value("x + 1"), "42");
        assert_eq!(self.env.host_pid(), self.host, "the same host");
        let now = resident(self.host);
        assert!(now < self.before + GROWTH, "{} → {now}", self.before);
    }
}

#[test]
fn h2_what_is_not_the_protocol_is_answered_or_hung_up_on() {
    let victim = Victim::new();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = vec![0; 60_000];
    for byte in &mut noise {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        *byte = random as u8;
    }
    let mut stream = connect(&victim.env);
    let _ = stream.write_all(&noise);
    drop(stream);
    victim.is_well();

    // More than a client that has not said hello has a reason to send.
    let mut stream = connect(&victim.env);
    let _ = stream.write_all(&vec![b'x'; 200 << 10]);
    assert_eq!(line(&mut stream), None);
    victim.is_well();

    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let deep_request = format!("{{\"id\":2,\"request\":{{\"op\":\"submit\",\"code\":{deep}");
    let refused: [(&str, &str); 9] = [
        ("nonsense\n", "bad_request"),
        ("\n", "bad_request"),
        ("{}\n", "bad_request"),
        ("{\"request\":{\"op\":\"status\"}}\n", "bad_request"),
        ("{\"id\":\"x\",\"request\":{\"op\":\"status\"}}\n", "bad_request"),
        ("{\"id\":2,\"request\":{\"op\":\"submit\",\"code\":7}}\n", "bad_request"),
        ("{\"id\":2,\"request\":{\"op\":\"teleport\"}}\n", "unsupported"),
        (&deep, "bad_request"),
        (&deep_request, "bad_request"),
    ];
    for (request, code) in refused {
        let mut stream = connect(&victim.env);
        stream.write_all(HELLO).unwrap();
        assert_eq!(line(&mut stream).unwrap()["reply"]["reply"]["kind"], "hello");
        stream.write_all(request.as_bytes()).unwrap();
        let answer = line(&mut stream).unwrap();
        let short = &request[..request.len().min(60)];
        assert_eq!(answer["error"]["error"]["code"], code, "{short}: {answer:#}");
        // The connection is as good as before.
        stream.write_all(b"{\"id\":9,\"request\":{\"op\":\"status\"}}\n").unwrap();
        let answer = line(&mut stream).unwrap();
        assert_eq!(answer["reply"]["id"], 9, "{short}: {answer:#}");
    }
    victim.is_well();
}

#[test]
fn h2_before_hello_nothing_is_done_and_other_versions_are_refused_by_name() {
    let victim = Victim::new();
    let mut stream = connect(&victim.env);
    stream.write_all(b"{\"id\":1,\"request\":{\"op\":\"stop\"}}\n").unwrap();
    assert_eq!(line(&mut stream).unwrap()["error"]["error"]["code"], "bad_request");
    victim.is_well();
    let mut stream = connect(&victim.env);
    stream
        .write_all(
            b"{\"id\":1,\"request\":{\"op\":\"hello\",\"protocol\":99,\"client\":\"new\"}}\n",
        )
        .unwrap();
    let answer = line(&mut stream).unwrap();
    let message = answer["error"]["error"]["message"].as_str().unwrap();
    assert!(message.contains("99"), "{answer:#}");
    stream.write_all(b"{\"id\":2,\"request\":{\"op\":\"stop\"}}\n").unwrap();
    assert_eq!(line(&mut stream).unwrap()["error"]["error"]["code"], "bad_request");
    victim.is_well();
}

#[test]
fn h2_half_frames_and_single_bytes_hold_up_nobody() {
    let victim = Victim::new();
    let mut silent: Vec<UnixStream> = (0..8).map(|_| connect(&victim.env)).collect();
    for stream in &mut silent {
        stream.write_all(&HELLO[..HELLO.len() / 2]).unwrap();
    }
    victim.is_well();
    let mut slow = connect(&victim.env);
    for byte in HELLO {
        slow.write_all(&[*byte]).unwrap();
    }
    assert_eq!(line(&mut slow).unwrap()["reply"]["id"], 1);
    for byte in b"{\"id\":2,\"request\":{\"op\":\"status\"}}\n" {
        slow.write_all(&[*byte]).unwrap();
    }
    assert_eq!(line(&mut slow).unwrap()["reply"]["id"], 2);
    drop(silent);
    victim.is_well();
    wait_for("the host to let go", || victim.env.status()["clients"].as_u64() <= Some(2));
}

#[test]
fn h2_a_client_that_says_nothing_is_dropped() {
    let env = TestEnv::new(STEAD);
    let mut command = env.command(["eval", "-n", "py", "1"]);
    Hook::HelloLimitMs.set(&mut command, "50");
    assert!(command.output().unwrap().status.success());
    let mut stream = connect(&env);
    stream.write_all(b"{\"id\":1,").unwrap();
    assert_eq!(line(&mut stream), None, "hung up on");
    assert_eq!(env.value("1 + 1"), "2");
}

#[test]
fn h2_64_clients_at_once_are_all_answered() {
    let victim = Victim::new();
    victim.env.value("n = 0");
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let mut stream = connect(&victim.env);
                stream.write_all(HELLO).unwrap();
                assert_eq!(line(&mut stream).unwrap()["reply"]["id"], 1);
                stream
                    .write_all(b"{\"id\":2,\"request\":{\"op\":\"submit\",\"code\":\"n += 1\",\"watch\":\"state\"}}\n")
                    .unwrap();
                assert!(line(&mut stream).unwrap()["reply"]["reply"]["eval"].is_u64());
                loop {
                    let event = line(&mut stream).unwrap();
                    if event["event"]["kind"] == "finished" {
                        assert_eq!(event["event"]["finished"]["outcome"]["kind"], "complete");
                        return;
                    }
                }
            });
        }
    });
    assert_eq!(victim.env.value("n"), "64");
    victim.is_well();
}

#[test]
fn h2_a_client_that_never_reads_costs_nothing() {
    let victim = Victim::new();
    let mut deaf = connect(&victim.env);
    deaf.write_all(HELLO).unwrap();
    let code =
        "import sys\\nfor _ in range(1600): sys.stdout.write('x' * 65535 + '\\\\n')\\nprint('end')";
    let submit = format!(
        "{{\"id\":2,\"request\":{{\"op\":\"submit\",\"code\":\"{code}\",\"watch\":\"output\"}}}}\n"
    );
    deaf.write_all(submit.as_bytes()).unwrap();
    wait_for("the eval", || victim.env.run(["output", "py:2"]).code == Some(0));
    let reply = victim.env.json(["output", "py:2", "--wait", "60s"]);
    assert_eq!(reply["status"], "complete", "{}", reply["error"]);
    assert_eq!(reply["data"]["truncated"]["total_bytes"], 1600 * 65536 + 4);
    victim.is_well();
    // And one that asks for ever and reads no answer is dropped in the end.
    let mut flood = connect(&victim.env);
    flood.write_all(HELLO).unwrap();
    let asks = b"{\"id\":3,\"request\":{\"op\":\"status\"}}\n".repeat(1000);
    let hung_up = (0..200).any(|_| flood.write_all(&asks).is_err());
    assert!(hung_up, "200,000 answers were kept for a client that does not read");
    victim.is_well();
}

#[test]
fn h2_garbage_on_the_bridges_own_channel_ends_the_eval_with_the_reason() {
    let env = TestEnv::new(STEAD);
    let find = "import fcntl, os\nhere = {os.fstat(fd).st_ino for fd in (0, 1, 2)}\n\
                def is_it(fd):\n  try: return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY and os.fstat(fd).st_ino not in here\n\
                \x20 except OSError: return False\n\
                fd, = [fd for fd in map(int, os.listdir('/proc/self/fd')) if is_it(fd)]\n";
    for (garbage, then) in [
        ("b'garbage\\n'", "while True: pass"),
        ("b'{\"half\": '", "os._exit(3)"),
        ("b'\\xff' * 300000 + b'\\n'", "while True: pass"),
        ("b'{\"event\":\"done\",\"eval\":\"py:99\",\"status\":\"ok\"}\\n'", "while True: pass"),
    ] {
        let code = format!("{find}os.write(fd, {garbage})\n{then}");
        let ran = env.run(["eval", "-n", "py", "--", &code]);
        let reply = ran.json();
        assert_eq!(ran.code, Some(1), "{garbage}: {reply:#}");
        assert_eq!(reply["status"], "ended", "{garbage}: {reply:#}");
        assert_eq!(reply["error"]["code"], "session_ended", "{garbage}: {reply:#}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains("protocol") || message.contains("code 3"), "{garbage}: {message}");
        let fresh = env.eval("1 + 1");
        assert_eq!(fresh["data"]["value"], "2", "{garbage}: {fresh:#}");
        assert!(fresh["data"]["notice"].as_str().unwrap().contains("fresh"), "{fresh:#}");
    }
}

/// A small disk; unmounted in the end.
struct Disk(PathBuf);

impl Disk {
    fn new(path: PathBuf, size: &str) -> Disk {
        fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "tmpfs"])
            .arg(&path)
            .output()
            .unwrap();
        assert!(mounted.status.success(), "this test must be able to mount: {mounted:?}");
        Disk(path)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn h2_a_full_disk_loses_output_and_says_so_and_nothing_else() {
    let env = TestEnv::new(STEAD);
    let disk = Disk::new(env.state_dir(), "1m");
    env.value("x = 41");
    let ballast = disk.0.join("ballast");
    let reply = env
        .eval("import sys\nfor _ in range(160): sys.stdout.write('x' * 65535 + '\\n')\nx += 1\nx");
    assert_eq!(reply["status"], "complete", "{:#}", reply["data"]["notice"]);
    let lost = reply["data"]["lost_bytes"].as_u64().expect("lost bytes are said");
    assert!(lost > 9 << 20 && lost < 11 << 20, "{lost}");
    let notice = reply["data"]["notice"].as_str().unwrap();
    assert!(notice.ends_with("bytes of output were not kept: the disk is full"), "{notice}");
    assert_eq!(env.status()["state"], "idle");
    // No room for as much as the record of an eval: it is refused and not run.
    let mut full = fs::File::create(&ballast).unwrap();
    while full.write(&[0; 4096]).is_ok_and(|count| count > 0) {}
    drop(full);
    let refused = env.run(["eval", "-n", "py", &format!("x += 1 # {}", "y".repeat(20_000))]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(refused.json()["error"]["code"], "limit_exceeded", "{refused:?}");
    fs::remove_file(&ballast).unwrap();
    let session = env.session_dir("py");
    assert!(session.is_dir());
    assert!(
        Command::new("mount")
            .args(["-o", "remount,size=64m"])
            .arg(&disk.0)
            .status()
            .unwrap()
            .success()
    );
    let reply = env.eval("print('kept'); x");
    assert_eq!(reply["data"]["value"], "42", "{reply:#}");
    assert_eq!(reply["data"]["chunks"][0]["content"], "kept\n", "{reply:#}");
    assert!(reply["data"].get("lost_bytes").is_none(), "{reply:#}");
    env.stop_all();
}

#[test]
fn h2_a_disk_that_is_full_from_the_start_is_named() {
    let env = TestEnv::new(STEAD);
    let disk = Disk::new(env.state_dir(), "4k");
    let mut full = fs::File::create(disk.0.join("ballast")).unwrap();
    while full.write(&[0; 4096]).is_ok_and(|count| count > 0) {}
    let ran = env.run(["eval", "-n", "py", "1"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("No space left"), "{message}");
    wait_for("the end of what was started", || env.processes().is_empty());
}

#[test]
fn h2_few_descriptors_are_enough_or_named() {
    let env = TestEnv::new(STEAD);
    let limited = |limit: u32, arguments: &[&str]| {
        env.after(&format!("ulimit -n {limit}"), arguments).output().unwrap()
    };
    // Too few to start: said, and nothing is left.
    for limit in [8, 12] {
        let output = limited(limit, &["eval", "-n", "low", "-l", "python", "1 + 1"]);
        let reply: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{limit}: {error} in {output:?}"));
        assert!(reply["ok"] == true || reply["error"]["message"].is_string(), "{reply:#}");
    }
    env.run(["stop", "-n", "low"]);
    // Enough to run; then more clients come than there are descriptors.
    let output = limited(40, &["eval", "-n", "py", "x = 41"]);
    assert!(output.status.success(), "{output:?}");
    let many: Vec<UnixStream> = (0..60).map(|_| connect(&env)).collect();
    let cpu = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
        fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
    };
    let host = {
        let mut hosts = env.processes();
        hosts.retain(|pid| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"host\0"))
        });
        *hosts.iter().max().unwrap()
    };
    // It must not spin on connections that it cannot take: a tick is 10 ms.
    let before = cpu(host);
    stead_testkit::pause(Duration::from_millis(500));
    let used = cpu(host) - before;
    assert!(used < 20, "{used} ticks of CPU in half a second of nothing");
    drop(many);
    assert_eq!(env.value("x + 1"), "42");
}

#[test]
fn h2_an_eval_outlives_a_disk_that_takes_nothing_any_more() {
    let env = TestEnv::new(STEAD);
    let disk = Disk::new(env.state_dir(), "8m");
    env.value("x = 41");
    let remount = |how: &str| {
        let done = Command::new("mount").args(["-o", how]).arg(&disk.0).status().unwrap();
        assert!(done.success());
    };
    let gate = crate::gate::Gate::new(&env, "gate");
    let code = format!("print('before')\n{}\nprint('after')\nx += 1\nx", gate.code());
    env.json(["eval", "-n", "py", "--bg", &code]);
    wait_for("output", || env.run(["output", "py:2"]).stdout.contains("before"));
    // No blocks and no inodes are left. The kernel refuses a remount as read-only as long as the
    // host has files open for writing.
    let used = rustix::fs::statvfs(&disk.0).unwrap();
    let kept = (used.f_blocks - used.f_bfree) * used.f_frsize;
    remount(&format!("remount,size={kept},nr_inodes={}", used.f_files - used.f_ffree));
    gate.open();
    let reply = env.json(["output", "py:2", "--wait", "60s"]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    remount("remount,size=8m,nr_inodes=10000");
    let reply = env.eval("print('again'); x");
    assert_eq!(reply["data"]["value"], "42", "{reply:#}");
    assert_eq!(reply["data"]["chunks"][0]["content"], "again\n", "{reply:#}");
    env.stop_all();
}

#[test]
fn h2_a_deleted_session_directory_is_no_death() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let host = env.host_pid();
    fs::remove_dir_all(env.session_dir("py")).unwrap();
    let ran = env.run(["eval", "-n", "py", "x += 1; x"]);
    assert!(ran.code == Some(0) || ran.json()["error"]["message"].is_string(), "{ran:?}");
    assert_eq!(env.host_pid(), host);
    // Stopping works, and then everything is as if it had never been.
    env.run(["stop", "-n", "py"]);
    wait_for("the host's end", || !stead_testkit::is_alive(host));
    assert_eq!(env.value("1 + 1"), "2");
}

#[test]
fn h2_a_deleted_socket_is_stated_and_makes_no_second_host() {
    let env = TestEnv::new(STEAD);
    env.value("x = 41");
    let host = env.host_pid();
    // The host and its guard. The interpreter's copies for undo come and go.
    let ours = || {
        let exe = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
        let own = exe(&host);
        env.processes().iter().filter(|pid| exe(pid) == own).count()
    };
    let before = ours();
    fs::remove_file(socket(&env)).unwrap();
    let ran = env.run(["eval", "-n", "py", "x"]);
    if ran.code == Some(0) {
        assert_eq!(ran.json()["data"]["value"], "41", "{ran:?}");
    } else {
        assert_eq!(ran.json()["error"]["code"], "connection_failed", "{ran:?}");
        assert!(
            ran.json()["error"]["hint"].as_str().unwrap().contains(&host.to_string()),
            "{ran:?}"
        );
    }
    assert!(ours() <= before, "no second host");
    let pid = rustix::process::Pid::from_raw(host as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_for("the host's end", || env.processes().is_empty());
    let lost = env.run(["eval", "-n", "py", "x"]);
    assert_eq!(lost.json()["error"]["code"], "session_lost", "{lost:?}");
    assert_eq!(env.value("1 + 1"), "2");
}

#[test]
fn h2_messages_without_an_end_take_little_together() {
    let victim = Victim::new();
    let mut streams = Vec::new();
    let mut refused = 0;
    for _ in 0..5 {
        let mut stream = connect(&victim.env);
        stream.write_all(HELLO).unwrap();
        line(&mut stream).unwrap();
        let block = vec![b'x'; 1 << 20];
        if (0..60).any(|_| stream.write_all(&block).is_err()) {
            let answer = line(&mut stream).expect("it is told why");
            assert_eq!(answer["error"]["error"]["code"], "limit_exceeded", "{answer:#}");
            refused += 1;
        }
        streams.push(stream);
    }
    assert_eq!(refused, 4, "one may be on its way");
    let now = resident(victim.host);
    assert!(now < victim.before + (140 << 20), "{} → {now}", victim.before);
    drop(streams);
    victim.is_well();
    // What one eval of the longest kind took is given back.
    let code = format!("7\n#{}", "x".repeat((16 << 20) - 3));
    let ran = victim.env.run_with(["eval", "-n", "py", "-"], code.as_bytes());
    assert!(ran.stdout.contains("\"7\""), "{ran:?}");
    let now = resident(victim.host);
    assert!(now < victim.before + (8 << 20), "{} → {now}", victim.before);
}
