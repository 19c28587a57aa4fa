//! The draft that controllers fill in, and the orders that several of them share.

use alloc::string::String;
use alloc::vec::Vec;

use seaworthy_model::effect::{Effect, Target};
use seaworthy_model::meta::Meta;

use crate::rows::note::Note;
use crate::rows::ticket::Ticket;
use crate::runtime::draft::{self, unchanged};

/// The draft of one subject's decision.
pub(crate) type Draft<'a> = draft::Draft<'a, Note, Ticket>;

/// An action that has no number yet.
pub(crate) type Order = draft::Order<Ticket>;

/// Writes an object, unless it has changed since it was observed.
pub(crate) fn write(draft: &mut Draft<'_>, target: Target, meta: &Meta, effect: Effect) {
    draft.order(target, unchanged(meta), effect, Ticket::Write);
}

/// Replaces the finalizers of an object.
pub(crate) fn write_finalizers(draft: &mut Draft<'_>, target: Target, meta: &Meta, finalizers: Vec<String>) {
    write(draft, target, meta, Effect::WriteFinalizers(finalizers));
}
