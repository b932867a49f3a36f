//! One way for every call, from the line it stands on to the line that answers it.
//!
//! ```text
//! read ──▶ begun ──▶ waits ───────────────────────────────────────▶ over
//!
//! a line   its turn   alone: the loop looks for 0.6 ms, then sleeps   answered,
//! becomes  came, and         until the host or the client speaks      or cancelled and
//! a call   its host   polled: the loop is woken by the host, 0.25 s   without an answer
//!          was sent   on a thread: until it is done, or 50 s
//! ```
//!
//! In the order of the files:
//!
//! - `lines` cuts what a client sends into lines, `read` makes a [`Call`](crate::Call) of one that is a
//!   `tools/call`; what is wrong with a line is found by `shape`, and `scan` finds the id of one that is not even JSON.
//! - `requests` knows which requests have no answer yet: an id can be in use once, and a cancelled call gets none.
//! - `state` says what follows from what happens to a call, without any IO; `carry` does it.
//! - `turns` says which calls wait for which: evals of one session go one after the other, other sessions do not wait.
//! - `watch` is how a call on a thread hears what its client wants, and tells how far it has come.
//! - `write` makes the lines that go back, `peer` sends them, `outbox` bounds what a client leaves unread.
//!
//! A call that comes alone is carried out where it was read, without a task, a timer or a thread: most evals
//! are over in less time than those take. As soon as anything else is to be done it goes on as a task.
//!
//! Five words for a call under way: the **call** (a tool and its arguments), its **turn** (the right to be carried
//! out now), what was **begun** (sent to a host, which tells how far it is), a **wish** (what its client wants of
//! it meanwhile) and its **answer**.

mod carry;
mod closing;
mod lines;
mod meta;
mod outbox;
mod peer;
mod read;
mod requests;
mod scan;
mod shape;
mod state;
mod stdio;
mod turns;
mod watch;
mod write;

pub(crate) use carry::{Caller, Calls};
pub(crate) use closing::Closing;
pub(crate) use lines::BoundedLines;
pub(crate) use outbox::Unread;
pub(crate) use peer::{Peer, unknown_tool};
pub(crate) use read::CallLine;
pub(crate) use requests::{Cancelled, RequestId};
pub(crate) use scan::id as id_of;
pub(crate) use shape::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ShapeRefusal, check};
pub(crate) use stdio::{Incoming, Outgoing};
pub(crate) use watch::CallWatch;
