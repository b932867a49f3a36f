//! What Bash code and shell commands do with the session's input.

use crate::judge::In::{Bash, Shell};
use crate::judge::Right::{Alone, Listens, No, Waits};
use crate::judge::{Situation, case, judge, place};

const SITUATIONS: &[Situation] = &[
    case("read", Bash, "read -r x", Waits),
    case("read with a job", Bash, "sleep 600 & read -r x", Waits),
    case("read with a limit", Bash, "echo up; read -t 1.5 x; true", No),
    case("read with a long limit", Bash, "read -t 600 x", Alone),
    case("select", Bash, "select a in x y; do break; done", Waits),
    case("mapfile", Bash, "mapfile a", Waits),
    case("cat", Bash, "cat", Waits),
    case("cat beside a job", Bash, "sleep 600 & cat", Waits),
    case("cat in a pipeline", Bash, "cat | sort", Waits),
    case("cat in a substitution", Bash, "x=$(cat)", Waits),
    case(
        "a reader in a loop with work",
        Bash,
        "echo up; for i in 1 2 3; do sleep .4; echo $i; done",
        No,
    ),
    case("a pipeline that does not read", Bash, "echo up; sleep 1.2 | cat", No),
    case("timeout around cat", Bash, "timeout 600 cat", Waits),
    case("timeout around sleep", Bash, "echo up; timeout 600 sleep 1.2", No),
    case("an inner shell", Bash, "bash -i", Waits),
    case("an inner shell with a job", Bash, "bash --norc -ic 'sleep 600 & read x'", Waits),
    case(
        "a stopped reader",
        Bash,
        "cat & p=$!; exec 3<&0; sh -c 'kill -STOP $$; cat' <&3 & q=$!
sleep .5; echo up; sleep 1; kill -9 $q; kill $p; wait; true",
        No,
    ),
    case("read in a command", Shell, "printf 'sure? '; read x", Waits),
    case("cat in a command", Shell, "cat", Waits),
    case("a command that sleeps", Shell, "echo up; sleep 1.2", No),
    case("read with a limit in a command", Shell, "echo up; bash -c 'read -t 1.5 x'; true", No),
    case("a job that reads beside work", Shell, "exec 3<&0; cat <&3 & sleep 600", Listens),
];

#[test]
fn e8_shells_get_the_right_answer() {
    judge(&place(), SITUATIONS, str::to_owned);
}
