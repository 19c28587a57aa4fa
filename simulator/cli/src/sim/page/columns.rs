//! The events of machines as four columns of small numbers. Neighbours in a column are alike, so they compress well.

use seaworthy_fleet::history::{Component, History, Version, What};
use seaworthy_fleet::world::host::Ended;

/// The columns, one after the other: time since the previous event, kind, host, value. All but kinds have variable length:
/// seven bits per byte, lowest first, with the highest bit set in all but the last byte.
pub(super) struct Columns {
    bytes: Vec<u8>,
    lengths: [usize; 4],
    /// The causes of failures. Values refer to them by index.
    pub(super) causes: Vec<&'static str>,
}

impl Columns {
    /// The columns.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The length of each column in bytes.
    pub(super) const fn lengths(&self) -> [usize; 4] {
        self.lengths
    }
}

/// The events of a history as columns.
pub(super) fn columns(history: &History) -> Columns {
    let mut columns: [Vec<u8>; 4] = Default::default();
    let mut causes = Vec::new();
    let mut before = 0;
    for event in &history.events {
        let (kind, value) = encode(event.what, history, &mut causes);
        number(&mut columns[0], event.at.saturating_sub(before));
        columns[1].push(kind);
        number(&mut columns[2], event.host);
        number(&mut columns[3], value);
        before = event.at;
    }
    let lengths = std::array::from_fn(|column| columns[column].len());
    Columns { bytes: columns.concat(), lengths, causes }
}

/// The kind of an event and its value, as `history.js` reads them.
fn encode(what: What, history: &History, causes: &mut Vec<&'static str>) -> (u8, u32) {
    let release = |component: Component, version: Version| {
        let version = if version == Version::NONE { 0 } else { u32::from(version.0) + 1 };
        let components = u32::try_from(history.components.len()).unwrap_or(u32::MAX);
        version * components + u32::from(component.0)
    };
    match what {
        What::Phase(phase, waits) => (0, phase as u32 | u32::from(waits.number()) << 4),
        What::Condition(kind, truth, reason) => {
            (1, kind as u32 | (truth as u32) << 2 | u32::from(reason.0) << 4)
        }
        What::Began(component, version) => (2, release(component, version)),
        What::Step(step) => (3, step as u32),
        What::Resumed => (4, 0),
        What::Ended(Ended::Succeeded) => (5, 0),
        What::Ended(Ended::Interrupted) => (5, 1),
        What::Ended(Ended::Failed(cause)) => {
            let known = causes.iter().position(|name| *name == cause.name());
            let index = known.unwrap_or_else(|| {
                causes.push(cause.name());
                causes.len() - 1
            });
            (5, 2 + u32::try_from(index).unwrap_or(u32::MAX - 2))
        }
        What::Installed(component, version) => (6, release(component, version)),
        What::Spoiled(drift) => (7, u32::from(drift.0)),
        What::Power(is_on) => (8, u32::from(is_on)),
        What::Network(is_connected) => (9, u32::from(is_connected)),
        What::Node(health) => (10, health as u32),
        What::Unit(is_taken) => (11, u32::from(is_taken)),
    }
}

fn number(column: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        column.push(value as u8 | 0x80);
        value >>= 7;
    }
    column.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_seven_bits_a_byte() {
        let table: [(u32, &[u8]); 4] =
            [(0, &[0]), (127, &[127]), (300, &[0xac, 2]), (u32::MAX, &[0xff, 0xff, 0xff, 0xff, 0xf])];
        for (value, bytes) in table {
            let mut column = Vec::new();
            number(&mut column, value);
            assert_eq!(column, bytes);
        }
    }
}
