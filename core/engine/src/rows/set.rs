//! `MachineComponentSet`s and `CanaryRelease`s, and what a rollout belongs to.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::component_set::{SetObject, SetSpec};
use seaworthy_model::effect::Target;
use seaworthy_model::id::{CanaryId, ComponentId, MachineId, SetId};
use seaworthy_model::labels::Labels;
use seaworthy_model::machine::{ComponentSetting, Want};
use seaworthy_model::meta::Meta;
use seaworthy_model::package_version::{
    FleetCondition, FleetReason, OwnerObject, PackageVersionSpec, PackageVersionStatus, Resume,
};
use seaworthy_model::report::Subject;
use seaworthy_model::strategy::Strategy;
use seaworthy_model::time::Timestamp;

use crate::runtime::tracked::{Object, Tracked};

/// The object that a rollout belongs to: its spec wants the change, and its status has the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The fleet's defaults: the `ClusterPackageVersion`.
    Fleet,
    /// A `MachineComponentSet`.
    Set(SetId),
    /// A `CanaryRelease`.
    Canary(CanaryId),
}

impl Owner {
    /// The subject that advances its rollouts.
    #[must_use]
    pub const fn subject(self) -> Subject {
        match self {
            Self::Fleet => Subject::PackageVersion,
            Self::Set(id) => Subject::Set(id),
            Self::Canary(id) => Subject::Canary(id),
        }
    }

    /// The owner that is this object.
    #[must_use]
    pub const fn of(target: Target) -> Option<Self> {
        match target {
            Target::PackageVersion => Some(Self::Fleet),
            Target::Set(id) => Some(Self::Set(id)),
            Target::Canary(id) => Some(Self::Canary(id)),
            Target::Driver
            | Target::Lease
            | Target::Machine(_)
            | Target::Version(_)
            | Target::Host(_)
            | Target::NewCertificateRequest(_)
            | Target::CertificateRequest(_)
            | Target::Node(_)
            | Target::Policy(_) => None,
        }
    }

    /// The object.
    #[must_use]
    pub const fn target(self) -> Target {
        self.subject().target()
    }
}

/// A `MachineComponentSet`, or a `CanaryRelease`.
#[derive(Clone, Debug, Default)]
pub struct Set {
    /// The object, and our writes of it.
    pub tracked: Tracked<Box<SetObject>>,
    /// A write of its status whose outcome is not known.
    pub(crate) doubt: Option<Doubt>,
    /// What the last edit of its selector has done, as far as this engine has seen it.
    pub(crate) reselection: Reselection,
}

/// What an edit of a selector has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reselection {
    /// No edit was seen.
    #[default]
    None,
    /// It selects other machines.
    Others,
    /// It selects none, where it selected some.
    Nobody,
}

impl Set {
    /// The set, as last seen.
    #[must_use]
    pub fn object(&self) -> Option<&SetObject> {
        self.tracked.object.as_deref()
    }

    /// The spec, if the object exists and the spec is valid.
    #[must_use]
    pub fn spec(&self) -> Option<&SetSpec> {
        self.object()?.spec.as_ref().ok().map(AsRef::as_ref)
    }

    /// Whether it selects a machine with these labels. It is not known which machines an invalid set selects: it keeps all
    /// of them from moving to other versions of its components.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        let Some(object) = self.object() else { return false };
        object.spec.as_ref().map_or(true, |spec| spec.selector.matches(labels))
    }

    /// Whether it decides about a component of its machines.
    #[must_use]
    pub fn mentions(&self, component: ComponentId) -> bool {
        let Some(object) = self.object() else { return false };
        match &object.spec {
            Ok(_) if SetSpec::is_over(object) => false,
            Ok(spec) => spec.components.iter().any(|setting| setting.component == component),
            Err(_) => object.status.rollout(component).is_some(),
        }
    }

    /// Whether it is a canary that has picked a machine, and is not over.
    #[must_use]
    pub fn has_picked(&self, machine: MachineId) -> bool {
        let object = self.object().filter(|object| !SetSpec::is_over(object));
        let picked = object.map(|object| &object.status.picked[..]).unwrap_or_default();
        picked.iter().any(|picked| picked.machine == machine)
    }

    /// Sets with a higher priority come first.
    pub(crate) fn priority(&self) -> i32 {
        self.spec().map_or(i32::MAX, |spec| spec.priority)
    }

    /// Whether another state of the set selects other machines, or comes in another place.
    pub(crate) fn selects_as(&self, other: Option<&SetObject>) -> bool {
        let terms = |object: &SetObject| {
            let spec = object.spec.as_ref().ok();
            let components = |spec: &SetSpec| -> Vec<ComponentId> {
                spec.components.iter().map(|setting| setting.component).collect()
            };
            let picked: Vec<MachineId> = object.status.picked.iter().map(|picked| picked.machine).collect();
            let terms =
                spec.map(|spec| (spec.selector.clone(), spec.priority, spec.on_leave, components(spec)));
            (terms, SetSpec::is_over(object), picked)
        };
        self.object().map(terms) == other.map(terms)
    }
}

