//! What every Event of ours has.

use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::time::Timestamp;

use crate::object::{Endpoint, Event, Metadata, Reference};
use crate::rfc3339;
use crate::v1alpha1::GROUP;

/// Longest part of an object's name in that of an Event, in bytes. A name has at most 253.
const NAME_MAX: usize = 180;

/// An Event about an object, said by `reporter`, which does not say anything yet. What has the same `topic` has the same name,
/// and the API server takes only one of them.
pub(super) fn event(
    (kind, name, uid): (Kind, &str, Uid),
    topic: &str,
    (at, reporter): (Timestamp, &str),
) -> Event {
    let (own, about) = (Endpoint::of(Kind::Event), Endpoint::of(kind));
    let short = name.get(..NAME_MAX).unwrap_or(name).trim_end_matches(['.', '-']);
    // The uid tells incarnations of one name apart.
    let unique = format!("{short}.{:x}.{topic}", uid.0 >> 64);
    Event {
        api_version: own.api_version.into(),
        kind: own.kind.name().into(),
        metadata: Metadata { namespace: own.namespace.map(str::to_owned), ..Metadata::named(unique) },
        event_time: rfc3339::format_micro(at),
        reporting_controller: GROUP.to_owned(),
        reporting_instance: reporter.chars().take(128).collect(),
        regarding: Reference {
            api_version: about.api_version.into(),
            kind: kind.name().into(),
            name: name.to_owned(),
            uid: uid.into(),
        },
        ..Event::default()
    }
}
