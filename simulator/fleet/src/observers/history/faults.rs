//! Records faults, open and finished, and turns them into bands at the end.

use std::collections::BTreeMap;

use seaworthy_model::id::Kind;

use super::band::{Band, FaultKind};
use super::{Millis, scope};
use crate::faults::Fault;
use crate::vocabulary::{Fleet, Injection, Place, drift_words, readable};

/// Above this number, moments of one kind are merged with their neighbours.
const MOMENTS_MAX: usize = 4_000;

/// The faults recorded so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    strikes: Vec<Strike>,
    /// The strikes that last until they are reverted: their indices in `strikes`, and the number of causes of each.
    open: BTreeMap<(FaultKind, Target), (usize, u32)>,
}

/// One thing that a fault did.
#[derive(Clone, Debug)]
struct Strike {
    kind: FaultKind,
    from: Millis,
    /// `None` for a moment.
    until: Option<Millis>,
    target: Target,
    detail: String,
}

/// The target of a fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Host(u32),
    Seat(u32),
    Leader,
    Watch(Kind),
    Object(String),
    All,
}

/// The effect of an injection on bands.
enum Meaning {
    /// A condition begins and lasts until it is reverted.
    Begins(FaultKind, Target, String),
    /// The condition is reverted.
    Ends(FaultKind, Target),
    /// A condition lasts until a known time.
    Lasts(FaultKind, Target, String),
    /// A moment without duration.
    Strikes(FaultKind, Target, String),
    /// The injection is not shown.
    Nothing,
}

impl Faults {
    /// A fault does something to the world.
    pub(super) fn injected(&mut self, at: Millis, injection: Injection) {
        match meaning(injection) {
            Meaning::Begins(kind, target, detail) => self.begin(at, kind, target, detail),
            Meaning::Ends(kind, target) => self.end(at, kind, target),
            Meaning::Lasts(kind, target, detail) => {
                let until = injection.until().map_or(at, super::millis);
                self.strikes.push(Strike { kind, from: at, until: Some(until), target, detail });
            }
            Meaning::Strikes(kind, target, detail) => {
                self.strikes.push(Strike { kind, from: at, until: None, target, detail });
            }
            Meaning::Nothing => {}
        }
    }

    fn begin(&mut self, at: Millis, kind: FaultKind, target: Target, detail: String) {
        if let Some((_, causes)) = self.open.get_mut(&(kind, target.clone())) {
            *causes += 1;
            return;
        }
        self.open.insert((kind, target.clone()), (self.strikes.len(), 1));
        self.strikes.push(Strike { kind, from: at, until: Some(Millis::MAX), target, detail });
    }

    /// Ends a condition. A host that was lost for several causes is back when the last cause is gone; everything else
    /// ends with the first end.
    fn end(&mut self, at: Millis, kind: FaultKind, target: Target) {
        let adds_up = is_loss(kind);
        let Some((strike, causes)) = self.open.get_mut(&(kind, target.clone())) else { return };
        *causes -= 1;
        if *causes == 0 || !adds_up {
            self.strikes[*strike].until = Some(at);
            self.open.remove(&(kind, target));
        }
    }

    /// A fault strikes at a point that the world reaches.
    pub(super) fn met(&mut self, at: Millis, fault: &Fault, place: &Place) {
        let Some(kind) = FaultKind::at_a_point(fault) else { return };
        let target = match (kind, place) {
            (FaultKind::Crash, Place::Request { seat, .. } | Place::Order { seat, .. }) => {
                Target::Seat(*seat)
            }
            (_, Place::Order { host, .. } | Place::Operation { host, .. }) => Target::Host(*host),
            (_, Place::Request { object, .. } | Place::Event { object, .. }) => {
                place.host().map_or_else(|| Target::Object(object.clone()), Target::Host)
            }
        };
        self.strikes.push(Strike { kind, from: at, until: None, target, detail: String::new() });
    }

