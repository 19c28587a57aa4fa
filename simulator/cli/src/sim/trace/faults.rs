//! The tracks of faults, one for each kind. Outages may overlap, so they are asynchronous events: Perfetto stacks those of
//! one name.

use seaworthy_fleet::history::{Band, FaultKind, History};
use serde_json::{Value, json};

use super::{Group, Trace};

/// The category of outages: within it an id is one band.
const CATEGORY: &str = "fault";

/// Adds the tracks of faults.
pub(super) fn faults(trace: &mut Trace, history: &History) {
    if history.bands.is_empty() {
        return;
    }
    trace.name_group(Group::Faults, "faults");
    for (number, kind) in (1..).zip(FaultKind::ALL) {
        let track = (Group::Faults, number);
        let bands = || history.bands.iter().filter(|band| band.kind == *kind);
        if bands().any(is_moment) {
            trace.name_track(track, kind.name());
        }
        for band in bands().filter(|band| is_moment(band)) {
            trace.instant(track, band.from, kind.name().into()).args = arguments(band);
        }
    }
    for (id, band) in (1..).zip(history.bands.iter().filter(|band| !is_moment(band))) {
        for (ph, at) in [("b", band.from), ("e", band.until)] {
            let entry = trace.push(ph, (Group::Faults, 0), at, band.kind.name().into());
            entry.id = Some(id);
            entry.cat = Some(CATEGORY);
            entry.args = if ph == "b" { arguments(band) } else { Value::Null };
        }
    }
}

const fn is_moment(band: &Band) -> bool {
    band.from == band.until
}

fn arguments(band: &Band) -> Value {
    let place = if band.scope.is_empty() { "everywhere" } else { &band.scope };
    json!({ "where": place, "times": band.times, "how": band.detail })
}
