//! A plan in words.

use super::pick::Picking;
use super::{Outlook, Planned};

/// This many machines of a batch are named for people.
const NAMED: usize = 5;

/// A plan, for people.
pub(super) fn in_words(Outlook { planned, leaving }: &Outlook) -> String {
    if planned.is_empty() && leaving.is_empty() {
        return "nothing changes\n".to_owned();
    }
    let mut text = planned.iter().find_map(|planned| planned.pick.as_ref()).map(picking).unwrap_or_default();
    if planned.iter().any(|planned| planned.is_paused) {
        text.push_str("it is paused: nothing that it rolls out begins until that ends\n");
    }
    if planned.iter().any(|planned| planned.selects_nobody) {
        text.push_str("the set selects no machine: it decides about nothing\n");
    }
    for planned in planned {
        match &planned.refused {
            Some(why) => {
                text.push_str(&format!("{} {}: refused: {why}\n", planned.component, planned.to));
            }
            None => text.push_str(&change(planned)),
        }
    }
    for leaving in leaving {
        text.push_str(&leaving.in_words(&named(&leaving.machines)));
    }
    text
}

/// Which machines a canary picks.
fn picking(pick: &Picking) -> String {
    let of = pick.selected.map(|selected| format!(" of {selected}")).unwrap_or_default();
    let verb = if pick.is_recorded { "it has picked" } else { "it picks" };
    let which = match &pick.machines[..] {
        _ if pick.is_open => "; which ones, is drawn when it is created".to_owned(),
        [] => String::new(),
        machines => format!(": {}", named(machines)),
    };
    let mut text = format!("{verb} {}{of} machines{which}\n", pick.count);
    if !pick.passed_over.is_empty() {
        let counts = pick.passed_over.iter().map(|(why, count)| format!("{count} {why}"));
        text.push_str(&format!("  passed over: {}\n", counts.collect::<Vec<_>>().join(", ")));
    }
    if !pick.missing.is_empty() {
        text.push_str(&format!("  there is no Machine {}\n", pick.missing.join(", ")));
    }
    text
}

/// What happens to one component.
fn change(planned: &Planned) -> String {
    let Planned { component, to, batches, .. } = planned;
    let changing: usize = batches.sizes.iter().sum();
    let is_open = planned.pick.as_ref().is_some_and(|pick| pick.is_open);
    let others = match batches.decided_by_others {
        0 => String::new(),
        count => format!(", sets or canaries decide about {count}"),
    };
    let mut text = if is_open {
        format!("{component} {to}: at most {changing} machines change\n")
    } else {
        let (unchanged, pinned) = (batches.unchanged, batches.pinned);
        format!(
            "{component} {to}: {changing} machines change, {unchanged} have it, {pinned} pin it{others}\n"
        )
    };
    if let Some(why) = &planned.unconfirmed {
        text.push_str(&format!("  it waits for `seaworthy rollout confirm`: {why}\n"));
    }
    if !planned.is_drawn && !is_open && changing > 0 {
        let what = if planned.pick.is_some() { "canary" } else { "set" };
        text.push_str(&format!("  which of them come first is drawn when the {what} is created\n"));
    }
    for (number, size) in (1..).zip(&batches.sizes) {
        let batch = planned.is_drawn.then(|| batches.changing.get(number - 1)).flatten();
        let names = batch.map(|batch| format!(": {}", named(batch))).unwrap_or_default();
        text.push_str(&format!("  batch {number}, {size} machines{names}\n"));
    }
    text
}

/// The first names, and how many more there are.
fn named(machines: &[String]) -> String {
    let names = machines.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match machines.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}
