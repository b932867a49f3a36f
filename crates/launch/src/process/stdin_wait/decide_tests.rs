//! SPEC E-8: every rule on families that are made up.

use super::*;
use ThreadDoing::{Children, Locked, Signals, Still, Works};
use WaitSource::{Holders, Outside, Remote, Stdin};

const HOST: u32 = 1;
/// The interpreter; threads of process 10 are 10, 11, 12.
const INTERPRETER: u32 = 10;

const WAITS: WaitAnswer = WaitAnswer::Waits;
const BESIDE: WaitAnswer = WaitAnswer::May(WaitDoubt::Beside);
const OWN_TIME: WaitAnswer = WaitAnswer::May(WaitDoubt::OwnTime);
const ELSEWHERE: WaitAnswer = WaitAnswer::May(WaitDoubt::Elsewhere);

fn reads(file: WaitSource) -> ThreadDoing {
    ThreadDoing::Files { call: FileCall::Read, files: vec![file] }
}

fn polls(files: &[WaitSource]) -> ThreadDoing {
    ThreadDoing::Files { call: FileCall::Poll { limited: false }, files: files.to_vec() }
}

fn polls_for_a_time(files: &[WaitSource]) -> ThreadDoing {
    ThreadDoing::Files { call: FileCall::Poll { limited: true }, files: files.to_vec() }
}

struct Case {
    scene: Scene,
}

/// Processes by id, parent and what their threads do.
fn family(processes: &[(u32, u32, &[ThreadDoing])]) -> Case {
    let mut scene = Scene { root: Some(HOST), interpreter: INTERPRETER, ..Scene::default() };
    for (pid, parent, threads) in processes {
        let threads = threads.iter().enumerate();
        let threads = threads
            .map(|(nth, doing)| Thread {
                tid: pid + nth as u32,
                elder: false,
                doing: doing.clone(),
            })
            .collect();
        let process = SeenProcess { parent: *parent, threads, ..SeenProcess::default() };
        scene.processes.insert(*pid, process);
    }
    Case { scene }
}

impl Case {
    fn held(mut self, end: End, holders: &[u32]) -> Case {
        self.scene.holders.insert(end, holders.to_vec());
        self
    }

    fn catches_sigchld(mut self, pid: u32) -> Case {
        self.scene.processes.get_mut(&pid).unwrap().catches_sigchld = true;
        self
    }

    fn elder(mut self, pid: u32, tid: u32) -> Case {
        let process = self.scene.processes.get_mut(&pid).unwrap();
        process.threads.iter_mut().find(|thread| thread.tid == tid).unwrap().elder = true;
        self
    }

    #[track_caller]
    fn is(&self, pid: u32, tid: u32, wanted: WaitAnswer) {
        assert_eq!(WaitVerdict::new(&self.scene).of(pid, tid), wanted);
    }
}

/// What a loop wakes itself by.
const OWN: WaitSource = Holders(End::Event(1));

#[test]
fn e8_a_main_thread_that_reads_waits_whatever_its_threads_do() {
    family(&[(10, 1, &[reads(Stdin)])]).is(10, 10, WAITS);
    family(&[(10, 1, &[reads(Stdin), Works])]).is(10, 10, WAITS);
    family(&[(10, 1, &[Still])]).is(10, 10, WaitAnswer::No);
    family(&[(10, 1, &[Works])]).is(10, 10, WaitAnswer::No);
    family(&[(10, 1, &[reads(OWN)])]).is(10, 10, WaitAnswer::No);
}

#[test]
fn e8_a_side_thread_that_reads_waits_if_nothing_works_beside_it() {
    family(&[(10, 1, &[Locked { timed: false }, reads(Stdin)])]).is(10, 11, WAITS);
    family(&[(10, 1, &[Works, reads(Stdin)])]).is(10, 11, BESIDE);
    family(&[(10, 1, &[Locked { timed: true }, reads(Stdin)])]).is(10, 11, BESIDE);
    family(&[(10, 1, &[polls(&[Outside]), reads(Stdin)])]).is(10, 11, BESIDE);
    // A timed lock in a side thread may be housekeeping.
    let java = [Locked { timed: false }, reads(Stdin), Locked { timed: true }];
    family(&[(10, 1, &java)]).is(10, 11, OWN_TIME);
    // What an earlier eval left at work does not count.
    let threads = [Locked { timed: false }, reads(Stdin), Works];
    family(&[(10, 1, &threads)]).elder(10, 12).is(10, 11, WAITS);
}

