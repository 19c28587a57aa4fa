//! Rollouts on the page: their owners, batches, gates and waits, and the ledger, at a chosen moment.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::browser::Browser;
use super::{folder, report};

fn fast(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/fast").join(name)
}

/// Opens the page of a scenario at a moment.
fn open(name: &str, moment: &str) -> Browser {
    let folder = folder(name);
    let (address, _) = report(&fast(name), 60, &folder);
    let mut browser = Browser::start(&folder.join("profile"), (1440, 1000));
    browser.open(&format!("{address}#t={moment}"));
    browser
}

fn says(browser: &mut Browser, place: &str, words: &[&str]) {
    let text = browser.evaluate(&format!("document.getElementById('{place}').textContent"));
    let text = text.as_str().expect("it has a text");
    for words in words {
        assert!(text.contains(words), "{words:?} is not in {text:?}");
    }
}

fn seek(browser: &mut Browser, moment: &str) {
    browser.evaluate(&format!("location.hash = 't={moment}'"));
    browser.until(&format!("location.hash === '#t={moment}' && page.fleet.time === page.time"));
}

#[test]
fn a_failed_gate_says_why_and_what_follows() {
    let browser = &mut open("gate_rolls_back.yaml", "1h05m");
    says(browser, "moment-rollouts", &["Baking", "kubelet 1.36.1 → 1.36.3", "batch 1 bakes until 1h20m25s"]);
    seek(browser, "1h10m");
    browser.until("document.getElementById('moment-time').textContent === 'at 1h10m00s'");
    says(
        browser,
        "moment-rollouts",
        &["RolledBack", "batch 1: rolled back since", "1 went down", "of 59 others"],
    );
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn rollouts_are_shown_with_their_owners() {
    let browser = &mut open("canaries.yaml", "1h03m");
    says(browser, "moment-rollouts", &["defaults", "set gpu", "canary first"]);
    says(browser, "lanes", &["set gpu: complete in", "canary named: complete in"]);
    let tip = browser.evaluate(
        "page.lanes.lanes.find(({ describe }) => describe?.includes('canary first')).tip(3_780_000)",
    );
    assert!(tip.as_str().is_some_and(|tip| tip.starts_with("batch 1 bakes until")), "{tip}");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn limits_are_shown_beside_what_they_count() {
    let browser = &mut open("limits.yaml", "10h");
    says(
        browser,
        "moment-ledger",
        &["of 30 units taken", "policy fleet", "40 of 40 today", "of 1 in flight"],
    );
    says(
        browser,
        "moment-rollouts",
        &["waits: RateLimit: ", "DisruptionPolicy fleet", "the next may at 26h"],
    );
    says(browser, "lanes", &["Policy racks", "Units by zone"]);
    let browser = &mut open("frozen.yaml", "2h");
    says(browser, "moment-ledger", &["policy sale", "frozen until 4h00m00s"]);
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The units of all racks, and those that no rack has, make up the budget at any moment.
#[test]
fn the_racks_hold_no_more_than_the_budget() {
    let browser = &mut open("four_rollouts_at_once.yaml", "1h");
    let wrong = browser.evaluate(
        "(() => { const { at, rows: [occupied] } = page.history.run.budget, wrong = []; \
         for (let i = 0; i < 100; i++) { page.time = page.history.end * i / 100; page.draw(); \
         const racks = page.moment.racks.reduce((a, b) => a + b, 0), taken = occupied[before(at, page.time)] ?? 0; \
         if (racks > taken) wrong.push([page.time, racks, taken]); } return wrong; })()",
    );
    assert_eq!(wrong, json!([]));
    assert_eq!(browser.errors, Vec::<String>::new());
}
