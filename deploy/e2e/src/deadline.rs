//! Waiting for a condition with a deadline.

use std::time::{Duration, Instant};
use std::{fmt, thread};

use anyhow::{Context, Result};

/// Pause between two probes; short against everything that is waited for here (the fastest, a process, takes 10 ms).
const PAUSE: Duration = Duration::from_millis(50);

/// Between two probes passes twice the time that the last one took, but no more than this. Otherwise a loaded machine would
/// be busy with probes.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Calls `probe` until it succeeds, at most for `within`.
///
/// # Errors
/// The last error of `probe`, with `what` and the time waited, once the deadline has passed. `probe` is called at
/// least once.
pub fn eventually<T>(
    what: impl fmt::Display,
    within: Duration,
    probe: impl FnMut() -> Result<T>,
) -> Result<T> {
    eventually_every(PAUSE, what, within, probe)
}

/// Like [`eventually`], with at least this pause between two probes: for probes that cost processor time themselves.
///
/// # Errors
/// As for [`eventually`].
pub fn eventually_every<T>(
    pause: Duration,
    what: impl fmt::Display,
    within: Duration,
    mut probe: impl FnMut() -> Result<T>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        let asked = Instant::now();
        match probe() {
            Ok(value) => return Ok(value),
            Err(error) if start.elapsed() >= within => {
                return Err(error).with_context(|| format!("{what}: not within {:.1?}", start.elapsed()));
            }
            Err(_) => thread::sleep(pause.max((asked.elapsed() * 2).min(PAUSE_MAX))),
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn gives_the_last_error_when_the_deadline_has_passed() {
        let mut probes = 0;
        let error = eventually("the tide", Duration::ZERO, || -> Result<()> {
            probes += 1;
            bail!("still low at probe {probes}")
        })
        .unwrap_err();
        assert!(format!("{error:#}").starts_with("the tide: not within"), "{error:#}");
        assert!(format!("{error:#}").ends_with("still low at probe 1"), "{error:#}");
    }

    #[test]
    fn goes_on_until_the_probe_succeeds() {
        let mut probes = 0;
        let value = eventually("three probes", Duration::from_secs(5), || {
            probes += 1;
            if probes == 3 { Ok(probes) } else { bail!("too early") }
        });
        assert_eq!(value.unwrap(), 3);
    }
}
