//! Programs that a `MachineComponent` runs on a host, and what is done when it is removed.

use seaworthy_model::invocation::Invocation;
use seaworthy_model::removal::Removal;

use super::faults::{Faults, Field};
use super::host_path::removable;
use super::probe::command;
use crate::v1alpha1;

/// Reads an invocation; `None` with at least one fault.
pub(super) fn invocation(
    field: Field<'_>,
    read: &v1alpha1::Invocation,
    faults: &mut Faults,
) -> Option<Invocation> {
    command(field.name("command"), &read.command, faults);
    let timeout = faults.number(field.name("timeoutSeconds"), read.timeout_seconds, (1_u32, 3600));
    Some(Invocation { command: read.command.clone(), timeout_seconds: timeout? })
}

/// Reads what is done at a removal.
pub(super) fn removal(field: Field<'_>, read: &v1alpha1::Removal, faults: &mut Faults) -> Removal {
    let before_stop = invocations(field.name("beforeStop"), &read.before_stop, faults);
    let after_stop = invocations(field.name("afterStop"), &read.after_stop, faults);
    let field = field.name("paths");
    faults.at_most(field, read.paths.len(), 16);
    faults.unique(field, "", read.paths.iter().map(String::as_str));
    for (index, path) in read.paths.iter().enumerate() {
        removable(field.index(index), path, faults);
    }
    Removal { before_stop, after_stop, paths: read.paths.clone() }
}

fn invocations(field: Field<'_>, read: &[v1alpha1::Invocation], faults: &mut Faults) -> Vec<Invocation> {
    faults.at_most(field, read.len(), 8);
    let items = read.iter().enumerate();
    items.filter_map(|(index, item)| invocation(field.index(index), item, faults)).collect()
}
