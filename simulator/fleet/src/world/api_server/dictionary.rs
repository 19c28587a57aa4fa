//! Values that many objects of a store share, kept once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use seaworthy_api::object::Metadata;
use seaworthy_api::v1alpha1::ComponentStatus;

/// The number of recent values to compare with a new one. A fleet has fewer different texts at any time.
const KEPT: usize = 32;

/// The last values of one sort.
#[derive(Clone, Debug)]
pub(super) struct Shared<T> {
    kept: Vec<Arc<T>>,
    next: usize,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), next: 0 }
    }
}

impl<T: PartialEq> Shared<T> {
    /// The same value, shared with recent objects that have it.
    pub(super) fn share(&mut self, value: T) -> Arc<T> {
        if let Some(known) = self.kept.iter().find(|known| ***known == value) {
            return Arc::clone(known);
        }
        let value = Arc::new(value);
        if self.kept.len() < KEPT {
            self.kept.push(Arc::clone(&value));
        } else {
            self.kept[self.next] = Arc::clone(&value);
            self.next = (self.next + 1) % KEPT;
        }
        value
    }
}

/// The shared values of a store.
#[derive(Clone, Debug, Default)]
pub(super) struct Dictionary {
    pub(super) frames: Shared<Frame>,
    pub(super) words: Shared<Words>,
    pub(super) inventories: Shared<Inventory>,
}

/// The part of an object that is the same for most of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) api_version: Cow<'static, str>,
    pub(super) kind: Cow<'static, str>,
    pub(super) namespace: Option<String>,
    pub(super) finalizers: Arc<Vec<String>>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
}

impl Frame {
    /// What `metadata` says besides name, uid, versions and times.
    pub(super) fn of(api_version: Cow<'static, str>, kind: Cow<'static, str>, metadata: Metadata) -> Self {
        let Metadata { namespace, finalizers, labels, annotations, .. } = metadata;
        Self { api_version, kind, namespace, finalizers, labels, annotations }
    }
}

/// The words of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) r#type: Cow<'static, str>,
    pub(super) status: Cow<'static, str>,
    pub(super) reason: Cow<'static, str>,
    pub(super) message: Cow<'static, str>,
}

/// What is recorded alike of machines that run the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inventory {
    pub(super) components: Arc<[ComponentStatus]>,
    pub(super) installed: Arc<str>,
    pub(super) architecture: Option<Cow<'static, str>>,
    pub(super) cgroup_version: Option<Cow<'static, str>>,
}
