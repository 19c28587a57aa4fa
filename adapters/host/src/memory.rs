//! What a host remembers for ever: its owner, and the highest fence that it has seen from each cluster.

use std::collections::BTreeMap;

use seaworthy_api::host::wire::{Command, Fence, Owner};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::OperationId;
use seaworthy_model::host_order::{Claim, HostCommandKind};
use seaworthy_model::lease::Epoch;
use serde::{Deserialize, Serialize};

use crate::disk::{self, Disk};
use crate::failure::{self, Result};
use crate::layout::Layout;

/// Far more than a memory of a thousand clusters needs.
const LENGTH_MAX: u64 = 1 << 20;

/// What a host remembers. Stored as one small file that is replaced as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// The Machine that manages the host.
    pub owner: Option<Owner>,
    /// The highest fence per cluster. An entry stays when its owner goes: a late order of an old operator is refused
    /// also then.
    #[serde(rename = "marks")]
    pub seen: BTreeMap<String, SeenFence>,
    /// The operation that was accepted last.
    pub latest: Option<OperationId>,
    /// The cluster whose operations are remembered: those of another may have the same ids.
    #[serde(default)]
    pub operations_of: Option<String>,
}

/// The highest fence that was seen from a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenFence {
    /// The operator's epoch.
    pub epoch: Epoch,
    /// The number within it.
    pub sequence: u64,
    /// The operation that came with it. Only that one may come with it again.
    pub operation: Option<OperationId>,
}

/// Whether an order may be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes, and nothing of it is remembered.
    Answer,
    /// Yes, once the memory as it is now is durable.
    Remember,
    /// No.
    Refuse(Cause),
}

impl Memory {
    pub(crate) fn read(layout: &Layout) -> Result<Self> {
        let path = layout.memory();
        let damaged = |why: String| {
            failure::host(format!(
                "{} is damaged ({why}): nobody knows who manages this host; once that is clear, run \
                 `seaworthy-host disown --force`",
                path.display()
            ))
        };
        match disk::read(&path, LENGTH_MAX) {
            Ok(None) => Ok(Self::default()),
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string())),
            Err(cause) => Err(damaged(cause.detail)),
        }
    }

    pub(crate) fn write(&self, disk: Disk<'_>, layout: &Layout) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| failure::host(error.to_string()))?;
        disk.replace(&layout.memory(), &text, 0o600)
    }

    /// The highest epoch seen from `cluster`.
    #[must_use]
    pub fn epoch(&self, cluster: &str) -> Epoch {
        self.seen.get(cluster).map_or(Epoch::VACANT, |seen| seen.epoch)
    }

    /// Judges an order, and updates the memory by it.
    ///
    /// - Only the owner changes anything, also the fences seen. Others may read. While the host has no owner, every reader
    ///   moves them: a late order of an older operator must not claim the host after a newer operator has read it.
    /// - (epoch, sequence) must grow. Reads are answered again with an equal one; with a lower epoch `Facts` is
    ///   still answered, so that an operator whose store was set back learns of it.
    /// - `Confirm` comes again only for the operation that it came for. `Fetch` may come again.
    /// - `Apply` claims a host that nobody owns, and comes again only with the operation that it came with. So do orders
    ///   about certificates; those never come again.
    /// - `ResetFences` is about fences that are too high, so it is judged by the epoch that it names instead. A host that
    ///   nobody owns has fences too, since reading it moves them.
    pub fn judge(&mut self, fence: &Fence, command: &Command) -> Verdict {
        let foreign = self
            .owner
            .as_ref()
            .filter(|owner| owner.cluster != fence.cluster || owner.machine != fence.machine)
            .cloned();
        let highest = self.seen.get(&fence.cluster).copied().unwrap_or_default();
        if let Command::ResetFences(named) = command {
            return self.reset(fence, foreign.as_ref(), *named == highest.epoch && fence.epoch < *named);
        }
        let seen = (highest.epoch, highest.sequence);
        let order = (fence.epoch, fence.sequence);
        let owned = self.owner.is_some();
        match (command.kind().claim(), foreign) {
            (Claim::Reads, Some(_)) => return Verdict::Answer,
            (_, None) if *command == Command::Facts && fence.epoch < highest.epoch => return Verdict::Answer,
            (_, None) if order < seen => return Verdict::Refuse(too_old(fence, highest)),
            (Claim::Reads, None) if order == seen => return Verdict::Answer,
            (_, Some(owner)) => return Verdict::Refuse(owned_by(&owner)),
            (Claim::Needs, None) if !owned => return Verdict::Refuse(owned_by_nobody(fence)),
            (claim, None) if order == seen => {
                let is_same = command.operation().is_some_and(|id| highest.operation == Some(id));
                let is_over = claim == Claim::GivesUp && !owned;
                let is_fetch = command.kind() == HostCommandKind::Fetch;
                return if is_same || is_over || is_fetch {
                    Verdict::Answer
                } else {
                    Verdict::Refuse(too_old(fence, highest))
                };
            }
            (Claim::Reads, None) => return self.remember(fence, None),
            (Claim::Takes, None) => self.owner = Some(owner(fence)),
            (Claim::GivesUp, None) => self.owner = None,
            (Claim::Needs | Claim::Keeps, None) => {}
        }
        self.remember(fence, command.operation())
    }

    /// Forgets the fences of the cluster, and the ids of the operations that came with them. Once they are forgotten, the
    /// same order does not match what is remembered any more: it works once.
    fn reset(&mut self, fence: &Fence, foreign: Option<&Owner>, is_meant: bool) -> Verdict {
        if let Some(owner) = foreign {
            return Verdict::Refuse(owned_by(owner));
        }
        if !is_meant {
            return Verdict::Refuse(nothing_to_reset(fence, self.epoch(&fence.cluster)));
        }
        self.latest = None;
        self.operations_of = None;
        self.remember(fence, None)
    }

    fn remember(&mut self, fence: &Fence, operation: Option<OperationId>) -> Verdict {
        let seen = SeenFence { epoch: fence.epoch, sequence: fence.sequence, operation };
        self.seen.insert(fence.cluster.clone(), seen);
        Verdict::Remember
    }
}

