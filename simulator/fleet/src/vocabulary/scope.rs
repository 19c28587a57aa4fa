//! Failure domains form a tree of zone, rack and host. Pools are kinds of hosts; each may have hosts in every domain.

use std::collections::BTreeSet;

use seaworthy_kernel::{Draws, word};
use serde::Deserialize;

use super::{Fleet, Portion};

/// A part of the fleet: the hosts that match all fields. Omitted fields do not restrict it; an empty scope is the whole
/// fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scope {
    /// The zone of the hosts, by number from 0.
    pub zone: Option<u32>,
    /// The rack of the hosts: the numbers of its zone and of the rack in it, as in `1/3`.
    pub rack: Option<RackName>,
    /// The name of the pool of the hosts.
    pub pool: Option<String>,
    /// The hosts, by number.
    pub hosts: Option<Vec<u32>>,
    /// Whether the scope is restricted to the host at which the fault's trigger fired.
    pub here: bool,
    /// The share of the zones that is drawn from those that match the fields above. A drawn zone keeps all its matching
    /// hosts.
    pub zones: Option<Portion>,
    /// The share of the racks that is drawn from those that are left. A drawn rack keeps all its matching hosts.
    pub racks: Option<Portion>,
    /// The share of the hosts that is drawn from those that are left.
    pub share: Option<Portion>,
}

/// A rack: the number of its zone, and its own number within the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct RackName {
    zone: u32,
    rack: u32,
}

impl TryFrom<String> for RackName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(zone, rack)| Some((zone.parse().ok()?, rack.parse().ok()?)));
        let (zone, rack) =
            numbers.ok_or_else(|| format!("{text:?} is no rack: expected zone/rack, as in \"1/3\""))?;
        Ok(Self { zone, rack })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RackName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RackName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^[0-9]+/[0-9]+$"})
    }
}

impl Scope {
    /// The hosts of the scope, in order. `here` is the host at which a trigger fired. `key` is the key of the draws.
    #[must_use]
    pub fn hosts(&self, fleet: &Fleet, draws: &Draws, key: u64, here: Option<u32>) -> Vec<u32> {
        let is_within = |host: &u32| self.has(*host, fleet, draws) && (!self.here || here == Some(*host));
        let mut hosts: Vec<u32> = (0..fleet.machines).filter(is_within).collect();
        if let Some(share) = self.zones {
            let zones =
                chosen(hosts.iter().map(|host| fleet.zone_of(*host)), share, draws, key ^ word("zones"));
            hosts.retain(|host| zones.contains(&fleet.zone_of(*host)));
        }
        if let Some(share) = self.racks {
            let place = |host: &u32| fleet.zone_of(*host) * fleet.racks_per_zone + fleet.rack_of(*host);
            let racks = chosen(hosts.iter().map(place), share, draws, key ^ word("racks"));
            hosts.retain(|host| racks.contains(&place(host)));
        }
        if let Some(share) = self.share {
            let some = chosen(hosts.iter().copied(), share, draws, key);
            hosts.retain(|host| some.contains(host));
        }
        hosts
    }

    /// Whether a host is in the zone, rack, pool and list of the scope. Shares are left aside.
    #[must_use]
    pub fn has(&self, host: u32, fleet: &Fleet, draws: &Draws) -> bool {
        self.zone.is_none_or(|zone| fleet.zone_of(host) == zone)
            && self.rack.is_none_or(|rack| rack == rack_name(fleet, host))
            && self.pool.as_deref().is_none_or(|pool| fleet.pool_of(host, draws) == Some(pool))
            && self.hosts.as_ref().is_none_or(|hosts| hosts.contains(&host))
    }