    /// The bands, by kind and then by time.
    pub(super) fn bands(mut self, fleet: &Fleet, end: Millis) -> Vec<Band> {
        let is_alike = |one: &Strike, other: &Strike| {
            (one.kind, one.from, one.until, &one.detail)
                == (other.kind, other.from, other.until, &other.detail)
        };
        self.strikes.sort_by(|one, other| {
            let key = |strike: &Strike| (strike.kind, strike.from, strike.until);
            key(one)
                .cmp(&key(other))
                .then_with(|| (&one.detail, &one.target).cmp(&(&other.detail, &other.target)))
        });
        let losses = Losses::of(&self.strikes);
        let mut bands: Vec<Band> =
            self.strikes.chunk_by(is_alike).map(|strikes| band(strikes, &losses, fleet, end)).collect();
        bands.sort_by_key(|band| (band.kind, band.from, band.until));
        bands.chunk_by(|one, other| one.kind == other.kind).flat_map(thin).collect()
    }
}

/// The times at which each host was lost.
struct Losses(BTreeMap<u32, Vec<(Millis, Millis)>>);

impl Losses {
    fn of(strikes: &[Strike]) -> Self {
        let mut losses: BTreeMap<u32, Vec<(Millis, Millis)>> = BTreeMap::new();
        for strike in strikes.iter().filter(|strike| is_loss(strike.kind)) {
            if let (Some(host), Some(until)) = (strike.target.host(), strike.until) {
                losses.entry(host).or_default().push((strike.from, until));
            }
        }
        Self(losses)
    }

    fn is_lost(&self, host: u32, at: Millis) -> bool {
        self.0.get(&host).is_some_and(|times| times.iter().any(|(from, until)| *from <= at && at <= *until))
    }
}

const fn is_loss(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::PowerLost | FaultKind::CutOff)
}

impl Target {
    const fn host(&self) -> Option<u32> {
        match self {
            Self::Host(host) => Some(*host),
            Self::Seat(_) | Self::Leader | Self::Watch(_) | Self::Object(_) | Self::All => None,
        }
    }
}

/// The band of strikes of one kind at one time.
fn band(strikes: &[Strike], losses: &Losses, fleet: &Fleet, end: Millis) -> Band {
    let Strike { kind, from, until, detail, .. } = &strikes[0];
    let mut hosts: Vec<u32> = strikes.iter().filter_map(|strike| strike.target.host()).collect();
    hosts.dedup();
    let domain =
        is_loss(*kind).then(|| scope::domain(&hosts, |host| losses.is_lost(host, *from), fleet)).flatten();
    let (kind, detail) = match &domain {
        Some(_) => (FaultKind::DomainLost, kind.name().to_owned()),
        None => (*kind, detail.clone()),
    };
    let scope = domain.unwrap_or_else(|| {
        if hosts.is_empty() { place(&strikes[0].target) } else { scope::machines(&hosts, fleet) }
    });
    Band {
        kind,
        from: *from,
        until: until.map_or(*from, |until| until.min(end).max(*from)),
        times: u32::try_from(strikes.len()).unwrap_or(u32::MAX),
        scope,
        detail,
        host: if strikes.len() == 1 { hosts.first().copied() } else { None },
    }
}

/// Merges moments of one kind until they are few enough. Conditions with a duration stay as they are.
fn thin(bands: &[Band]) -> Vec<Band> {
    let mut width = 1;
    let spans = |width: Millis| {
        bands.chunk_by(move |one, other| {
            let is_moment = one.from == one.until && other.from == other.until;
            is_moment && one.from / width == other.from / width
        })
    };
    while bands.len() > MOMENTS_MAX && spans(width).count() > MOMENTS_MAX && width < 1 << 22 {
        width *= 2;
    }
    if width == 1 {
        return bands.to_vec();
    }
    let together = |bands: &[Band]| {
        let (first, last) = (&bands[0], &bands[bands.len() - 1]);
        if bands.len() == 1 {
            return first.clone();
        }
        Band {
            until: last.from,
            times: bands.iter().map(|band| band.times).sum(),
            scope: String::new(),
            detail: String::new(),
            host: None,
            ..first.clone()
        }
    };
    spans(width).map(together).collect()
}

