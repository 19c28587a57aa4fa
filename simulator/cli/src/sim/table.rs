//! Tables, numbers and names, formatted for people.

use comfy_table::{CellAlignment, Table, presets};

/// Names, each with a text.
pub(super) fn facts<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> Table {
    let mut table = plain();
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
    table
}

/// Names, and numbers in columns.
pub(super) fn counts<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Table {
    let mut table = plain();
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// `OperatorCrashed` in plain words.
pub(super) fn words(name: &str) -> String {
    let mut words = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// A number with separated thousands.
pub(super) fn number(value: impl Into<u64>) -> String {
    let digits = value.into().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{number, words};

    #[test]
    fn numbers_and_names_are_readable() {
        let table = [(0u64, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (value, text) in table {
            assert_eq!(number(value), text);
        }
        assert_eq!(words("OperatorCrashed"), "operator crashed");
    }
}
