//! The updates that watches send.

use seaworthy_api::managed;
use seaworthy_api::object::{CertificateSigningRequest, Read, Resource};
use seaworthy_api::parse::{is_of_interest, request_content};
use seaworthy_model::certificate::RequestContent;
use seaworthy_model::id::Kind;
use serde::de::DeserializeOwned;

use crate::encoding::Sent;
use crate::protobuf;
use crate::request;
use crate::source::Source;

/// One update of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The round of watches that it comes from. Rounds are numbered upwards; of the first, 0, is only the Lease.
    pub generation: u64,
    /// What was watched.
    pub source: Source,
    /// What changed.
    pub change: Change,
}

/// What a watch reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A complete list begins.
    ListBegan,
    /// The object is like this now.
    Present(Resource),
    /// The certificate request is like this now, and asks for that. It is decoded where it arrives: that takes time, and the
    /// loop that drives the engine has none.
    Requested(Box<CertificateSigningRequest>, Result<RequestContent, String>),
    /// The object of this name exists, and cannot be parsed.
    Unreadable {
        /// Its name.
        name: String,
        /// Why, with the place in it.
        why: String,
    },
    /// The object of this name is gone.
    Gone(String),
    /// The list is complete: what was not in it does not exist.
    ListEnded,
    /// The source cannot be watched at present, and why. Sent once, not for every attempt.
    Failing(String),
    /// The source is watched.
    Working,
}

impl Change {
    /// The object of `kind` that was sent. One object that cannot be parsed must not hide all others.
    pub(crate) fn of(kind: Kind, sent: &Sent<'_>) -> Self {
        let parsed = match sent {
            Sent::Json(text) => of_json(kind, text).map_err(|error| error.to_string()),
            Sent::Protobuf(content) => protobuf::node(content.clone())
                .map(|node| Self::Present(Resource::Node(Box::new(node))))
                .map_err(|error| error.to_string()),
        };
        parsed.unwrap_or_else(|why| {
            let name = sent.identity().map(|identity| identity.name);
            Self::Unreadable { name: name.unwrap_or_default(), why }
        })
    }
}

fn of_json(kind: Kind, json: &str) -> Result<Change, serde_json::Error> {
    match Resource::read(kind, Text(json)) {
        Ok(Resource::CertificateSigningRequest(object)) if is_of_interest(&object) => {
            let content = request_content(&object.spec.request, request::read);
            Ok(Change::Requested(object, content))
        }
        Ok(mut resource) => {
            if managed::is_of_interest(kind) {
                resource.metadata_mut().spec_manager = managed::spec_manager(Text(json));
            }
            Ok(Change::Present(resource))
        }
        Err(error) => Err(error),
    }
}

/// Reads what the API server sends.
#[derive(Clone, Copy)]
struct Text<'a>(&'a str);

impl Read for Text<'_> {
    type Error = serde_json::Error;

    fn read<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Identity;

    #[test]
    fn an_object_that_makes_no_sense_keeps_its_name() {
        let json = r#"{"metadata":{"name":"m1","resourceVersion":"7"},"spec":{"address":7}}"#;
        let sent = Sent::Json(json);
        let Change::Unreadable { name, why } = Change::of(Kind::Machine, &sent) else { panic!("readable") };
        assert_eq!(name, "m1");
        assert!(why.contains("line 1"), "{why}");
        let Identity { name, version } = sent.identity().unwrap();
        assert_eq!((&*name, &*version), ("m1", "7"));
    }

    #[test]
    fn who_wrote_a_spec_is_read_only_of_what_owns_rollouts() {
        let managers =
            r#"[{"manager":"kubectl-edit","time":"2026-11-26T10:00:00Z","fieldsV1":{"f:spec":{}}}]"#;
        let manager = |kind, spec: &str| {
            let json = format!(r#"{{"metadata":{{"name":"a","managedFields":{managers}}},"spec":{spec}}}"#);
            let Change::Present(object) = Change::of(kind, &Sent::Json(&json)) else {
                panic!("unreadable: {json}")
            };
            object.metadata().spec_manager.clone()
        };
        let owner = manager(Kind::ClusterPackageVersion, r#"{"components":[]}"#);
        assert_eq!(owner.as_deref(), Some("kubectl-edit"));
        assert_eq!(manager(Kind::Node, "{}"), None);
    }

    #[test]
    fn a_node_is_read_for_its_condition_alone() {
        let json = r#"{"metadata":{"name":"m1"},"spec":{"podCIDR":"10.0.0.0/24"},
            "status":{"images":[{}],"conditions":[{"type":"Ready","status":"True"}]}}"#;
        let Change::Present(Resource::Node(node)) = Change::of(Kind::Node, &Sent::Json(json)) else {
            panic!("unreadable")
        };
        assert_eq!(node.status.unwrap().conditions[0].r#type, "Ready");
    }
}
