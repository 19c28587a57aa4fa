//! Numbers for components, versions and releases, as hosts use them. They hold for a whole run, unlike the ids that
//! each operator process assigns for itself.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use seaworthy_model::component::{Recipe, ReleaseId};

use super::host::{ComponentNumber, ReleaseNumber, ServiceNumber, TextNumber, VersionNumber};

/// The names of components and of `MachineComponent` objects, and the ids of releases.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    components: Table,
    versions: Table,
    texts: Table,
    services: Table,
    services_of: BTreeMap<ReleaseNumber, Option<ServiceNumber>>,
    releases: Vec<ReleaseId>,
    release_numbers: BTreeMap<ReleaseId, u32>,
}

#[derive(Clone, Debug, Default)]
struct Table {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Table {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }
}

impl Catalogue {
    /// The number of a component.
    pub fn component(&mut self, name: &str) -> ComponentNumber {
        ComponentNumber(self.components.number(name))
    }

    /// The number of a `MachineComponent` object.
    pub fn version(&mut self, name: &str) -> VersionNumber {
        VersionNumber(self.versions.number(name))
    }

    /// The number of a path, or of the name of a node.
    pub fn text(&mut self, text: &str) -> TextNumber {
        TextNumber(self.texts.number(text))
    }

    /// The text of a number.
    #[must_use]
    pub fn text_of(&self, number: TextNumber) -> &str {
        self.texts.names.get(number.0 as usize).map_or("", String::as_str)
    }

    /// The number of what a release starts its service from. Nothing is rendered here: a value that the template of the unit may
    /// use makes a difference. The executable is that of the artefact.
    pub fn service(&mut self, release: ReleaseNumber, recipe: &Recipe) -> Option<ServiceNumber> {
        if let Some(known) = self.services_of.get(&release) {
            return *known;
        }
        let number = Self::started_from(recipe).map(|name| {
            let number = self.services.number(&name).saturating_add(1);
            ServiceNumber(NonZeroU32::new(number).unwrap_or(NonZeroU32::MAX))
        });
        self.services_of.insert(release, number);
        number
    }

    fn started_from(recipe: &Recipe) -> Option<String> {
        let unit = recipe.content.unit.as_ref()?;
        let artefact = recipe.artefact.as_ref().filter(|_| unit.executable.is_some());
        let uses = |name: &str| unit.template.contains(name);
        let version = Some(&recipe.version).filter(|_| uses("version"));
        let parameters = Some((&recipe.parameters, &recipe.machine_parameters)).filter(|_| uses("arameters"));
        let facts = Some(&recipe.facts).filter(|_| uses("facts"));
        let sha256 = artefact.map(|artefact| artefact.sha256);
        Some(format!("{unit:?} {sha256:?} {version:?} {parameters:?} {facts:?}"))
    }

    /// The number of a release.
    pub fn release(&mut self, id: ReleaseId) -> ReleaseNumber {
        let next = u32::try_from(self.releases.len()).unwrap_or(u32::MAX);
        let number = *self.release_numbers.entry(id).or_insert(next);
        if number == next {
            self.releases.push(id);
        }
        ReleaseNumber(number)
    }

    /// The id of a release.
    ///
    /// # Panics
    /// When the number is not from this catalogue.
    #[must_use]
    pub fn release_id(&self, number: ReleaseNumber) -> ReleaseId {
        self.releases[number.0 as usize]
    }

    /// The number of a component that is known already.
    #[must_use]
    pub fn find_component(&self, name: &str) -> Option<ComponentNumber> {
        self.components.numbers.get(name).copied().map(ComponentNumber)
    }

    /// The number of a `MachineComponent` object that is known already.
    #[must_use]
    pub fn find_version(&self, name: &str) -> Option<VersionNumber> {
        self.versions.numbers.get(name).copied().map(VersionNumber)
    }

    /// The names of all components, by their numbers.
    #[must_use]
    pub fn component_names(&self) -> &[String] {
        &self.components.names
    }

    /// The names of all `MachineComponent` objects, by their numbers.
    #[must_use]
    pub fn version_names(&self) -> &[String] {
        &self.versions.names
    }

    /// The name of a component.
    #[must_use]
    pub fn component_name(&self, number: ComponentNumber) -> &str {
        self.components.names.get(number.0 as usize).map_or("", String::as_str)
    }

    /// The name of a `MachineComponent` object.
    #[must_use]
    pub fn version_name(&self, number: VersionNumber) -> &str {
        self.versions.names.get(number.0 as usize).map_or("", String::as_str)
    }
}
