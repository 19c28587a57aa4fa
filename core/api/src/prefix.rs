//! The beginning of a text, for texts of others that may be of any length.

/// The longest prefix of `text` that has at most `most` bytes and ends between two characters.
pub(crate) fn prefix(text: &str, most: usize) -> &str {
    let end = (0..=text.len().min(most)).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut() {
        assert_eq!(
            (prefix("né", 1), prefix("né", 2), prefix("né", 3), prefix("né", 9)),
            ("n", "n", "né", "né")
        );
        assert_eq!(prefix("é", 1), "");
    }
}
