//! Reads: one object, lists in pages, watches.

use std::sync::Arc;

use seaworthy_api::object::{Endpoint, Resource};
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use serde_json::{Value, json};

use super::{Answer, Place, answer, json};
use crate::world::api_server::{ApiServer, ChangeKind, Stored};

type Served = Result<Answer, Box<Answer>>;

impl ApiServer {
    pub(super) fn read(&self, kind: Kind, name: &str) -> Served {
        let object = self.get(kind, name).ok_or_else(|| answer::not_found(kind, name))?;
        Ok(answer::ok(json::of(&object.resource())))
    }

    /// Lists. Without a continuation it is always the newest state, which every `resourceVersion` but an exact one
    /// allows; a continuation goes on only while nothing has changed, as if what it began with were compacted since.
    pub(super) fn list(&self, place: &Place<'_>) -> Served {
        let selected = Selector::of(place)?;
        let limit = match place.parameter("limit").map(str::parse::<usize>) {
            None => usize::MAX,
            Some(Ok(0)) => usize::MAX,
            Some(Ok(limit)) => limit,
            Some(Err(_)) => return Err(answer::bad_request("limit is not a number")),
        };
        let (revision, after) = match place.parameter("continue") {
            None => (self.listed(place)?, None),
            Some(token) => {
                let (revision, name) = self.resumed(place, token)?;
                (revision, Some(name))
            }
        };
        let collection = self.collection(place.kind);
        let mut rest = collection.objects();
        rest.retain(|object| selected.admits(object) && after.is_none_or(|name| &**object.name() > name));
        let page = &rest[..rest.len().min(limit)];
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if let Some(last) = page.last().filter(|_| page.len() < rest.len()) {
            metadata["continue"] = format!("{revision}_{}", last.name()).into();
            metadata["remainingItemCount"] = (rest.len() - page.len()).into();
        }
        Ok(answer::ok(json!({
            "apiVersion": Endpoint::of(place.kind).api_version,
            "kind": format!("{}List", place.kind.name()),
            "metadata": metadata,
            "items": page.iter().map(|object| item(&object.resource())).collect::<Vec<_>>(),
        })))
    }

    /// The revision of a list that begins now.
    fn listed(&self, place: &Place<'_>) -> Result<u64, Box<Answer>> {
        let wanted = place.revision()?;
        match (place.parameter("resourceVersionMatch"), wanted) {
            (None | Some("NotOlderThan"), wanted) if wanted.unwrap_or(0) <= self.revision() => {
                Ok(self.revision())
            }
            (None | Some("NotOlderThan"), _) => {
                Err(answer::refused(504, "Timeout", "Too large resource version"))
            }
            _ => Err(Box::new(answer::not_modelled("resourceVersionMatch=Exact"))),
        }
    }

    /// Where a list goes on.
    fn resumed<'a>(&self, place: &Place<'_>, token: &'a str) -> Result<(u64, &'a str), Box<Answer>> {
        if place.revision()?.is_some() {
            return Err(answer::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let (revision, name) = token.split_once('_').unwrap_or_default();
        let revision: u64 = revision.parse().map_err(|_| answer::bad_request("continue key is not valid"))?;
        let is_as_it_was = self.changed_after(place.kind, revision).is_ok_and(|changes| changes == 0);
        if is_as_it_was { Ok((revision, name)) } else { Err(answer::expired()) }
    }

    fn changed_after(&self, kind: Kind, revision: u64) -> Result<usize, Box<Answer>> {
        let collection = self.collection(kind);
        let last = Timestamp::from_millis(0);
        let changes = collection.since(collection.after(revision), last).map_err(|_| answer::expired())?;
        Ok(changes.count())
    }

    /// Every event after a revision. Where there are bookmarks, one ends the answer, as one comes before a real watch
    /// ends.
    pub(super) fn watch(&self, place: &Place<'_>, now: Timestamp) -> Served {
        let selected = Selector::of(place)?;
        let collection = self.collection(place.kind);
        let mut events = Vec::new();
        match place.revision()? {
            None => {
                let present = collection.objects().into_iter().filter(|object| selected.admits(object));
                events.extend(present.map(|object| event("ADDED", json::of(&object.resource()))));
            }
            Some(revision) => {
                let Ok(changes) = collection.since(collection.after(revision), now) else {
                    let status = answer::failure(410, "Expired", answer::EXPIRED);
                    return Ok(Answer { code: 200, body: vec![event("ERROR", status)] });
                };
                for change in changes.filter(|change| selected.admits(&change.object)) {
                    let kind = match change.kind {
                        ChangeKind::Added => "ADDED",
                        ChangeKind::Modified => "MODIFIED",
                        ChangeKind::Deleted => "DELETED",
                    };
                    events.push(event(kind, json::of(&change.object.resource())));
                }
            }
        }
        if place.parameter("allowWatchBookmarks") == Some("true") {
            let bookmark = json!({
                "apiVersion": Endpoint::of(place.kind).api_version,
                "kind": place.kind.name(),
                "metadata": {"resourceVersion": self.revision().to_string()},
            });
            events.push(event("BOOKMARK", bookmark));
        }
        Ok(Answer { code: 200, body: events })
    }
}

/// An object in a list. Those of built-in kinds do not say what they are: the list does.
fn item(object: &Resource) -> Value {
    let mut value = json::of(object);
    if let (Kind::Node | Kind::Lease | Kind::CertificateSigningRequest, Some(fields)) =
        (object.kind(), value.as_object_mut())
    {
        fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
    }
    value
}

fn event(kind: &str, object: Value) -> Value {
    json!({"type": kind, "object": object})
}

/// Which objects are meant.
enum Selector {
    All,
    Name(String),
    /// Certificate requests to this signer.
    Signer(String),
}

impl Selector {
    fn of(place: &Place<'_>) -> Result<Self, Box<Answer>> {
        let Some(selector) = place.parameter("fieldSelector") else { return Ok(Self::All) };
        match selector.split_once('=') {
            Some(("metadata.name", name)) if !name.contains(',') => Ok(Self::Name(name.to_owned())),
            Some(("spec.signerName", signer))
                if place.kind == Kind::CertificateSigningRequest && !signer.contains(',') =>
            {
                Ok(Self::Signer(signer.to_owned()))
            }
            _ => Err(Box::new(answer::not_modelled("field selector but metadata.name=NAME"))),
        }
    }

    fn admits(&self, object: &Arc<Stored>) -> bool {
        match self {
            Self::All => true,
            Self::Name(name) => **object.name() == **name,
            Self::Signer(signer) => matches!(
                object.resource(),
                Resource::CertificateSigningRequest(request) if request.spec.signer_name == *signer
            ),
        }
    }
}
