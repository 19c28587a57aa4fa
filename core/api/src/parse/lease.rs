//! `Lease`: the leader.

use std::time::Duration;

use seaworthy_model::id::Kind;
use seaworthy_model::lease::{Epoch, LeaseObject, LeaseRecord};

use super::faults::{Faults, Field};
use super::metadata::{MetadataError, metadata};
use crate::object::Lease;
use crate::rfc3339;
use crate::v1alpha1::ADOPT_ANNOTATION;

/// Reads the operator's Lease. An adoption that is not a number is ignored: the condition `StoreRegressed` stays, and
/// says what to write. One of a number that no epoch can have is read as the highest, and refused.
///
/// # Errors
/// When the metadata is invalid, or the number of transitions is not a valid epoch.
pub fn lease(object: &Lease) -> Result<LeaseObject, MetadataError> {
    let meta = metadata(Kind::Lease, &object.metadata)?;
    let transitions = object.spec.lease_transitions.unwrap_or(0);
    let Ok(epoch) = i32::try_from(transitions).and_then(u32::try_from).map(Epoch) else {
        let mut faults = Faults::default();
        faults.add(Field::root("spec").name("leaseTransitions"), "must be from 0 to 2147483647");
        return Err(MetadataError::new(Kind::Lease, &object.metadata, faults));
    };
    let adopt = object.metadata.annotations.get(ADOPT_ANNOTATION);
    Ok(LeaseObject {
        meta,
        record: LeaseRecord {
            holder: object.spec.holder_identity.clone().unwrap_or_default(),
            epoch,
            duration: object.spec.lease_duration_seconds.and_then(seconds),
            acquired: object.spec.acquire_time.as_deref().and_then(rfc3339::parse_micro),
            renewed: object.spec.renew_time.as_deref().and_then(rfc3339::parse_micro),
        },
        adopt: adopt.and_then(|text| adoption(text.trim())),
    })
}

fn adoption(text: &str) -> Option<Epoch> {
    let is_number = !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
    is_number.then(|| Epoch(text.parse().unwrap_or(u32::MAX)))
}

/// The API server admits no duration below a second.
fn seconds(count: i32) -> Option<Duration> {
    u64::try_from(count).ok().filter(|count| *count > 0).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use seaworthy_model::time::Timestamp;

    use super::*;
    use crate::object::{LeaseSpec, Metadata};

    fn seen(name: &str) -> Metadata {
        Metadata {
            uid: "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0".into(),
            resource_version: "7".into(),
            creation_timestamp: Some("2026-11-20T08:00:00Z".into()),
            ..Metadata::named(name)
        }
    }

    fn lease_with(transitions: Option<i64>, adopt: Option<&str>) -> Lease {
        let mut metadata = seen("seaworthy");
        metadata.annotations.extend(adopt.map(|text| (ADOPT_ANNOTATION.to_string(), text.to_string())));
        let spec = LeaseSpec {
            holder_identity: Some("a".into()),
            lease_transitions: transitions,
            ..LeaseSpec::default()
        };
        Lease { metadata, spec, ..Lease::default() }
    }

    #[test]
    fn a_lease_without_a_count_is_vacant() {
        let read = lease(&lease_with(None, None)).unwrap();
        let record = read.record;
        assert_eq!((record.epoch, read.adopt, record.holder.as_str()), (Epoch::VACANT, None, "a"));
    }

    #[test]
    fn times_of_a_lease_keep_their_milliseconds_and_nonsense_is_none() {
        let at = |text: &str| Some(text.to_owned());
        let spec = LeaseSpec {
            lease_duration_seconds: Some(15),
            acquire_time: at("2026-11-20T08:10:00.000000Z"),
            renew_time: at("2026-11-20T08:10:02.345678Z"),
            ..LeaseSpec::default()
        };
        let read = lease(&Lease { metadata: seen("seaworthy"), spec, ..Lease::default() }).unwrap().record;
        assert_eq!(read.duration, Some(Duration::from_secs(15)));
        assert_eq!(read.acquired, Some(Timestamp::from_millis(1_795_162_200_000)));
        assert_eq!(read.renewed, Some(Timestamp::from_millis(1_795_162_202_345)));
        let spec = LeaseSpec {
            lease_duration_seconds: Some(-1),
            renew_time: at("yesterday"),
            ..LeaseSpec::default()
        };
        let read = lease(&Lease { metadata: seen("seaworthy"), spec, ..Lease::default() }).unwrap().record;
        assert_eq!((read.duration, read.renewed), (None, None));
    }

    #[test]
    fn adoption_is_a_number_or_none() {
        for (text, adopt) in [
            ("41", Some(Epoch(41))),
            (" 41\n", Some(Epoch(41))),
            ("e41", None),
            ("", None),
            ("-1", None),
            ("99999999999", Some(Epoch(u32::MAX))),
        ] {
            assert_eq!(lease(&lease_with(Some(3), Some(text))).unwrap().adopt, adopt, "{text:?}");
        }
    }

    #[test]
    fn a_lease_that_counts_backwards_or_too_far_is_refused() {
        assert!(lease(&lease_with(Some(i64::from(i32::MAX) + 1), None)).is_err());
        let error = lease(&lease_with(Some(-1), None)).unwrap_err();
        let words = "Lease \"seaworthy\" is not usable; spec.leaseTransitions: must be from 0 to 2147483647";
        assert_eq!(error.to_string(), words);
    }
}
