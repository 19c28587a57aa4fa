//! Translates between the ids of a process and the numbers of the world. Both are assigned once and never change, so a
//! translation is cached: every report of a host needs half a dozen.

use seaworthy_api::names::{Names, UnknownId};
use seaworthy_model::id::{ComponentId, VersionId};

use crate::world::catalogue::Catalogue;
use crate::world::host::{ComponentNumber, VersionNumber};

/// The ids of a process for the numbers of the world, and back.
#[derive(Clone, Debug, Default)]
pub(in crate::world) struct Dialect {
    components: Vec<Option<ComponentId>>,
    versions: Vec<Option<VersionId>>,
    component_numbers: Vec<Option<ComponentNumber>>,
    version_numbers: Vec<Option<VersionNumber>>,
}

impl Dialect {
    /// The id of a component.
    pub(in crate::world) fn component(
        &mut self,
        number: ComponentNumber,
        catalogue: &Catalogue,
        names: &mut Names,
    ) -> ComponentId {
        let known = place(&mut self.components, number.0);
        *known.get_or_insert_with(|| names.component(catalogue.component_name(number)))
    }

    /// The id of a version.
    pub(in crate::world) fn version(
        &mut self,
        number: VersionNumber,
        catalogue: &Catalogue,
        names: &mut Names,
    ) -> VersionId {
        let known = place(&mut self.versions, number.0);
        *known.get_or_insert_with(|| names.version_object(catalogue.version_name(number)))
    }

    /// The number of a component.
    pub(in crate::world) fn component_number(
        &mut self,
        id: ComponentId,
        catalogue: &mut Catalogue,
        names: &Names,
    ) -> Result<ComponentNumber, UnknownId> {
        let known = place(&mut self.component_numbers, id.0);
        if let Some(number) = known {
            return Ok(*number);
        }
        Ok(*known.insert(catalogue.component(names.component_name(id)?)))
    }

    /// The number of a version.
    pub(in crate::world) fn version_number(
        &mut self,
        id: VersionId,
        catalogue: &mut Catalogue,
        names: &Names,
    ) -> Result<VersionNumber, UnknownId> {
        let known = place(&mut self.version_numbers, id.0);
        if let Some(number) = known {
            return Ok(*number);
        }
        Ok(*known.insert(catalogue.version(names.version_object_name(id)?)))
    }
}

fn place<T: Copy>(table: &mut Vec<Option<T>>, number: u32) -> &mut Option<T> {
    let index = number as usize;
    if table.len() <= index {
        table.resize(index + 1, None);
    }
    &mut table[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_the_names_say() {
        let (mut catalogue, mut names, mut dialect) =
            (Catalogue::default(), Names::new(), Dialect::default());
        let texts = ["web", "agent", "runtime"];
        // The process has assigned its ids in another order.
        let ids = texts.map(|text| (text, names.component(text), names.version(text, "1.0.0")));
        for (text, component, version) in ids.into_iter().rev().chain(ids) {
            let number = dialect.component_number(component, &mut catalogue, &names).unwrap();
            assert_eq!(catalogue.component_name(number), text);
            assert_eq!(dialect.component(number, &catalogue, &mut names), component);
            let number = dialect.version_number(version, &mut catalogue, &names).unwrap();
            assert_eq!(catalogue.version_name(number), format!("{text}-1.0.0"));
            assert_eq!(dialect.version(number, &catalogue, &mut names), version);
        }
        assert!(dialect.component_number(ComponentId(9), &mut catalogue, &names).is_err());
        // A name that first appears in a report gets an id, and is announced like any other.
        let drawn = names.take_new().len();
        let number = catalogue.version("proxy-2.0.0");
        let version = dialect.version(number, &catalogue, &mut names);
        assert_eq!(names.version_object_name(version), Ok("proxy-2.0.0"));
        assert_eq!(names.take_new().len(), 1);
        assert_eq!(drawn, 2 * texts.len());
    }
}
