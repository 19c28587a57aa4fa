//! The faults that a member of the swarm gets in addition to those of its scenario: drawn from the registry, each
//! within a range that a fleet can survive.

use std::time::Duration;

use seaworthy_kernel::{Draws, word};
use serde_json::{Value, json};

use crate::vocabulary::Length;

/// The draws of one member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lots {
    pub(super) draws: Draws,
}

impl Lots {
    /// A number below `bound`. `what` distinguishes the draws.
    pub(super) fn below(self, what: &str, of: &str, bound: u64) -> u64 {
        self.draws.below(word("swarm"), word(what), word(of), bound)
    }

    /// One of the values.
    pub(super) fn one<T: Copy>(self, what: &str, of: &str, all: &[T]) -> Option<T> {
        let index = self.below(what, of, all.len() as u64);
        all.get(usize::try_from(index).unwrap_or_default()).copied()
    }

    fn length(self, what: &str, of: &str, (least, most): (u64, u64)) -> String {
        let seconds = least + self.below(what, of, most.saturating_sub(least) + 1);
        Length(Duration::from_secs(seconds)).to_string()
    }

    /// A range of lengths in seconds, between these bounds.
    fn range(self, what: &str, of: &str, (least, most): (u64, u64)) -> Value {
        let from = least + self.below(&format!("{what} from"), of, most - least + 1);
        let to = from + self.below(&format!("{what} to"), of, most - from + 1);
        let text = |seconds| Length(Duration::from_secs(seconds)).to_string();
        json!([text(from), text(to)])
    }
}

/// Properties of the fleet that the draws depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Climate {
    pub(super) machines: u32,
    /// The number of machines in the scenario's file.
    pub(super) written: u32,
    pub(super) zones: u32,
    /// The start of the quiet phase, in seconds since the start.
    pub(super) quiet: u64,
    /// How long certificates are valid, in seconds, if the scenario says so.
    pub(super) validity: Option<u64>,
}

/// A fault of this name as a scenario file writes it. `None` if the swarm does not know the fault.
pub(super) fn fault(name: &str, lots: Lots, climate: Climate) -> Option<Value> {
    on_messages(name, lots, climate)
        .or_else(|| on_hosts(name, lots, climate))
        .or_else(|| on_servers(name, lots, climate))
        .or_else(|| on_operators(name, lots, climate))
}

/// Faults that strike operator processes. A clock that is wrong by hours has no worse effect than one that is wrong by
/// minutes, unless certificates expire as soon: an operator whose clock takes every certificate for expired renews them for
/// ever.
fn on_operators(name: &str, lots: Lots, climate: Climate) -> Option<Value> {
    let seat = || lots.below("seat", name, 3);
    Some(match name {
        "clock_skew" => {
            let most = climate.validity.map_or(7_200, |validity| (validity / 8).min(7_200));
            let wrong = lots.length("wrong", name, (0, most));
            let side = lots.one("side", name, &["ahead", "behind"]).unwrap_or("ahead");
            let pace = lots.one("pace", name, &["fast", "slow"]).unwrap_or("fast");
            let rates: &[&str] =
                if climate.validity.is_some() { &["0%", "0.1%"] } else { &["0%", "0.1%", "1%", "5%", "10%"] };
            let rate = lots.one("rate", name, rates);
            let at = lots.length("at", name, (0, 7_200));
            json!({"clockSkew": {"seat": seat(), "at": at, side: wrong, pace: rate}})
        }
        "process_pause" => {
            // Some pauses outlast the Lease, and some do not.
            let most = lots.one("most", name, &[9, 20, 120, 600]).unwrap_or(20);
            let lasting = lots.range("lasting", name, (1, most));
            let every = lots.range("every", name, (20, 1_800));
            match lots.below("whose", name, 3) {
                0 => json!({"processPause": {"seat": seat(), "every": every, "lasting": lasting}}),
                _ => json!({"processPause": {"every": every, "lasting": lasting}}),
            }
        }
        _ => return None,
    })
}

/// Faults that strike single messages and operations.
fn on_messages(name: &str, lots: Lots, climate: Climate) -> Option<Value> {
    let share = || lots.one("share", name, &["0.5%", "1%", "2%", "5%", "10%", "20%"]);
    Some(match name {
        "api_error" => json!({"apiError": {"share": share()}}),
        "conflict" => json!({"conflict": {"share": share()}}),
        "duplicate" => json!({"duplicate": {"share": share()}}),
        "host_breaks" => {
            json!({"hostBreaks": {"share": share(), "lasting": lots.range("lasting", name, (30, 1_800))}})
        }
        "host_busy" => json!({"hostBusy": {"share": share()}}),
        "late_failure" => json!({"lateFailure": {
            "share": lots.one("share", name, &["5%", "10%", "25%", "50%"]),
            "after": lots.range("after", name, (30, 7_200)),
            "lasting": lots.range("lasting", name, (60, 7_200)),
            "flaps": (lots.below("flaps", name, 2) == 0).then(|| lots.range("flap", name, (30, 600))),
        }}),
        "program_killed" => json!({"programKilled": {"share": share()}}),
        "late_request" => json!({"lateRequest": {"share": share(), "by": lots.range("by", name, (1, 300))}}),
        // A bug of the server, whose effect lasts until the quiet phase, so it must stay rare.
        "lost_event" => json!({"lostEvent": {"share": lots.one("share", name, &["0.1%", "0.5%", "1%"])}}),
        "lost_reply" => json!({"lostReply": {"share": share()}}),
        "operator_crash" => json!({"operatorCrash": {"share": crashes(lots, climate)}}),
        "session_lost" => json!({"sessionLost": {"share": share()}}),
        "slow_reply" => json!({"slowReply": {"share": share(), "by": lots.range("by", name, (1, 20))}}),
        _ => return None,
    })
}

