//! Collects the faults of a spec. Paths are built only when there is something to say.

use std::fmt;

use seaworthy_model::meta::SpecError;

/// The path of a field, for example `spec.components[2].version`.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Field<'a> {
    /// A field of the object itself.
    pub(super) const fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Name(name) }
    }

    /// The field `name` in this one.
    pub(super) const fn name(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Name(name) }
    }

    /// An item of this list.
    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// An entry of this map.
    pub(super) const fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            fmt::Display::fmt(parent, f)?;
        }
        match self.step {
            Step::Name(name) if self.parent.is_none() => f.write_str(name),
            Step::Name(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key:?}]"),
        }
    }
}

/// The faults found so far.
#[derive(Default)]
pub(super) struct Faults(Vec<SpecError>);

impl Faults {
    /// Adds a fault.
    pub(super) fn add(&mut self, field: Field<'_>, message: impl Into<String>) {
        self.0.push(SpecError { field: field.to_string(), message: message.into() });
    }

    /// Adds a fault unless `holds`.
    pub(super) fn require(&mut self, field: Field<'_>, holds: bool, message: &str) {
        if !holds {
            self.add(field, message);
        }
    }

    /// Adds a fault when a list or map has more than `max` entries.
    pub(super) fn at_most(&mut self, field: Field<'_>, entries: usize, max: usize) {
        if entries > max {
            self.add(field, format!("must have at most {max} entries, has {entries}"));
        }
    }

    /// Adds a fault for every item that has the key of an earlier one. `name` is the field of the key in an item.
    pub(super) fn unique<'k>(&mut self, list: Field<'_>, name: &str, keys: impl Iterator<Item = &'k str>) {
        let mut seen = std::collections::BTreeMap::new();
        for (index, key) in keys.enumerate() {
            if let Some(first) = seen.get(key) {
                let item = list.index(index);
                let field = if name.is_empty() { item } else { item.name(name) };
                self.add(field, format!("is the same as in {list}[{first}]"));
            } else {
                seen.insert(key, index);
            }
        }
    }

    /// The number if it lies in the range; otherwise a fault, and `None`.
    pub(super) fn number<T: TryFrom<i64> + Copy + Into<i64>>(
        &mut self,
        field: Field<'_>,
        number: i64,
        (min, max): (T, T),
    ) -> Option<T> {
        if (min.into()..=max.into()).contains(&number) {
            return T::try_from(number).ok();
        }
        self.add(field, format!("must be from {} to {}, is {number}", min.into(), max.into()));
        None
    }

    /// How many faults there are.
    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// `value` if there are no faults.
    pub(super) fn result<T>(self, value: Option<T>) -> Result<T, Box<[SpecError]>> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self.0.into()),
        }
    }

    /// All faults.
    pub(super) fn into_errors(self) -> Vec<SpecError> {
        self.0
    }
}
