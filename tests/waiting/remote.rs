//! Programs that listen to the session's input and to one elsewhere: ssh against a server of our own.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use stead_testkit::{TestEnv, wait_for};

use crate::judge::In::{Bash, Python, Shell};
use crate::judge::Right::{Listens, No};
use crate::judge::{Situation, case, judge, place};

const SITUATIONS: &[Situation] = &[
    case(
        "ssh in a command",
        Shell,
        "echo up; SSH 'for i in 1 2 3; do echo $i; sleep 0.7; done'",
        No,
    ),
    case("ssh in Bash", Bash, "echo up; SSH 'for i in 1 2 3; do echo $i; sleep 0.7; done'", No),
    case(
        "ssh in Python",
        Python,
        "import subprocess
print('up', flush=True)
subprocess.run(\"SSH 'for i in 1 2 3; do echo $i; sleep 0.7; done'\", shell=True)",
        No,
    ),
    case(
        "ssh, its output taken",
        Python,
        "import subprocess
print('up', flush=True); subprocess.check_output(\"SSH 'echo 1; sleep 1; echo 2'\", shell=True)",
        No,
    ),
    // Nobody on this side can know whether the far one reads.
    case("ssh to a reader", Bash, "SSH 'read x'", Listens),
    case("ssh to a silent program", Bash, "SSH 'sleep 600'", Listens),
    case("ssh without input", Bash, "echo up; SSH -n 'sleep 1.2'", No),
    case("socat to a server", Bash, "socat STDIO TCP:127.0.0.1:PORT", Listens),
];

/// A server of the user who runs the tests, with keys of its own.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(env: &TestEnv) -> Server {
        let dir = env.root().join("ssh");
        fs::create_dir(&dir).unwrap();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(dir.join(key))
                .status();
            assert!(made.expect("`ssh-keygen` is there").success());
        }
        fs::copy(dir.join("user.pub"), dir.join("authorized")).unwrap();
        // A server of root wants an empty directory to lock itself into.
        if rustix::process::getuid().is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = dir.display();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n\
             MaxStartups 100\n"
        );
        fs::write(dir.join("sshd_config"), config).unwrap();
        let client = format!(
            "Host loop\nHostName 127.0.0.1\nPort {port}\nIdentityFile {at}/user\nIdentitiesOnly yes\n\
             UserKnownHostsFile /dev/null\nStrictHostKeyChecking no\nLogLevel ERROR\nBatchMode yes\n"
        );
        fs::write(dir.join("ssh_config"), client).unwrap();
        let sshd =
            ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|path| fs::exists(path).unwrap());
        let child = Command::new(sshd.expect("`sshd` is there: install `openssh-server`"))
            .args(["-D", "-e", "-f"])
            .arg(dir.join("sshd_config"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(dir.join("log")).unwrap())
            .spawn()
            .unwrap();
        let server = Server { child, port };
        wait_for("sshd", || {
            fs::read_to_string(dir.join("log")).unwrap().contains("Server listening")
        });
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn e8_ssh_and_its_like_get_the_right_answer() {
    let env = place();
    let server = Server::start(&env);
    let ssh = format!("ssh -F {}/ssh/ssh_config", env.root().display());
    let fill = |code: &str| {
        let code = code.replace("SSH -n ", &format!("{ssh} -n loop "));
        code.replace("SSH", &format!("{ssh} loop")).replace("PORT", &server.port.to_string())
    };
    judge(&env, SITUATIONS, fill);
}
