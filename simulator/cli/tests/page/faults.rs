//! Faults on the page: every kind has a lane, and pointer, tap and keys show the name of a fault, in dark and light.

use std::path::Path;

use serde_json::{Value, json};

use super::browser::Browser;
use super::{folder, report};

const STORM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/fast/storm.yaml");

/// The middle of the first fault of a kind, on the screen.
fn middle(browser: &mut Browser, kind: &str) -> (f64, f64) {
    let place = browser.evaluate(&format!(
        "(() => {{ const {{ canvas, bands }} = page.lanes.faults.rows.find(({{ name }}) => name === '{kind}'); \
         canvas.scrollIntoView({{ block: 'center' }}); const box = canvas.getBoundingClientRect(); \
         const x = page.lanes.x((bands[0].from + bands[0].until) / 2, box.width); \
         return [box.left + x, box.top + box.height / 2]; }})()"
    ));
    let at = |index: usize| place[index].as_f64().expect("a place is two numbers");
    (at(0), at(1))
}

/// The contrast of the first fault of a kind against the background of its lane, as WCAG 2 defines it.
fn contrast(browser: &mut Browser, kind: &str) -> f64 {
    let ratio = browser.evaluate(&format!(
        "(() => {{ const {{ canvas, bands: [{{ from, until }}] }} = page.lanes.faults.rows.find(({{ name }}) => name === '{kind}'); \
         const scale = devicePixelRatio, context = canvas.getContext('2d'); \
         const card = getComputedStyle(canvas.closest('.card')).backgroundColor.match(/[\\d.]+/g).map(Number); \
         const x = Math.round(page.lanes.x((from + until) / 2, page.lanes.width) * scale); \
         const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4) \
           .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0); \
         const ground = light(card), stands = (fault) => (Math.max(fault, ground) + 0.05) / (Math.min(fault, ground) + 0.05); \
         return Math.max(...[-2, -1, 0, 1, 2].map((dx) => \
           stands(light(context.getImageData(x + dx, canvas.height - Math.round(5 * scale), 1, 1).data)))); }})()"
    ));
    ratio.as_f64().expect("it is a number")
}

#[test]
fn every_kind_of_fault_has_a_lane() {
    let folder = folder("faults");
    let (address, summary) = report(Path::new(STORM), 60, &folder);
    let browser = &mut Browser::start(&folder.join("profile"), (1440, 1000));
    browser.open(&address);
    let lanes = browser.evaluate(
        "[...document.querySelectorAll('.fault-lanes .label span')].map((label) => label.textContent)",
    );
    let expected = [
        "zone/rack lost",
        "power lost",
        "SSH session lost",
        "changed by hand",
        "conflict",
        "reply lost",
        "watch silent",
        "operator crash",
    ];
    assert_eq!(lanes, json!(expected), "{}", summary["strikes"]);
    for theme in ["light", "dark"] {
        browser.evaluate(&format!("page.theme('{theme}')"));
        for kind in ["zone/rack lost", "changed by hand", "conflict", "watch silent", "operator crash"] {
            let contrast = contrast(browser, kind);
            assert!(contrast >= 3.0, "{kind} in {theme}: {contrast}");
        }
    }
    // The faults at the current moment are listed above the lanes.
    browser.evaluate("page.seek(2 * 3600000 + 1000)");
    browser.until("document.getElementById('faults-now').textContent.includes('zone/rack lost (15)')");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn pointing_tapping_and_keys_name_a_fault() {
    let folder = folder("naming");
    let (address, _) = report(Path::new(STORM), 60, &folder);
    let browser = &mut Browser::start(&folder.join("profile"), (1440, 1000));
    browser.open(&address);
    let tip = "document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent";
    let said = "document.getElementById('fault-said').textContent";

    let (x, y) = middle(browser, "zone/rack lost");
    browser.point(x, y);
    browser
        .until(&format!("({tip}).includes('zone/rack lost: zone 1, 15 machines, power lost, 2h00m00s to ')"));

    // Each key press goes to the next fault.
    browser.press("Home");
    browser.until("page.fleet.time === 0");
    browser.press("f");
    browser.press("ArrowDown");
    browser.press("ArrowRight");
    let first = "page.lanes.faults.rows[1].bands[0]";
    browser.until(&format!("page.fleet.time === {first}.from"));
    let text = browser.evaluate(said);
    assert!(text.as_str().is_some_and(|text| text.starts_with("power lost: m-")), "{text}");
    browser.press("ArrowRight");
    browser.until("page.fleet.time === page.lanes.faults.rows[1].bands[1].from");
    browser.press("ArrowLeft");
    browser.press("Enter");
    assert_eq!(browser.evaluate(&format!("page.map.chosen === {first}.host")), json!(true));
    assert_ne!(browser.evaluate("page.map.chosen"), Value::Null);

    let (x, y) = middle(browser, "conflict");
    browser.tap(x, y);
    browser.until(&format!("({said}).startsWith('conflict: ')"));
    assert_eq!(browser.errors, Vec::<String>::new());
}
