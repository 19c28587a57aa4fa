//! The page of a run, in a real browser: it draws, time can be moved, a machine's history opens, and nothing goes wrong.

mod browser;
mod faults;
mod gates;

use std::path::{Path, PathBuf};
use std::process::Command;

use browser::Browser;
use serde_json::{Value, json};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/scale/upgrade_10k.yaml");

/// A folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("cargo's own folder for tests can be written");
    folder
}

/// Runs a scenario, and writes its page. Answers with the page's address, and what the command printed.
fn report(scenario: &Path, machines: u32, folder: &Path) -> (String, Value) {
    let page = folder.join("report.html");
    let output = Command::new(env!("CARGO_BIN_EXE_seaworthy"))
        .args(["sim", "run", "--output", "json", "--machines", &machines.to_string()])
        .arg(scenario)
        .arg("--report")
        .arg(&page)
        .output()
        .expect("the program was built");
    let summary = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    (format!("file://{}", page.display()), summary)
}

/// The picture of the map as a number.
const PICTURE: &str = "(() => { let hash = 7; \
    for (const byte of page.map.baseContext.getImageData(0, 0, page.map.base.width, page.map.base.height).data) \
    hash = (hash * 31 + byte) | 0; return hash; })()";

fn legend(browser: &mut Browser) -> Value {
    browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#legend li')].map((item) => \
         [item.children[1].textContent, Number(item.lastChild.textContent.replaceAll(',', ''))]))",
    )
}

fn seek(browser: &mut Browser, millis: u64) {
    browser.evaluate(&format!(
        "(() => {{ const slider = document.getElementById('time'); slider.value = {millis}; \
         slider.dispatchEvent(new Event('input')); }})()"
    ));
    browser.until(&format!("page.fleet.time === {millis}"));
}

