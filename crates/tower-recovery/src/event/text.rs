//! The text of an error in an event.

use std::error::Error;

use crate::sources;

/// The longest text in an event, in characters.
const LONGEST_TEXT: usize = 256;

/// An error with all its sources in one line, cut.
pub(crate) fn text(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for link in sources(error) {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&link.to_string());
        if text.len() > 4 * LONGEST_TEXT {
            break;
        }
    }
    text.char_indices().nth(LONGEST_TEXT).map(|(end, _)| end).into_iter().for_each(|end| text.truncate(end));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Link(String, #[source] Option<Box<Self>>);

    #[test]
    fn a_text_is_the_whole_chain_in_one_line() {
        let error = Link("outer".into(), Some(Box::new(Link("inner".into(), None))));
        assert_eq!(text(&error), "outer: inner");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        for letter in ["a", "ä", "字", "😀"] {
            let error = Link(letter.repeat(200), Some(Box::new(Link(letter.repeat(2_000), None))));
            assert_eq!(text(&error).chars().count(), LONGEST_TEXT);
        }
    }
}
