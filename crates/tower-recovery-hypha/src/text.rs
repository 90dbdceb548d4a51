//! What others say, in a length that can be kept and logged.

const LONGEST: usize = 512;

/// The text, cut to 512 bytes at the most.
pub(crate) fn cut(text: &str) -> &str {
    beginning(text, LONGEST)
}

/// The beginning of a text, so many bytes at the most, which ends between two characters.
pub(crate) fn beginning(text: &str, longest: usize) -> &str {
    let end = (0..=text.len().min(longest)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"a".repeat(600)).len(), LONGEST);
        let umlauts = format!("a{}", "ä".repeat(300));
        assert_eq!(cut(&umlauts).len(), LONGEST - 1);
    }
}