#[test]
fn the_map_follows_the_time() {
    let folder = folder("map");
    let (address, summary) = report(Path::new(SCENARIO), 300, &folder);
    let browser = &mut Browser::start(&folder.join("profile"), (1440, 1000));
    browser.open(&address);
    assert_eq!(browser.evaluate("document.getElementById('verdict').textContent"), json!("✓ converged"));
    let facts = browser.evaluate("document.getElementById('facts').textContent");
    let hash = summary["traceHash"].as_str().expect("there is a hash");
    assert!(facts.as_str().is_some_and(|facts| facts.contains(hash)), "{facts}");
    assert!(facts.as_str().is_some_and(|facts| facts.contains("--machines 300")), "{facts}");

    seek(browser, 0);
    let (start, unseen) = (browser.evaluate(PICTURE), legend(browser));
    assert_eq!(unseen["not seen yet"], json!(300));
    seek(browser, 2 * 3_600_000 + 60_000);
    let (middle, counts) = (browser.evaluate(PICTURE), legend(browser));
    assert!(counts["at work"].as_u64() > Some(0), "{counts}");
    browser.press("End");
    browser.until("page.fleet.time === page.history.end");
    let (end, counts) = (browser.evaluate(PICTURE), legend(browser));
    assert_eq!(counts["as wanted"], json!(300));
    assert!(start != middle && middle != end && start != end, "the map does not change");
    // Back to the same moment from the other direction: the same picture.
    seek(browser, 2 * 3_600_000 + 60_000);
    assert_eq!(browser.evaluate(PICTURE), middle);

    let before = browser.evaluate("page.time").as_f64();
    browser.press("ArrowRight");
    assert!(browser.evaluate("page.time").as_f64() > before, "the arrow key moves the time");
    browser.press(" ");
    browser.until("page.playing && page.fleet.time > 2 * 3_600_000 + 90_000");
    browser.press(" ");
    browser.until("!page.playing");

    // A click on a lane selects that moment: the cursor is under the pointer.
    let lane = browser.evaluate(
        "(() => { window.scrollTo(0, document.body.scrollHeight); \
         const box = page.lanes.lanes[0].canvas.getBoundingClientRect(); \
         return [box.left + box.width * 0.4, box.top + box.height / 2]; })()",
    );
    let (x, y) = (lane[0].as_f64().expect("a number"), lane[1].as_f64().expect("a number"));
    browser.click(x, y);
    browser.until("page.fleet.time === page.time");
    let cursor = browser.evaluate("document.getElementById('cursor').getBoundingClientRect().left");
    assert!((cursor.as_f64().expect("a number") - x).abs() < 3.0, "{cursor} is not {x}");

    let theme = "getComputedStyle(document.body).backgroundColor";
    let light = browser.evaluate(theme);
    browser.press("d");
    assert_ne!(browser.evaluate(theme), light, "dark and light differ");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn a_machine_tells_its_history() {
    let folder = folder("machine");
    let (address, summary) = report(Path::new(SCENARIO), 300, &folder);
    let browser = &mut Browser::start(&folder.join("profile"), (1440, 1000));
    browser.open(&address);
    let place = browser.evaluate(
        "(() => { const box = page.map.canvas.getBoundingClientRect(), [x, y] = page.map.place(42); \
         return [box.left + x + page.map.plan.cell / 2, box.top + y + page.map.plan.cell / 2]; })()",
    );
    let at = |index: usize| place[index].as_f64().expect("a place is two numbers");
    browser.click(at(0), at(1));
    let panel = "document.getElementById('machine').textContent";
    let text = browser.evaluate(panel);
    let text = text.as_str().expect("it is text");
    for part in ["m-00042", "zone 2", "install webd-1.0.0 — succeeded", "install webd-1.1.0", "steps in"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // An entry selects its moment.
    browser.evaluate(
        "[...document.querySelectorAll('.entry')].find((entry) => entry.querySelector('.steps')).click()",
    );
    browser.until("page.fleet.time < 3_600_000");

    browser.evaluate(
        "(() => { document.getElementById('machine-name').value = 'm-00007'; \
         document.getElementById('search').requestSubmit(); })()",
    );
    assert_eq!(browser.evaluate("page.map.chosen"), json!(7));
    browser.press("Escape");
    assert_eq!(browser.evaluate("page.map.chosen"), Value::Null);
    // Every operation that the run counted is in some machine's history.
    let operations = browser.evaluate(
        "Array.from({ length: 300 }, (_, host) => entriesOf(page.history, host).filter(({ steps }) => steps).length)\
         .reduce((sum, number) => sum + number, 0)",
    );
    assert_eq!(operations, summary["operations"]);
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn a_violation_is_where_the_page_opens() {
    let folder = folder("violation");
    let text = std::fs::read_to_string(SCENARIO).expect("the scenario is there");
    let wrong = "timeline:\n  - at: 1h\n    expect:\n      - installedOn: {machines: [17], components: {webd: 1.1.0}}\n";
    let broken = folder.join("broken.yaml");
    std::fs::write(&broken, text.replacen("timeline:\n", wrong, 1)).expect("it can be written");
    let (address, summary) = report(&broken, 300, &folder);
    assert_eq!(summary["converged"], json!(false));
    let browser = &mut Browser::start(&folder.join("profile"), (1440, 1000));
    browser.open(&address);
    assert_eq!(browser.evaluate("document.getElementById('verdict').className"), json!("verdict bad"));
    assert_eq!(browser.evaluate("page.fleet.time"), json!(3_600_000));
    assert_eq!(browser.evaluate("page.map.chosen"), json!(17), "the machine that it speaks of");
    browser.press("Home");
    browser.until("page.fleet.time === 0");
    browser.press("v");
    browser.until("page.fleet.time === 3600000");
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// The least time that the page takes for one of sixty moments all over the run, in milliseconds. Whatever else the computer
/// does only adds to the others.
fn least_of_a_moment(browser: &mut Browser) -> f64 {
    let millis = browser.evaluate(
        "(() => { let least = Infinity; \
         for (let i = 0; i < 60; i++) { const start = performance.now(); \
         page.time = page.history.end * ((i * 37) % 60) / 60; page.draw(); \
         least = Math.min(least, performance.now() - start); } \
         return least; })()",
    );
    millis.as_f64().expect("it is a number")
}

/// A moment of a large fleet costs as much more to draw as there are more machines, within a factor of three.
#[test]
fn ten_thousand_machines_can_be_scrubbed() {
    let folder = folder("scrub");
    let browser = &mut Browser::start(&folder.join("profile"), (1440, 1000));
    let (address, _) = report(Path::new(SCENARIO), 1_000, &folder);
    browser.open(&address);
    // The browser rounds to a tenth of a millisecond.
    let small = least_of_a_moment(browser).max(0.1);
    let (address, summary) = report(Path::new(SCENARIO), 10_000, &folder);
    let size = std::fs::metadata(folder.join("report.html")).expect("it was written").len();
    assert!(size < 3_000_000, "{size} bytes");
    browser.open(&address);
    let large = least_of_a_moment(browser);
    println!("{size} bytes, {small:.1} ms a moment of 1,000 machines, {large:.1} ms of 10,000");
    assert!(large < 30.0 * small, "{large} ms for 10,000 machines, {small} ms for 1,000");
    assert_eq!(summary["traceHash"].as_str().map(str::len), Some(16));
    // Every lost host is in a band, and the lanes can be drawn again for another size.
    let lost = browser.evaluate(
        "page.lanes.faults.rows.find(({ name }) => name === 'power lost').bands.reduce((sum, { times }) => sum + times, 0)",
    );
    assert_eq!(lost, summary["occasions"]["HostLost"]);
    browser.evaluate("page.lanes.resize()");
    assert_eq!(browser.errors, Vec::<String>::new());
}