fn owner(fence: &Fence) -> Owner {
    Owner { cluster: fence.cluster.clone(), machine: fence.machine, machine_name: fence.machine_name.clone() }
}

fn owned_by(owner: &Owner) -> Cause {
    let detail = format!(
        "the host belongs to Machine {} ({}) of cluster {}",
        owner.machine_name, owner.machine, owner.cluster
    );
    Cause::new(CauseKind::OwnedByAnother, detail)
}

fn owned_by_nobody(fence: &Fence) -> Cause {
    let detail =
        format!("nobody owns the host, and only its owner may order this: {} is not", fence.machine_name);
    Cause::new(CauseKind::FenceRefused, detail)
}

fn nothing_to_reset(fence: &Fence, seen: Epoch) -> Cause {
    let detail = format!(
        "the highest fence from cluster {} is of epoch {}, and Machine {} may reset only a higher one than its own that \
         it names, on a host that is its own or nobody's",
        fence.cluster, seen.0, fence.machine_name
    );
    Cause::new(CauseKind::FenceRefused, detail)
}

fn too_old(fence: &Fence, seen: SeenFence) -> Cause {
    let detail = format!(
        "the order is epoch {} sequence {}, the host has seen epoch {} sequence {} of cluster {}",
        fence.epoch.0, fence.sequence, seen.epoch.0, seen.sequence, fence.cluster
    );
    Cause::new(CauseKind::FenceRefused, detail)
}

#[cfg(test)]
mod tests {
    use seaworthy_api::host::wire::{Change, Operation};
    use seaworthy_model::component::{Architecture, Artefact, ArtefactFormat};
    use seaworthy_model::digest::Digest;
    use seaworthy_model::id::Uid;

    use super::*;

    fn fence(cluster: &str, machine: u128, epoch: u32, sequence: u64) -> Fence {
        Fence {
            cluster: cluster.into(),
            machine: Uid(machine),
            machine_name: format!("m{machine}"),
            epoch: Epoch(epoch),
            sequence,
        }
    }

