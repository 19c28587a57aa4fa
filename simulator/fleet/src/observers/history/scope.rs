//! Describes which part of the fleet some hosts are, in a few words.

use std::collections::{BTreeMap, BTreeSet};

use crate::vocabulary::{Fleet, machine_name};

/// Up to this number, hosts are named one by one.
const NAMED_MAX: usize = 3;
/// The failure domains that some hosts fill, if they are whole domains of more than one host, apart from hosts that
/// were lost anyway.
pub(super) fn domain(hosts: &[u32], is_lost: impl Fn(u32) -> bool, fleet: &Fleet) -> Option<String> {
    if hosts.len() < 2 {
        return None;
    }
    let zone = |host: u32| (fleet.zone_of(host), 0);
    let rack = |host: u32| (fleet.zone_of(host), fleet.rack_of(host));
    let words = |name: &str, names: Vec<String>| match names.as_slice() {
        [one] => format!("{name} {one}"),
        few if few.len() <= NAMED_MAX => format!("{name}s {}", few.join(", ")),
        many => format!("{} {name}s", many.len()),
    };
    let whole = |of: &dyn Fn(u32) -> (u32, u32)| whole(hosts, &is_lost, fleet, of);
    if let Some(zones) = whole(&zone) {
        return Some(words("zone", zones.iter().map(|(zone, _)| zone.to_string()).collect()));
    }
    let racks = whole(&rack)?;
    Some(words("rack", racks.iter().map(|(zone, rack)| format!("{zone}/{rack}")).collect()))
}

/// The domains of some hosts, if these hosts and those that were lost anyway fill each of them.
fn whole(
    hosts: &[u32],
    is_lost: impl Fn(u32) -> bool,
    fleet: &Fleet,
    of: &dyn Fn(u32) -> (u32, u32),
) -> Option<Vec<(u32, u32)>> {
    let chosen: BTreeSet<u32> = hosts.iter().copied().collect();
    let mut sizes: BTreeMap<(u32, u32), usize> = hosts.iter().map(|host| (of(*host), 0)).collect();
    for host in 0..fleet.machines {
        if let Some(size) = sizes.get_mut(&of(host)) {
            *size += 1;
            if !chosen.contains(&host) && !is_lost(host) {
                return None;
            }
        }
    }
    sizes.values().all(|size| *size > 1).then(|| sizes.into_keys().collect())
}

/// Describes some hosts: their names, or their number and place.
pub(super) fn machines(hosts: &[u32], fleet: &Fleet) -> String {
    if hosts.len() <= NAMED_MAX {
        return hosts.iter().map(|host| machine_name(*host)).collect::<Vec<_>>().join(", ");
    }
    let (zone, rack) = (fleet.zone_of(hosts[0]), fleet.rack_of(hosts[0]));
    let in_zone = hosts.iter().all(|host| fleet.zone_of(*host) == zone);
    let place = if !in_zone {
        String::new()
    } else if hosts.iter().all(|host| fleet.rack_of(*host) == rack) {
        format!(" of rack {zone}/{rack}")
    } else {
        format!(" of zone {zone}")
    };
    format!("{} machines{place}", hosts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_domains_are_named_and_parts_of_them_are_counted() {
        let fleet: Fleet =
            serde_json::from_str(r#"{"machines": 60, "zones": 3, "racksPerZone": 4}"#).unwrap();
        let zone = |zone: u32| (0..60).filter(move |host| host % 3 == zone);
        let named = |hosts: &[u32]| domain(hosts, |host| host == 1, &fleet);
        assert_eq!(named(&zone(1).collect::<Vec<_>>()).as_deref(), Some("zone 1"));
        assert_eq!(
            named(&zone(1).skip(1).collect::<Vec<_>>()).as_deref(),
            Some("zone 1"),
            "one was lost before"
        );
        assert_eq!(named(&[10, 22, 34, 46, 58]).as_deref(), Some("rack 1/3"));
        let mut two: Vec<u32> = zone(0).chain(zone(2)).collect();
        two.sort_unstable();
        assert_eq!(named(&two).as_deref(), Some("zones 0, 2"));
        for no_domain in [&[7][..], &[1, 2, 4], &[10, 22]] {
            assert_eq!(named(no_domain), None, "{no_domain:?}");
        }
        assert_eq!(machines(&[7], &fleet), "m-00007");
        assert_eq!(machines(&[10, 22, 34, 46], &fleet), "4 machines of rack 1/3");
        assert_eq!(machines(&zone(1).step_by(2).collect::<Vec<_>>(), &fleet), "10 machines of zone 1");
        assert_eq!(machines(&(0..40).collect::<Vec<_>>(), &fleet), "40 machines");
    }
}
