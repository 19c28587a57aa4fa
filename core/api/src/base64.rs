//! Base64 with padding (RFC 4648, section 4), as JSON carries bytes, and the armour that PEM puts around it (RFC 7468).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters in a line of PEM.
const LINE: usize = 64;
/// What is no digit.
const NONE: u8 = 64;
/// The value of each digit, by character.
const VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
}

/// Writes bytes as text.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0, |word, place| word << 8 | u32::from(*chunk.get(place).unwrap_or(&0)));
        for place in 0..4 {
            let digit = ALPHABET[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { digit as char } else { '=' });
        }
    }
    text
}

/// Reads text as bytes; `None` when it is anything else than [`encode`] writes.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    decode_bytes(text.as_bytes())
}

fn decode_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let (groups, last) = text[..text.len() - padding].as_chunks::<4>();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in groups {
        let [_, whole @ ..] = word(group)?.to_be_bytes();
        bytes.extend_from_slice(&whole);
    }
    if let Some(left) = last.len().checked_sub(1) {
        let [_, whole @ ..] = (word(last)? << (6 * (4 - last.len()))).to_be_bytes();
        let (own, rest) = whole.split_at(left);
        // What is left over belongs to no byte.
        if rest.iter().any(|&byte| byte != 0) {
            return None;
        }
        bytes.extend_from_slice(own);
    }
    Some(bytes)
}

/// What up to four digits say.
fn word(digits: &[u8]) -> Option<u32> {
    let values = digits.iter().map(|&digit| VALUES[usize::from(digit)]);
    let (word, all) = values.fold((0, 0), |(word, all), value| (word << 6 | u32::from(value), all | value));
    (all < NONE).then_some(word)
}

/// Puts bytes into the armour of `label`.
#[must_use]
pub fn armour(label: &str, bytes: &[u8]) -> String {
    let text = encode(bytes);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem + &format!("-----END {label}-----\n")
}

/// The bytes in the first armour of `label`.
#[must_use]
pub fn disarm(label: &str, pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let mut digits = Vec::with_capacity(body.len());
    for line in body.split_ascii_whitespace() {
        digits.extend_from_slice(line.as_bytes());
    }
    decode_bytes(&digits).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_published_examples() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        for nonsense in ["Zg", "Zg=", "Zh==", "Z===", "====", "Zm9 ", "Zm9v=", "Zm9ä"] {
            assert_eq!(decode(nonsense), None, "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
            let text = encode(&bytes);
            prop_assert_eq!(decode(&text), Some(bytes.clone()));
            prop_assert_eq!(disarm("THING", &armour("THING", &bytes)), Some(bytes.clone()));
            prop_assert_eq!(disarm("OTHER", &armour("THING", &bytes)), None);
        }
    }
}
