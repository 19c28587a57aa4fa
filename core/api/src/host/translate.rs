//! Translates between the core's vocabulary and the host protocol.

use std::sync::Arc;

use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::certificate::HostIdentity;
use seaworthy_model::effect::{Action, Effect, Fence, Target};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::host::{self, HostFacts, InstalledComponent, OperationState};
use seaworthy_model::id::{ComponentId, MachineId, VersionId};
use seaworthy_model::machine::Installed;

use super::command;
use super::wire::{self, Answer, PROTOCOL, Reply, Request};
use crate::names::{Names, UnknownId};
use crate::prefix::prefix;

/// The most components that one host may report: no machine runs that many, and each new name stays interned for
/// the life of the process.
pub const COMPONENTS_MAX: usize = 256;

/// The longest name that the API server takes for an object, in bytes.
const NAME_MAX: usize = 253;

/// The longest explanation of a host that is passed on, in bytes. It is kept for each machine and goes to the log; an
/// honest host says less.
const DETAIL_MAX: usize = 4096;

/// The longest part of a node identity, in bytes. A request with an ECDSA key has some 400.
const IDENTITY_MAX: usize = 4096;

/// The most organizations in a certificate; a node's has one.
const IDENTITY_PARTS_MAX: usize = 8;

/// The request that carries out `action` for an operator of `cluster`. `None` when it is no order to a host.
///
/// # Errors
/// When the action names an id that was never given out.
pub fn request(action: &Action, names: &Names, cluster: &str) -> Result<Option<Request>, UnknownId> {
    let (Effect::Host(order), Fence::Host(fence), Target::Host(machine)) =
        (&action.effect, action.fence, action.target)
    else {
        return Ok(None);
    };
    Ok(Some(Request {
        protocol: PROTOCOL,
        fence: wire::Fence {
            cluster: cluster.to_owned(),
            machine: fence.machine,
            machine_name: names.machine_name(machine)?.to_owned(),
            epoch: fence.epoch,
            sequence: fence.sequence,
        },
        command: command::command(&order.command, names)?,
    }))
}

/// Whom a reply came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The machine whose host was asked.
    pub machine: MachineId,
    /// The key that the host showed in this session.
    pub host_key: Option<String>,
}

/// The outcome that a reply is for an operator of `cluster`. A reply that makes no sense is a retryable protocol error, and
/// so is one with more new names than its host may bring.
#[must_use]
pub fn outcome(reply: Reply, cluster: &str, sender: Sender, names: &mut Names) -> Outcome {
    if reply.protocol != PROTOCOL {
        return nonsense(format!("the host speaks protocol {}, not {PROTOCOL}", reply.protocol));
    }
    match reply.answer {
        Answer::Later(cause) => Outcome::Retryable(bounded(cause)),
        Answer::Refused(cause) => Outcome::Refused(bounded(cause)),
        Answer::Pending => Outcome::Unknown,
        Answer::Done(facts) => match facts_of(*facts, cluster, sender, names) {
            Ok(facts) => Outcome::Done(Receipt::Host(Box::new(facts))),
            Err(detail) => nonsense(detail),
        },
    }
}

/// The cause, with its detail cut to a readable length.
fn bounded(mut cause: Cause) -> Cause {
    cause.detail.truncate(prefix(&cause.detail, DETAIL_MAX).len());
    cause
}

fn nonsense(detail: String) -> Outcome {
    Outcome::Retryable(Cause::new(CauseKind::ProtocolError, detail))
}

