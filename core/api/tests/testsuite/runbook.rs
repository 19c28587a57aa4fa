//! The pages in `docs`: people who search the runbook for a reason find it, no section is about a reason that does not exist, and
//! links between pages lead somewhere.
#![expect(clippy::disallowed_methods, reason = "this test compares files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use seaworthy_api::names::Names;
use seaworthy_api::render;
use seaworthy_model::cause::CauseKind;
use seaworthy_model::certificate::Refusal;
use seaworthy_model::component::{VersionCondition, VersionConditionKind, VersionReason, VersionStatus};
use seaworthy_model::machine::{Reason, Truth, Want};
use seaworthy_model::package_version::{
    DeferralReason, Deferred, FleetCondition, FleetConditionKind, FleetReason, PackageVersionStatus,
    Progress, Rollout,
};
use seaworthy_model::policy::{PolicyCondition, PolicyConditionKind, PolicyReason, PolicyStatus};
use seaworthy_model::time::Timestamp;

/// Words of an Event that are no reason: its action, and its types.
const NO_REASONS: [&str; 3] = ["Reconcile", "Warning", "Normal"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page(name: &str) -> String {
    read(&repository().join("docs/src").join(name))
}

/// The reasons of conditions of Machines.
fn of_machines() -> impl Iterator<Item = String> {
    let causes = CauseKind::ALL.into_iter().map(Reason::Cause);
    Reason::OWN.into_iter().chain(causes).map(|reason| render::reason(reason).to_owned())
}

/// The reasons in the status of the `ClusterPackageVersion`.
fn of_the_fleet() -> impl Iterator<Item = String> {
    let conditions = FleetReason::ALL.map(|reason| FleetCondition {
        kind: FleetConditionKind::Progressing,
        truth: Truth::False,
        reason,
        detail: None,
        since: Timestamp::from_millis(0),
        observed_generation: 1,
    });
    let mut names = Names::new();
    let deferred = DeferralReason::ALL.map(|reason| Deferred { reason, machines: 1 });
    let rollout = Rollout {
        component: names.component("webd"),
        generation: 1,
        from: None,
        to: Want::Absent,
        admitted_below: 0,
        granted: None,
        superseded: Vec::new(),
        course: None,
        cause: None,
        by: None,
        progress: Progress { deferred: deferred.into(), ..Progress::default() },
        started_at: Timestamp::from_millis(0),
        completed_at: None,
    };
    let status = PackageVersionStatus {
        conditions: conditions.into(),
        rollouts: vec![rollout],
        ..PackageVersionStatus::default()
    };
    let status = render::package_version_status(&status, &names).unwrap();
    let deferred = status.rollouts.into_iter().flat_map(|rollout| rollout.deferred);
    let conditions = status.conditions.into_iter().map(|condition| condition.reason.into_owned());
    conditions.chain(deferred.map(|deferred| deferred.reason))
}

/// The reasons of conditions of `MachineComponents`.
fn of_versions() -> impl Iterator<Item = String> {
    let conditions = VersionReason::ALL.map(|reason| VersionCondition {
        kind: VersionConditionKind::InUse,
        truth: Truth::False,
        reason,
        detail: None,
        since: Timestamp::from_millis(0),
        observed_generation: 1,
    });
    let status = VersionStatus { observed_generation: 1, conditions: conditions.into() };
    let conditions = render::version_status(&status).conditions;
    conditions.into_iter().map(|condition| condition.reason.into_owned())
}

/// The reasons of conditions of `DisruptionPolicies`.
fn of_policies() -> impl Iterator<Item = String> {
    let conditions = PolicyReason::ALL.map(|reason| PolicyCondition {
        kind: PolicyConditionKind::Permitting,
        truth: Truth::False,
        reason,
        detail: None,
        since: Timestamp::from_millis(0),
        observed_generation: 1,
    });
    let status = PolicyStatus { observed_generation: 1, conditions: conditions.into() };
    let conditions = render::policy_status(&status).conditions;
    conditions.into_iter().map(|condition| condition.reason.into_owned())
}

/// The words of what has no list of all its values: what a file of this workspace says in one capitalized word.
fn in_source(path: &str) -> impl Iterator<Item = String> {
    let source = read(&repository().join("core").join(path));
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let literals: Vec<_> = code.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let is_word = |text: &String| {
        text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !NO_REASONS.contains(&text.as_str())
    };
    literals.into_iter().filter(move |text| is_word(text))
}

/// Every reason that people can come across: in a condition, an Event, a metric or the log.
fn reasons() -> BTreeSet<String> {
    let sources = ["model/src/report.rs", "api/src/render/blocker.rs", "api/src/render/news.rs"];
    let refusals = Refusal::ALL.into_iter().map(|refusal| refusal.name().to_owned());
    let found = of_machines().chain(of_the_fleet()).chain(of_versions()).chain(of_policies()).chain(refusals);
    found.chain(sources.into_iter().flat_map(in_source)).collect()
}

/// The text behind `mark` of each line that begins with it, outside of code.
fn lines_after(text: &str, mark: &str) -> Vec<String> {
    let mut is_code = false;
    let outside = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    outside
        .filter_map(|line| line.trim_start().strip_prefix(mark))
        .map(|rest| rest.trim().to_owned())
        .collect()
}

/// Fails unless the headings of a page are these, each once.
fn assert_headings(name: &str, mark: &str, expected: &BTreeSet<String>) {
    let headings = lines_after(&page(name), mark);
    let found: BTreeSet<_> = headings.iter().cloned().collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    assert!(missing.is_empty(), "docs/src/{name} has no section for {missing:?}");
    let dead: Vec<_> = found.difference(expected).collect();
    assert!(dead.is_empty(), "docs/src/{name} has sections for {dead:?}, which do not exist");
    assert_eq!(headings.len(), found.len(), "docs/src/{name} has two sections with the same name");
}

#[test]
fn every_reason_has_a_section_in_the_runbook_and_every_section_a_reason() {
    let reasons = reasons();
    // The sources are read as text: these show that they were understood.
    for known in ["AwaitingGrant", "ApiServerSkew", "RolloutStarted", "Repaired"] {
        assert!(reasons.contains(known), "{known} was not found in the sources");
    }
    assert_headings("runbook.md", "### ", &reasons);
}

#[test]
fn every_alert_has_a_section_in_the_runbook_and_every_section_an_alert() {
    let rules = read(&repository().join("deploy/monitoring/alerts.yaml"));
    let alerts: BTreeSet<_> = lines_after(&rules, "- alert: ").into_iter().collect();
    assert!(!alerts.is_empty(), "no alert was found");
    assert_headings("alerts.md", "## ", &alerts);
}

/// The pages by name, with the files that they include.
fn pages() -> BTreeMap<String, String> {
    let folder = repository().join("docs/src");
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "md"));
    names.map(|name| (name.clone(), included(&folder, &page(&name)))).collect()
}

