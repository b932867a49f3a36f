//! Answering with an eval, for all tools that wait for one.

use stead_client::{Content, EvalView, Page, figures, size_text};
use stead_protocol::{DisplayInfo, is_markup};

use super::arguments::AboveZero;
use crate::answer::{Answer, Image};
use crate::server::Server;
use crate::text::{self, Aside, Detail, Frame};
use crate::told_once::ToldOnce;

/// Most characters of output in a reply unless the call says otherwise (SPEC O-5).
const DEFAULT_CHARS: usize = 8_000;
/// What a call can ask for at most: clients cut far earlier.
const MOST_CHARS: usize = 200_000;
/// A reply may have this many characters even if the call asks for fewer: an id, where the eval stands and the call that reads
/// on have room in it.
pub(super) const LEAST_REPLY: usize = 500;
/// Pictures in one reply; the others are named with their files.
const MOST_IMAGES: usize = 8;
/// A picture that is bigger is only named: clients refuse it.
const BIGGEST_IMAGE: u64 = 4 << 20;

/// How many characters of output a reply may have.
pub(super) fn max_chars(asked: Option<AboveZero>) -> usize {
    asked.map_or(DEFAULT_CHARS, |count| count.0 as usize).clamp(1, MOST_CHARS)
}

/// How many characters the whole reply may have (SPEC O-5).
pub(super) fn room(max_chars: usize) -> usize {
    max_chars.max(LEAST_REPLY)
}

/// The reply to code that this server has sent: what others did before it is told once (SPEC M-2).
pub(super) fn own_eval(server: &Server, view: &EvalView, max_chars: usize) -> Answer {
    own_eval_in(Frame::default(), server, view, max_chars)
}

/// The same with words around it.
pub(super) fn own_eval_in(
    frame: Frame<'_>,
    server: &Server,
    view: &EvalView,
    max_chars: usize,
) -> Answer {
    let meanwhile = server.meanwhile(view);
    let meanwhile_text = meanwhile.as_deref().unwrap_or_default();
    let mut answer = fitting(server, view, max_chars, meanwhile_text, frame);
    answer.once = read(server, view);
    answer.once.extend(meanwhile.map(|text| server.told_meanwhile(view, text)));
    answer
}

/// The reply about all of an eval, or all that is new; it counts as read.
pub(super) fn eval(server: &Server, view: &EvalView, max_chars: usize) -> Answer {
    eval_in(Frame::default(), server, view, max_chars)
}

/// The same with words around it.
pub(super) fn eval_in(
    frame: Frame<'_>,
    server: &Server,
    view: &EvalView,
    max_chars: usize,
) -> Answer {
    let once = read(server, view);
    Answer { once, ..fitting(server, view, max_chars, "", frame) }
}

/// Notes what a reply about this eval tells.
fn read(server: &Server, view: &EvalView) -> Vec<ToldOnce> {
    let mut once = Vec::new();
    once.extend(server.tells(view));
    if let (Some(id), Some(to)) = (view.id(), view.reached) {
        let from = server.cursors.get(&id);
        server.cursors.reach(id.clone(), to);
        once.push(ToldOnce::Output { here: server.here(), id, from, to });
    }
    once
}

/// The reply about a part of an eval.
pub(super) fn part(server: &Server, view: &EvalView, max_chars: usize) -> Answer {
    fitting(server, view, max_chars, "", Frame::default())
}

fn fitting(
    server: &Server,
    view: &EvalView,
    max_chars: usize,
    meanwhile: &str,
    frame: Frame<'_>,
) -> Answer {
    let own = server.client.by.get();
    let aside = Aside { own, meanwhile, frame };
    fitted(&view.content, max_chars, |page, detail| {
        let mut images = Vec::new();
        let mut announce = |display: &DisplayInfo| announce(display, &mut images);
        let text = text::eval(view, page, &aside, detail, &mut announce);
        Answer { images, ..Answer::text(text) }
    })
}

/// The answer that `make` makes, within the characters that the reply may have: marks, notes and the closing line count too
/// (SPEC O-5). First less of the content is shown, and then less is said beside it.
pub(super) fn fitted(
    content: &Content,
    max_chars: usize,
    mut make: impl FnMut(&Page, Detail) -> Answer,
) -> Answer {
    let room = room(max_chars);
    let mut fit = |detail| {
        Page::fit(content, max_chars, room, |page, _| {
            let answer = make(&page, detail);
            let length = text::length(&answer.text, room);
            ((answer, length), length)
        })
    };
    let mut made = fit(Detail::FULL);
    for detail in &Detail::LEVELS[1..] {
        if made.1 <= room {
            break;
        }
        made = fit(*detail);
    }
    made.0.bounded(room)
}

/// Takes a picture into the reply, or says why it is left out; names its file either way.
fn announce(display: &DisplayInfo, images: &mut Vec<Image>) -> String {
    let mut said = Vec::new();
    if let Some((width, height)) = display.pixels {
        said.push(format!("{width}×{height}"));
    }
    if !display.mime.starts_with("text/html") {
        said.push(text::one_line(&display.mime));
    }
    let path = display.file.as_ref();
    match path {
        // Clients can show pictures only, so any other display is named with its size.
        _ if !is_picture(&display.mime) => {
            said.extend((display.bytes > 0).then(|| size_text(display.bytes)));
        }
        Some(path) if display.bytes <= BIGGEST_IMAGE && images.len() < MOST_IMAGES => {
            match figures::read(path.as_ref(), BIGGEST_IMAGE) {
                Ok(bytes) => images.push(Image { mime: display.mime.clone(), bytes }),
                Err(error) => said.push(format!("no longer kept ({})", error.kind())),
            }
        }
        Some(_) => said.push("not in this reply".to_owned()),
        None => {}
    }
    said.extend(path.map(|path| text::one_line(path)));
    said.extend(display.note.as_deref().map(text::one_line));
    said.join(", ")
}

fn is_picture(mime: &str) -> bool {
    mime.starts_with("image/") && !is_markup(mime)
}
