//! Releases: the recipe of one, and the id that follows from it.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use super::artefact::{Artefact, ArtefactFormat};
use super::content::Content;
use super::fact::{Fact, Parameters};
use crate::digest::{Digest, FieldHasher};
use crate::removal::Removal;

/// Which release of a component something is: the digest of everything that goes into it. Two hosts with the same
/// release id run the same bytes with the same configuration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReleaseId(pub Digest);

impl core::fmt::Debug for ReleaseId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0.short())
    }
}

impl core::fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(&self.0, f)
    }
}

/// A release, complete: a host needs nothing else to make it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recipe {
    /// The version as its author spells it.
    pub version: String,
    /// The artefact for the host's architecture, unless the release consists of what is rendered.
    pub artefact: Option<Artefact>,
    /// What is made out of it.
    pub content: Content,
    /// Parameters for the templates.
    pub parameters: Arc<Parameters>,
    /// Those parameters of the machine that the templates use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machine_parameters: Parameters,
    /// The values of the facts that the templates use.
    pub facts: BTreeMap<Fact, String>,
}

impl Recipe {
    /// The id of the release that this recipe makes: version, artefact (without its URL: bytes count, not where
    /// they come from), files, links, unit, parameters, facts, and what is kept on the host for the day when it is
    /// removed. The probe, the preflight, the rollback policy, the class of the change and the confirmation do not go in, since
    /// they change nothing in the files of the host.
    /// What is absent leaves no trace: a field that is new changes no id.
    #[must_use]
    pub fn release_id(&self) -> ReleaseId {
        let mut hasher = FieldHasher::new("seaworthy.dev/release/v1");
        hasher.field("version", self.version.as_bytes());
        if let Some(artefact) = &self.artefact {
            hasher.field("architecture", artefact.architecture.name().as_bytes());
            hasher.field("artefact", &artefact.sha256.0);
            if let ArtefactFormat::Binary { path } = &artefact.format {
                hasher.field("binary", path.as_bytes());
            }
        }
        for file in &self.content.files {
            hasher.field("file", file.path.as_bytes());
            hasher.field("mode", &file.mode.to_le_bytes());
            hasher.field("template", file.template.as_bytes());
        }
        for link in &self.content.links {
            hasher.field("link", link.path.as_bytes());
            hasher.field("target", link.target.as_bytes());
        }
        if let Some(unit) = &self.content.unit {
            hasher.field("unit", unit.name.as_bytes());
            hasher.field("template", unit.template.as_bytes());
            if let Some(executable) = &unit.executable {
                hasher.field("executable", executable.as_bytes());
            }
        }
        for (name, value) in self.parameters.iter() {
            hasher.field("parameter", name.as_bytes());
            hasher.field("value", value.as_bytes());
        }
        for (fact, value) in &self.facts {
            hasher.field("fact", fact.name().as_bytes());
            hasher.field("value", value.as_bytes());
        }
        for (name, value) in &self.machine_parameters {
            hasher.field("machine parameter", name.as_bytes());
            hasher.field("value", value.as_bytes());
        }
        if let Some(removal) = &self.content.removal {
            hash_removal(removal, &mut hasher);
        }
        ReleaseId(hasher.finish())
    }
}

fn hash_removal(removal: &Removal, hasher: &mut FieldHasher) {
    for (name, invocations) in [("before stop", &removal.before_stop), ("after stop", &removal.after_stop)] {
        for invocation in invocations {
            hasher.field(name, &invocation.timeout_seconds.to_le_bytes());
            for word in &invocation.command {
                hasher.field("word", word.as_bytes());
            }
        }
    }
    for path in &removal.paths {
        hasher.field("removed", path.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;
    use crate::component::{Architecture, ConfigFile, Confirm, Disruption, Rollback, Unit};
    use crate::invocation::Invocation;

    fn recipe() -> Recipe {
        Recipe {
            version: "1.0.0".to_string(),
            artefact: Some(Artefact {
                architecture: Architecture::Amd64,
                url: "http://artefacts/webd.tar.gz".to_string(),
                sha256: Digest::of(b"webd"),
                format: ArtefactFormat::TarGz,
            }),
            content: Content {
                files: vec![ConfigFile { path: "etc/webd".into(), template: "x".into(), mode: 0o644 }],
                ..Content::default()
            },
            parameters: Arc::default(),
            machine_parameters: Parameters::new(),
            facts: BTreeMap::new(),
        }
    }

    fn unit(executable: Option<&str>) -> Option<Unit> {
        Some(Unit { name: "a.service".into(), template: "".into(), executable: executable.map(Into::into) })
    }

    fn invocation(words: &[&str]) -> Invocation {
        Invocation { command: words.iter().map(ToString::to_string).collect(), timeout_seconds: 60 }
    }

    /// Hosts know releases by these: what is installed must not look new to a new operator.
    #[test]
    fn the_ids_of_releases_never_change() {
        let mut recipe = recipe();
        recipe.content.unit = unit(Some("bin/webd"));
        let known = "113539bae1f9adf181f32eed2a0cc6171b10f008636dae0cff5009e2abaa8877";
        assert_eq!(recipe.release_id().to_string(), known);
    }

    #[test]
    fn every_ingredient_changes_the_release_id_and_nothing_else_does() {
        let id = recipe().release_id();
        let changed = |change: fn(&mut Recipe)| {
            let mut recipe = recipe();
            change(&mut recipe);
            recipe.release_id() != id
        };
        assert!(changed(|r| r.version.push('1')));
        assert!(changed(|r| r.artefact.as_mut().unwrap().sha256 = Digest::of(b"other")));
        assert!(changed(|r| r.artefact = None));
        assert!(changed(|r| r.machine_parameters = [("a".into(), "b".into())].into()));
        assert!(changed(|r| r.content.removal =
            Some(Removal { after_stop: vec![invocation(&["/bin/true"])], ..Removal::default() })));
        assert!(changed(|r| r.content.unit = unit(None)));
        assert!(changed(|r| r.content.files[0].template.push('y')));
        assert!(changed(|r| r.content.files[0].mode = 0o600));
        assert!(changed(|r| r.parameters = Arc::new([("a".into(), "b".into())].into())));
        assert!(changed(|r| r.facts = [(Fact::Ip, "198.18.0.1".into())].into()));
        assert!(!changed(|r| r.artefact.as_mut().unwrap().url.push('2')), "a mirror holds the same bytes");
        assert!(!changed(|r| r.content.preflight = Some(invocation(&["bin/webd", "check"]))));
        assert!(!changed(|r| r.content.rollback = Rollback::Unsafe));
        assert!(!changed(|r| r.content.reboot = true));
        assert!(!changed(|r| r.content.less_than_restart = Some(Disruption::Reload)));
        assert!(!changed(|r| r.content.confirm = Some(Confirm { within_seconds: 60 })));
    }
}