    fn id(sequence: u64) -> OperationId {
        OperationId { epoch: Epoch(5), sequence }
    }

    fn apply(sequence: u64) -> Command {
        Command::Apply(Box::new(Operation {
            id: id(sequence),
            generation: 1,
            component: "webd".into(),
            change: Change::Remove,
        }))
    }

    /// Owned by Machine 1 of cluster c, which was seen up to epoch 5, sequence 10, with operation 10.
    fn owned() -> Memory {
        let mut memory = Memory::default();
        assert_eq!(memory.judge(&fence("c", 1, 5, 10), &apply(10)), Verdict::Remember);
        memory
    }

    #[derive(Debug, PartialEq)]
    enum Word {
        Answer,
        Remember,
        Old,
        Foreign,
    }
    use Word::{Answer, Foreign, Old, Remember};

    fn word(verdict: &Verdict) -> Word {
        match verdict {
            Verdict::Answer => Answer,
            Verdict::Remember => Remember,
            Verdict::Refuse(cause) if cause.kind == CauseKind::FenceRefused => Old,
            Verdict::Refuse(cause) if cause.kind == CauseKind::OwnedByAnother => Foreign,
            Verdict::Refuse(cause) => panic!("{cause:?}"),
        }
    }

    #[test]
    fn an_owned_host_obeys_its_owner_in_order() {
        let (facts, status) = (Command::Facts, Command::Status(id(10)));
        let table = [
            // (epoch, sequence), then the verdicts on facts, status, apply 10, apply 11, disown
            ((6, 1), [Remember, Remember, Remember, Remember, Remember]),
            ((5, 11), [Remember, Remember, Remember, Remember, Remember]),
            ((5, 10), [Answer, Answer, Answer, Old, Old]),
            ((5, 9), [Old, Old, Old, Old, Old]),
            ((4, 99), [Answer, Old, Old, Old, Old]),
        ];
        for ((epoch, sequence), verdicts) in table {
            let commands = [&facts, &status, &apply(10), &apply(11), &Command::Disown];
            for (command, expected) in commands.into_iter().zip(verdicts) {
                let mut memory = owned();
                let verdict = memory.judge(&fence("c", 1, epoch, sequence), command);
                assert_eq!(word(&verdict), expected, "e{epoch} s{sequence} {command:?}");
                if verdict != Verdict::Remember {
                    assert_eq!(memory, owned(), "only what is remembered changes the memory: {command:?}");
                } else {
                    assert_eq!(memory.seen["c"].epoch, Epoch(epoch));
                    assert_eq!(memory.seen["c"].sequence, sequence);
                    assert_eq!(memory.owner.is_none(), *command == Command::Disown);
                }
            }
        }
    }

    #[test]
    fn only_the_owner_has_a_host_fetch() {
        let fetch = || {
            Command::Fetch(Box::new(Artefact {
                architecture: Architecture::Amd64,
                url: "http://artefacts/webd".into(),
                sha256: Digest::of(b"webd"),
                format: ArtefactFormat::TarGz,
            }))
        };
        let table = [
            (fence("c", 1, 5, 11), Remember),
            (fence("c", 1, 5, 10), Answer),
            (fence("c", 1, 5, 9), Old),
            (fence("c", 1, 4, 99), Old),
            (fence("c", 2, 9, 9), Foreign),
        ];
        for (by, expected) in table {
            let mut memory = owned();
            assert_eq!(word(&memory.judge(&by, &fetch())), expected, "{by:?}");
            assert_eq!(memory.owner, owned().owner);
        }
        let mut memory = Memory::default();
        assert_eq!(word(&memory.judge(&fence("c", 1, 5, 11), &fetch())), Old, "nobody's");
        assert_eq!(memory, Memory::default());
    }