fn facts_of(
    facts: wire::Facts,
    cluster: &str,
    Sender { machine, host_key }: Sender,
    names: &mut Names,
) -> Result<HostFacts, String> {
    if facts.components.len() > COMPONENTS_MAX {
        return Err(format!("{} components are more than {COMPONENTS_MAX}", facts.components.len()));
    }
    if facts.owner.as_ref().is_some_and(|owner| owner.cluster.len() > NAME_MAX) {
        return Err(format!("the owner's cluster has a name of more than {NAME_MAX} bytes"));
    }
    if facts.identity.as_ref().is_some_and(is_oversized) {
        return Err(format!("the node identity has parts of more than {IDENTITY_MAX} bytes"));
    }
    // All names are validated before the first is interned: a host that lies must not fill the table.
    let installed = facts.components.iter().flat_map(|component| [&component.name, &component.version_name]);
    let changed = facts.operation.iter().flat_map(|operation| {
        [Some(&operation.component), operation.release.as_ref().map(|release| &release.version_name)]
    });
    if let Some(name) = installed.chain(changed.flatten()).find(|name| !is_object_name(name)) {
        return Err(format!("{name:?} is not the name of an object"));
    }
    if !names.admit_of_host(machine, unknown_names(&facts, names)) {
        return Err(
            "the host has brought more names of components and versions that do not exist than it may".into(),
        );
    }
    let differs = differs(&facts.components);
    let mut components: Vec<InstalledComponent> = facts
        .components
        .into_iter()
        .map(|component| InstalledComponent {
            component: names.component(&component.name),
            version: names.version_object(&component.version_name),
            release: component.release,
            drift: component.drift,
            restarts: component.restarts.map(|restarts| u8::try_from(restarts).unwrap_or(u8::MAX)),
        })
        .collect();
    components.sort_by_key(|component| component.component);
    if components.windows(2).any(|pair| pair[0].component == pair[1].component) {
        return Err("a component is reported twice".to_owned());
    }
    Ok(HostFacts {
        host: facts.host,
        host_key: host_key.map(Into::into),
        architecture: facts.architecture,
        cgroup_version: facts.cgroup_version,
        boot: facts.boot,
        owner: owner(facts.owner, cluster),
        epoch: facts.epoch,
        components,
        differs,
        operation: facts.operation.map(|operation| host::OperationReport {
            id: operation.id,
            generation: operation.generation,
            component: names.component(&operation.component),
            release: operation.release.map(|release| Installed {
                version: names.version_object(&release.version_name),
                release: release.id,
            }),
            state: match operation.state {
                OperationState::Failed(cause) => OperationState::Failed(bounded(cause)),
                state @ (OperationState::Running
                | OperationState::Unconfirmed
                | OperationState::Interrupted
                | OperationState::Succeeded) => state,
            },
        }),
        identity: facts.identity.map(Box::new),
    })
}

/// How many names in a report nobody has used yet.
fn unknown_names(facts: &wire::Facts, names: &Names) -> usize {
    let components = facts.components.iter().map(|component| &component.name);
    let components = components.chain(facts.operation.iter().map(|operation| &operation.component));
    let versions = facts.components.iter().map(|component| &component.version_name);
    let released = facts.operation.iter().filter_map(|operation| operation.release.as_ref());
    let versions = versions.chain(released.map(|release| &release.version_name));
    components.filter(|name| names.find::<ComponentId>(name).is_none()).count()
        + versions.filter(|name| names.find::<VersionId>(name).is_none()).count()
}

/// Whether a node identity is longer than any honest one. It is kept for each machine, so a host must not make it large.
fn is_oversized(identity: &HostIdentity) -> bool {
    let certificate = identity.certificate.iter().flat_map(|certificate| {
        let organizations = certificate.organizations.iter().take(IDENTITY_PARTS_MAX + 1);
        organizations.chain([&certificate.common_name])
    });
    let pending = identity.pending.iter().map(|pending| &pending.request);
    let is_long = |text: &Arc<str>| text.len() > IDENTITY_MAX;
    let parts = identity.certificate.as_ref().map_or(0, |certificate| certificate.organizations.len());
    parts > IDENTITY_PARTS_MAX || certificate.chain(pending).chain([&identity.path]).any(is_long)
}

/// Longest difference that a host may report, in bytes.
const DIFFERS_MAX: usize = 512;

/// The first difference that a host reports, with the name of its component. The words are the host's own.
fn differs(components: &[wire::Component]) -> Option<Arc<str>> {
    let (component, words) =
        components.iter().find_map(|component| Some((component, component.differs.as_ref()?)))?;
    let words: String = words.chars().filter(|letter| !letter.is_control()).collect();
    Some(prefix(&format!("{}: {words}", component.name), DIFFERS_MAX).into())
}

fn owner(owner: Option<wire::Owner>, cluster: &str) -> host::Owner {
    match owner {
        None => host::Owner::Nobody,
        Some(owner) if owner.cluster == cluster => host::Owner::Machine(owner.machine),
        Some(owner) => host::Owner::Foreign { cluster: owner.cluster.into(), machine: owner.machine },
    }
}