#[test]
fn e8_a_loop_waits_if_only_itself_can_wake_it() {
    let own = |case: Case| case.held(End::Event(1), &[10]);
    own(family(&[(10, 1, &[polls(&[Stdin, OWN])])])).is(10, 10, WAITS);
    own(family(&[(10, 1, &[polls_for_a_time(&[Stdin, OWN])])])).is(10, 10, OWN_TIME);
    own(family(&[(10, 1, &[polls(&[Stdin, OWN]), Locked { timed: false }])])).is(10, 10, WAITS);
    own(family(&[(10, 1, &[polls(&[Stdin, OWN]), Works])])).is(10, 10, BESIDE);
    own(family(&[(10, 1, &[polls(&[Stdin, OWN]), Locked { timed: true }])])).is(10, 10, OWN_TIME);
    own(family(&[(10, 1, &[polls(&[Stdin, OWN]), polls_for_a_time(&[])])])).is(10, 10, BESIDE);
    own(family(&[(10, 1, &[polls(&[Stdin, OWN]), polls_for_a_time(&[OWN])])])).is(10, 10, OWN_TIME);
    own(family(&[(10, 1, &[polls(&[Stdin, OWN, Outside])])])).is(10, 10, WaitAnswer::No);
    own(family(&[(10, 1, &[polls_for_a_time(&[Stdin, Outside])])])).is(10, 10, WaitAnswer::No);
    own(family(&[(10, 1, &[polls(&[Stdin, Remote])])])).is(10, 10, ELSEWHERE);
    own(family(&[(10, 1, &[polls_for_a_time(&[Stdin, Remote])])])).is(10, 10, ELSEWHERE);
}

#[test]
fn e8_a_loop_that_waits_for_a_child_does_not_wait_while_the_child_works() {
    let child = WaitSource::Process(20);
    family(&[(10, 1, &[polls(&[Stdin, child])]), (20, 10, &[Works])]).is(10, 10, WaitAnswer::No);
    family(&[(10, 1, &[polls(&[Stdin, child])]), (20, 10, &[reads(Stdin)])]).is(10, 10, WAITS);
    family(&[(10, 1, &[polls(&[Stdin, child])])]).is(10, 10, WaitAnswer::No);
    // A thread waits for it in place of the loop.
    let threads = [polls(&[Stdin, OWN]), Children(Some(20))];
    family(&[(10, 1, &threads), (20, 10, &[Works])]).held(End::Event(1), &[10]).is(
        10,
        10,
        WaitAnswer::No,
    );
    // Node is woken by a handler of SIGCHLD, `bash -i` with a job is not.
    for (files, answer) in [(&[Stdin, OWN][..], WaitAnswer::No), (&[Stdin][..], WAITS)] {
        family(&[(10, 1, &[polls(files)]), (20, 10, &[Works])])
            .held(End::Event(1), &[10])
            .catches_sigchld(10)
            .is(10, 10, answer);
    }
}

#[test]
fn e8_a_terminal_in_between_leads_to_whoever_holds_it() {
    // `script` waits for its input and for what the program in its terminal does.
    let script = |inner: &[ThreadDoing]| {
        let master = Holders(End::Terminal(3));
        family(&[
            (10, 1, &[Children(None)]),
            (20, 10, &[polls(&[Stdin, master, WaitSource::Children])]),
            (30, 20, inner),
        ])
        .held(End::Terminal(3), &[20, 30])
        .held(End::Master(3), &[20])
    };
    let terminal = Holders(End::Master(3));
    script(&[reads(terminal)]).is(20, 20, WAITS);
    script(&[polls(&[terminal])]).is(20, 20, WAITS);
    script(&[Works]).is(20, 20, WaitAnswer::No);
    script(&[Still]).is(20, 20, WAITS);
    script(&[polls_for_a_time(&[terminal])]).is(20, 20, OWN_TIME);
    script(&[polls(&[terminal, Remote])]).is(20, 20, ELSEWHERE);
}