/// A text with the files that it includes in the place of `{{#include FILE}}`.
fn included(folder: &Path, text: &str) -> String {
    let Some((before, rest)) = text.split_once("{{#include ") else { return text.to_owned() };
    let (file, after) = rest.split_once("}}").unwrap();
    format!("{before}{}{}", read(&folder.join(file.trim())), included(folder, after))
}

/// The anchor of a heading, as mdBook makes it.
fn anchor(heading: &str) -> String {
    let part = |letter: char| match letter {
        letter if letter.is_alphanumeric() || matches!(letter, '_' | '-') => {
            Some(letter.to_ascii_lowercase())
        }
        letter if letter.is_whitespace() => Some('-'),
        _ => None,
    };
    heading.chars().filter_map(part).collect()
}

/// Whether a link of a page leads to a file, and to a heading if it names one.
fn leads_somewhere(pages: &BTreeMap<String, String>, from: &str, link: &str) -> bool {
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let file = if file.is_empty() { from } else { file };
    let Some(text) = pages.get(file) else {
        return heading.is_none() && repository().join("docs/src").join(file).is_file();
    };
    let has = |wanted: &str| {
        let mut headings = lines_after(text, "#").into_iter();
        headings.any(|heading| anchor(heading.trim_start_matches('#').trim()) == wanted)
    };
    heading.is_none_or(has)
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages = pages();
    let mut checked = 0;
    for (name, text) in &pages {
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            assert!(leads_somewhere(&pages, name, link), "docs/src/{name}: {link} leads nowhere");
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links were found");
}

/// mdBook says nothing about a page that is not in the summary: it is not published.
#[test]
fn every_page_is_in_the_summary() {
    let summary = page("SUMMARY.md");
    for name in pages().into_keys().filter(|name| name != "SUMMARY.md") {
        assert!(summary.contains(&format!("({name})")), "docs/src/SUMMARY.md does not name {name}");
    }
}