/// Whether `name` may be the name of an object: lower-case letters, digits, `-` and `.`, with a letter or digit at
/// both ends, at most 253 bytes (RFC 1123 subdomain). Both sides judge by this.
#[must_use]
pub fn is_object_name(name: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.len() <= NAME_MAX
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|&b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.')
        && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use seaworthy_model::component::{Architecture, Artefact, ArtefactFormat, Content, Recipe, ReleaseId};
    use seaworthy_model::digest::Digest;
    use seaworthy_model::effect::ActionId;
    use seaworthy_model::host::{
        BootId, Change, Connection, Drift, HostFence, Operation, OperationId, Owner, Release,
    };
    use seaworthy_model::host_order::{HostCommand, HostOrder};
    use seaworthy_model::id::{StoreId, Uid};
    use seaworthy_model::lease::Epoch;
    use seaworthy_model::machine::{Address, HostId, HostKeyPolicy, Login};
    use seaworthy_model::time::Timestamp;

    use super::super::frame;
    use super::*;

    fn sender() -> Sender {
        Sender { machine: MachineId(0), host_key: None }
    }

    fn apply(names: &mut Names) -> Action {
        let recipe = Recipe {
            version: "1.0.0".into(),
            artefact: Some(Artefact {
                architecture: Architecture::Amd64,
                url: "http://artefacts/webd".into(),
                sha256: Digest::of(b"webd"),
                format: ArtefactFormat::Binary { path: "bin/webd".into() },
            }),
            content: Content::default(),
            parameters: Arc::default(),
            machine_parameters: BTreeMap::new(),
            facts: BTreeMap::new(),
        };
        let release =
            Release { id: recipe.release_id(), version: names.version_object("webd-1.0.0"), recipe };
        Action {
            id: ActionId(1),
            store: StoreId::HOME,
            target: Target::Host(names.machine("m1")),
            fence: Fence::Host(HostFence { machine: Uid(9), epoch: Epoch(3), sequence: 4 }),
            deadline: Timestamp::MAX,
            effect: Effect::Host(HostOrder {
                connection: Arc::new(Connection {
                    address: Address::default(),
                    port: 22,
                    login: Arc::new(Login { user: "root".into(), secret_name: "key".into() }),
                    host_keys: Arc::default(),
                    host_key_policy: HostKeyPolicy::Pinned,
                }),
                command: HostCommand::Apply(Box::new(Operation {
                    id: OperationId { epoch: Epoch(3), sequence: 4 },
                    generation: 5,
                    component: names.component("webd"),
                    change: Change::Install(Arc::new(release)),
                })),
            }),
        }
    }

    fn facts() -> wire::Facts {
        wire::Facts {
            host: HostId(1),
            boot: BootId(2),
            architecture: Architecture::Amd64,
            cgroup_version: None,
            owner: Some(wire::Owner { cluster: "c1".into(), machine: Uid(9), machine_name: "m1".into() }),
            epoch: Epoch(3),
            components: vec![wire::Component {
                name: "webd".into(),
                version_name: "webd-1.0.0".into(),
                release: ReleaseId(Digest::of(b"r")),
                drift: Drift::FILES,
                differs: None,
                rendered: Vec::new(),
                running: None,
                restarts: None,
            }],
            operation: Some(wire::OperationReport {
                id: OperationId { epoch: Epoch(3), sequence: 4 },
                generation: 5,
                component: "webd".into(),
                release: None,
                state: OperationState::Succeeded,
            }),
            identity: None,
            platform: wire::Platform::default(),
        }
    }

    fn done(facts: wire::Facts) -> Reply {
        Reply::new(Answer::Done(Box::new(facts)))
    }

    #[test]
    fn a_request_carries_names_and_survives_a_frame() {
        let mut names = Names::default();
        let request = request(&apply(&mut names), &names, "c1").unwrap().unwrap();
        assert_eq!(request.fence.machine_name, "m1");
        let wire::Command::Apply(operation) = &request.command else { panic!("not an apply") };
        assert_eq!(operation.component, "webd");
        let wire::Change::Install(release) = &operation.change else { panic!("not an install") };
        assert_eq!(release.version_name, "webd-1.0.0");
        assert_eq!(release.id, release.recipe.release_id());
        let framed = frame::encode(&request).unwrap();
        assert_eq!(frame::decode::<Request>(&framed[frame::HEADER..]).unwrap(), request);
    }

    #[test]
    fn a_report_becomes_facts_as_seen_from_the_asking_cluster() {
        let mut names = Names::default();
        let Outcome::Done(Receipt::Host(ours)) = outcome(done(facts()), "c1", sender(), &mut names) else {
            panic!("not done")
        };
        assert_eq!(ours.owner, Owner::Machine(Uid(9)));
        assert_eq!(names.component_name(ours.components[0].component).unwrap(), "webd");
        let Outcome::Done(Receipt::Host(theirs)) = outcome(done(facts()), "c2", sender(), &mut names) else {
            panic!("not done")
        };
        assert_eq!(theirs.owner, Owner::Foreign { cluster: "c1".into(), machine: Uid(9) });
    }

    /// An older host program does not tell of restarts: then they are unknown, and not none.
    #[test]
    fn restarts_of_a_unit_are_passed_on_if_they_are_known() {
        let mut told = facts();
        let seen = |facts: wire::Facts| {
            let framed = frame::encode(&Reply::new(Answer::Done(Box::new(facts)))).unwrap();
            let reply = frame::decode(&framed[frame::HEADER..]).unwrap();
            let Outcome::Done(Receipt::Host(seen)) = outcome(reply, "c1", sender(), &mut Names::default())
            else {
                panic!("not done")
            };
            seen.components[0].restarts
        };
        assert!(!serde_json::to_string(&told).unwrap().contains("restarts"), "as an older program reports");
        assert_eq!(seen(told.clone()), None);
        for (restarts, expected) in [(0, 0), (3, 3), (255, 255), (4_000_000_000, 255)] {
            told.components[0].restarts = Some(restarts);
            assert_eq!(seen(told.clone()), Some(expected), "{restarts}");
        }
    }

    #[test]
    fn a_lying_host_is_a_protocol_error() {
        let changes: [fn(&mut wire::Facts); 6] = [
            |f| f.owner.as_mut().unwrap().cluster = "x".repeat(NAME_MAX + 1),
            |f| f.operation.as_mut().unwrap().component = "a b".into(),
            |f| f.components[0].name = "../etc".into(),
            |f| f.components[0].version_name = "x".repeat(254),
            |f| f.components.push(f.components[0].clone()),
            |f| f.components = vec![f.components[0].clone(); COMPONENTS_MAX + 1],
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut facts = facts();
            change(&mut facts);
            let outcome = outcome(done(facts), "c1", sender(), &mut Names::default());
            assert!(
                matches!(&outcome, Outcome::Retryable(cause) if cause.kind == CauseKind::ProtocolError),
                "{number}: {outcome:?}"
            );
        }
        let other = Reply { protocol: PROTOCOL + 1, answer: Answer::Pending };
        let outcome = outcome(other, "c1", sender(), &mut Names::default());
        assert!(matches!(outcome, Outcome::Retryable(cause) if cause.kind == CauseKind::ProtocolError));
    }

    #[test]
    fn a_host_that_talks_on_is_cut_short() {
        let cause = Cause::new(CauseKind::ProbeFailed, format!("a{}", "é".repeat(DETAIL_MAX)));
        let length = |cause: &Cause| cause.detail.len();
        let mut names = Names::default();
        let refused = Reply::new(Answer::Refused(cause.clone()));
        let Outcome::Refused(refused) = outcome(refused, "c1", sender(), &mut names) else {
            panic!("not refused")
        };
        assert_eq!(length(&refused), DETAIL_MAX - 1, "between characters");
        let mut facts = facts();
        facts.operation.as_mut().unwrap().state = OperationState::Failed(cause);
        let Outcome::Done(Receipt::Host(seen)) = outcome(done(facts), "c1", sender(), &mut names) else {
            panic!("not done")
        };
        let OperationState::Failed(cause) = seen.operation.unwrap().state else { panic!("not failed") };
        assert_eq!(length(&cause), DETAIL_MAX - 1);
    }

    #[test]
    fn object_names() {
        for good in ["a", "webd-1.1.0", "0", &"x".repeat(253)] {
            assert!(is_object_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", ".", "a..b", "A", "a/b", "a b", "ä", &"x".repeat(254)] {
            assert!(!is_object_name(bad), "{bad}");
        }
    }
}
