//! Throttles the API server of a bench.

use std::fs;
use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{Cost, MACHINES, OWNERS, number};
use crate::process::Process;
use crate::programs;
use crate::world::World;

/// The port of the webhook.
const PORT: u16 = 9443;

/// The name of its configuration.
const NAME: &str = "throttle.seaworthy.dev";

/// The statuses that the operator writes in a rollout.
const STATUSES: [&str; 2] = [MACHINES, OWNERS];

/// A webhook that lets the API server take so many statuses per second.
#[derive(Debug)]
pub(super) struct Throttle<'w> {
    world: &'w World,
    // Without it the API server would refuse all statuses.
    _webhook: Process,
}

impl<'w> Throttle<'w> {
    pub(super) fn start(world: &'w World, per_second: NonZeroU32) -> Result<Self> {
        let (certificate, key) = world.control_plane().server_certificate();
        let mut command = world.command(&programs::of_this_crate("throttle")?);
        command
            .arg(format!("--listen=127.0.0.1:{PORT}"))
            .arg("--certificate")
            .arg(certificate)
            .arg("--key")
            .arg(key)
            .arg(format!("--per-second={per_second}"));
        let webhook = world.spawn("throttle", &mut command)?;
        let authority = world.control_plane().certificate_authority();
        let authority =
            fs::read(&authority).with_context(|| format!("cannot read {}", authority.display()))?;
        world.control_plane().apply(&configuration(authority).to_string())?;
        Ok(Self { world, _webhook: webhook })
    }

    /// Lets the API server take all statuses again.
    pub(super) fn lift(&self) -> Result<()> {
        self.world.kubectl(["delete", "validatingwebhookconfiguration", NAME]).map(drop)
    }
}

fn configuration(authority: Vec<u8>) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [{
            "name": NAME,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
            "clientConfig": {"url": format!("https://127.0.0.1:{PORT}/"), "caBundle": ByteString(authority)},
            "rules": [{
                "apiGroups": ["seaworthy.dev"],
                "apiVersions": ["*"],
                "operations": ["UPDATE"],
                "resources": STATUSES,
            }],
        }],
    })
}

/// What a rollout cost while the API server was throttled, and after that.
#[derive(Clone, Debug)]
pub struct Throttled {
    /// How many statuses the API server took per second.
    pub per_second: NonZeroU32,
    /// While it was throttled.
    pub during: Cost,
    /// From then on until every host had the version.
    pub after: Cost,
}

impl Throttled {
    /// The share of what the API server would have taken that was not used.
    #[must_use]
    pub fn unused(&self) -> f64 {
        let is_taken =
            |key: &str| STATUSES.iter().any(|status| key.contains(status)) && key.ends_with(" 200");
        let taken = number(self.during.requests.writes(is_taken));
        1.0 - taken / (f64::from(self.per_second.get()) * self.during.took.as_secs_f64())
    }

    /// How much longer the rest took than it does at the pace of a rollout that is not throttled.
    #[must_use]
    pub fn delay(&self, usual: &Cost) -> Duration {
        self.after
            .hosts_took
            .saturating_sub(usual.hosts_took_each().mul_f64(number(self.after.hosts.applied)))
    }
}
