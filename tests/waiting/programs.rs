//! Programs of all kinds that listen to the session's input.

use crate::judge::In::{Bash, Python};
use crate::judge::Right::{Alone, Listens, No, Waits};
use crate::judge::{Situation, case, judge, peers, place};

const SITUATIONS: &[Situation] = &[
    case("script around a sleep", Bash, "echo up; script -qc 'sleep 1; echo x' /dev/null", No),
    case("script around cat", Bash, "script -qc cat /dev/null", Waits),
    case("script around a shell", Bash, "script -qc 'bash --norc -i' /dev/null", Waits),
    case("script around python input", Bash, "script -qc \"PEERS -c 'input()'\" /dev/null", Waits),
    case(
        "script from python",
        Python,
        "import subprocess
print('up', flush=True); subprocess.run(['script', '-qc', 'sleep 1; echo x', '/dev/null'])",
        No,
    ),
    case("expect around cat", Bash, "expect -c 'spawn -noecho cat; interact'", Waits),
    case(
        "expect around a sleep",
        Bash,
        "echo up; expect -c 'spawn -noecho sleep 1.2; interact'",
        No,
    ),
    case(
        "expect_user with a limit",
        Bash,
        "expect -c 'set timeout 600; expect_user \"*\\n\"'",
        Listens,
    ),
    case("socat around cat", Bash, "socat STDIO EXEC:cat", Waits),
    case("socat around a sleep", Bash, "echo up; socat STDIO 'EXEC:sleep 1.2'", No),
    case("python3 -i", Bash, "python3 -i", Waits),
    case("python -m asyncio", Bash, "python3 -m asyncio", Waits),
    case("pdb", Bash, "echo 'x = 1' > p.py; python3 -m pdb p.py", Waits),
    case("IPython", Bash, "PEERS -m IPython --no-banner --simple-prompt", Waits),
    case(
        "prompt_toolkit",
        Bash,
        "PEERS -c 'from prompt_toolkit import prompt; prompt(\"> \")'",
        Alone,
    ),
    case("sqlite3", Bash, "sqlite3", Waits),
    case("bc", Bash, "bc -q", Waits),
    case("perl reads", Bash, "perl -e '$x = <STDIN>'", Waits),
    case(
        "perl selects",
        Bash,
        "perl -e 'vec($r, 0, 1) = 1; select($r, undef, undef, undef)'",
        Waits,
    ),
    case(
        "perl selects with a limit",
        Bash,
        "echo up; perl -e 'vec($r, 0, 1) = 1; select($r, undef, undef, 1.5)'",
        No,
    ),
    case("perl sleeps", Bash, "echo up; perl -e 'sleep 1'", No),
    case("ssh-keygen", Bash, "ssh-keygen -q -t ed25519", Waits),
    case("a readline program", Bash, "bash --norc -c 'read -e -p \"> \" x'", Waits),
    case(
        "a poll that goes on after a stop",
        Bash,
        "perl -MIO::Poll -e '
$p = IO::Poll->new; $p->mask(STDIN, 1); $p->poll(-1)' & p=$!; exec 3<&0
perl -MIO::Poll -e '$p = IO::Poll->new; $p->mask(STDIN, 1); $p->poll(-1)' <&3 & q=$!
sleep .5; kill -STOP $q; kill -CONT $q; kill $p; wait $q",
        Waits,
    ),
    case(
        "sudo-like wait for a child",
        Python,
        "import os
pid = os.fork()
if pid == 0:
    import sys; os.read(0, 9); os._exit(0)
os.waitpid(pid, 0)",
        Waits,
    ),
];

#[test]
fn e8_programs_get_the_right_answer() {
    let peers = peers();
    judge(&place(), SITUATIONS, |code| code.replace("PEERS", &peers.display().to_string()));
}
