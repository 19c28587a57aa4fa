//! Additional pods and users of them in a member of the swarm whose fleet has pods: pods that a drain treats in another
//! way, apps that are broken for a while, and users who evict, delete and create pods.

use std::time::Duration;

use serde_json::json;

use super::weather::{Climate, Lots};
use crate::run::plan::Document;
use crate::vocabulary::Length;

/// Apps are well again, and users leave the pods alone, so long before the quiet phase: a drain that waits for them is given
/// up after an hour at most, and is tried again.
const MARGIN: u64 = 1_800;

/// Draws them.
pub(super) fn draw(document: &mut Document, lots: Lots, climate: Climate) {
    if !document.has_pods() {
        return;
    }
    let is_drawn = |what: &str| lots.below("drawn", what, 3) == 0;
    let share = |what| json!(lots.one("share", what, &["10%", "30%", "100%"]));
    for what in ["mirrors", "finished"].into_iter().filter(|what| is_drawn(what)) {
        document.set_pods(what, share(what));
    }
    if is_drawn("tolerating") {
        document.set_pods("tolerating", json!(1));
    }
    let Some(until) = climate.quiet.checked_sub(MARGIN).filter(|until| *until > MARGIN) else { return };
    let between = json!(["0s", Length(Duration::from_secs(until)).to_string()]);
    if is_drawn("evictors") {
        let every = lots.one("every", "evictors", &[["20s", "2m"], ["1m", "20m"]]);
        document.list_mut("workloads").push(json!({"evictors": {"every": every, "between": between}}));
    }
    if is_drawn("deployers") {
        let every = lots.one("every", "deployers", &[["2m", "10m"], ["10m", "1h"]]);
        let lasting = lots.one("lasting", "deployers", &[["10s", "2m"], ["1m", "25m"]]);
        document
            .list_mut("workloads")
            .push(json!({"deployers": {"every": every, "between": between, "lasting": lasting}}));
    }
}
