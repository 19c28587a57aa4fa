//! What the evidence of a gate shows. Some machines always become unavailable, so those that were changed are compared with
//! those that were not touched. Silence is no evidence.

use seaworthy_model::strategy::{Course, Evidence};

/// Of so many changed machines, one may be silent.
const SILENT_PART: u32 = 20;

/// What evidence shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Fail,
    Inconclusive,
}

/// Whether too many of the changed machines are silent.
pub(super) const fn is_silent(evidence: &Evidence) -> bool {
    evidence.silent > evidence.changed / SILENT_PART
}

/// What the evidence shows.
pub(super) fn verdict(course: &Course, evidence: &Evidence) -> Verdict {
    let wrong = evidence.wrong().saturating_sub(course.excused);
    let failed = evidence.failed.saturating_sub(course.excused);
    let tolerance = course.strategy.tolerance_of(evidence.changed);
    let expected = expected(evidence);
    let beyond = (wrong + 1).saturating_sub(tolerance);
    // One machine that catches up was often in trouble before, and most others have run the version for long.
    let is_most = wrong * 2 > evidence.changed && !(course.catches_up && wrong == 1);
    let is_telling = is_most || is_beyond_chance(beyond, expected);
    if failed >= tolerance || (beyond > 0 && is_telling) {
        Verdict::Fail
    } else if u64::from(beyond) * 1000 > expected || is_silent(evidence) {
        Verdict::Inconclusive
    } else {
        Verdict::Pass
    }
}

/// How many of the changed machines would be unavailable without the rollout, in thousandths: as many as of the others. Few
/// others say little, so half a machine of fifty is added to them.
fn expected(evidence: &Evidence) -> u64 {
    let share = u64::from(evidence.untouched_unavailable) * 1000 + 500;
    u64::from(evidence.changed) * share / (u64::from(evidence.untouched) + 50)
}

/// For 1, 2, 3 and more machines: up to what expected number, in thousandths, chance makes them so many less than once in 500
/// times, by a Poisson distribution.
const SELDOM: [u64; 10] = [2, 64, 243, 518, 867, 1271, 1719, 2204, 2717, 3257];

/// Whether chance hardly ever makes them so many. For more than the table has: 3.4 standard deviations.
fn is_beyond_chance(machines: u32, expected: u64) -> bool {
    match (machines as usize).checked_sub(1).and_then(|index| SELDOM.get(index)) {
        Some(most) => expected <= *most,
        None => u64::from(machines) * 1000 >= expected + (expected * 1000).isqrt() * 34 / 10,
    }
}

#[cfg(test)]
mod tests {
    use seaworthy_model::strategy::Strategy;

    use super::*;

    fn evidence(changed: u32, unavailable: u32, (untouched, others): (u32, u32)) -> Evidence {
        Evidence { changed, unavailable, untouched, untouched_unavailable: others, ..Evidence::default() }
    }

    #[test]
    fn machines_that_fall_as_often_as_others_do_say_nothing_of_the_release() {
        let course = Course::new(Strategy::default());
        let of = |evidence| verdict(&course, &evidence);
        assert_eq!(of(evidence(101, 2, (9_899, 198))), Verdict::Pass);
        assert_eq!(of(evidence(1_000, 25, (9_000, 180))), Verdict::Inconclusive);
        assert_eq!(of(evidence(101, 10, (9_899, 198))), Verdict::Fail);
        assert_eq!(of(evidence(101, 1, (9_899, 0))), Verdict::Inconclusive);
        assert_eq!(of(evidence(101, 2, (9_899, 0))), Verdict::Fail);
        assert_eq!(of(evidence(1_000, 40, (9_000, 180))), Verdict::Fail);
    }

    #[test]
    fn the_only_machine_that_was_changed_decides() {
        let course = Course::new(Strategy::default());
        assert_eq!(verdict(&course, &evidence(1, 1, (9_999, 200))), Verdict::Fail);
        assert_eq!(verdict(&course, &evidence(1, 0, (9_999, 200))), Verdict::Pass);
    }

    /// Where one in fifty is down anyway, it may be chance. Where nobody is, or if two are down, it is none.
    #[test]
    fn one_machine_that_catches_up_is_compared_with_the_others() {
        let course = Course { catches_up: true, ..Course::new(Strategy::default()) };
        assert_eq!(verdict(&course, &evidence(1, 1, (9_999, 200))), Verdict::Inconclusive);
        assert_eq!(verdict(&course, &evidence(1, 1, (9_999, 0))), Verdict::Fail);
        assert_eq!(verdict(&course, &evidence(2, 2, (9_999, 200))), Verdict::Fail);
        let failed = Evidence { failed: 1, ..evidence(1, 0, (9_999, 200)) };
        assert_eq!(verdict(&course, &failed), Verdict::Fail);
    }

    #[test]
    fn silence_is_not_health() {
        let course = Course::new(Strategy::default());
        let silent = |changed, silent| Evidence { silent, ..evidence(changed, 0, (100, 0)) };
        assert_eq!(verdict(&course, &silent(1, 1)), Verdict::Inconclusive);
        assert_eq!(verdict(&course, &silent(100, 5)), Verdict::Pass);
        assert_eq!(verdict(&course, &silent(100, 6)), Verdict::Inconclusive);
    }

    #[test]
    fn a_release_that_fails_on_as_many_as_are_tolerated_fails_the_gate() {
        let failed = |changed, failed| Evidence { failed, ..evidence(changed, 0, (0, 0)) };
        let course = Course::new(Strategy::default());
        assert_eq!(verdict(&course, &failed(1, 1)), Verdict::Fail);
        assert_eq!(verdict(&course, &failed(1_000, 2)), Verdict::Pass);
        assert_eq!(verdict(&course, &failed(1_000, 3)), Verdict::Fail);
    }
}
