//! Who wrote the spec of an object last, as the API server records it in `metadata.managedFields`.
//!
//! That record is longer than the object itself, so it is read only of the few objects that own rollouts, and only the name is kept.

use std::sync::Arc;

use seaworthy_model::id::Kind;
use seaworthy_model::time::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::object::Read;
use crate::scalar::Time;

#[derive(Deserialize)]
struct Recorded {
    metadata: Managers,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Managers {
    #[serde(default)]
    managed_fields: Vec<Manager>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manager {
    #[serde(default)]
    manager: Arc<str>,
    #[serde(default)]
    subresource: String,
    #[serde(default)]
    time: Option<Time>,
    #[serde(default, rename = "fieldsV1")]
    fields: Option<Fields>,
}

#[derive(Deserialize)]
struct Fields {
    #[serde(default, rename = "f:spec")]
    spec: Option<IgnoredAny>,
}

impl Manager {
    fn has_written_spec(&self) -> bool {
        self.subresource.is_empty() && self.fields.as_ref().is_some_and(|fields| fields.spec.is_some())
    }

    fn at(&self) -> Option<Timestamp> {
        self.time.as_ref()?.get()
    }
}

/// Whether who wrote their specs is of interest.
#[must_use]
pub const fn is_of_interest(kind: Kind) -> bool {
    matches!(kind, Kind::ClusterPackageVersion | Kind::MachineComponentSet | Kind::CanaryRelease)
}

/// The field manager that wrote the spec of an object last. `None` if nothing is recorded, or what is cannot be understood.
pub fn spec_manager<R: Read>(json: R) -> Option<Arc<str>> {
    let recorded: Recorded = json.read().ok()?;
    let managers = recorded.metadata.managed_fields.into_iter();
    managers.filter(Manager::has_written_spec).max_by_key(Manager::at).map(|last| last.manager)
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    struct Json(Value);

    impl Read for Json {
        type Error = serde_json::Error;

        fn read<T: DeserializeOwned>(self) -> Result<T, Self::Error> {
            serde_json::from_value(self.0)
        }
    }

    fn manager(name: &str, minute: u8, fields: &Value) -> Value {
        let time = format!("2026-11-26T10:{minute:02}:00Z");
        json!({ "manager": name, "operation": "Update", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    fn last_of(managers: &Value) -> Option<Arc<str>> {
        spec_manager(Json(json!({ "metadata": { "name": "default", "managedFields": managers } })))
    }

    #[test]
    fn the_last_one_who_wrote_the_spec_counts() {
        let (spec, words) = (json!({ "f:spec": { "f:paused": {} } }), json!({ "f:metadata": {} }));
        let mut status = manager("operator", 50, &spec);
        status["subresource"] = "status".into();
        let managers = json!([
            manager("flux", 20, &spec),
            manager("seaworthy/alice", 30, &spec),
            manager("kubectl-edit", 10, &spec),
            manager("kubectl-annotate", 40, &words),
            status,
        ]);
        assert_eq!(last_of(&managers).as_deref(), Some("seaworthy/alice"));
    }

    #[test]
    fn nobody_is_made_up() {
        assert_eq!(last_of(&json!([])), None);
        assert_eq!(last_of(&json!([manager("kubectl-annotate", 1, &json!({ "f:metadata": {} }))])), None);
        assert_eq!(last_of(&json!([{ "manager": "kubectl" }])), None);
        assert_eq!(last_of(&json!("nonsense")), None);
        assert_eq!(spec_manager(Json(json!({ "metadata": { "name": "default" } }))), None);
    }
}
