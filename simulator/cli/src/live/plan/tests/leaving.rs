//! What becomes of machines about which a set, a canary or the defaults do not decide any more.

use super::*;

/// Ten machines; the first four are blue, and have 1.1.0 of webd. As far as the status says, they have it from this set.
fn members(recorded: Option<&str>) -> Vec<Machine> {
    let mut machines = pools();
    for (number, machine) in (0..).zip(&mut machines[..4]) {
        let labels = machine.metadata.labels.clone();
        *machine = super::machine(number, "1.1.0", None);
        machine.metadata.labels = labels;
        let components = &mut machine.status.as_mut().unwrap().components;
        Arc::make_mut(components)[0].set = recorded.map(Into::into);
    }
    machines[0].metadata.labels.insert("zone".into(), "a".into());
    machines
}

/// Defaults that name only this component.
fn naming(component: &str) -> Resource {
    let mut fleet = live();
    fleet.spec.components = vec![read_as(json!({ "name": component, "version": "1.0.0" }))];
    Resource::ClusterPackageVersion(Box::new(fleet))
}

/// A set of the blue machines of zone a.
fn narrow(mut set: MachineComponentSet) -> MachineComponentSet {
    set.spec.selector.match_labels.insert("zone".into(), "a".into());
    set
}

/// A set that selects no machine.
fn nowhere(mut set: MachineComponentSet) -> MachineComponentSet {
    set.spec.selector.match_labels.insert("pool".into(), "bleu".into());
    set
}

fn removing(mut set: MachineComponentSet) -> MachineComponentSet {
    set.spec.on_leave = "Remove".into();
    set
}

fn without_components(mut set: MachineComponentSet) -> MachineComponentSet {
    set.spec.components.clear();
    set
}

/// What a change of a set does among these machines and other objects.
fn change(
    machines: &[Machine],
    others: Vec<Resource>,
    (before, after): (MachineComponentSet, MachineComponentSet),
) -> Outlook {
    let objects = [others, vec![of_set(before.clone())]].concat();
    outlook(cluster(machines, objects), set(Some(before), after).unwrap()).unwrap()
}

/// The lines about machines that leave.
fn lines(outlook: &Outlook) -> String {
    words::in_words(&Outlook { planned: Vec::new(), leaving: outlook.leaving.clone() })
}

#[test]
fn a_component_that_a_set_drops_goes_to_the_defaults() {
    let (before, after) = (blue("blue", 0), without_components(blue("blue", 0)));
    let outlook = change(&members(None), vec![naming("webd")], (before, after));
    let told = words::in_words(&outlook);
    assert_eq!(
        told,
        "webd 1.1.0 -> 1.0.0: 4 machines change: m-0, m-1, m-2, m-3\n  \
         the set blue names webd no longer; the defaults name webd 1.0.0\n"
    );
}

/// Programs read it in the list, after what is rolled out.
#[test]
fn machines_that_a_narrower_selector_leaves_out_are_told() {
    let outlook = change(&members(None), vec![naming("webd")], (blue("blue", 0), narrow(blue("blue", 0))));
    assert!(words::in_words(&outlook).starts_with("webd 1.1.0: 0 machines change, 1 have it"), "{outlook:?}");
    let json = serde_json::to_value(&outlook).unwrap();
    assert_eq!((&json[0]["component"], &json[0]["unchanged"]), (&json!("webd"), &json!(1)));
    let expected = json!({
        "component": "webd", "from": "1.1.0", "to": "1.0.0", "isChange": true,
        "why": "they leave the set; the defaults name webd 1.0.0", "leaving": ["m-1", "m-2", "m-3"],
    });
    assert_eq!(json[1], expected);
}

#[test]
fn what_nobody_names_is_kept_or_goes_with_the_set() {
    let kept = "webd 1.1.0: 3 machines keep it: m-1, m-2, m-3\n";
    let gone = "webd 1.1.0 -> nothing: 3 machines change: m-1, m-2, m-3\n";
    let (keep, remove) = (blue("blue", 0), removing(blue("blue", 0)));
    for (set, recorded, what, why) in [
        (&keep, None, kept, "webd is kept: onLeave is Keep"),
        (&remove, Some("blue"), gone, "webd is removed: onLeave is Remove"),
        (&remove, None, kept, "webd is kept: their status does not say that it is from the set"),
    ] {
        let pair = (set.clone(), narrow(set.clone()));
        let told = lines(&change(&members(recorded), vec![naming("dnsd")], pair));
        assert_eq!(told, format!("{what}  they leave the set; {why}\n"));
    }
}