    #[test]
    fn only_the_owner_resets_fences_and_only_those_that_it_names() {
        let mut memory = owned();
        memory.operations_of = Some("c".into());
        let reset = |epoch| Command::ResetFences(Epoch(epoch));
        let mut refused = |by: Fence, epoch, expected| {
            let before = memory.clone();
            assert_eq!(word(&memory.judge(&by, &reset(epoch))), expected, "{by:?} {epoch}");
            assert_eq!(memory, before);
        };
        refused(fence("c", 2, 3, 1), 5, Foreign);
        refused(fence("d", 1, 3, 1), 5, Foreign);
        refused(fence("c", 1, 3, 1), 4, Old);
        refused(fence("c", 1, 3, 1), 6, Old);
        refused(fence("c", 1, 5, 11), 5, Old);
        assert_eq!(word(&memory.judge(&fence("c", 1, 3, 1), &reset(5))), Remember);
        assert_eq!((memory.epoch("c"), memory.operations_of.as_ref(), memory.latest), (Epoch(3), None, None));
        assert_eq!(word(&memory.judge(&fence("c", 1, 3, 1), &reset(5))), Old, "once");
        assert_eq!(word(&memory.judge(&fence("c", 1, 3, 2), &apply(10))), Remember);
    }

    /// A lost operator has read it and never worked there: no other order could ever claim it.
    #[test]
    fn the_fences_of_a_host_that_nobody_owns_are_reset_as_well() {
        let read = || {
            let mut memory = Memory::default();
            assert_eq!(word(&memory.judge(&fence("c", 1, 5, 10), &Command::Facts)), Remember);
            memory
        };
        let reset = |epoch| Command::ResetFences(Epoch(epoch));
        let mut memory = read();
        assert_eq!(word(&memory.judge(&fence("c", 1, 3, 1), &reset(4))), Old);
        assert_eq!(word(&memory.judge(&fence("d", 1, 3, 1), &reset(5))), Old, "these are not its fences");
        assert_eq!(memory, read());
        assert_eq!(word(&memory.judge(&fence("c", 1, 3, 1), &reset(5))), Remember);
        assert_eq!((memory.epoch("c"), memory.owner.as_ref()), (Epoch(3), None), "it claims nothing");
        assert_eq!(word(&memory.judge(&fence("c", 1, 3, 1), &reset(5))), Old, "once");
        assert_eq!(word(&memory.judge(&fence("c", 1, 3, 2), &apply(10))), Remember);
    }

    #[test]
    fn others_may_look_and_nothing_else() {
        for (cluster, machine) in [("c", 2), ("d", 1)] {
            let high = fence(cluster, machine, 99, 99);
            for (command, expected) in [
                (Command::Facts, Answer),
                (Command::Status(id(10)), Answer),
                (apply(11), Foreign),
                (Command::Disown, Foreign),
            ] {
                let mut memory = owned();
                assert_eq!(word(&memory.judge(&high, &command)), expected, "{cluster} {machine} {command:?}");
                assert_eq!(memory, owned());
            }
        }
    }

    #[test]
    fn a_disowned_host_still_refuses_late_orders_of_its_old_cluster() {
        let mut memory = owned();
        assert_eq!(memory.judge(&fence("c", 1, 5, 11), &Command::Disown), Verdict::Remember);
        assert_eq!(memory.owner, None);
        assert_eq!(word(&memory.judge(&fence("c", 1, 5, 11), &Command::Disown)), Answer);
        assert_eq!(word(&memory.judge(&fence("c", 1, 5, 10), &apply(10))), Old);
        assert_eq!(word(&memory.judge(&fence("c", 2, 4, 50), &apply(50))), Old);
        // Whoever reads a host without an owner is remembered; what is older cannot claim it any more.
        assert_eq!(word(&memory.judge(&fence("c", 2, 6, 1), &Command::Facts)), Remember);
        assert_eq!(memory.epoch("c"), Epoch(6));
        assert_eq!(word(&memory.judge(&fence("c", 3, 5, 99), &apply(99))), Old);
        assert_eq!(word(&memory.judge(&fence("c", 2, 6, 2), &apply(2))), Remember);
        assert_eq!(memory.owner.as_ref().map(|owner| owner.machine), Some(Uid(2)));
        // Another cluster starts with fences of its own.
        let mut memory = Memory { owner: None, ..memory };
        assert_eq!(word(&memory.judge(&fence("d", 3, 1, 1), &apply(1))), Remember);
        assert_eq!(memory.epoch("c"), Epoch(6));
    }
}
