//! What a reader makes of text that is handed out while it comes.

use stead_screen::LiveText;

/// What was handed out, put together as `LiveText` says.
pub(crate) fn put_together(shown: &mut String, text: &LiveText) {
    for _ in 0..text.replaces {
        let whole = shown.strip_suffix('\n').unwrap_or(shown);
        let end = whole.rfind('\n').map_or(0, |end| end + 1);
        shown.truncate(end);
    }
    shown.push_str(&text.text);
}
