//! Writes.

use seaworthy_api::object::{Metadata, Resource};
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::{Kind, Uid};
use seaworthy_model::meta::SpecError;
use serde_json::Value;

use super::json_patch::{self, Fault};
use super::{Answer, Place, answer, json};
use crate::world::api_server::{ApiServer, Preconditions, Refusal, Status, WriteResult};

type Served = Result<Answer, Box<Answer>>;

impl ApiServer {
    pub(super) fn post(&mut self, place: &Place<'_>, body: &Value, now: Timestamp) -> Served {
        let object = json::read(place.kind, body)?;
        let metadata = object.metadata();
        if !metadata.resource_version.is_empty() {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(answer::refused(500, "", message));
        }
        let name = metadata.name.to_string();
        let created = self.create(object, now);
        Ok(Answer { code: 201, ..written(created, place.kind, &name)? })
    }

    pub(super) fn put(&mut self, place: &Place<'_>, name: &str, body: &Value, now: Timestamp) -> Served {
        let object = json::read(place.kind, body)?;
        if &*object.metadata().name != name {
            return Err(answer::bad_request("the name in the body is not the one in the URL"));
        }
        self.replace(place, object, now)
    }

    /// Applies a merge patch. It becomes the update of what is there now: what it says of uid and `resourceVersion` are
    /// preconditions, and what it leaves out is as it is.
    pub(super) fn patch(&mut self, place: &Place<'_>, name: &str, body: &Value, now: Timestamp) -> Served {
        let present = self.get(place.kind, name).ok_or_else(|| answer::not_found(place.kind, name))?;
        if !body.is_object() {
            return Err(answer::bad_request("a merge patch is an object"));
        }
        let before = present.resource();
        let before = before.metadata();
        let (uid, version) = (before.uid.clone(), before.resource_version.clone());
        let mut patched = json::of(&present.resource());
        json::merge(&mut patched, body);
        let object = json::read(place.kind, &patched)?;
        let stated = object.metadata();
        if &*stated.name != name {
            return Err(answer::bad_request("the name in the patch is not the one in the URL"));
        }
        // Unlike in an update, a uid in a patch is no precondition: it would change what cannot be changed.
        if stated.resource_version == version && stated.uid != uid {
            return Err(invalid("metadata.uid", "field is immutable"));
        }
        self.replace(place, object, now)
    }

    /// Applies a JSON patch, whose tests are its preconditions.
    pub(super) fn json_patch(
        &mut self,
        place: &Place<'_>,
        name: &str,
        patch: &Value,
        now: Timestamp,
    ) -> Served {
        let present = self.get(place.kind, name).ok_or_else(|| answer::not_found(place.kind, name))?;
        let mut patched = json::of(&present.resource());
        match json_patch::apply(&mut patched, patch) {
            Ok(()) => self.replace(place, json::read(place.kind, &patched)?, now),
            Err(Fault::Failed) => Err(answer::refusal(&Refusal::TestFailed, place.kind, name)),
            Err(Fault::Malformed) => Err(answer::bad_request("a JSON patch is a list of operations")),
            Err(Fault::NotModelled) => Ok(answer::not_modelled("JSON patches but test, add and remove")),
        }
    }

    fn replace(&mut self, place: &Place<'_>, object: Resource, now: Timestamp) -> Served {
        let (kind, name) = (place.kind, object.metadata().name.to_string());
        if place.is_status && !Status::is_of(kind) {
            return Ok(answer::no_such_path());
        }
        let present = self.get(kind, &name).ok_or_else(|| answer::not_found(kind, &name))?;
        if object.metadata().resource_version.is_empty() && !is_updated_blindly(kind) {
            return Err(invalid("metadata.resourceVersion", "must be specified for an update"));
        }
        let preconditions = stated(object.metadata());
        if let (true, Resource::CertificateSigningRequest(request)) = (place.is_approval, &object) {
            let conditions = request.status.as_ref().map(|status| status.conditions.clone());
            let status = self.approval(&name, conditions.unwrap_or_default());
            return written(self.update_status((kind, &name), preconditions, now, status), kind, &name);
        }
        if !place.is_status {
            let updated = self.update((kind, &name), preconditions, now, |target| *target = object);
            return written(updated, kind, &name);
        }
        if kind == Kind::Node && !same_metadata(object.metadata(), present.resource().metadata()) {
            return Ok(answer::not_modelled("change of metadata by a write of a status"));
        }
        let status = object.into_status();
        let Some(status) = status else { return Ok(answer::not_modelled("removal of a status")) };
        written(self.update_status((kind, &name), preconditions, now, status), kind, &name)
    }

    pub(super) fn remove_named(
        &mut self,
        place: &Place<'_>,
        name: &str,
        options: &Value,
        now: Timestamp,
    ) -> Served {
        let known = ["apiVersion", "kind", "preconditions"];
        let other =
            options.as_object().and_then(|options| options.keys().find(|key| !known.contains(&key.as_str())));
        if let Some(option) = other {
            return Ok(answer::not_modelled(option));
        }
        let text = |field: &str| options["preconditions"][field].as_str().unwrap_or_default();
        let preconditions = preconditions(text("uid"), text("resourceVersion"));
        let deleted = self.delete((place.kind, name), preconditions, now);
        let deleted = deleted.map_err(|refusal| answer::refusal(&refusal, place.kind, name))?;
        if !deleted.removed {
            return Ok(answer::ok(json::of(&deleted.object.resource())));
        }
        Ok(answer::ok(answer::deleted(name, &deleted.object.resource().metadata().uid.to_string())))
    }
}

fn written(result: WriteResult, kind: Kind, name: &str) -> Served {
    match result {
        Ok(written) => Ok(answer::ok(json::of(&written.object.resource()))),
        Err(refusal) => Err(answer::refusal(&refusal, kind, name)),
    }
}

/// Whether both say the same where people write. Of built-in kinds a write of the status changes that too.
fn same_metadata(one: &Metadata, other: &Metadata) -> bool {
    one.labels == other.labels && one.annotations == other.annotations && one.finalizers == other.finalizers
}

fn invalid(field: &str, message: &str) -> Box<Answer> {
    answer::invalid(&[SpecError { field: field.into(), message: message.into() }])
}

/// Whether an update may leave the `resourceVersion` out, and then hits whatever is there.
const fn is_updated_blindly(kind: Kind) -> bool {
    matches!(kind, Kind::Node)
}

fn stated(metadata: &Metadata) -> Preconditions {
    preconditions(&metadata.uid.to_string(), &metadata.resource_version.to_string())
}

/// Nothing stated is nothing required. What cannot be read names no state of any object: it holds for none.
pub(super) fn preconditions(uid: &str, resource_version: &str) -> Preconditions {
    let stated = |text: &str| !text.is_empty();
    Preconditions {
        uid: stated(uid).then(|| Uid::parse(uid).unwrap_or(Uid(0))),
        resource_version: stated(resource_version).then(|| resource_version.parse().unwrap_or(0)),
    }
}
