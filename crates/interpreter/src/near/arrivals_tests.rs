use rustix::io::{read, write};
use rustix::pipe::pipe;

use super::*;

/// Both pipes' ends, and what watches them.
fn pipes() -> ([(OwnedFd, OwnedFd); 2], Arrivals) {
    let pipes = [pipe().unwrap(), pipe().unwrap()];
    let arrivals = Arrivals::watch(&pipes[0].0, &pipes[1].0);
    (pipes, arrivals)
}

fn order(arrivals: &Arrivals, held: [bool; 2]) -> Vec<Stream> {
    arrivals.order(held).collect()
}

#[test]
fn o2_the_pipe_that_was_written_to_first_is_read_first() {
    let (pipes, arrivals) = pipes();
    let mut buffer = [0; 16];
    for turn in [[1, 0], [0, 1], [0, 1], [1, 0]] {
        for at in turn {
            write(&pipes[at].1, b"1").unwrap();
        }
        let expected = turn.map(|at| [Stream::Out, Stream::Err][at]);
        assert_eq!(order(&arrivals, [true, true]), expected);
        for (reading, _) in &pipes {
            read(reading, &mut buffer).unwrap();
        }
        // What is written after the order was asked for is for the next turn.
        assert_eq!(order(&arrivals, [false, false]), []);
    }
}

#[test]
fn o2_what_was_left_in_a_pipe_comes_before_what_is_new_in_the_other() {
    let (pipes, arrivals) = pipes();
    let mut buffer = [0; 1];
    for (kept, new) in [(0, 1), (1, 0)] {
        write(&pipes[kept].1, b"ab").unwrap();
        order(&arrivals, [false, false]);
        read(&pipes[kept].0, &mut buffer).unwrap();
        write(&pipes[new].1, b"c").unwrap();
        let expected = [kept, new].map(|at| [Stream::Out, Stream::Err][at]);
        assert_eq!(order(&arrivals, [true, true]), expected);
        for (reading, _) in &pipes {
            read(reading, &mut buffer).unwrap();
        }
    }
}

#[test]
fn p4_a_stream_that_was_left_alone_is_watched_again() {
    let (pipes, mut arrivals) = pipes();
    arrivals.leave_alone(Some(Stream::Out), &pipes[0].0, &pipes[1].0);
    write(&pipes[0].1, b"1").unwrap();
    assert_eq!(order(&arrivals, [false, false]), []);
    arrivals.leave_alone(None, &pipes[0].0, &pipes[1].0);
    write(&pipes[1].1, b"2").unwrap();
    assert_eq!(order(&arrivals, [true, true]), [Stream::Out, Stream::Err]);
}

#[test]
fn o2_where_nothing_is_known_an_open_line_goes_on() {
    let mut arrivals = Arrivals { ready: None, open: [false; 2], alone: None };
    let both = [true, true];
    assert_eq!(order(&arrivals, both), [Stream::Out, Stream::Err]);
    arrivals.note(Stream::Err, b"ls: ");
    assert_eq!(order(&arrivals, both), [Stream::Err, Stream::Out]);
    arrivals.note(Stream::Err, b"cannot\n");
    assert_eq!(order(&arrivals, both), [Stream::Out, Stream::Err]);
}
