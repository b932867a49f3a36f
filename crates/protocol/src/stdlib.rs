//! The source of a user's standard library, as those who write it and those who load it see it (SPEC ST-4).

/// Most bytes that a standard library may have.
pub const MAX_STDLIB: usize = 4 << 20;

/// The text without a byte order mark and with line feeds only: some editors write the others, and a shell would take
/// them for parts of its commands.
pub fn stdlib_source(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}