#[test]
fn e8_pipes_between_processes_lead_to_who_writes_them() {
    let pipe = Holders(End::PipeWriter(7));
    // Two that wait for each other, one of them also for input.
    family(&[(10, 1, &[polls(&[Stdin, pipe])]), (20, 10, &[reads(Holders(End::PipeWriter(8)))])])
        .held(End::PipeWriter(7), &[20])
        .held(End::PipeWriter(8), &[10])
        .is(10, 10, WAITS);
    // The host writes only what is given as input.
    family(&[(10, 1, &[polls(&[Stdin, pipe])])])
        .held(End::PipeWriter(7), &[HOST])
        .is(10, 10, WAITS);
    // It takes what it is given, so there will be room.
    family(&[(10, 1, &[polls(&[Stdin, Holders(End::PipeReader(9))])])])
        .held(End::PipeReader(9), &[HOST])
        .is(10, 10, WaitAnswer::No);
    // Who holds the other end cannot be seen.
    family(&[(10, 1, &[polls(&[Stdin, pipe])])]).is(10, 10, WaitAnswer::No);
    family(&[(10, 1, &[polls(&[Stdin, Holders(End::Socket(5))])])]).is(10, 10, ELSEWHERE);
}

#[test]
fn e8_a_child_that_reads_waits_if_the_eval_waits_for_it() {
    let cat: &[ThreadDoing] = &[reads(Stdin)];
    family(&[(10, 1, &[Children(Some(20))]), (20, 10, cat)]).is(20, 20, WAITS);
    // Of jobs in the background a shell started the reader last, or another one after it.
    family(&[(10, 1, &[Children(None)]), (20, 10, cat), (15, 10, &[Works])]).is(20, 20, WAITS);
    family(&[(10, 1, &[Children(None)]), (20, 10, cat), (30, 10, &[Works])]).is(20, 20, BESIDE);
    family(&[(10, 1, &[Children(None)]), (20, 10, cat), (30, 10, &[Still])]).is(20, 20, WAITS);
    family(&[(10, 1, &[Works]), (20, 10, cat)]).is(20, 20, BESIDE);
    family(&[(10, 1, &[Children(Some(30))]), (20, 10, cat), (30, 10, &[Works])]).is(20, 20, BESIDE);
    // `timeout cat` waits for a signal; so does what waits for it.
    family(&[(10, 1, &[Children(None)]), (20, 10, &[Signals]), (30, 20, cat)]).is(30, 30, WAITS);
    family(&[(10, 1, &[Children(None)]), (20, 10, &[Works]), (30, 20, cat)]).is(30, 30, BESIDE);
    // Its output is read by the interpreter, for a time or without end.
    let output = Holders(End::PipeWriter(7));
    for (call, answer) in
        [(reads(output), WAITS), (polls(&[output]), WAITS), (polls_for_a_time(&[output]), OWN_TIME)]
    {
        family(&[(10, 1, &[call]), (20, 10, cat)])
            .held(End::PipeWriter(7), &[20])
            .is(20, 20, answer);
    }
}

#[test]
fn e8_timers_that_are_not_the_users_do_not_count() {
    // The bridge's own thread listens to the host; V8 gives both loops a time limit now and then.
    let control = Holders(End::Socket(4));
    let threads = [polls_for_a_time(&[Stdin, OWN]), polls_for_a_time(&[OWN, control])];
    let node =
        || family(&[(10, 1, &threads)]).held(End::Event(1), &[10]).held(End::Socket(4), &[HOST]);
    node().is(10, 10, OWN_TIME);
    let mut told = node();
    told.scene.no_timers = true;
    told.is(10, 10, WAITS);
    // A child reads, and the loop only waits for its end.
    let threads = [polls_for_a_time(&[OWN]), polls_for_a_time(&[OWN, control])];
    let parent = || {
        family(&[(10, 1, &threads), (20, 10, &[reads(Stdin)])])
            .held(End::Event(1), &[10])
            .held(End::Socket(4), &[HOST])
            .catches_sigchld(10)
    };
    parent().is(20, 20, BESIDE);
    let mut told = parent();
    told.scene.no_timers = true;
    told.is(20, 20, WAITS);
}

#[test]
fn e8_a_wait_for_a_signal_alone_may_end_by_a_timer() {
    family(&[(10, 1, &[Signals, reads(Stdin)])]).is(10, 11, OWN_TIME);
}
