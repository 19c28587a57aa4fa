//! Bytes inside a page: compressed with deflate, which browsers decompress natively, and encoded in base64.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Packs parts one after the other. Each part but the last is preceded by its length in four bytes, lowest first.
pub(super) fn pack(parts: &[&[u8]]) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    for (index, part) in parts.iter().enumerate() {
        if index + 1 < parts.len() {
            let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
            write(&mut encoder, &length.to_le_bytes());
        }
        write(&mut encoder, part);
    }
    base64(&encoder.finish().unwrap_or_default())
}

/// Writes into memory, which cannot fail.
fn write(encoder: &mut DeflateEncoder<Vec<u8>>, bytes: &[u8]) {
    let _ = encoder.write_all(bytes);
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let table = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in table {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