    /// The first domain, host or pool of the scope that the fleet does not have.
    #[must_use]
    pub fn problem(&self, fleet: &Fleet) -> Option<String> {
        let Fleet { machines, zones, racks_per_zone: racks, .. } = fleet;
        let zone = self.zone.or(self.rack.map(|rack| rack.zone)).filter(|zone| zone >= zones);
        let rack = self.rack.map(|rack| rack.rack).filter(|rack| rack >= racks);
        let host = self.hosts.iter().flatten().find(|host| *host >= machines);
        let pool = self.pool.as_ref().filter(|name| fleet.pools.iter().all(|pool| pool.name != **name));
        zone.map(|zone| format!("there is no zone {zone} among {zones}"))
            .or_else(|| rack.map(|rack| format!("there is no rack {rack} among {racks} per zone")))
            .or_else(|| host.map(|host| format!("there is no host {host} among {machines}")))
            .or_else(|| pool.map(|pool| format!("there is no pool {pool:?}")))
    }
}

fn rack_name(fleet: &Fleet, host: u32) -> RackName {
    RackName { zone: fleet.zone_of(host), rack: fleet.rack_of(host) }
}

/// The given share of the distinct values in `all`, drawn without repetition.
fn chosen(all: impl Iterator<Item = u32>, share: Portion, draws: &Draws, key: u64) -> BTreeSet<u32> {
    let all: BTreeSet<u32> = all.collect();
    let count = share.0.of(u32::try_from(all.len()).unwrap_or(u32::MAX)) as usize;
    let mut ranked: Vec<(u64, u32)> =
        all.into_iter().map(|one| (draws.bits(key, u64::from(one), 0), one)).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(count).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use seaworthy_kernel::Seed;

    use super::*;

    fn fleet() -> Fleet {
        serde_json::from_str(
            r#"{"machines": 60, "zones": 3, "racksPerZone": 4, "pools": [{"name": "gpu", "share": "50%"}]}"#,
        )
        .unwrap()
    }

    fn hosts(text: &str) -> Vec<u32> {
        let scope: Scope = serde_json::from_str(text).unwrap();
        scope.hosts(&fleet(), &Draws::new(Seed(1)), 7, Some(4))
    }

    #[test]
    fn scopes_follow_the_tree() {
        assert_eq!(hosts("{}").len(), 60);
        assert_eq!(hosts(r#"{"zone": 1}"#).len(), 20);
        assert_eq!(hosts(r#"{"rack": "1/3"}"#), [10, 22, 34, 46, 58]);
        assert_eq!(hosts(r#"{"zone": 1, "hosts": [1, 2, 4]}"#), [1, 4]);
        assert_eq!(hosts(r#"{"here": true}"#), [4]);
        assert_eq!(hosts(r#"{"share": "10%"}"#).len(), 6);
        assert_eq!(hosts(r#"{"zone": 2, "share": "10%"}"#).len(), 2);
    }

    #[test]
    fn a_share_of_domains_takes_them_whole() {
        let racks = hosts(r#"{"racks": "25%"}"#);
        assert_eq!(racks.len(), 15);
        let names: BTreeSet<RackName> = racks.iter().map(|host| rack_name(&fleet(), *host)).collect();
        assert_eq!(names.len(), 3);
        let zones = hosts(r#"{"zones": "34%"}"#);
        assert_eq!(zones.len(), 20);
    }

    #[test]
    fn pools_hold_about_their_share() {
        let gpu = hosts(r#"{"pool": "gpu"}"#);
        assert!((20..40).contains(&gpu.len()), "{}", gpu.len());
    }

    #[test]
    fn what_a_fleet_does_not_have_is_refused() {
        for (text, expected) in [
            (r#"{"zone": 3}"#, "no zone 3"),
            (r#"{"rack": "1/4"}"#, "no rack 4"),
            (r#"{"hosts": [60]}"#, "no host 60"),
            (r#"{"pool": "cpu"}"#, "no pool"),
        ] {
            let scope: Scope = serde_json::from_str(text).unwrap();
            assert!(scope.problem(&fleet()).unwrap_or_default().contains(expected), "{text}");
        }
        assert!(serde_json::from_str::<Scope>(r#"{"rack": "3"}"#).is_err());
    }
}
