//! Which release a wanted version means on a given machine.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use seaworthy_model::component::{Architecture, CgroupVersion, Fact, Parameters, Recipe, VersionSpec};
use seaworthy_model::host::Release;
use seaworthy_model::id::{ComponentId, VersionId};
use seaworthy_model::machine::{Address, Want};
use seaworthy_model::package_version::Rollout;
use seaworthy_model::report::Blocker;

use crate::rows::machine::Machine;
use crate::rows::release::{Prepared, Sort, find};
use crate::world::World;

impl World {
    /// The release that `want` means on `machine`; `None` if the component is to be absent.
    ///
    /// # Errors
    /// Why there is no such release: the version does not exist or is of another component, it has no artefact for
    /// the architecture, the architecture is not known yet, or the machine lacks what the templates need.
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
        let own = self.own(machine, *version, spec, architecture)?;
        let release = release(*version, spec, architecture, &Arc::new(parameters.clone()), own)?;
        Ok(Some(Cow::Owned(release)))
    }

    /// What a machine lacks for a version: the names of parameters and facts.
    pub(crate) fn missing(&self, machine: &Machine, version: VersionId) -> Box<[Arc<str>]> {
        let Some(spec) = self.version_spec(version) else { return Box::default() };
        let parameters = spec.machine_parameters.iter().filter(|name| parameter(machine, name).is_none());
        let architecture = machine.architecture().unwrap_or(Architecture::Amd64);
        let facts =
            spec.content.facts.iter().filter(|fact| self.fact(machine, architecture, **fact).is_none());
        parameters.map(String::as_str).chain(facts.map(|fact| fact.name())).map(Arc::from).collect()
    }

    /// The release as prepared once for all machines of a sort.
    fn prepared(&self, machine: &Machine, component: ComponentId, want: &Want) -> Option<&Arc<Release>> {
        let mut rollouts = self.fleet.rollouts.iter().filter(|rollout| rollout.record.component == component);
        // It is nearly always the same object; a comparison of parameters would compare strings.
        let releases = rollouts.find_map(|rollout| {
            if core::ptr::eq(rollout.record.target(), want) || rollout.record.target() == want {
                Some(&rollout.to_releases)
            } else if rollout.record.from.as_ref() == Some(want) {
                Some(&rollout.from_releases)
            } else {
                None
            }
        });
        find(releases?, machine)
    }

    /// Prepares the releases of a rollout that are the same on all machines of a sort.
    pub(crate) fn prepare(&self, record: &Rollout) -> (Prepared, Prepared) {
        let of = |want: Option<&Want>| match want {
            Some(Want::Present { version, parameters }) => {
                self.prepare_version(record.component, *version, parameters)
            }
            Some(Want::Absent) | None => Vec::new(),
        };
        (of(Some(record.target())), of(record.from.as_ref()))
    }

    fn prepare_version(
        &self,
        component: ComponentId,
        version: VersionId,
        parameters: &Parameters,
    ) -> Prepared {
        let Some(spec) = self.version_spec(version) else { return Vec::new() };
        if spec.component != component || !spec.machine_parameters.is_empty() {
            return Vec::new();
        }
        let by_cgroup_version = spec.content.facts.contains(&Fact::CgroupVersion);
        let both = CgroupVersion::ALL.map(Some);
        let cgroup_versions: &[Option<CgroupVersion>] = if by_cgroup_version { &both } else { &[None] };
        let parameters = Arc::new(parameters.clone());
        let sorts = Architecture::ALL.into_iter().flat_map(|architecture| {
            cgroup_versions.iter().map(move |&cgroup_version| Sort { architecture, cgroup_version })
        });
        let prepared = sorts.filter_map(|sort| {
            let own = Own { facts: sort.facts(&spec.content.facts)?, parameters: Parameters::new() };
            let release = release(version, spec, sort.architecture, &parameters, own).ok()?;
            Some((sort, release))
        });
        prepared.collect()
    }

    /// What of a release is the machine's own.
    fn own(
        &self,
        machine: &Machine,
        version: VersionId,
        spec: &VersionSpec,
        architecture: Architecture,
    ) -> Result<Own, Blocker> {
        let facts =
            spec.content.facts.iter().map(|&fact| Some((fact, self.fact(machine, architecture, fact)?)));
        let named = spec.machine_parameters.iter();
        let parameters = named.map(|name| Some((name.clone(), parameter(machine, name)?.clone())));
        let (facts, parameters) = (facts.collect::<Option<_>>(), parameters.collect::<Option<_>>());
        let missing = Blocker::MissingParameter(version);
        Ok(Own { facts: facts.ok_or(missing)?, parameters: parameters.ok_or(missing)? })
    }

    /// The value of a fact; `None` while it is not known.
    fn fact(&self, machine: &Machine, architecture: Architecture, fact: Fact) -> Option<String> {
        let address = machine.spec().map(|spec| &spec.connection.address);
        let of_address = |part: fn(&Address) -> &str| Some(address.map_or("", part).to_string());
        match fact {
            Fact::MachineName => Some(self.machine_name(machine.id).to_string()),
            Fact::Ip => of_address(|address| &address.ip),
            Fact::Hostname => of_address(|address| &address.hostname),
            Fact::Idc => of_address(|address| &address.idc),
            Fact::Rack => of_address(|address| &address.rack),
            Fact::Architecture => Some(architecture.name().to_string()),
            Fact::CgroupVersion => machine.cgroup_version().map(|version| version.name().to_string()),
        }
    }
}

/// What of a release is the machine's own.
struct Own {
    facts: BTreeMap<Fact, String>,
    parameters: Parameters,
}

fn parameter<'m>(machine: &'m Machine, name: &str) -> Option<&'m String> {
    machine.spec()?.parameters.as_ref()?.get(name)
}

fn release(
    version: VersionId,
    spec: &VersionSpec,
    architecture: Architecture,
    parameters: &Arc<Parameters>,
    own: Own,
) -> Result<Arc<Release>, Blocker> {
    if !spec.suits(architecture) {
        return Err(Blocker::NoArtefact(version));
    }
    let recipe = Recipe {
        version: spec.version.clone(),
        artefact: spec.artefact(architecture).cloned(),
        content: spec.content.clone(),
        parameters: Arc::clone(parameters),
        machine_parameters: own.parameters,
        facts: own.facts,
    };
    Ok(Arc::new(Release { id: recipe.release_id(), version, recipe }))
}
