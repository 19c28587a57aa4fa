//! The record of the Lease as its spec.

use seaworthy_model::lease::LeaseRecord;

use crate::object::LeaseSpec;
use crate::rfc3339;

/// The spec of `record`. A Lease without a holder has no `holderIdentity`.
#[must_use]
pub fn lease(record: &LeaseRecord) -> LeaseSpec {
    LeaseSpec {
        holder_identity: (!record.is_free()).then(|| record.holder.clone()),
        lease_duration_seconds: record
            .duration
            .map(|duration| i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)),
        acquire_time: record.acquired.map(rfc3339::format_micro),
        renew_time: record.renewed.map(rfc3339::format_micro),
        lease_transitions: Some(i64::from(record.epoch.0)),
    }
}
