//! Base64 with padding (RFC 4648, section 4), as JSON carries bytes, and the armour that PEM puts around it (RFC 7468).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters in a line of PEM.
const LINE: usize = 64;

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
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut bits) = (0u32, 0);
    for digit in digits.bytes() {
        let value = ALPHABET.iter().position(|&known| known == digit)?;
        word = word << 6 | u32::try_from(value).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(word >> bits & 0xff).ok()?);
        }
    }
    // What is left over belongs to no byte.
    (word & ((1 << bits) - 1) == 0).then_some(bytes)
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
    let digits: String = body.chars().filter(|digit| !digit.is_ascii_whitespace()).collect();
    decode(&digits).filter(|bytes| !bytes.is_empty())
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
