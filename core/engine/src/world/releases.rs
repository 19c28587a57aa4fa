//! Which release a wanted version means on a given machine.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::component::{Architecture, Fact, Parameters, Recipe, VersionSpec};
use seaworthy_model::host::Release;
use seaworthy_model::id::{ComponentId, VersionId};
use seaworthy_model::machine::{Address, Want};
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Blocker;

use super::{Machine, World};

type ByArchitecture = Vec<(Architecture, Arc<Release>)>;

impl World {
    /// The release that `want` means on `machine`: `None` if the component is to be absent.
    ///
    /// # Errors
    /// Why there is no such release: the version does not exist or is of another component, it has no artefact for
    /// the architecture, or the architecture is not known yet.
    pub(crate) fn wanted(
        &self,
        machine: &Machine,
        component: ComponentId,
        want: &Want,
    ) -> Result<Option<Cow<'_, Arc<Release>>>, Blocker> {
        let Want::Present { version, parameters } = want else { return Ok(None) };
        if let Some(known) = self.prepared(machine, component, want) {
            return Ok(Some(Cow::Borrowed(known)));
        }
        let spec = self
            .version_spec(*version)
            .filter(|spec| spec.component == component)
            .ok_or(Blocker::UnknownVersion(*version))?;
        let architecture = machine.architecture().ok_or(Blocker::NoArtefact(*version))?;
        let facts = self.facts_for(machine, spec, architecture);
        let release = release(*version, spec, architecture, &Arc::new(parameters.clone()), facts)?;
        Ok(Some(Cow::Owned(release)))
    }

    /// The release as it was worked out once for all machines of an architecture.
    fn prepared(&self, machine: &Machine, component: ComponentId, want: &Want) -> Option<&Arc<Release>> {
        let rollout = &self.fleet.rollouts[self.fleet.rollout_of(component)?];
        // It is nearly always the very one; to compare parameters is to compare strings.
        let releases = if core::ptr::eq(&rollout.record.to, want) || rollout.record.to == *want {
            &rollout.to_releases
        } else if rollout.record.from.as_ref() == Some(want) {
            &rollout.from_releases
        } else {
            return None;
        };
        let architecture = machine.architecture()?;
        releases.iter().find(|(of, _)| *of == architecture).map(|(_, release)| release)
    }

    /// Works out the releases of a rollout that are the same on all machines of an architecture.
    pub(super) fn prepare(&self, record: &Rollout) -> (ByArchitecture, ByArchitecture) {
        let of = |want: Option<&Want>| match want {
            Some(Want::Present { version, parameters }) => {
                self.prepare_version(record.component, *version, parameters)
            }
            Some(Want::Absent) | None => Vec::new(),
        };
        (of(Some(&record.to)), of(record.from.as_ref()))
    }

    fn prepare_version(
        &self,
        component: ComponentId,
        version: VersionId,
        parameters: &Parameters,
    ) -> ByArchitecture {
        let Some(spec) = self.version_spec(version) else { return Vec::new() };
        if spec.component != component || !spec.content.facts.is_empty() {
            return Vec::new();
        }
        let parameters = Arc::new(parameters.clone());
        let prepared = spec.artefacts.iter().filter_map(|artefact| {
            let release = release(version, spec, artefact.architecture, &parameters, BTreeMap::new()).ok()?;
            Some((artefact.architecture, release))
        });
        prepared.collect()
    }

    fn facts_for(
        &self,
        machine: &Machine,
        spec: &VersionSpec,
        architecture: Architecture,
    ) -> BTreeMap<Fact, String> {
        let address = machine.spec().map(|spec| &spec.connection.address);
        let of_address = |part: fn(&Address) -> &str| address.map_or("", part).to_string();
        let value = |fact| match fact {
            Fact::MachineName => self.machine_name(machine.id).to_string(),
            Fact::Ip => of_address(|address| &address.ip),
            Fact::Hostname => of_address(|address| &address.hostname),
            Fact::Idc => of_address(|address| &address.idc),
            Fact::Rack => of_address(|address| &address.rack),
            Fact::Architecture => architecture.name().to_string(),
        };
        spec.content.facts.iter().map(|&fact| (fact, value(fact))).collect()
    }
}

fn release(
    version: VersionId,
    spec: &VersionSpec,
    architecture: Architecture,
    parameters: &Arc<Parameters>,
    facts: BTreeMap<Fact, String>,
) -> Result<Arc<Release>, Blocker> {
    let artefact = spec.artefact(architecture).ok_or(Blocker::NoArtefact(version))?.clone();
    let recipe = Recipe {
        version: spec.version.clone(),
        artefact,
        content: spec.content.clone(),
        parameters: Arc::clone(parameters),
        facts,
    };
    Ok(Arc::new(Release { id: recipe.release_id(), version, recipe }))
}
