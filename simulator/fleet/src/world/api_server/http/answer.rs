//! Answers: objects, and `Status` objects in the words of the real API server's codes and reasons.

use seaworthy_model::id::Kind;
use seaworthy_model::meta::SpecError;
use serde_json::{Value, json};

use super::Answer;
use crate::world::api_server::{Invalid, Refusal};

pub(super) fn ok(body: Value) -> Answer {
    Answer { code: 200, body: vec![body] }
}

/// Refused with this code and reason.
pub(super) fn refused(code: u16, reason: &str, message: &str) -> Box<Answer> {
    Box::new(Answer { code, body: vec![failure(code, reason, message)] })
}

/// The `Status` of something that failed.
pub(super) fn failure(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message,
    })
}

/// The `Status` of something that succeeded.
pub(super) fn success() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})
}

/// The `Status` of an object that was deleted.
pub(super) fn deleted(name: &str, uid: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": name, "uid": uid},
    })
}

pub(super) fn no_such_path() -> Answer {
    *refused(404, "NotFound", "the server could not find the requested resource")
}

pub(super) fn not_modelled(what: &str) -> Answer {
    *refused(501, "NotImplemented", &format!("the modelled API server has no {what}"))
}

pub(super) fn bad_request(message: &str) -> Box<Answer> {
    refused(400, "BadRequest", message)
}

pub(super) fn not_found(kind: Kind, name: &str) -> Box<Answer> {
    refused(404, "NotFound", &format!("{} {name:?} not found", kind.name()))
}

pub(super) fn expired() -> Box<Answer> {
    refused(410, "Expired", EXPIRED)
}

pub(super) const EXPIRED: &str = "the resource version is too old";

/// 422, with the path of every field that is wrong.
pub(super) fn invalid(errors: &[SpecError]) -> Box<Answer> {
    let causes: Vec<Value> = errors
        .iter()
        .map(|error| json!({"reason": "FieldValueInvalid", "field": error.field, "message": error.message}))
        .collect();
    let mut status = failure(422, "Invalid", "the object is invalid");
    status["details"] = json!({"causes": causes});
    Box::new(Answer { code: 422, body: vec![status] })
}

/// The answer to a write of the object `name` that was refused.
pub(super) fn refusal(refusal: &Refusal, kind: Kind, name: &str) -> Box<Answer> {
    match refusal {
        Refusal::AlreadyExists => refused(409, "AlreadyExists", &format!("{name:?} already exists")),
        Refusal::NotFound => not_found(kind, name),
        Refusal::Conflict(why) => refused(409, "Conflict", why),
        Refusal::TestFailed => {
            refused(422, "Invalid", "the server rejected our request due to an error in our request")
        }
        Refusal::Invalid(Invalid { field, message }) => {
            invalid(&[SpecError { field: (*field).into(), message: (*message).into() }])
        }
    }
}
