//! Boot scripts as they are given to interpreters on their command lines: what a person reads in them is taken off when
//! this crate is compiled.

/// A boot script as it is sent, at compile time.
macro_rules! boot {
    ($path:literal, $form:expr) => {{
        const SOURCE: &str = include_str!($path);
        const LENGTH: usize = $crate::boot::pack::<{ SOURCE.len() * 2 + 32 }>(SOURCE, $form).1;
        const PACKED: [u8; LENGTH] =
            $crate::boot::first($crate::boot::pack::<{ SOURCE.len() * 2 + 32 }>(SOURCE, $form).0);
        match std::str::from_utf8(&PACKED) {
            Ok(text) => text,
            Err(_) => panic!("a boot script is UTF-8"),
        }
    }};
}
pub(crate) use boot;

/// What is made of a script.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Its lines without indentation, comments (which begin with this) and empty ones.
    Lines(&'static str),
    /// Python: the same in a call of `exec` with a namespace of its own; indentation stays.
    Exec,
}

/// The packed script and its length, in a buffer that is long enough.
pub(crate) const fn pack<const N: usize>(source: &str, form: Form) -> ([u8; N], usize) {
    let (comment, keeps_indent) = match form {
        Form::Lines(comment) => (comment.as_bytes(), false),
        Form::Exec => ("#".as_bytes(), true),
    };
    let source = source.as_bytes();
    let mut out = Text { bytes: [0; N], length: 0 };
    if keeps_indent {
        out.push_all(b"exec(\"");
    }
    let mut start = 0;
    let mut lines = 0;
    while start < source.len() {
        let mut end = start;
        while end < source.len() && source[end] != b'\n' {
            end += 1;
        }
        let mut text = start;
        while text < end && source[text] == b' ' {
            text += 1;
        }
        if text < end && !begins(source, text, comment) {
            if lines > 0 {
                out.push_byte(b'\n', keeps_indent);
            }
            lines += 1;
            let mut at = if keeps_indent { start } else { text };
            while at < end {
                out.push_byte(source[at], keeps_indent);
                at += 1;
            }
        }
        start = end + 1;
    }
    if keeps_indent {
        // Who walks up the frames finds a module's name in each.
        out.push_all(b"\",{'__name__':'stead'})");
    }
    (out.bytes, out.length)
}

/// The beginning of an array.
pub(crate) const fn first<const N: usize, const M: usize>(all: [u8; N]) -> [u8; M] {
    let mut some = [0; M];
    let mut at = 0;
    while at < M {
        some[at] = all[at];
        at += 1;
    }
    some
}

const fn begins(source: &[u8], at: usize, with: &[u8]) -> bool {
    let mut n = 0;
    while n < with.len() {
        if at + n >= source.len() || source[at + n] != with[n] {
            return false;
        }
        n += 1;
    }
    true
}

struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    /// Adds a byte, as it stands in a string of Python if it is to be quoted.
    const fn push_byte(&mut self, byte: u8, quoted: bool) {
        match byte {
            b'\n' if quoted => self.push_all(b"\\n"),
            b'"' if quoted => self.push_all(b"\\\""),
            b'\\' if quoted => self.push_all(b"\\\\"),
            _ => self.push_all(&[byte]),
        }
    }

    const fn push_all(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            self.bytes[self.length] = bytes[at];
            self.length += 1;
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(source: &str, form: Form) -> String {
        let (bytes, length) = pack::<4096>(source, form);
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn comments_empty_lines_and_indentation_are_left_out() {
        let source = "// why\nif (x) {\n  // how\n  f(\"// text\");\n\n}\n";
        assert_eq!(packed(source, Form::Lines("//")), "if (x) {\nf(\"// text\");\n}");
    }

    #[test]
    fn python_is_one_line_that_says_the_same() {
        let source = "# why\nif x:\n    # how\n    f(\"a\\n\")\n";
        assert_eq!(
            packed(source, Form::Exec),
            r#"exec("if x:\n    f(\"a\\n\")",{'__name__':'stead'})"#
        );
    }

    #[test]
    fn no_boot_script_has_a_comment_left() {
        assert!(crate::PYTHON_BOOT.starts_with("exec(\"import "));
        assert!(!crate::PYTHON_BOOT.contains('\n'));
        assert!(crate::NODE_BOOT.starts_with("{\nconst fs"));
        assert!(crate::BASH_BOOT.starts_with("if (("));
        for line in crate::NODE_BOOT.lines().chain(crate::BASH_BOOT.lines()) {
            assert!(!line.starts_with([' ', '#', '/']), "{line}");
        }
    }
}
