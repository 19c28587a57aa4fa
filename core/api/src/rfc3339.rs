//! Time as Kubernetes writes it: RFC 3339 in UTC, to the second, or with six more digits where it is a `MicroTime`.

use std::fmt;

use seaworthy_model::time::Timestamp;

const SECONDS_PER_DAY: u64 = 86_400;
/// 9999-12-31T23:59:59Z, the last second that four digits of a year can say.
const LAST_SECOND: u64 = 253_402_300_799;

/// Writes `at` cut to whole seconds, for example `2026-11-20T08:30:00Z`. What lies after the year 9999 is written as
/// its last second.
#[must_use]
pub fn format(at: Timestamp) -> String {
    struct Text(Timestamp);
    impl fmt::Display for Text {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(self.0, f)
        }
    }
    Text(at).to_string()
}

/// Writes what [`format()`] returns.
///
/// # Errors
/// Those of the formatter.
pub fn write(at: Timestamp, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let seconds = (at.millis() / 1000).min(LAST_SECOND);
    let (year, month, day) = civil_from_days(seconds / SECONDS_PER_DAY);
    let of_day = seconds % SECONDS_PER_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Writes `at` as a `MicroTime`, for example `2026-11-20T08:30:00.123000Z`.
#[must_use]
pub fn format_micro(at: Timestamp) -> String {
    let seconds = (at.millis() / 1000).min(LAST_SECOND);
    let (year, month, day) = civil_from_days(seconds / SECONDS_PER_DAY);
    let of_day = seconds % SECONDS_PER_DAY;
    // Written for each renewal of the Lease: digit by digit, which is ten times as fast as the formatter.
    let mut text = String::with_capacity(27);
    let mut push = |number: u64, unit: u64, after: &str| {
        let mut unit = unit;
        while unit > 0 {
            text.push(char::from(b'0' + u8::try_from(number / unit % 10).unwrap_or(0)));
            unit /= 10;
        }
        text.push_str(after);
    };
    push(year, 1000, "-");
    push(month, 10, "-");
    push(day, 10, "T");
    push(of_day / 3600, 10, ":");
    push(of_day / 60 % 60, 10, ":");
    push(of_day % 60, 10, ".");
    push(at.millis() % 1000, 100, "000Z");
    text
}

/// Reads an RFC 3339 time as [`parse`] does, but keeps the milliseconds.
#[must_use]
pub fn parse_micro(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = read(text)?;
    let digits = fraction.iter().zip([100, 10, 1]);
    Some(Timestamp::from_millis(
        whole.millis() + digits.map(|(digit, unit)| u64::from(digit - b'0') * unit).sum::<u64>(),
    ))
}

/// Reads an RFC 3339 time from 1970 to 9999, with any offset. Fractions of a second are cut off; a leap second is
/// taken for the second before it. `None` when it is anything else.
#[must_use]
pub fn parse(text: &str) -> Option<Timestamp> {
    read(text).map(|(whole, _)| whole)
}

/// The whole seconds of a time, and the digits of its fraction.
fn read(text: &str) -> Option<(Timestamp, &[u8])> {
    let (date, rest) = text.as_bytes().split_first_chunk()?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else { return None };
    let (clock, rest) = rest.split_first_chunk()?;
    let &[b'T' | b't' | b' ', h1, h2, b':', min1, min2, b':', s1, s2] = clock else { return None };
    let (year, month, day) = (number([y1, y2, y3, y4])?, number([m1, m2])?, number([d1, d2])?);
    let (hour, minute, second) = (number([h1, h2])?, number([min1, min2])?, number([s1, s2])?);
    if year < 1970 || !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let of_day = hour * 3600 + minute * 60 + second.min(59);
    let local = days_from_civil(year, month, day) * SECONDS_PER_DAY + of_day;
    let (fraction, rest) = split_fraction(rest)?;
    let (behind, ahead) = offset(rest)?;
    let seconds = (local + behind).checked_sub(ahead)?;
    (seconds <= LAST_SECOND).then_some((Timestamp::from_millis(seconds * 1000), fraction))
}

/// Digits, and nothing else: `str::parse` would also take a sign.
fn number<const DIGITS: usize>(digits: [u8; DIGITS]) -> Option<u64> {
    digits
        .into_iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0')))
}

/// The digits of a fraction, if there is one, and what follows.
fn split_fraction(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let Some(fraction) = text.strip_prefix(b".") else { return Some((&[], text)) };
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 { fraction.split_at_checked(digits) } else { None }
}

/// Seconds to add, and seconds to subtract, to get from local time to UTC.
fn offset(text: &[u8]) -> Option<(u64, u64)> {
    let &[sign, h1, h2, b':', m1, m2] = text else {
        return matches!(text, b"Z" | b"z").then_some((0, 0));
    };
    let (hour, minute) = (number([h1, h2])?, number([m1, m2])?);
    if hour > 23 || minute > 59 {
        return None;
    }
    let seconds = hour * 3600 + minute * 60;
    match sign {
        b'-' => Some((seconds, 0)),
        b'+' => Some((0, seconds)),
        _ => None,
    }
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 0000-03-01 to 1970-01-01. Years that begin in March have their leap day at the end, which makes the
/// length of the months before any date a linear function (Howard Hinnant, "chrono-compatible low-level date
/// algorithms").
const MARCH_0000_TO_1970: u64 = 719_468;
const DAYS_PER_400_YEARS: u64 = 146_097;

/// Days since 1970-01-01 of a date from then on.
const fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year % 400;
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    year / 400 * DAYS_PER_400_YEARS + days_of_era - MARCH_0000_TO_1970
}

/// The date that lies so many days after 1970-01-01.
const fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + MARCH_0000_TO_1970;
    let days_of_era = days % DAYS_PER_400_YEARS;
    let of_era = (days_of_era - days_of_era / 1460 + days_of_era / 36_524 - days_of_era / 146_096) / 365;
    let of_year = days_of_era - (365 * of_era + of_era / 4 - of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = days / DAYS_PER_400_YEARS * 400 + of_era;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_instants() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_234_567_890, "2009-02-13T23:31:30Z"),
            (1_795_162_200, "2026-11-20T08:10:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST_SECOND, "9999-12-31T23:59:59Z"),
        ];
        for (seconds, text) in table {
            assert_eq!(format(Timestamp::from_millis(seconds * 1000)), text);
            assert_eq!(parse(text), Some(Timestamp::from_millis(seconds * 1000)), "{text}");
        }
        assert_eq!(format(Timestamp::MAX), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn offsets_and_fractions() {
        let noon = parse("2026-11-20T12:00:00Z");
        for text in [
            "2026-11-20T13:00:00+01:00",
            "2026-11-20T06:30:00-05:30",
            "2026-11-20T12:00:00.999999Z",
            "2026-11-20t12:00:00z",
            "2026-11-21T11:00:00.5+23:00",
        ] {
            assert_eq!(parse(text), noon, "{text}");
        }
        assert_eq!(parse("2016-12-31T23:59:60Z"), parse("2016-12-31T23:59:59Z"));
    }

    #[test]
    fn micro_times_keep_milliseconds() {
        let at = Timestamp::from_millis(1_795_162_200_007);
        assert_eq!(format_micro(at), "2026-11-20T08:10:00.007000Z");
        assert_eq!(parse_micro("2026-11-20T08:10:00.007999Z"), Some(at));
        assert_eq!(
            parse_micro("2026-11-20T09:10:00.3+01:00"),
            Some(Timestamp::from_millis(1_795_162_200_300))
        );
        assert_eq!(parse_micro("2026-11-20T08:10:00Z"), Some(Timestamp::from_millis(1_795_162_200_000)));
        assert_eq!(parse_micro("2026-11-20T08:10:00.Z"), None);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "2026-11-20",
            "2026-11-20T12:00:00",
            "2026-02-29T12:00:00Z",
            "2100-02-29T12:00:00Z",
            "2026-13-01T12:00:00Z",
            "2026-00-01T12:00:00Z",
            "2026-11-00T12:00:00Z",
            "2026-11-31T12:00:00Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T12:60:00Z",
            "2026-11-20T12:00:61Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "2026-11-20T12:00:00.Z",
            "2026-11-20T12:00:00+1:00",
            "2026-11-20T12:00:00Zulu",
            "+026-11-20T12:00:00Z",
            "2026-11-20T12:00:+1Z",
            "2026-11-20T12:00:00é",
            "20é6-11-20T12:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(seconds in 0..=LAST_SECOND, rest in 0..1000u64) {
            let at = Timestamp::from_millis(seconds * 1000 + rest);
            prop_assert_eq!(parse(&format(at)), Some(at.whole_seconds()));
        }

        #[test]
        fn later_is_greater_as_text(a in 0..=LAST_SECOND, b in 0..=LAST_SECOND) {
            prop_assert_eq!(a.cmp(&b), format(Timestamp::from_millis(a * 1000)).cmp(&format(Timestamp::from_millis(b * 1000))));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}|[0-9TZ:.+ -]{0,40}") {
            let _ = parse(&text);
        }
    }
}