fn place(target: &Target) -> String {
    match target {
        Target::Host(host) => crate::vocabulary::machine_name(*host),
        Target::Seat(seat) => format!("seat {seat}"),
        Target::Leader => "whoever leads".into(),
        Target::Watch(kind) => kind.name().into(),
        Target::Object(name) => name.clone(),
        Target::All => String::new(),
    }
}

fn meaning(injection: Injection) -> Meaning {
    use FaultKind as F;
    use Meaning::{Begins, Ends, Lasts, Nothing, Strikes};
    use Target::{All, Host, Leader, Seat, Watch};
    let plain = String::new;
    match injection {
        Injection::PowerOff(host) => Begins(F::PowerLost, Host(host), plain()),
        Injection::PowerOn(host) => Ends(F::PowerLost, Host(host)),
        Injection::Cut(host) => Begins(F::CutOff, Host(host), plain()),
        Injection::Mend(host) => Ends(F::CutOff, Host(host)),
        Injection::CutSsh(host) => Begins(F::CutOff, Host(host), "its kubelet is connected".into()),
        Injection::MendSsh(host) => Ends(F::CutOff, Host(host)),
        Injection::CutKubelet(host) => Begins(F::KubeletCut, Host(host), plain()),
        Injection::MendKubelet(host) => Ends(F::KubeletCut, Host(host)),
        Injection::Sicken(host) => Begins(F::NodeSick, Host(host), plain()),
        Injection::FailLate(host) => Begins(F::NodeSick, Host(host), "because of a release".into()),
        Injection::Recover(host) | Injection::RecoverLate(host) => Ends(F::NodeSick, Host(host)),
        Injection::KillProgram(host) => Strikes(F::ProgramKilled, Host(host), plain()),
        Injection::Fill(host) => Begins(F::DiskFull, Host(host), plain()),
        Injection::MakeRoom(host) => Ends(F::DiskFull, Host(host)),
        Injection::Slow(host, 0 | 1) => Ends(F::HostSlow, Host(host)),
        Injection::Slow(host, factor) => Begins(F::HostSlow, Host(host), format!("{factor} times as slow")),
        Injection::Lie(host, None) => Begins(F::NodeLies, Host(host), "says what it said before".into()),
        Injection::Lie(host, Some(says)) => Begins(F::NodeLies, Host(host), format!("says {says:?}")),
        Injection::Truth(host) => Ends(F::NodeLies, Host(host)),
        Injection::Pretend(host, lie) => Begins(F::HostLies, Host(host), format!("reports a wrong {lie:?}")),
        Injection::Honest(host) => Ends(F::HostLies, Host(host)),
        Injection::AddFinalizer(host) => Begins(F::Finalizers, Host(host), "another one is there".into()),
        Injection::DropFinalizer(host) => Ends(F::Finalizers, Host(host)),
        Injection::StripFinalizer(host) => Strikes(F::Finalizers, Host(host), "ours is removed".into()),
        Injection::Spoil(host, drift) => Strikes(F::HandEdit, Host(host), drift_words(drift)),
        Injection::RegistryDown(_) => Lasts(F::RegistryDown, All, plain()),
        Injection::MetricsDown(_) => Lasts(F::MetricsDown, All, plain()),
        Injection::ApiDown(_) => Lasts(F::ApiDown, All, plain()),
        Injection::Throttle { per_second, .. } => {
            Lasts(F::ApiThrottled, All, format!("{per_second} a second"))
        }
        Injection::HoldWatch(kind, _) => Lasts(F::WatchHeld, Watch(kind), plain()),
        Injection::Lag { kind, lag, .. } => {
            Lasts(F::WatchLate, Watch(kind), format!("{} late", readable(lag)))
        }
        Injection::Travel { kind, since, until } => {
            Lasts(F::TimeTravel, Watch(kind), format!("up to {} old", readable(until.since(since))))
        }
        Injection::Relist(kind) => Strikes(F::Relist, Watch(kind), plain()),
        Injection::Compact => Strikes(F::Compaction, All, plain()),
        Injection::Crash { seat } => Strikes(F::Crash, Seat(seat), plain()),
        Injection::Pause { seat, .. } => Lasts(F::Pause, seat.map_or(Leader, Seat), plain()),
        Injection::Skew { seat, skew } if skew == Default::default() => Ends(F::ClockSkew, Seat(seat)),
        Injection::Skew { seat, skew } => Begins(F::ClockSkew, Seat(seat), skew.to_string()),
        Injection::Cache(_) | Injection::Silence | Injection::Time => Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_lost_until_its_last_cause_is_gone() {
        let mut faults = Faults::default();
        let slow = |factor| Injection::Slow(8, factor);
        for (at, injection) in [
            (10, Injection::PowerOff(7)),
            (11, slow(3)),
            (12, slow(4)),
            (20, Injection::PowerOff(7)),
            (30, Injection::PowerOn(7)),
            (31, slow(1)),
            (40, Injection::PowerOn(7)),
            (41, slow(1)),
            (50, Injection::PowerOff(7)),
        ] {
            faults.injected(at, injection);
        }
        let fleet: Fleet = serde_json::from_str(r#"{"machines": 60}"#).expect("it is a fleet");
        let bands = faults.bands(&fleet, 60);
        let bands: Vec<_> = bands.iter().map(|band| (band.kind, band.from, band.until)).collect();
        let lost = FaultKind::PowerLost;
        assert_eq!(bands, [(lost, 10, 40), (lost, 50, 60), (FaultKind::HostSlow, 11, 31)]);
    }

    #[test]
    fn a_rack_is_lost_as_one_whoever_of_it_was_lost_before() {
        let fleet: Fleet = serde_json::from_str(r#"{"machines": 60, "zones": 3, "racksPerZone": 4}"#)
            .expect("it is a fleet");
        let rack = [10, 22, 34, 46, 58];
        let mut faults = Faults::default();
        faults.injected(5, Injection::Cut(34));
        rack.iter().for_each(|host| faults.injected(10, Injection::PowerOff(*host)));
        faults.injected(12, Injection::PowerOff(46));
        rack.iter().for_each(|host| faults.injected(20, Injection::PowerOn(*host)));
        faults.injected(30, Injection::PowerOn(46));
        faults.injected(40, Injection::Mend(34));
        let bands = faults.bands(&fleet, 60);
        let told: Vec<_> =
            bands.iter().map(|band| (band.kind.name(), &*band.scope, band.from, band.until)).collect();
        let expected = [
            ("zone/rack lost", "rack 1/3", 10, 20),
            ("power lost", "m-00046", 10, 30),
            ("SSH unreachable", "m-00034", 5, 40),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn too_many_moments_are_put_together_and_none_is_lost() {
        let mut faults = Faults::default();
        let most = u32::try_from(MOMENTS_MAX).expect("it is small");
        for at in 0..3 * most {
            faults.injected(at * 10, Injection::Compact);
        }
        let fleet: Fleet = serde_json::from_str(r#"{"machines": 60}"#).expect("it is a fleet");
        let bands = faults.bands(&fleet, 30 * most);
        assert!(bands.len() <= MOMENTS_MAX && bands.len() > MOMENTS_MAX / 4, "{}", bands.len());
        assert_eq!(bands.iter().map(|band| band.times).sum::<u32>(), 3 * most);
    }
}
