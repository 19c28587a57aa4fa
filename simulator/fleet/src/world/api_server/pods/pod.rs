//! A pod, and how it is deleted.

use std::sync::Arc;

use seaworthy_api::object::Metadata;
use seaworthy_api::pod as json;

use crate::world::api_server::Preconditions;

/// How long a pod may take to terminate, unless its spec sets another time.
pub const GRACE_DEFAULT: u64 = 30;
/// The annotation of a mirror pod: the object that stands for a static pod of a kubelet.
pub const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Its metadata, with a namespace.
    pub metadata: Metadata,
    /// The time that its deletion may take, in seconds, once it is being deleted.
    pub deletion_grace: Option<u64>,
    /// Its owners.
    pub owners: Vec<json::OwnerReference>,
    /// The Node that it is bound to.
    pub node: Option<Arc<str>>,
    /// Its service account.
    pub account: String,
    /// The time that it may take to terminate, in seconds.
    pub grace: u64,
    /// Whether it has an `emptyDir` volume.
    pub has_local_storage: bool,
    /// Its phase.
    pub phase: Phase,
    /// Whether its condition `Ready` is true.
    pub is_ready: bool,
}

/// The phase of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not all of its containers have started.
    #[default]
    Pending,
    /// Its containers run, whether or not they are ready.
    Running,
    /// All of its containers have ended well.
    Succeeded,
    /// All of its containers have ended, and one has failed.
    Failed,
    /// Its kubelet does not report.
    Unknown,
}

impl Phase {
    const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed, Self::Unknown];

    /// The phase in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }

    /// The phase of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// Whether nothing of the pod runs any more.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

impl Pod {
    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Whether it is being deleted.
    #[must_use]
    pub const fn is_leaving(&self) -> bool {
        self.deletion_grace.is_some()
    }

    /// Whether it is the mirror of a static pod.
    #[must_use]
    pub fn is_mirror(&self) -> bool {
        self.metadata.annotations.contains_key(MIRROR_ANNOTATION)
    }

    /// The pod with the fields that a drain reads.
    pub(in crate::world) fn shown(&self) -> json::Pod {
        let metadata = &self.metadata;
        let volume = json::Volume { empty_dir: Some(json::EmptyDir {}) };
        json::Pod {
            metadata: json::PodMetadata {
                namespace: self.namespace().into(),
                name: Arc::clone(&metadata.name),
                uid: metadata.uid.clone(),
                deletion_timestamp: metadata.deletion_timestamp.clone(),
                deletion_grace_period_seconds: self.deletion_grace.unwrap_or_default(),
                annotations: metadata.annotations.clone(),
                owner_references: self.owners.clone(),
            },
            spec: json::PodSpec { volumes: self.has_local_storage.then_some(volume).into_iter().collect() },
            status: json::PodStatus { phase: self.phase.name().into() },
        }
    }
}

/// How a deletion is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// What must be true of the pod.
    pub preconditions: Preconditions,
    /// The time that it may take to terminate, in seconds. The time in its spec if `None`.
    pub grace: Option<u64>,
}

/// What a deletion did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDeletion {
    /// The pod after the deletion; if it is gone, as it was last.
    pub pod: Pod,
    /// Whether its deletion has begun with this call.
    pub has_begun: bool,
    /// Whether it is gone.
    pub is_gone: bool,
}
