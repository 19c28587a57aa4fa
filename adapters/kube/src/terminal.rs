//! What people read and change at a terminal: one object at a time, with their own rights.

use std::path::Path;
use std::sync::Arc;

use http::Method;
use seaworthy_api::object::Endpoint;
use seaworthy_model::id::Kind;
use seaworthy_model::requirement::ApiServers;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::{Api, READ_TIMEOUT, request};
use crate::collection::Collection;
use crate::connect::{ConnectError, connect_as_person};
use crate::failure::Failure;
use crate::source::Source;
use crate::version::round;

/// The media type of a merge patch.
const MERGE_PATCH: &str = "application/merge-patch+json";

/// The API server, as a person reaches it.
#[derive(Clone)]
pub struct Terminal {
    api: Api,
    /// The name under which it writes.
    manager: String,
}

impl Terminal {
    /// Takes the kubeconfig at `path`; without one, what `KUBECONFIG` names, or `~/.kube/config`. What is written, is written
    /// under the name `manager`, which is made of characters that need no escape.
    ///
    /// # Errors
    /// When it cannot be used. The API server is not asked.
    pub async fn connect(path: Option<&Path>, manager: String) -> Result<Self, ConnectError> {
        Ok(Self::new(Api::connect(connect_as_person(path).await?, Arc::new(()))?, manager))
    }

    /// As [`Self::connect`], by this client.
    #[must_use]
    pub const fn new(api: Api, manager: String) -> Self {
        Self { api, manager }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// When the API server does not answer, or answers with something else.
    pub async fn get<T: DeserializeOwned>(&self, kind: Kind, name: &str) -> Result<T, Failure> {
        self.api.get("get", &path(kind, name)).await
    }

    /// Reads all objects of a kind, page by page.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn list<T: DeserializeOwned>(&self, kind: Kind) -> Result<Vec<T>, Failure> {
        let Some(source) = Source::of(kind).next() else { return Ok(Vec::new()) };
        let collection = Collection::of(source);
        let mut items = Vec::new();
        let mut token = String::new();
        loop {
            let page: Page<T> = self.api.get("list", &collection.list(PAGE, &token)).await?;
            items.extend(page.items);
            match page.metadata.r#continue.filter(|next| !next.is_empty()) {
                Some(next) => token = next,
                None => return Ok(items),
            }
        }
    }

    /// Asks for the versions of the API servers.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn api_servers(&self) -> Result<ApiServers, Failure> {
        round(&self.api).await
    }

    /// Changes an object by a merge patch.
    ///
    /// # Errors
    /// When the API server does not answer, or refuses.
    pub async fn patch(&self, kind: Kind, name: &str, patch: &Value) -> Result<(), Failure> {
        let path = format!("{}?fieldManager={}", path(kind, name), self.manager);
        let request = request(Method::PATCH, &path, MERGE_PATCH, patch.to_string().into_bytes())?;
        self.api.send("patch", request, READ_TIMEOUT).await.map(drop)
    }

    /// Changes an object as [`Self::patch`] does, provided that it still has this `resourceVersion`. `false` when it has another
    /// one by now; nothing is changed then. The operator's writes of the status count as well.
    ///
    /// # Errors
    /// As [`Self::patch`].
    pub async fn patch_unchanged(
        &self,
        (kind, name): (Kind, &str),
        resource_version: &str,
        mut patch: Value,
    ) -> Result<bool, Failure> {
        patch["metadata"]["resourceVersion"] = resource_version.into();
        match self.patch(kind, name, &patch).await {
            Err(failure) if failure.is_conflict() => Ok(false),
            patched => patched.map(|()| true),
        }
    }
}

/// How many objects are read at once.
const PAGE: u32 = 500;

#[derive(Deserialize)]
struct Page<T> {
    metadata: PageMetadata,
    items: Vec<T>,
}

#[derive(Deserialize)]
struct PageMetadata {
    /// Made of characters that need no escape.
    r#continue: Option<String>,
}

fn path(kind: Kind, name: &str) -> String {
    format!("{}/{name}", Endpoint::of(kind).collection())
}