/// What may be a mistake removes nothing.
#[test]
fn a_set_that_selects_nobody_or_drops_a_component_removes_nothing() {
    let set = removing(blue("blue", 0));
    let pair = (set.clone(), nowhere(set.clone()));
    let outlook = change(&members(Some("blue")), vec![naming("dnsd")], pair);
    let told = words::in_words(&outlook);
    assert!(told.starts_with("the set selects no machine: it decides about nothing\n"), "{told}");
    assert!(outlook.planned[0].selects_nobody);
    assert!(told.ends_with("webd is kept: a set that selects no machine removes nothing\n"), "{told}");
    let pair = (set.clone(), without_components(set.clone()));
    let told = lines(&change(&members(Some("blue")), vec![naming("dnsd")], pair));
    assert!(told.contains("4 machines keep it"), "{told}");
    assert!(told.ends_with("names webd no longer; webd is kept: nobody else names it\n"), "{told}");
    let pair = (set.clone(), narrow(without_components(set)));
    let told = lines(&change(&members(Some("blue")), vec![naming("dnsd")], pair));
    assert!(told.contains("they leave the set; webd is kept: the set names it no longer\n"), "{told}");
}

/// A set that selects nobody holds back what it would remove, until it selects somebody.
#[test]
fn a_set_that_selects_somebody_again_takes_back_what_it_held_back() {
    let mut machines = members(Some("blue"));
    machines[9].metadata.labels.insert("pool".into(), "red".into());
    let before = nowhere(removing(blue("blue", 0)));
    let mut after = before.clone();
    after.spec.selector.match_labels.insert("pool".into(), "red".into());
    let told = lines(&change(&machines, vec![naming("dnsd")], (before, after)));
    assert_eq!(
        told,
        "webd 1.1.0 -> nothing: 4 machines change: m-0, m-1, m-2, m-3\n  \
         they have left the set blue before; webd is removed: onLeave is Remove\n"
    );
}

#[test]
fn another_set_takes_over() {
    let rival = || {
        let mut rival = blue("green", -1);
        rival.spec.components[0].version = Some("1.2.0".into());
        vec![naming("webd"), of_set(rival)]
    };
    let told =
        lines(&change(&members(None), rival(), (blue("blue", 0), without_components(blue("blue", 0)))));
    assert!(told.starts_with("webd 1.1.0 -> 1.2.0: 4 machines change: "), "{told}");
    assert!(told.ends_with("names webd no longer; the set green names webd 1.2.0\n"), "{told}");
    let told = lines(&change(&members(None), rival(), (blue("blue", 0), blue("blue", -2))));
    assert!(told.ends_with("another one comes first; the set green names webd 1.2.0\n"), "{told}");
    // The other way round, everything that the set says is new to its machines.
    let outlook = change(&pools(), rival(), (blue("blue", -2), blue("blue", 0)));
    assert_eq!((changing(&outlook.planned[0]), outlook.leaving.len()), (4, 0));
}

#[test]
fn what_the_next_one_wants_too_is_kept_unless_the_parameters_differ() {
    let of = |setting: Value| {
        let mut fleet = live();
        fleet.spec.components = vec![read_as(setting)];
        let pair = (blue("blue", 0), without_components(blue("blue", 0)));
        lines(&change(&members(None), vec![Resource::ClusterPackageVersion(Box::new(fleet))], pair))
    };
    let told = of(json!({ "name": "webd", "version": "1.1.0" }));
    assert!(told.starts_with("webd 1.1.0: 4 machines keep it: "), "{told}");
    let told = of(json!({ "name": "webd", "version": "1.1.0", "parameters": { "level": "debug" } }));
    assert!(told.starts_with("webd 1.1.0 -> 1.1.0: 4 machines change: "), "{told}");
    let told = of(json!({ "name": "webd", "state": "Absent" }));
    assert!(told.starts_with("webd 1.1.0 -> nothing: 4 machines change: "), "{told}");
    assert!(told.ends_with("the defaults want no webd\n"), "{told}");
}

#[test]
fn what_the_defaults_drop_is_kept() {
    let mut machines = pools();
    machines[9] = machine(9, "1.0.0", Some("1.0.0"));
    let mut new = live();
    new.spec.components.clear();
    let picture = cluster(&machines, vec![naming("webd"), of_set(blue("blue", 0))]);
    let outlook = outlook(picture, defaults(live(), new).unwrap()).unwrap();
    assert_eq!(
        words::in_words(&outlook),
        "webd 1.0.0: 5 machines keep it: m-4, m-5, m-6, m-7, m-8\n  \
         the defaults name webd no longer; webd is kept: nobody else names it\n"
    );
}

#[test]
fn what_a_canary_drops_goes_to_the_sets() {
    let before = created("first", &json!({ "count": 2 }), &["m-3", "m-5"]);
    let mut new = trial("first", &json!({ "count": 2 }));
    new.spec.components = vec![read_as(json!({ "name": "dnsd", "version": "1.0.0" }))];
    let objects = vec![naming("webd"), of_set(blue("blue", 0)), of_canary(before.clone())];
    let outlook = outlook(cluster(&pools(), objects), canary(Some(before), new).unwrap()).unwrap();
    assert_eq!(
        lines(&outlook),
        "webd 1.0.0: 1 machines keep it: m-5\n  \
         the canary first names webd no longer; the defaults name webd 1.0.0\n\
         webd 1.0.0 -> 1.1.0: 1 machines change: m-3\n  \
         the canary first names webd no longer; the set blue names webd 1.1.0\n"
    );
}
