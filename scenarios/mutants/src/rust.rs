//! As much of Rust's grammar as mutants and the house rules need: what is code, where functions, literals, attributes and
//! tests begin and end.

use std::ops::Range;

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// Lines between its braces that hold code: as clippy counts, neither blank lines nor comments.
    pub length: usize,
    /// From its `fn` up to the brace that opens its body.
    pub head: Range<usize>,
    /// Its body, with the braces.
    pub body: Range<usize>,
}

/// The source with comments replaced by spaces and literals by quotes; lines stay where they are.
pub fn mask(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut masked = String::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let after_word = at > 0 && is_word(bytes[at - 1]);
        let (length, filler) = if let Some(length) = comment(rest) {
            (length, Some(' '))
        } else if let Some(length) = literal(rest, after_word) {
            (length, Some('"'))
        } else {
            (1, (!rest[0].is_ascii()).then_some('_'))
        };
        for &byte in &rest[..length] {
            masked.push(if byte == b'\n' { '\n' } else { filler.unwrap_or(byte as char) });
        }
        at += length;
    }
    masked
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of the comment that `rest` begins with.
fn comment(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"//") {
        return Some(rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with(b"/*") {
        return None;
    }
    let (mut depth, mut at) = (0u32, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    Some(rest.len())
}

/// The length of the string or character literal that `rest` begins with.
fn literal(rest: &[u8], after_word: bool) -> Option<usize> {
    let letters = rest.iter().take(2).take_while(|byte| matches!(byte, b'b' | b'c' | b'r')).count();
    let prefix = if after_word { 0 } else { letters };
    let body = &rest[prefix..];
    let length = if rest[..prefix].contains(&b'r') {
        raw_string(body)
    } else {
        match body.first() {
            Some(b'"') => Some(string(body)),
            Some(b'\'') => character(body),
            _ => None,
        }
    };
    length.map(|length| prefix + length)
}

fn string(body: &[u8]) -> usize {
    let mut at = 1;
    while at < body.len() {
        match body[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    body.len()
}

fn raw_string(body: &[u8]) -> Option<usize> {
    let hashes = body.iter().take_while(|&&byte| byte == b'#').count();
    if body.get(hashes) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let text = &body[hashes + 1..];
    let end = text.windows(close.len()).position(|window| window == close).unwrap_or(text.len());
    Some((hashes + 1 + end + close.len()).min(body.len()))
}

/// A character literal; `None` for a lifetime.
fn character(body: &[u8]) -> Option<usize> {
    if body.get(1) == Some(&b'\\') {
        let end = body.get(3..)?.iter().position(|&byte| byte == b'\'')?;
        return Some(end + 4);
    }
    let width = match body.get(1)? {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
    };
    (body.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

/// The line, from 1, of an offset.
pub fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// The offsets at which `word` stands alone in the code.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let bytes = code.as_bytes();
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let after = bytes.get(at + word.len());
        !before.is_some_and(|&byte| is_word(byte)) && !after.is_some_and(|&byte| is_word(byte))
    })
}

/// The word that `text` begins with, after spaces.
pub fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.bytes().position(|byte| !is_word(byte)).unwrap_or(text.len());
    &text[..end]
}

/// The literals of masked code: from where to where each of them stands in the source.
#[must_use]
pub fn literals(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = code[at..].find('"').map(|start| at + start) {
        let length = code[start..].bytes().take_while(|byte| matches!(byte, b'"' | b'\n')).count();
        at = start + length;
        found.push((start, at));
    }
    found
}

/// All functions with a body in masked code, in the order of their first lines.
pub fn functions(code: &str) -> Vec<Function> {
    let function = |at: usize| {
        let name = first_word(&code[at + 2..]);
        let (open, close) = block(code, at)?;
        let body = &code[open + 1..close];
        let length = body.lines().skip(1).filter(|line| !line.trim().is_empty()).count();
        let (line, head, span) = (line_of(code, at), at..open, open..close + 1);
        (!name.is_empty()).then(|| Function { name: name.to_owned(), line, length, head, body: span })
    };
    words(code, "fn").filter_map(function).collect()
}

/// The outermost function of masked code in whose body `place` lies.
#[must_use]
pub fn function_around(code: &str, place: &Range<usize>) -> Option<Function> {
    let around = |function: &Function| function.body.start < place.start && place.end < function.body.end;
    functions(code).into_iter().find(around).filter(|_| !is_test(code, place.start))
}

/// The offsets of the braces of the item that begins at `from`; `None` when it ends with `;` before any.
#[must_use]
pub fn block(code: &str, from: usize) -> Option<(usize, usize)> {
    let (mut nested, mut open, mut depth) = (0i32, None, 0u32);
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match (byte, open) {
            (b'(' | b'[', None) => nested += 1,
            (b')' | b']', None) => nested -= 1,
            (b';', None) if nested == 0 => return None,
            (b'{', _) if nested == 0 || open.is_some() => {
                open = open.or(Some(at));
                depth += 1;
            }
            (b'}', Some(open)) => {
                depth -= 1;
                if depth == 0 {
                    return Some((open, at));
                }
            }
            _ => {}
        }
    }
    None
}

/// The attributes in masked code: offset of each, and its text with the brackets.
pub fn attributes(code: &str) -> Vec<(usize, &str)> {
    let starts = code.match_indices('#').map(|(at, _)| at);
    let attribute = |at: usize| {
        let open = at + 1 + usize::from(code[at + 1..].starts_with('!'));
        if !code[open..].starts_with('[') {
            return None;
        }
        let mut depth = 0u32;
        let end = code[open..].bytes().position(|byte| {
            match byte {
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        Some((at, &code[at..=open + end]))
    };
    starts.filter_map(attribute).collect()
}

/// Whether `offset` lies in an item under `#[cfg(test)]`.
pub fn is_test(code: &str, offset: usize) -> bool {
    attributes(code).into_iter().filter(|(_, text)| *text == "#[cfg(test)]").any(|(at, text)| {
        let after = at + text.len();
        let semicolon = code[after..].find(';').map_or(code.len(), |end| after + end);
        let end = block(code, after).map_or(semicolon, |(_, close)| close);
        (at..=end).contains(&offset)
    })
}

/// Masked code in which items under `#[cfg(test)]` are blank; lines stay where they are.
#[must_use]
pub fn without_tests(code: &str) -> String {
    let mut bytes = code.as_bytes().to_vec();
    for (at, text) in attributes(code).into_iter().filter(|(_, text)| *text == "#[cfg(test)]") {
        let after = at + text.len();
        let semicolon = code[after..].find(';').map_or(code.len() - 1, |end| after + end);
        let end = block(code, after).map_or(semicolon, |(_, close)| close);
        bytes[at..=end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_masked_and_nothing_else() {
        let table = [
            ("a // fn b() {\nc", "a            \nc"),
            ("a /* { /* } */ { */ b", "a                   b"),
            (r#"let s = "a \" }"; b"#, r#"let s = """"""""; b"#),
            (r##"r#"a " } "# b"##, r##"""""""""""" b"##),
            ("'{' b'}' '\\'' '\\u{7b}' x", r#"""" """" """" """""""" x"#),
            ("fn a<'a>(b: &'a str)", "fn a<'a>(b: &'a str)"),
            ("r#type bar\"x\"", "r#type bar\"\"\""),
            ("\"a\n}\"", "\"\"\n\"\""),
        ];
        for (source, expected) in table {
            assert_eq!(mask(source), expected, "{source}");
        }
    }

    #[test]
    fn literals_are_found_in_the_source() {
        let source = "a(\"é b\", 'c') // \"d\"\n\"e\"";
        let found = literals(&mask(source)).into_iter().map(|(from, to)| &source[from..to]);
        assert_eq!(found.collect::<Vec<_>>(), ["\"é b\"", "'c'", "\"e\""]);
    }

    #[test]
    fn functions_are_measured_by_their_code() {
        let source = "
trait T { fn declared(&self) -> [u8; 3]; }
fn one_line() -> u8 { 1 }
pub const fn long(array: [u8; 2], f: fn(u8) -> u8) -> u8 {
    // a comment
    let text = \"}
    }\";

    if true {
        nested()
    }
}
";
        let found: Vec<_> =
            functions(&mask(source)).into_iter().map(|f| (f.name, f.line, f.length)).collect();
        assert_eq!(found, [("one_line".to_owned(), 3, 0), ("long".to_owned(), 4, 5)]);
    }

    #[test]
    fn attributes_end_at_their_own_bracket() {
        let code = mask("#![no_std]\n#[expect(\n    lint,\n    reason = \"a ] b\"\n)]\nlet x = a[1]; # 5");
        let texts: Vec<_> = attributes(&code).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts.len(), 2);
        assert!(texts[1].ends_with(")]"), "{}", texts[1]);
    }

    #[test]
    fn tests_end_with_their_module() {
        let code = "a; #[cfg(test)] extern crate std; b; #[cfg(test)] mod tests { c } d";
        let inside = |word: &str| code.find(word).map(|at| is_test(code, at));
        assert_eq!(inside("extern"), Some(true));
        assert_eq!(inside("b;"), Some(false));
        assert_eq!(inside("c }"), Some(true));
        assert_eq!(code.rfind('d').map(|at| is_test(code, at)), Some(false));
    }
}
