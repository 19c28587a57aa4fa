//! Frames: a big-endian `u32` with the length of the body, then the body, one JSON document. There is no I/O here: the
//! owner of the stream reads [`HEADER`] bytes, asks [`body_length`] how many follow, reads those, and calls [`decode`].

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a frame's header.
pub const HEADER: usize = 4;

/// The longest body, in bytes. A recipe carries its templates, and an object in etcd has at most 1.5 MiB: ten times
/// that is never needed, and a hostile length cannot exhaust memory.
pub const BODY_MAX: usize = 16 << 20;

/// The longest body of a reply, in bytes. A host with 256 components needs a fifth of it. A host may be anybody's by now, and
/// some hundreds may reply at the same time.
pub const REPLY_MAX: usize = 256 << 10;

/// Why a frame could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The body is longer than it may be.
    #[error("a frame of {length} bytes is longer than {most}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The most bytes that it may have.
        most: usize,
    },
    /// The body is not the expected JSON document.
    #[error("a frame's body is not what was expected: {0}")]
    Body(#[from] serde_json::Error),
}

/// Makes a frame.
///
/// # Errors
/// When the message is longer than [`BODY_MAX`].
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; HEADER];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - HEADER;
    match u32::try_from(length) {
        Ok(announced) if length <= BODY_MAX => {
            frame[..HEADER].copy_from_slice(&announced.to_be_bytes());
            Ok(frame)
        }
        _ => Err(FrameError::TooLong { length, most: BODY_MAX }),
    }
}

/// How many bytes follow this header, of a frame that has at most `most`: [`BODY_MAX`] or [`REPLY_MAX`].
///
/// # Errors
/// When there are more.
pub const fn body_length(header: [u8; HEADER], most: usize) -> Result<usize, FrameError> {
    let length = u32::from_be_bytes(header) as usize;
    if length > most { Err(FrameError::TooLong { length, most }) } else { Ok(length) }
}

/// Reads a body.
///
/// # Errors
/// When it is not the expected JSON document.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    Ok(serde_json::from_slice(body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_reads_as_it_was_written() {
        let frame = encode(&vec!["a", "b"]).unwrap();
        let (header, body) = frame.split_at(HEADER);
        assert_eq!(body_length(header.try_into().unwrap(), BODY_MAX).unwrap(), body.len());
        assert_eq!(decode::<Vec<String>>(body).unwrap(), ["a", "b"]);
    }

    #[test]
    fn hostile_frames_are_refused() {
        for most in [BODY_MAX, REPLY_MAX] {
            let too_long = body_length([0xff; 4], most);
            assert!(matches!(too_long, Err(FrameError::TooLong { length: 0xffff_ffff, .. })));
            assert!(body_length(u32::try_from(most).unwrap().to_be_bytes(), most).is_ok());
        }
        assert!(matches!(encode(&"x".repeat(BODY_MAX)), Err(FrameError::TooLong { .. })));
        assert!(matches!(decode::<Vec<String>>(b"[1]"), Err(FrameError::Body(_))));
        assert!(matches!(decode::<Vec<String>>("[".repeat(100_000).as_bytes()), Err(FrameError::Body(_))));
    }
}
