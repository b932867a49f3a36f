//! What tells one version of a bridge from another, worked out when this crate is compiled.

/// Stands for a text: another text has another one.
///
/// Made while compiling, so that no start of a session has to read the whole bridge only to know which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextId(u64);

impl TextId {
    /// The id of a text. Eight bytes at a time: a compiler that runs this for half a megabyte is slow with single bytes.
    pub const fn of(text: &str) -> TextId {
        let bytes = text.as_bytes();
        let mut hash = mixed(0xcbf2_9ce4_8422_2325, bytes.len() as u64);
        let mut at = 0;
        while at + 8 <= bytes.len() {
            let word = [
                bytes[at],
                bytes[at + 1],
                bytes[at + 2],
                bytes[at + 3],
                bytes[at + 4],
                bytes[at + 5],
                bytes[at + 6],
                bytes[at + 7],
            ];
            hash = mixed(hash, u64::from_le_bytes(word));
            at += 8;
        }
        while at < bytes.len() {
            hash = mixed(hash, bytes[at] as u64);
            at += 1;
        }
        TextId(hash)
    }
}

/// A step that loses nothing and spreads each bit over the whole number (the last steps of splitmix64): a difference in one word
/// must not be taken back by one in the next.
const fn mixed(hash: u64, word: u64) -> u64 {
    let mut all = hash.rotate_left(23) ^ word;
    all = (all ^ (all >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    all = (all ^ (all >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    all ^ (all >> 31)
}

#[cfg(test)]
mod tests {
    use super::TextId;

    #[test]
    fn a_change_of_any_byte_or_of_the_length_is_another_id() {
        let text = "the bridge of a language, of nineteen words or bytes";
        let mut seen = vec![TextId::of(text)];
        for at in 0..text.len() {
            for bit in 0..7 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] ^= 1 << bit;
                seen.push(TextId::of(std::str::from_utf8(&bytes).unwrap()));
            }
            seen.push(TextId::of(&text[..at]));
            seen.push(TextId::of(&format!("{}\0{}", &text[..at], &text[at..])));
        }
        let different: std::collections::HashSet<TextId> = seen.iter().copied().collect();
        assert_eq!(different.len(), seen.len());
    }
}
