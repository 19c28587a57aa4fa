//! The Node of a machine: its health, and our mark on it. Liveness comes from here, never from SSH.
//!
//! Before work that pods must not run through, the Node is cordoned: it becomes unschedulable and gets our taint and our
//! [`Mark`]. The mark is the only record of the cordon, and it is on the Node itself: a new operator, which knows nothing
//! else, reads from it whose cordon it is, what for and since when. Without it nobody could tell our cordon from one that
//! a person set, and we lift only our own.
//!
//! A Node is written differently from our own objects. Its kubelet and others write it all the time, so a write that
//! insisted on its `resourceVersion` could lose every race on a busy Node. Instead it names the uid, and states of just
//! those fields that it touches what they have to be ([`NodeShape`]): it never overwrites a taint, annotation or cordon of
//! others, and a heartbeat does not make it stale.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use crate::attributes::Carried;
use crate::id::Uid;
use crate::lease::Epoch;
use crate::machine::HostId;
use crate::time::Timestamp;

/// Three-valued health: silence is never health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Health {
    /// It says that it is well.
    Healthy,
    /// It says that it is not.
    Unhealthy,
    /// It says nothing.
    Unknown,
}

/// A Node as the API server holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeObject {
    /// Its uid: a Node that was deleted and registered again has another.
    pub uid: Uid,
    /// What decisions depend on.
    pub state: NodeState,
}

/// The part of a Node that decisions depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeState {
    /// Its condition `Ready`.
    pub ready: Health,
    /// When that condition last changed.
    pub since: Timestamp,
    /// Since when another condition reports a problem, the newest of them, such as `DiskPressure`.
    pub troubled_since: Option<Timestamp>,
    /// Whether it has any taint, ours or another's.
    pub has_taints: bool,
    /// Whether it has any annotation, ours or another's.
    pub has_annotations: bool,
    /// Whether it has any label, ours or another's.
    pub has_labels: bool,
    /// What is out of the ordinary about it; `None` for a Node that takes pods and carries nothing of ours.
    pub cordon: Option<Box<Cordon>>,
    /// The labels and taints that a Machine may set, and our record; `None` when there is nothing of that.
    pub carried: Option<Box<Carried>>,
}

impl NodeState {
    /// A Node that takes pods and has no labels, taints or annotations.
    #[must_use]
    pub const fn plain(ready: Health, since: Timestamp) -> Self {
        Self {
            ready,
            since,
            troubled_since: None,
            has_taints: false,
            has_annotations: false,
            has_labels: false,
            cordon: None,
            carried: None,
        }
    }

    /// Our mark, if it carries one.
    #[must_use]
    pub fn mark(&self) -> Option<&Mark> {
        self.cordon.as_ref()?.mark.as_ref().map(|(mark, _)| mark)
    }

    /// Whether anything of ours is on it: mark or taint.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.cordon.as_ref().is_some_and(|cordon| cordon.mark.is_some() || cordon.taint.is_some())
    }

    /// What a change of our mark has to find.
    #[must_use]
    pub fn shape(&self) -> NodeShape {
        let cordon = self.cordon.as_ref();
        NodeShape {
            unschedulable: cordon.is_some_and(|cordon| cordon.unschedulable),
            has_taints: self.has_taints,
            has_annotations: self.has_annotations,
            taint: cordon.and_then(|cordon| cordon.taint),
            mark: cordon.and_then(|cordon| cordon.mark.as_ref()).map(|(_, text)| text.clone()),
        }
    }
}

/// What is out of the ordinary about a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cordon {
    /// `spec.unschedulable`: set by us, or by a person.
    pub unschedulable: bool,
    /// The place of our taint among its taints.
    pub taint: Option<u32>,
    /// Our annotation, and its exact text: a write names the text that it replaces.
    pub mark: Option<(Mark, Box<str>)>,
    /// The machine-id that its kubelet reports.
    pub host: Option<HostId>,
}

/// The taint of a Node that we keep pods off, with the effect `NoSchedule`.
pub const DRAIN_TAINT: &str = "seaworthy.dev/drain";

/// The annotation that holds our [`Mark`].
pub const DRAIN_ANNOTATION: &str = "seaworthy.dev/drain";

/// The record of our cordon: for which Machine, since when, and what was there before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The uid of the Machine in whose name it was set. A Machine of this name with another uid proves that it is gone.
    /// 0 in a mark that cannot be read.
    pub machine: Uid,
    /// The generation of that Machine's spec for which it was set.
    pub generation: u64,
    /// The epoch of the operator that set it. An operator relies on its own marks alone: a predecessor's order to take this
    /// one off may still be on its way, and takes off only what it was given for.
    pub epoch: Epoch,
    /// When this very mark was set, in milliseconds: no two of an epoch are the same.
    pub order: u64,
    /// When the first mark of this drain was set, in whole seconds. The drain's time limit counts from here, also for a
    /// successor that continues the drain.
    pub since: Timestamp,
    /// Whether the Node was unschedulable already: then it stays so. Also if the mark cannot be read.
    pub found_unschedulable: bool,
    /// What for, for people.
    pub reason: Box<str>,
}

/// What a Node has to look like for a change of our mark to take effect: what was seen when it was ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeShape {
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// It has taints.
    pub has_taints: bool,
    /// It has annotations.
    pub has_annotations: bool,
    /// The place of our taint.
    pub taint: Option<u32>,
    /// The text of our annotation.
    pub mark: Option<Box<str>>,
}

/// To cordon a Node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCordon {
    /// What it has to look like.
    pub shape: NodeShape,
    /// The mark that it gets.
    pub mark: Mark,
}

/// To take our mark off a Node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeUncordon {
    /// What it has to look like.
    pub shape: NodeShape,
    /// Whether it stays unschedulable: it was when our mark came.
    pub stays_unschedulable: bool,
}

impl NodeUncordon {
    /// Whether pods may be placed there afterwards as far as this is up to us.
    #[must_use]
    pub const fn makes_schedulable(&self) -> bool {
        self.shape.unschedulable && !self.stays_unschedulable
    }
}