impl<S> Object for Box<OwnerObject<S>> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

/// A write of a status may still be executed, although no reply says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// It was ordered for this version of the object: it has no effect on another one.
    pub(crate) against: Option<u64>,
    /// From then on no API server executes it any more.
    pub(crate) until: Timestamp,
}

/// The object of an owner, as far as its rollouts need it.
#[derive(Clone, Copy, Debug)]
pub struct Charter<'w> {
    /// Its metadata.
    pub meta: &'w Meta,
    /// What it wants of each component; `None` if the spec is invalid.
    pub components: Option<&'w [ComponentSetting]>,
    /// How its rollouts go through their batches.
    pub strategy: Option<&'w Strategy>,
    /// Whether a person has paused it.
    pub paused: bool,
    /// The record.
    pub status: &'w PackageVersionStatus,
    /// A gate that failed, and that a person overrides.
    pub resume: Option<Resume>,
    /// Why people made the last change, in their words.
    pub cause: Option<&'w Arc<str>>,
    /// Who wrote the spec last.
    pub by: Option<&'w Arc<str>>,
    /// Whether a person has confirmed what it wants now, however many machines that reaches.
    pub is_confirmed: bool,
}

impl<'w> Charter<'w> {
    /// What is wanted of a component.
    #[must_use]
    pub fn want(&self, component: ComponentId) -> Option<&'w Want> {
        let settings = self.components.unwrap_or_default();
        settings.iter().find(|setting| setting.component == component).map(|setting| &setting.want)
    }
}

/// The spec of an object that owns rollouts.
pub(crate) trait Spec: Sized {
    /// Whether an object with such a spec decides about no machine any more.
    fn is_over(_object: &OwnerObject<Self>) -> bool {
        false
    }

    /// What it wants of each component.
    fn components(&self) -> &[ComponentSetting];
    /// How its rollouts go through their batches; `None` if in no batches.
    fn strategy(&self) -> Option<&Strategy>;
    /// Whether a person has paused it.
    fn is_paused(&self) -> bool;
}

impl Spec for PackageVersionSpec {
    fn components(&self) -> &[ComponentSetting] {
        &self.components
    }

    fn strategy(&self) -> Option<&Strategy> {
        self.strategy.as_ref()
    }

    fn is_paused(&self) -> bool {
        self.paused
    }
}

impl Spec for SetSpec {
    /// A canary is over when a person has aborted it, or when it was promoted as it is: its machines go with all others
    /// from then on.
    fn is_over(object: &OwnerObject<Self>) -> bool {
        let Ok(Some(canary)) = object.spec.as_ref().map(|spec| spec.canary.as_ref()) else { return false };
        let is_promoted = |condition: &FleetCondition| condition.reason == FleetReason::Promoted;
        let is_current = object.status.observed_generation == object.meta.generation;
        canary.aborted || (is_current && object.status.conditions.iter().any(is_promoted))
    }

    fn components(&self) -> &[ComponentSetting] {
        &self.components
    }

    fn strategy(&self) -> Option<&Strategy> {
        Some(&self.strategy)
    }

    fn is_paused(&self) -> bool {
        self.paused
    }
}

impl<'w, S: Spec> From<&'w OwnerObject<S>> for Charter<'w> {
    fn from(object: &'w OwnerObject<S>) -> Self {
        let spec = object.spec.as_ref().ok();
        Self {
            meta: &object.meta,
            components: spec.map(|spec| if S::is_over(object) { &[] } else { spec.components() }),
            strategy: spec.and_then(|spec| spec.strategy()),
            paused: spec.is_some_and(|spec| spec.is_paused()),
            status: &object.status,
            resume: object.resume,
            cause: object.cause.as_ref(),
            by: object.by.as_ref(),
            is_confirmed: object.confirmed == Some(object.meta.generation),
        }
    }
}
