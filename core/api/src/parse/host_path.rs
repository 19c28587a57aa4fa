//! Paths on a host that a `MachineComponent` names. Each use has a rule of its own.

use seaworthy_model::host_path::{is_identity_place, is_linkable, is_removable};

use super::faults::{Faults, Field};
use super::text;
use crate::host_path::{IDENTITY_PLACE, LINKABLE, REMOVABLE};

pub(super) fn linkable(field: Field<'_>, path: &str, faults: &mut Faults) {
    judge(field, path, (is_linkable, LINKABLE), faults);
}

pub(super) fn identity_place(field: Field<'_>, path: &str, faults: &mut Faults) {
    judge(field, path, (is_identity_place, IDENTITY_PLACE), faults);
}

pub(super) fn removable(field: Field<'_>, path: &str, faults: &mut Faults) {
    judge(field, path, (is_removable, REMOVABLE), faults);
}

fn judge(field: Field<'_>, path: &str, (rule, message): (fn(&str) -> bool, &str), faults: &mut Faults) {
    if text::is_absolute_path(path) {
        faults.require(field, rule(path), message);
    } else {
        faults.add(field, text::absolute_path_words());
    }
}