/// Faults that strike hosts and the knowledge about them.
fn on_hosts(name: &str, lots: Lots, climate: Climate) -> Option<Value> {
    let hosts = || lots.one("share", name, &["2%", "5%", "10%", "25%", "50%"]);
    let lasting = |most| lots.range("lasting", name, (30, most));
    let loses = || lots.one("loses", name, &["power", "network", "ssh", "apiServer"]);
    Some(match name {
        "domain_down" => {
            let zone = lots.below("zone", name, u64::from(climate.zones));
            let scopes =
                [json!({"zone": zone}), json!({"racks": "25%"}), json!({"zone": zone, "share": "50%"})];
            json!({"domainDown": {
                "scope": scopes[usize::try_from(lots.below("scope", name, 3)).unwrap_or_default()],
                "at": [lots.length("at", name, (0, climate.quiet))],
                "lasting": lasting(1_800),
                "loses": loses(),
            }})
        }
        "disk_full" => json!({"diskFull": {"share": hosts(), "lasting": lasting(7_200)}}),
        "finalizer_race" => json!({"finalizerRace": {"share": hosts(), "lasting": lasting(1_800)}}),
        "hand_edit" => json!({"handEdit": {"share": hosts()}}),
        "host_down" => json!({"hostDown": {"share": hosts(), "lasting": lasting(7_200), "loses": loses()}}),
        "host_lies" => json!({"hostLies": {"hosts": liars(lots, climate), "lasting": lasting(3_600)}}),
        "host_slow" => json!({"hostSlow": {
            "share": hosts(),
            "lasting": lasting(3_600),
            "factor": 2 + lots.below("factor", name, 9),
        }}),
        "node_flaps" => json!({"nodeFlaps": {
            "share": hosts(),
            "every": lots.range("every", name, (60, 3_600)),
            "lasting": lasting(600),
        }}),
        "node_lies" => json!({"nodeLies": {
            "share": hosts(),
            "lasting": lasting(1_800),
            "says": lots.one("says", name, &["same", "notReady", "unknown"]),
        }}),
        _ => return None,
    })
}

/// Fewer than a tenth of the hosts, and fewer than prove that the store has lost operators.
fn liars(lots: Lots, climate: Climate) -> Vec<u64> {
    let most = u64::from(climate.machines.saturating_sub(1) / 10).min(2);
    (0..most).map(|liar| lots.below(&format!("liar {liar}"), "host_lies", climate.machines.into())).collect()
}

/// Faults that strike the API server, its watches, and the registry.
fn on_servers(name: &str, lots: Lots, climate: Climate) -> Option<Value> {
    let at = || [lots.length("at", name, (0, climate.quiet))];
    let lasting = |most| lots.range("lasting", name, (1, most));
    let every = || lots.range("every", name, (60, 3_600));
    Some(match name {
        "api_down" => json!({"apiDown": {"at": at(), "lasting": lasting(900)}}),
        "compaction" => json!({"compaction": {"every": lots.range("every", name, (120, 3_600))}}),
        "out_of_order" => json!({"outOfOrder": {
            "lag": lots.range("lag", name, (1, 60)),
            "lasting": lots.range("lasting", name, (60, 1_800)),
        }}),
        "metrics_down" => json!({"metricsDown": {"at": at(), "lasting": lasting(1_800)}}),
        "registry_down" => json!({"registryDown": {"at": at(), "lasting": lasting(1_800)}}),
        "stale_watch" => json!({"staleWatch": {"every": every(), "lasting": lasting(720)}}),
        "throttle" => json!({"throttle": {
            "perSecond": 1 + lots.below("rate", name, 20),
            "burst": 1 + lots.below("burst", name, 20),
            "at": at(),
            "lasting": lasting(1_800),
        }}),
        "time_travel" => json!({"timeTravel": {
            "every": every(),
            "age": lots.range("age", name, (10, 600)),
            "lasting": lasting(120),
        }}),
        "unobserved" => json!({"unobserved": {"every": every(), "lasting": lasting(720)}}),
        _ => return None,
    })
}

/// The share of write points at which the operator crashes: chosen so that it crashes at most a few dozen times,
/// whatever the size of the fleet.
fn crashes(lots: Lots, climate: Climate) -> String {
    /// The approximate number of write points per machine in a scenario.
    const POINTS: u64 = 10;
    let crashes = 1 + lots.below("crashes", "operator_crash", 24);
    let millionths = (crashes * 1_000_000 / (POINTS * u64::from(climate.machines.max(1)))).min(50_000);
    format!("{}.{:04}%", millionths / 10_000, millionths % 10_000)
}

#[cfg(test)]
mod tests {
    use seaworthy_kernel::Seed;

    use super::*;
    use crate::faults::Fault;
    use crate::vocabulary::Fleet;

    /// A fault that the swarm does not draw would be tested only by the scenarios that name it.
    #[test]
    fn every_fault_is_drawn_and_acceptable() {
        for &name in Fault::NAMES {
            for seed in 0..50 {
                let lots = Lots { draws: Draws::new(Seed(seed)) };
                let climate = Climate { machines: 30, written: 30, zones: 3, quiet: 7_200, validity: None };
                let fault = fault(name, lots, climate);
                let fault = fault.unwrap_or_else(|| panic!("swarm/weather.rs does not draw {name}"));
                let text = serde_saphyr::to_string(&fault).unwrap();
                let read: Fault =
                    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!(read.name(), name);
                let fleet: Fleet = serde_json::from_str(r#"{"machines": 30, "zones": 3}"#).unwrap();
                assert_eq!(read.model().out_of_range(&fleet), None);
            }
        }
    }
}
